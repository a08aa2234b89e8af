// Package migrate brings projects of old layouts to today's: those of
// operator-sdk v0.x, and of kubebuilder's and operator-sdk's go/v2 and go/v3.
// It knows what those scaffolds looked like, how controller-runtime's API
// changed, and moves the user's code into a new scaffold by the syntax tree.
// What it cannot do it marks. It writes nothing, runs nothing, and does not
// know how the command is typed.
package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/compat"
	"github.com/example/mysdk/internal/controllernames"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/relayout"
)

// Options name the project, and what only the command knows.
type Options struct {
	Files host.Files
	Dir   string // the project's root, absolute
	// Scaffolder is the plugin that the target is rendered by, with the given
	// reader of the license header.
	Scaffolder func(read func(string) ([]byte, error)) project.Scaffolder
}

// Status says what became of one file.
type Status string

// The values of Status.
const (
	Clean   Status = "clean"   // as it was, perhaps at another place
	Changed Status = "changed" // rewritten, with nothing left to do
	New     Status = "new"     // of the scaffold
	Dropped Status = "dropped" // nothing of it is needed
	Needs   Status = "manual"  // it has places that are marked
)

// Note is something that is left to do, or to know.
type Note struct {
	Line int    `json:"line,omitempty"` // in the file as it will be, counted from 1; 0 for all of it
	Text string `json:"text"`
}

// Entry is one file of the plan.
type Entry struct {
	Path   string `json:"path"`           // where it will be; where it was, if it is dropped
	From   string `json:"from,omitempty"` // where it was, empty where it is new or stays
	Status Status `json:"status"`
	Notes  []Note `json:"notes,omitempty"`
}

// Plan is what a migration would do.
type Plan struct {
	From  Layout
	Files []Entry // sorted by path
	// Changes turn the project's directory into the new one.
	Changes fileset.Set
	// Result is the whole project as it will be, for another directory.
	Result fileset.Set
	// General are things to know that belong to no file.
	General []Note
	// Problems are what the go command, the compiler and kustomize say of the result.
	Problems []Problem
	// CRDs are those that the project was deployed with.
	CRDs compat.CRDs
	// Breaks are the changes of these that break objects or clients.
	Breaks []Problem
	// Left are the marks that an earlier migration left, where there is
	// nothing to migrate any more: file:line and what is to be done.
	Left []string
}

// Problem is a place of the result that is not as it has to be: it does not
// compile, or breaks what was there before.
type Problem struct {
	File   string `json:"file"`           // or what else is to blame
	Line   int    `json:"line,omitempty"` // 0 where there is none
	Column int    `json:"column,omitempty"`
	Text   string `json:"text"`
}

// At is the place as compilers write it.
func (p Problem) At() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Open counts the files that need somebody.
func (p *Plan) Open() int {
	n := 0
	for _, e := range p.Files {
		if e.Status == Needs {
			n++
		}
	}
	return n
}

// Remark notes that a file has another text now, with marks in other lines.
func (p *Plan) Remark(name string, data []byte) {
	for i, e := range p.Files {
		if e.Path != name {
			continue
		}
		e.Notes = slices.DeleteFunc(slices.Clone(e.Notes), func(n Note) bool { return n.Line > 0 })
		if e.Notes = append(e.Notes, marks(data)...); len(e.Notes) > 0 {
			e.Status = Needs
		} else if e.Status == Clean {
			e.Status = Changed
		}
		p.Files[i] = e
	}
}

// Make makes the plan. Projects that there is nothing to migrate in have one
// without files; those that migrate has no answer to are an error with a hint.
func Make(o Options) (*Plan, error) {
	m := &migration{Options: o, files: map[string]file{}, out: map[string]output{}, dropped: map[string]string{}}
	if err := m.walk(""); err != nil {
		return nil, err
	}
	layout, err := detect(m.files)
	if err != nil {
		return nil, err
	}
	m.layout = layout
	m.readDeploy()
	switch layout {
	case LayoutSDK0:
		err = m.fromSDK0()
	case LayoutGo2, LayoutGo3:
		err = m.fromKubebuilder()
	default:
		return &Plan{From: layout, Left: m.left()}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("from the layout of %s: %w", layout, err)
	}
	return m.plan()
}

// file is one of the project's as it is.
type file struct {
	data []byte
	mode fs.FileMode
}

// output is a file as it will be.
type output struct {
	file
	from    string // where its content was, empty where it is new
	touched bool   // by more than the move
	notes   []Note // beside those that stand in the text
}

// migration is a plan in the making.
type migration struct {
	Options
	layout     Layout
	module     string
	files      map[string]file
	out        map[string]output
	dropped    map[string]string // why, by old path
	apis       []*apiVersion
	objects    []*object                   // in deploy
	operator   *object                     // its Deployment there, nil for none
	account    string                      // the service account that it ran as, empty for none
	namespace  string                      // that it was in, empty for none
	bound      map[string]binding          // the roles there, by kind and name
	moves      map[string]string           // of packages, by old directory
	moving     map[string]relayout.Package // those, by old import path, once they were looked for
	namespaced bool
	multigroup bool
	rendered   map[string][]byte     // the new scaffold
	links      []string              // files and directories that are elsewhere
	recorded   string                // the name in PROJECT, empty for none
	general    []Note                // what belongs to no file
	rules      []string              // markers of rules in the old main program
	roles      map[string]bool       // names in role.yaml that are the generator's now
	err        error                 // the first that something did not return
	imaged     bool                  // the operator's image is set
	helpers    map[string]int        // watchHelpers, once they were looked for
	names      controllernames.Names // of controllers that need one, once they were looked for
}

// isSkipped reports whether a file or directory is no part of the project: what git
// has, which may be a file, and what tools have put there.
func isSkipped(name string, isDir bool) bool {
	switch base := path.Base(name); {
	case base == ".git":
		return true
	case !isDir:
		return strings.HasPrefix(base, ".mysdk-")
	default:
		return base == "node_modules" || strings.HasPrefix(base, ".mysdk") || name == "build/_output" || name == "bin" || name == "testbin"
	}
}

// walk reads the files of the project.
func (m *migration) walk(dir string) error {
	entries, err := m.Files.ReadDir(filepath.Join(m.Dir, filepath.FromSlash(dir)))
	if err != nil {
		return fmt.Errorf("list %s: %w", path.Join(".", dir), err)
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if isSkipped(name, e.IsDir()) {
			if name == "bin" || name == "testbin" {
				m.know("%s has programs of tools: it stays where it is, and is not in what --output-dir writes.", name)
			}
			continue
		}
		if e.IsDir() {
			if err := m.walk(name); err != nil {
				return err
			}
			continue
		}
		if e.Type()&fs.ModeSymlink != 0 {
			m.links = append(m.links, name)
			m.know("%s is a symbolic link: it stays where it is, and is not in what --output-dir writes.", name)
		}
		if !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		var data []byte
		if err == nil {
			data, err = m.Files.ReadFile(filepath.Join(m.Dir, filepath.FromSlash(name)))
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue // an editor's temporary file, perhaps
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		m.files[name] = file{data: data, mode: info.Mode().Perm()}
	}
	return nil
}

// fail notes an error, which ends the migration with the step that has it. The
// first counts.
func (m *migration) fail(err error) { m.err = cmp.Or(m.err, err) }

// run makes the steps of a migration, up to the first that fails.
func (m *migration) run(steps ...func() error) error {
	for _, step := range steps {
		if m.fail(step()); m.err != nil {
			return m.err
		}
	}
	return nil
}

// keep says where a file of the user's goes and what its text becomes.
func (m *migration) keep(from, to string, data []byte) {
	if other, taken := m.out[to]; taken && other.from != "" && other.from != from {
		m.fail(clierr.Failedf("rename one of them first", "%s and %s would both become %s", other.from, from, to))
		return
	}
	old := m.files[from]
	o := output{file: file{data: data, mode: old.mode}, from: from, touched: string(old.data) != string(data)}
	o.notes = m.out[to].notes
	m.out[to] = o
}

// put is keep for text that is not of one file of the user's.
func (m *migration) put(name string, data []byte) {
	o := m.out[name]
	o.touched = o.from != ""
	o.data = data
	o.mode = cmp.Or(o.mode, 0o644)
	m.out[name] = o
}

// drop takes a file out, for a reason.
func (m *migration) drop(name, format string, args ...any) {
	m.dropped[name] = fmt.Sprintf(format, args...)
}

// know adds something to know that belongs to no file, once.
func (m *migration) know(format string, args ...any) {
	if n := (Note{Text: fmt.Sprintf(format, args...)}); !slices.Contains(m.general, n) {
		m.general = append(m.general, n)
	}
}

// note adds something that is left to do in a file.
func (m *migration) note(name, format string, args ...any) {
	o := m.out[name]
	n := Note{Text: fmt.Sprintf(format, args...)}
	if !slices.Contains(o.notes, n) {
		o.notes = append(o.notes, n)
	}
	m.out[name] = o
}

// rest keeps everything that nothing else was decided about.
func (m *migration) rest() error {
	m.ownPage()
	done := maps.Clone(m.dropped)
	for _, o := range m.out {
		done[o.from] = ""
	}
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		if _, ok := done[name]; ok || name == ReportName {
			continue
		}
		if _, scaffolded := m.out[name]; scaffolded {
			continue // the new file takes its place
		}
		m.keep(name, m.along(name), m.files[name].data) // what a package embeds, or its tests read, too
	}
	return nil
}

// plan turns what was decided into changes.
func (m *migration) plan() (*Plan, error) {
	if m.err != nil {
		return nil, m.err
	}
	maps.DeleteFunc(m.out, func(name string, o output) bool { return o.from == "" && m.linked(name) })
	p := &Plan{From: m.layout, CRDs: m.crdsBefore()}
	for _, name := range slices.Sorted(maps.Keys(m.out)) {
		p.Files = append(p.Files, m.entry(name))
	}
	for _, name := range slices.Sorted(maps.Keys(m.dropped)) {
		if _, ok := m.out[name]; !ok && !strings.HasPrefix(name, "vendor/") {
			p.Files = append(p.Files, Entry{Path: name, Status: Dropped, Notes: []Note{{Text: m.dropped[name]}}})
		}
	}
	p.General = m.general
	report, err := p.Report()
	if err != nil {
		return nil, err
	}
	m.out[ReportName] = output{file: file{data: report, mode: 0o644}}
	p.Files = append(p.Files, m.entry(ReportName))
	slices.SortFunc(p.Files, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	for name := range m.files {
		if _, stays := m.out[name]; !stays {
			if err := p.Changes.Put(name, fileset.File{Removed: true}); err != nil {
				return nil, err
			}
		}
	}
	return p, m.written(p)
}

// linked says whether a file is a link, or lies below a link to a directory.
func (m *migration) linked(name string) bool {
	return slices.ContainsFunc(m.links, func(link string) bool { return strings.HasPrefix(name+"/", link+"/") })
}

// entry tells of one file of the result. The marks in its text are notes.
func (m *migration) entry(name string) Entry {
	o := m.out[name]
	e := Entry{Path: name, Status: Changed, Notes: slices.Clone(o.notes)}
	if o.from != name {
		e.From = o.from
	}
	switch {
	case o.from == "" && !hasFile(m.files, name):
		e.Status = New
	case o.from != "" && !o.touched:
		e.Status = Clean
	}
	if name != ReportName {
		e.Notes = append(e.Notes, marks(o.data)...)
	}
	if len(e.Notes) > 0 {
		e.Status = Needs
	}
	return e
}

// written adds the files that there will be to the plan.
func (m *migration) written(p *Plan) error {
	for name, o := range m.out {
		old, there := m.files[name]
		err := p.Result.Put(name, fileset.File{Data: o.data, Mode: o.mode, New: true})
		if err == nil && !(there && string(old.data) == string(o.data)) {
			err = p.Changes.Put(name, fileset.File{Data: o.data, Mode: o.mode, New: !there})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// left lists the marks in a project that needs no migration any more.
func (m *migration) left() []string {
	var out []string
	if hasFile(m.files, keptMain) {
		out = append(out, fmt.Sprintf("%s: copy what you need of it to %s, then delete it", keptMain, newMain))
	}
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		if strings.HasPrefix(name, oldConfig+"/") {
			out = append(out, fmt.Sprintf("%s: copy what you need of it to config, then delete it", name))
		}
		if name == ReportName || strings.HasPrefix(name, "vendor/") || path.Ext(name) == ".md" {
			continue
		}
		for _, n := range marks(m.files[name].data) {
			out = append(out, fmt.Sprintf("%s:%d: %s", name, n.Line, n.Text))
		}
	}
	return out
}
