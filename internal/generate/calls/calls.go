// Package calls finds how a project calls controller-gen: in its Makefile, in
// //go:generate lines and in shell scripts. It reads them and runs nothing; a
// call that depends on what a command prints is named and left out.
package calls

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/relayout"
)

// Found is what there is in a project.
type Found struct {
	Calls []generate.Call
	// Notes say what of the calls is left out, and calls that cannot be used,
	// each with its place; Unusable counts the latter.
	Notes    []string
	Unusable int
	// Edited says that commands follow the calls which mysdk does not run: the
	// files that it generates may not be the project's.
	Edited bool
	edits  []string // those of the notes that are about it
}

type finder struct {
	root  string // absolute
	tree  *relayout.Tree
	make  *makefile
	found Found
	ours  string          // place of a command that has mysdk generate what controller-gen would; empty for none
	steps steps           // of the recipe or script that is read
	done  map[string]bool // scripts and targets that were read; goGenerate
}

// goGenerate stands for all //go:generate lines among what was read.
const goGenerate = "go generate"

// Find reads the project in dir, an absolute path. Of the Makefile only what
// the targets manifests and generate do counts, if controller-gen is called
// there. Where it is called nowhere in the Makefile, //go:generate lines count,
// and then the scripts in hack.
func Find(files host.Files, dir string) (Found, error) {
	f := &finder{root: dir, tree: relayout.NewTree(files, dir), done: map[string]bool{}}
	if err := f.readMakefile(); err != nil {
		return Found{}, err
	}
	usual := func() error { return f.targets("manifests", "generate") }
	all := func() error { return f.targets(f.make.order...) }
	for _, search := range []func() error{usual, all, f.directives, f.scripts} {
		if err := search(); err != nil {
			return Found{}, err
		}
		if f.ours != "" {
			f.rest()
			return f.found, nil
		}
		if len(f.found.Calls) > 0 || f.found.Unusable > 0 {
			break
		}
	}
	return f.found, nil
}

// rest adds what mysdk generates by default beside the calls. Without any, it generates all.
func (f *finder) rest() {
	if len(f.found.Calls) == 0 {
		f.found = Found{}
	}
	o := generate.Options{Dir: f.root, Calls: f.found.Calls}
	o.Complete()
	for i := len(f.found.Calls); i < len(o.Calls); i++ {
		o.Calls[i].From = f.ours
	}
	f.found.Calls = o.Calls
}

// targets reads the recipes of the targets and of what they depend on.
func (f *finder) targets(names ...string) error {
	for _, name := range names {
		if f.done["target "+name] {
			continue
		}
		f.done["target "+name] = true
		if err := f.target(name); err != nil {
			return err
		}
	}
	return nil
}

// target does so for one, whose variables count for what it depends on, too.
func (f *finder) target(name string) error {
	for _, own := range f.make.own[name] {
		defer f.make.keep(own[1])()
		f.make.assign(own[1], own[2], own[3])
	}
	for _, r := range f.make.rules[name] {
		if err := f.targets(r.needs...); err != nil {
			return err
		}
		if err := f.recipe(name, r.recipe); err != nil {
			return err
		}
	}
	return nil
}

// recipe reads the lines of one, each of which a shell of its own runs.
func (f *finder) recipe(target string, lines []line) error {
	defer f.follow()()
	for _, l := range lines {
		for text := range strings.Lines(f.make.expand(l.text, target)) {
			if err := f.shell(".", l.at).run(text); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *finder) directives() error {
	if f.done[goGenerate] || !f.isModule() {
		return nil
	}
	f.done[goGenerate] = true
	return f.tree.EachGo(func(name string, src []byte) error {
		n := 0
		for line := range strings.Lines(string(src)) {
			n++
			text, ok := strings.CutPrefix(line, "//go:generate ")
			if !ok {
				continue
			}
			s := f.shell(path.Dir(name), fmt.Sprintf("%s:%d", name, n))
			s.vars["GOFILE"] = path.Base(name)
			if err := s.run(strings.TrimSpace(text)); err != nil {
				return err
			}
		}
		return nil
	})
}

// scripts reads those in hack.
func (f *finder) scripts() error {
	if !f.isModule() {
		return nil
	}
	names, err := f.tree.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if path.Dir(name) == "hack" && path.Ext(name) == ".sh" {
			if err := f.script(name, ".", nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// isModule keeps from walking directories that are no project.
func (f *finder) isModule() bool {
	_, there, err := f.tree.Read("go.mod")
	return there && err == nil
}

// script reads a shell script that is run in dir with the arguments.
func (f *finder) script(name, dir string, args []string) error {
	names, err := f.tree.Names()
	if err != nil || f.done[name] || !slices.Contains(names, name) {
		return err
	}
	data, _, err := f.tree.Read(name)
	if err != nil {
		return err
	}
	f.done[name] = true
	defer f.follow()()
	s := f.shell(dir, "")
	s.file = name
	s.vars["0"], s.vars["BASH_SOURCE"] = name, name
	for i, arg := range args {
		s.vars[strconv.Itoa(i+1)] = arg
	}
	if dir != "." {
		s.vars["0"] = path.Join(f.root, name)
		s.vars["BASH_SOURCE"] = s.vars["0"]
	}
	return s.run(string(data))
}

// program is the name that controller-gen's binary is called by.
var program = lazy.Delayed(`^controller-gen([-@_]?v?[0-9][^/]*)?(\.exe)?$`)

// steps report what a recipe or script does with generated files afterwards, which
// mysdk does not do.
type steps struct {
	called bool
	after  []string // commands, each with its place
}

// follow begins the steps of a recipe or script, and returns what ends them.
func (f *finder) follow() func() {
	outer := f.steps
	f.steps = steps{}
	return func() {
		if after := f.steps.after; len(after) > 0 {
			note := after[0]
			if n := len(after) - 1; n > 0 {
				note += fmt.Sprintf(" (and %d more)", n)
			}
			f.found.Notes, f.found.edits = append(f.found.Notes, note), append(f.found.edits, note)
			f.found.Edited = true
		}
		outer.called = outer.called || f.steps.called
		f.steps = outer
	}
}

// harmless are commands that change no generated file.
var harmless = lazy.Delayed(`^(\[|:|cd|cp|date|echo|exit|export|false|g?make|git|gofmt|goimports|grep|jq|local|ls|mkdir|mysdk|popd|printf|pushd|return|set|shift|test|true|unset)$`)

// command takes in the words of a command that runs in dir.
func (f *finder) command(words []string, dir, at string) error {
	calls := len(f.found.Calls)
	if err := f.interpret(words, dir, at); err != nil {
		return err
	}
	changes := !harmless.MatchString(path.Base(words[0])) && (words[0] != "go" || slices.Contains(words, "run"))
	if f.steps.called && len(f.found.Calls) == calls && changes && !slices.ContainsFunc(words, isProgram) {
		text := strings.ReplaceAll(f.make.show(strings.Join(words, " ")), f.root+"/", "")
		f.steps.after = append(f.steps.after, fmt.Sprintf("%s: mysdk does not run what follows controller-gen: %s", at, text))
	}
	return nil
}

// isProgram reports whether a word of a command names controller-gen's binary.
func isProgram(word string) bool { return program.MatchString(path.Base(word)) }

// interpret looks for calls in a command.
func (f *finder) interpret(words []string, dir, at string) error {
	i := slices.IndexFunc(words, isProgram)
	if i < 0 {
		i = wrapped(words)
	}
	if i >= 0 {
		if args := words[i+1:]; slices.ContainsFunc(args, generate.IsGenerator) {
			f.add(generate.Call{Dir: dir, Args: args, From: at})
		}
		return nil
	}
	base := path.Base(words[0])
	switch {
	case base == "mysdk" && len(words) > 1 && words[1] == "generate":
		if !slices.ContainsFunc(words[2:], elsewhere) && !slices.Equal(words[2:], []string{"openapi"}) {
			f.ours = cmp.Or(f.ours, at)
		}
	case base == "go" && len(words) > 1 && words[1] == "generate":
		return f.directives()
	case base == "make" || base == "gmake":
		return f.targets(slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return strings.ContainsAny(w, "-=") && f.make.rules[w] == nil })...)
	case (base == "bash" || base == "sh" || base == "source" || base == ".") && len(words) > 1:
		words = words[1:]
		fallthrough
	case path.Ext(base) == ".sh":
		if name, ok := f.below(dir, words[0]); ok {
			return f.script(name, dir, words[1:])
		}
	}
	return nil
}

// elsewhere reports whether an argument of mysdk generate makes it leave alone what
// controller-gen writes.
func elsewhere(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return slices.Contains([]string{"docs", "chart", "bundle", "kustomize", "--check", "--check-compat", "--dry-run", "--lint"}, name)
}

// wrapped is the last word before arguments that only controller-gen takes, in a
// command by which it is called under another name, or mysdk with them; -1 for none.
func wrapped(words []string) int {
	paths := func(w string) bool { return strings.HasPrefix(w, "paths=") }
	if i := slices.Index(words, "--"); i > 1 && path.Base(words[0]) == "mysdk" && words[1] == "generate" && i+1 < len(words) {
		return i
	}
	if slices.Contains([]string{"mysdk", "echo", "printf"}, path.Base(words[0])) || !slices.ContainsFunc(words, paths) {
		return -1
	}
	return slices.IndexFunc(words[1:], func(w string) bool { return generate.IsGenerator(w) || paths(w) || strings.HasPrefix(w, "output:") })
}

// below is a file named in dir, relative to the root.
func (f *finder) below(dir, name string) (string, bool) {
	if path.IsAbs(name) {
		rel, ok := strings.CutPrefix(path.Clean(name), f.root+"/")
		return rel, ok
	}
	name = path.Join(dir, name)
	return name, !strings.HasPrefix(name, "../")
}

// add takes a call that can be used.
func (f *finder) add(c generate.Call) {
	if c.Dir == "." {
		c.Dir = ""
	}
	c.Args = f.relative(c)
	if i := slices.IndexFunc(c.Args, isUnknown); i >= 0 {
		f.unusable(c.From, "%s: its value is known only when the command runs", f.make.show(c.Args[i]))
		return
	}
	c, left := c.Adapt()
	for _, arg := range left {
		f.found.Notes = append(f.found.Notes, fmt.Sprintf("%s: %s is left out: controller-tools %s does not have it", c.From, arg, generate.ControllerToolsVersion))
	}
	if err := c.Check(f.root); err != nil {
		f.unusable(c.From, "%s", err)
		return
	}
	same := func(other generate.Call) bool { return other.Dir == c.Dir && slices.Equal(other.Args, c.Args) }
	f.steps.called = true
	if !slices.ContainsFunc(f.found.Calls, same) {
		f.found.Calls = append(f.found.Calls, c)
	}
}

// relative are the arguments of a call with names below the root relative to
// where it runs, so that they mean the same on other machines.
func (f *finder) relative(c generate.Call) []string {
	up := "./"
	if c.Dir != "" {
		up = strings.Repeat("../", strings.Count(c.Dir, "/")+1)
	}
	var out []string
	for _, arg := range c.Args {
		arg = strings.ReplaceAll(arg, f.root+"/", up)
		if rest, ok := strings.CutSuffix(arg, "="+f.root); ok {
			arg = rest + "=" + up
		}
		out = append(out, arg)
	}
	return out
}

func (f *finder) unusable(at, format string, args ...any) {
	f.found.Notes = append(f.found.Notes, fmt.Sprintf("%s: this call of controller-gen is ignored: %s", at, fmt.Sprintf(format, args...)))
	f.found.Unusable++
}
