package migrate

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the digests
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/format"
	"path"
	"slices"
	"strconv"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/relayout"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

// mainFile is the old main program: where scaffolds had it, else the one file
// with a function main that makes a manager.
func (m *migration) mainFile(usual string) (string, error) {
	if hasFile(m.files, usual) {
		return usual, nil
	}
	var found []string
	for f := range m.parse(m.ownCode()) {
		p := oldProgram{file: f}
		if f.Tree.Name.Name == "main" && f.function("main") != nil && p.runs(f.Tree) {
			found = append(found, f.Name)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", clierr.Failedf("move the file with the function main to "+usual+", then run the command again", "there is no main program that makes a manager, in %s or elsewhere", usual)
	}
	return "", clierr.Failedf("move the operator's to "+usual+", then run the command again", "there is no %s, and several main programs make a manager: %s", usual, strings.Join(found, ", "))
}

// moveCommand moves a package that lies where the new main program goes.
func (m *migration) moveCommand() {
	for _, name := range inDir(m.files, path.Dir(newMain)) {
		if f, err := parseGo(name, m.files[name].data); path.Ext(name) == ".go" && err == nil && f.Tree.Name.Name != "main" {
			m.moves[path.Dir(newMain)] = "internal/cmd"
		}
	}
}

// freeCommand refuses projects with another program where the new main program
// goes.
func (m *migration) freeCommand() error {
	for _, name := range inDir(m.files, path.Dir(newMain)) {
		if _, moves := m.moves[path.Dir(newMain)]; path.Ext(name) == ".go" && !moves {
			return clierr.Failedf("move it to a directory of its own below cmd first", "%s is in cmd, where the new main program goes", name)
		}
	}
	return nil
}

// mainFiles carries the files beside the old main program over to cmd, and
// keeps that program itself where somebody has to look at it.
func (m *migration) mainFiles(p *oldProgram) {
	for _, other := range inDir(m.files, path.Dir(p.file.Name)) {
		if other == p.file.Name || path.Ext(other) != ".go" || !m.isOfProgram(other) {
			continue
		}
		m.goFile(other, m.free(path.Dir(newMain), path.Base(other)), oldWatches)
	}
	m.rules = p.rules
	if len(p.left) == 0 {
		m.drop(p.file.Name, "%s is in its place", newMain)
		return
	}
	m.keep(p.file.Name, keptMain, p.file.Src)
	o := m.out[keptMain]
	o.notes = p.left
	m.out[keptMain] = o
}

// free is where a new file goes in a directory: under its name, if that is not taken.
func (m *migration) free(dir, base string) string {
	for {
		name := path.Join(dir, base)
		if _, taken := m.out[name]; !taken && !hasFile(m.files, name) {
			return name
		}
		base = "main_" + base
	}
}

// isOfProgram says whether a file is of the main program that it lies beside,
// and no program or list of tools of its own.
func (m *migration) isOfProgram(name string) bool {
	f, err := parseGo(name, m.files[name].data)
	if err != nil {
		return false // it is told when the rest of the code is read
	}
	if pkg := f.Tree.Name.Name; pkg != "main" && pkg != "main_test" || f.function("main") != nil {
		return false
	}
	// There are tags for what is never a part of a program.
	isBuilt := func(tag string) bool { return !slices.Contains([]string{"ignore", "mage", "tools"}, tag) }
	for line := range strings.Lines(string(f.Src[:f.Offset(f.Tree.Package)])) {
		if expr, err := constraint.Parse(strings.TrimSpace(line)); err == nil && !expr.Eval(isBuilt) {
			return false
		}
	}
	return true
}

// mainRules puts the markers of the old main program where the generator reads
// them whether the command is built or not.
func (m *migration) mainRules() error {
	m.putRules(m.rules)
	return nil
}

// putRules puts markers into a file of their own beside the controllers.
func (m *migration) putRules(lines []string) {
	if len(lines) > 0 {
		text := fmt.Appendf(nil, "%spackage controller\n\n%s\n", m.header(), strings.Join(lines, "\n"))
		m.put(m.free("internal/controller", "rbac.go"), text)
	}
}

// mainLines has the digests, as lineDigest makes them, of every line that a scaffold
// has ever written into its main program, but for comments and lines that name
// something of the project: any other is the user's.
//
//go:embed files/main.txt
var mainLines string

var (
	loggedName = lazy.Delayed(`,"[A-Z]\w*"\)$`)
	onlyLogs   = lazy.Delayed(`^(log|setupLog)\.\w+\((err,)?"[^"]*"\)$`)
)

// isMainLine says whether a line is one of the scaffolds' main programs, in any
// form that gofmt gives it and whatever it logs.
func isMainLine(line string) bool {
	text := loggedName.ReplaceAllString(squeeze(line), `,"{name}")`)
	return onlyLogs.MatchString(text) || strings.Contains(mainLines, lineDigest(text))
}

// lineDigest stands for a line in the list.
func lineDigest(line string) string { return fmt.Sprintf("%.6x", sha256.Sum256([]byte(line))) }

const (
	newMain   = "cmd/main.go"
	oldMain   = "cmd/manager/main.go"
	leaderLib = operatorLib + "/leader"
)

// wireMain writes cmd/main.go: the scaffold's, with the user's types and
// controllers.
func (m *migration) wireMain() error {
	if err := m.freeCommand(); err != nil {
		return err
	}
	usual := "main.go"
	if m.layout == LayoutSDK0 {
		usual = oldMain
	}
	name, err := m.mainFile(usual)
	if err != nil {
		return err
	}
	p, err := m.readMain(name)
	if err != nil {
		return err
	}
	return m.writeMain(p)
}

// writeMain puts what the old main program gives into the new one, at its
// markers.
func (m *migration) writeMain(p *oldProgram) error {
	f := p.target
	schemes := ""
	for _, s := range p.schemes {
		schemes += "\tutilruntime.Must(" + s + ")\n"
	}
	if err := p.elect(); err != nil {
		return err
	}
	if !p.wired && (p.setup == "" || p.unwired) && len(p.left) > 0 && bytes.Contains(m.out[project.FileName].data, []byte("controller: true")) {
		p.setup += "\t" + todoLine("no controller is set up: do that here as in %s", keptMain) + "\n"
	}
	for _, part := range []struct{ marker, lines string }{{"scheme", schemes}, {"builder", p.setup}} {
		if marker := "// +kubebuilder:scaffold:" + part.marker; f.InsertAbove(marker, part.lines) != nil {
			return noAnchor(marker)
		}
	}
	text, err := f.Apply()
	if err != nil {
		return err
	}
	rewrite := relayout.Rewrite{Packages: m.packages(), Aliases: map[string]string{path.Join(m.module, "internal/controller"): "controller"}}
	if text, err = rewrite.Go(newMain, text); err != nil {
		return err
	}
	if text, err = transform(newMain, text, slices.Concat(commonPasses(nil), []pass{m.compat})...); err != nil {
		return err
	}
	formatted, err := format.Source(text)
	if err != nil {
		return fmt.Errorf("%s: the migrated text is not Go: %w", newMain, err)
	}
	m.put(newMain, formatted)
	m.mainFiles(p)
	return nil
}

// elect makes the lease of the old main program the default of the new one's
// flag: two leaders must not work at once while one follows the other.
func (p *oldProgram) elect() error {
	if p.election == "" {
		return nil
	}
	const name = "leader-election-id"
	for call := range goedit.Each[*ast.CallExpr](p.target.Tree) {
		for i, arg := range call.Args[:max(0, len(call.Args)-1)] {
			if p.target.Text(arg) == strconv.Quote(name) {
				p.target.Replace(call.Args[i+1], p.election)
				return nil
			}
		}
	}
	return noAnchor("the flag " + name)
}

// noAnchor is the error of a scaffold that lacks a place which migrate fills.
func noAnchor(what string) error {
	return clierr.Failedf("report this as a bug: the scaffold and 'mysdk migrate' do not match", "the scaffold has no %s", what)
}
