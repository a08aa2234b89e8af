// Package upgrade brings a project from the scaffold that it was written with
// to today's. It knows the scaffolds of earlier releases (see Baseline), which
// files of a project are the scaffold's and which its user's, and the calls in
// his code that a newer controller-runtime or Go no longer takes. For projects
// of kubebuilder and operator-sdk it knows fingerprints of what these tools
// write. How texts are merged is merge3's. It writes nothing, runs nothing and
// knows no commands.
package upgrade

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/relayout"
	"github.com/example/mysdk/internal/rewrite/merge3"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// Options name the project, and what only the command line knows.
type Options struct {
	Files   host.Files
	Dir     string    // the project's root, absolute
	Plugin  v4.Plugin // today's
	Further fs.FS     // baselines besides those of the releases, nil for none
	From    string    // baseline that the project is to be taken for; empty: find out

	peers string // fingerprints, empty for those of package
}

// Action is what becomes of a file.
type Action string

// The values of Action.
const (
	New      Action = "new"      // the scaffold did not have it before
	Updated  Action = "updated"  // it is as it was scaffolded, and becomes today's
	Merged   Action = "merged"   // both have changed it, in different places
	Conflict Action = "conflict" // both have changed the same place: see Reject
	Kept     Action = "kept"     // the scaffold's has changed, and the project's stays
	Deleted  Action = "deleted"  // it is as it was scaffolded, and no longer is
)

// File is what becomes of one file.
type File struct {
	Path   string `json:"path"`
	Action Action `json:"action"`
	Detail string `json:"detail,omitempty"` // why, where the action does not say it
	Reject string `json:"reject,omitempty"` // file with the part of the change that was left out
}

// Plan is an upgrade that is not carried out yet.
type Plan struct {
	From  string `json:"from"`           // version of the scaffold so far, by its best guess where none is recorded
	To    string `json:"to"`             // version of today's
	Tool  string `json:"tool,omitempty"` // that made the project, if it was not mysdk
	Files []File `json:"files"`          // those that something becomes of, sorted
	// Notes are places of the user's code that will not compile any more, each
	// beginning with file:line.
	Notes []string `json:"notes,omitempty"`
	// Objects are those that config/default deploys from now on or no longer,
	// and the roles and bindings that change, as Verify finds them.
	Objects []string `json:"objects,omitempty"`
	// ByMake says that the Makefile leaves out tests which change a cluster
	// that is not theirs, and 'mysdk test' does not.
	ByMake bool `json:"-"`
	// Formats says that go vet begins to refuse formats which are made at run time.
	Formats bool `json:"-"`
	// Set is the whole change, PROJECT included: with the new version where
	// there are no conflicts, else with the version that they are on the way to.
	Set fileset.Set `json:"-"`
}

// Conflicts are the paths of the files in which changes met.
func (p *Plan) Conflicts() []string {
	var out []string
	for _, f := range p.Files {
		if f.Action == Conflict {
			out = append(out, f.Path)
		}
	}
	return out
}

func (p *Plan) sort() {
	slices.SortFunc(p.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
}

// Empty says whether nothing is to be written.
func (p *Plan) Empty() bool { return p.Set.Len() == 0 }

// planner is a plan in the making.
type planner struct {
	Options
	tree    *relayout.Tree // the project, with the change so far
	file    *project.File
	project *project.Project
	header  []byte   // license header, which goes on every rendered Go file
	now     Baseline // today's
	foreign *foreign // nil for projects of our own
	plan    *Plan

	// What the project would hold had nobody touched it: as it was written,
	// as it would be written today, and as other known versions write it.
	before, after map[string][]byte
	untouched     []map[string][]byte
}

func (o Options) planner() *planner {
	return &planner{Options: o, tree: relayout.NewTree(relayout.LF{Files: o.Files}, o.Dir), plan: &Plan{Files: []File{}}}
}

// New plans the upgrade of a project. Nothing is written. Errors are those of a
// PROJECT or go.mod that cannot be read, of a layout other than
// go.kubebuilder.io/v4, of a project that nobody known has written, and of one
// that a newer version has; each has a hint.
func (o Options) New() (*Plan, error) {
	p := o.planner()
	if err := p.load(); err != nil {
		return nil, err
	}
	if err := p.render(); err != nil {
		return nil, err
	}
	// A file can be in either: new ones are only in after, old ones in before.
	names := maps.Clone(p.before)
	maps.Copy(names, p.after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := p.decide(name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := p.repair(); err != nil {
		return nil, err
	}
	if err := p.undecided(); err != nil {
		return nil, err
	}
	if p.plan.Formats && len(p.plan.Conflicts()) > 0 { // the end of the upgrade does not know any more
		p.plan.Notes = append(p.plan.Notes, "go.mod:1: from this version of Go on, go vet refuses formats that are made at run time: after the conflicts, run 'go vet -printf -fix ./...'")
	}
	p.plan.sort()
	if err := p.record(); err != nil {
		return nil, err
	}
	var err error
	p.plan.Set, err = p.set()
	return p.plan, err
}

// load reads the project and finds out where it comes from.
func (p *planner) load() error {
	data, there, err := p.tree.Read(project.FileName)
	if err != nil {
		return err
	}
	if !there {
		return clierr.Failedf("change to the project's root directory", "no %s file in %s", project.FileName, p.Dir)
	}
	if p.file, err = project.Parse(data); err != nil {
		return err
	}
	p.project = p.file.Project()
	if !slices.ContainsFunc(p.project.Layout, func(key string) bool {
		return key == "go.kubebuilder.io/v4" || key == "base.go.kubebuilder.io/v4"
	}) {
		return clierr.Failedf("bring it to that layout first: see 'mysdk adopt'",
			"the project has the layout %s, and this scaffold is go.kubebuilder.io/v4", strings.Join(p.project.Layout, ", "))
	}
	if p.header, _, err = p.tree.Read(project.HeaderFile); err != nil {
		return err
	}
	if p.now, err = current(p.Plugin); err != nil {
		return err
	}
	p.plan.To = p.now.Version
	// An upgrade to what is older would take things away that the user has
	// seen working. Asked for by --from it is his own doing.
	recorded := p.scaffolded()
	if p.From == "" && semver.IsValid(recorded) && semver.IsValid(p.now.Version) && semver.Compare(recorded, p.now.Version) > 0 {
		return clierr.Failedf("go install github.com/example/mysdk/cmd/...@"+recorded, "the project's scaffold is of mysdk %s, and this is %s", recorded, p.now.Version)
	}
	return p.detect(recorded)
}

func (o Options) path(name string) string { return filepath.Join(o.Dir, filepath.FromSlash(name)) }

// note adds what becomes of a file to the plan.
func (p *planner) note(name string, action Action, detail string) {
	p.plan.Files = append(p.plan.Files, File{Path: name, Action: action, Detail: detail})
}

func (p *planner) create(name string, data []byte) error {
	p.note(name, New, "")
	return p.tree.Create(name, data)
}

func (p *planner) update(name string, data []byte) error {
	p.note(name, Updated, "")
	return p.tree.Write(name, data)
}

// decide settles what becomes of one file.
func (p *planner) decide(name string) error {
	before, was := p.before[name]
	after, is := p.after[name]
	mine, there, err := p.tree.Read(name)
	switch {
	case err != nil:
		return err
	case relayout.IsGenerated(name): // the caller runs the generators afterwards
		if there || was || !is || p.foreign != nil {
			return nil
		}
		return p.create(name, after) // a new one, in which their output belongs
	case name == "go.sum":
		return nil // goes with go.mod
	case !bytes.Equal(before, after) && !bytes.Equal(mine, after) && p.linked(name):
		p.note(name, Kept, "a link: mysdk does not write through it")
		return nil
	case name == "go.mod":
		return p.modules(mine, there)
	case p.foreign != nil && is:
		return p.decideForeign(name, mine, there, after)
	case isCode(name) && there:
		if was && is && !bytes.Equal(before, after) {
			p.note(name, Kept, "your code; the pattern for new kinds has changed")
		}
		return nil
	case !there:
		if was || !is || isCode(name) {
			return nil // what the user removed stays away
		}
		return p.create(name, after)
	case !is:
		return p.gone(name, mine)
	case bytes.Equal(mine, after) || bytes.Equal(before, after):
		// Where the scaffold's has not changed there is nothing to carry over,
		// even if an older version's text is there: then it was put back.
		return nil
	case p.pristine(name, mine):
		return p.update(name, after)
	case !was: // there is nothing that both have begun with
		p.note(name, Kept, "a file of yours has the name of one that is new")
		return nil
	case !related(before, mine):
		p.note(name, Kept, "it has little in common with the scaffold's")
		return nil
	}
	return p.merge(name, before, mine, after)
}

// linked says whether a file of the project is a link, or lies below a link to a directory.
func (p *planner) linked(name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if info, err := p.Files.Lstat(p.path(name)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// related says whether a file has come from the scaffold's, by a third of its
// lines: another tool's of that name is not merged line by line.
func related(before, mine []byte) bool {
	have := map[string]int{}
	for line := range bytes.Lines(mine) {
		have[string(line)]++
	}
	total, common := 0, 0
	for line := range bytes.Lines(before) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		total++
		if have[string(line)] > 0 {
			have[string(line)]--
			common++
		}
	}
	return 3*common >= total
}

// pristine says whether a file is as any known version writes it. A later
// mysdk than the recorded one may have added kinds to the project.
func (p *planner) pristine(name string, mine []byte) bool {
	if data, ok := p.before[name]; ok && bytes.Equal(data, mine) {
		return true
	}
	return slices.ContainsFunc(p.untouched, func(files map[string][]byte) bool {
		data, ok := files[name]
		return ok && bytes.Equal(data, mine)
	})
}

// gone deals with a file that is no longer part of the scaffold.
func (p *planner) gone(name string, mine []byte) error {
	if !p.pristine(name, mine) {
		p.note(name, Kept, "no longer part of the scaffold, and you have changed it")
		return nil
	}
	p.note(name, Deleted, "")
	return p.tree.Remove(name)
}

// merge brings both changes of a file together.
func (p *planner) merge(name string, before, mine, after []byte) error {
	merged, wanted := merge3.Merge(name, before, mine, after)
	if path.Ext(name) == ".md" {
		wanted = merged // what the user tells his readers is his
	}
	detail := ""
	if !carried(before, wanted, after) {
		detail = "you removed or rewrote parts that the scaffold has changed"
	}
	if bytes.Equal(merged, mine) && bytes.Equal(merged, wanted) {
		if detail != "" {
			p.note(name, Kept, detail)
		}
		return nil
	}
	return p.write(File{Path: name, Action: Merged, Detail: detail}, merged, wanted)
}

// carried says whether a file has every line that the scaffold has added.
func carried(before, wanted, after []byte) bool {
	have := map[string]bool{}
	words := func(line []byte) string { return strings.Join(strings.Fields(string(line)), " ") }
	for _, text := range [][]byte{before, wanted} {
		for line := range bytes.Lines(text) {
			have[words(line)] = true
		}
	}
	for line := range bytes.Lines(after) {
		if !have[words(line)] {
			return false
		}
	}
	return true
}

// write writes a file with as much of a change as could be made in it. What is
// left of the change goes beside it, as a patch.
func (p *planner) write(f File, merged, wanted []byte) error {
	if !bytes.Equal(merged, wanted) {
		f.Action, f.Reject = Conflict, f.Path+RejectSuffix
		f.Detail = strings.TrimSuffix("your version stays; "+f.Detail, "; ")
		if err := p.reject(f.Path, merged, wanted); err != nil {
			return err
		}
	}
	p.plan.Files = append(p.plan.Files, f)
	return p.tree.Write(f.Path, merged)
}

// isCode names files that the scaffold only begins: types, controllers,
// webhooks, their tests, samples and the license header are the user's. The
// suites that tests share are not: they follow the versions in go.mod.
func isCode(name string) bool {
	if name == project.HeaderFile {
		return true
	}
	dir, base := path.Dir(name), path.Base(name)
	switch {
	case strings.HasPrefix(name, "api/"):
		return base != "groupversion_info.go"
	case dir == "config/samples":
		return base != "kustomization.yaml"
	case strings.HasPrefix(name, "internal/controller/"), strings.HasPrefix(name, "internal/webhook/"):
		return !strings.HasSuffix(base, "suite_test.go")
	}
	return false
}

// RejectSuffix ends the names of the files that hold what could not be merged.
const RejectSuffix = relayout.RejectSuffix

// lf are the project's files with LF.
func (p *planner) lf() relayout.LF { return relayout.LF{Files: p.Files} }

// set is the change so far, with the line ends that the files have.
func (p *planner) set() (fileset.Set, error) { return p.lf().Changed(p.tree.Set(), p.Dir) }

// reject writes what a merge has left out of a file beside it: a patch for the
// file as it is going to be on disk.
func (p *planner) reject(name string, merged, wanted []byte) error {
	ended := func(data []byte) []byte { return p.lf().Ended(p.path(name), data) }
	return p.tree.Write(name+RejectSuffix, merge3.Reject(name, ended(merged), ended(wanted)))
}
