package upgrade

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/example/mysdk/internal/controllernames"
	"github.com/example/mysdk/internal/oldruntime"
	"github.com/example/mysdk/internal/rewrite/goedit"
	"github.com/example/mysdk/internal/rewrite/merge3"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// The versions that have ended something which scaffolds wrote: of
// controller-runtime, but for the last.
const (
	// The manager has options of its webhook server, metrics server and cache
	// no longer among its own.
	groupedOptions = "v0.16.0"
	// Two controllers of one name do not start.
	uniqueNames = "v0.19.0"
	// A type is no longer its own webhook.
	separateWebhooks = "v0.20.0"
	// The webhook builder takes the object when it is made, and calls
	// validators of any object custom.
	genericWebhooks = "v0.23.0"
	// The version of the language from which on go vet, also as go test runs it,
	// refuses a format that is made at run time and has no arguments. 'go vet
	// -fix' gives it one.
	constantFormats = "v1.24.0"
)

const (
	webhookPath   = runtimePath + "/pkg/webhook"
	admissionPath = runtimePath + "/pkg/webhook/admission"
	runtimePath   = "sigs.k8s.io/controller-runtime"
)

// calls rewrites calls in the user's code that would not compile any more, or
// no longer do what they did, where go.mod goes to a newer controller-runtime.
func (p *planner) calls() error {
	old, err := p.lf().ReadFile(p.path("go.mod"))
	if err != nil {
		return nil //nolint:nilerr // without go.mod nothing of it changes
	}
	mod := p.read("go.mod")
	was, is := v4.RuntimeVersion(old), v4.RuntimeVersion(mod)
	crosses := func(v string) bool { return was != "" && semver.Compare(was, v) < 0 && semver.Compare(is, v) >= 0 }
	w := &rewriter{
		code:    code{module: modfile.ModulePath(mod), packages: map[string]*goPackage{}},
		options: crosses(groupedOptions), names: crosses(uniqueNames), builders: crosses(genericWebhooks), own: crosses(separateWebhooks),
	}
	p.plan.Formats = semver.Compare(language(old), constantFormats) < 0 && semver.Compare(language(mod), constantFormats) >= 0
	if !w.options && !w.names && !w.builders && !w.own {
		return nil
	}
	err = p.tree.EachGo(func(name string, src []byte) error {
		if !w.add(name, src) && bytes.Contains(src, []byte("WebhookManagedBy(")) {
			w.notes = append(w.notes, note{name, 1, "cannot be parsed, so its webhooks stay as they are"})
		}
		return nil
	})
	if err != nil {
		return err
	}
	w.rewrite()
	for _, s := range w.sources {
		out := merge3.Tidy(s.Name, s.Src, w.result(s))
		if bytes.Equal(out, s.Src) {
			continue
		}
		p.repaired(s.Name)
		if err := p.tree.Write(s.Name, out); err != nil {
			return err
		}
	}
	p.plan.Notes = append(p.plan.Notes, w.said()...)
	return nil
}

// repaired notes that calls in a file were rewritten. One that was to stay as
// it is for another reason does so but for them.
func (p *planner) repaired(name string) {
	const detail = "calls that would not compile or start any more"
	i := slices.IndexFunc(p.plan.Files, func(f File) bool { return f.Path == name })
	switch {
	case i < 0:
		p.note(name, Merged, detail)
	case p.plan.Files[i].Action == Kept:
		f := &p.plan.Files[i]
		f.Action, f.Detail = Merged, detail+"; otherwise kept: "+f.Detail
	}
}

func language(mod []byte) string {
	m, err := modfile.ParseLax("go.mod", mod, nil)
	if err != nil || m.Go == nil {
		return ""
	}
	return "v" + m.Go.Version
}

// rewriter brings the user's code to a newer controller-runtime.
type rewriter struct {
	code
	options  bool // of the manager are in their old place
	names    bool // of controllers may be the same so far
	builders bool // of webhooks are in their old form
	own      bool // types may be their own webhooks so far
	adapters map[adapterKey]string
	notes    []note
}

// note is something that is left to the user.
type note struct {
	file string
	line int
	text string
}

func (w *rewriter) note(s *goedit.File, at ast.Node, text string) {
	w.notes = append(w.notes, note{s.Name, s.Line(at.Pos()), text})
}

func (w *rewriter) rewrite() {
	w.adapters = map[adapterKey]string{}
	if w.names {
		var controllers []controllernames.Builder
		for _, s := range w.sources {
			controllers = append(controllers, controllernames.Find(s)...)
		}
		names := controllernames.Choose(controllers)
		for _, s := range w.sources {
			names.Apply(s)
		}
	}
	for _, s := range w.sources {
		note := func(at ast.Node, text string) { w.note(s, at, text) }
		if w.options {
			oldruntime.ManagerOptions(s, note)
		}
		if w.builders {
			oldruntime.WebhookBuilders(s, note, func(c oldruntime.Chain, object ast.Expr) []string { return w.registered(s, c, object) })
		}
		if w.own {
			w.interfaces(s)
		}
	}
	w.writeAdapters()
}

// result is what a file has become: Go in any case, or else as it was, with a
// note.
func (w *rewriter) result(s *goedit.File) []byte {
	line := s.FirstLine()
	out, err := s.Result()
	_, broken := goedit.Parse(s.Name, out)
	if err != nil || broken != nil {
		w.notes = append(w.notes, note{s.Name, line, "what is here for an older controller-runtime could not be rewritten, and the file stays as it is: see its release notes"})
		return s.Src
	}
	for _, line := range s.Skipped {
		w.notes = append(w.notes, note{s.Name, line, "this is within something that was rewritten, and is as it was: see whether it compiles with today's controller-runtime"})
	}
	return out
}

// said are the notes, by place.
func (w *rewriter) said() []string {
	slices.SortFunc(w.notes, func(a, b note) int { return cmp.Or(strings.Compare(a.file, b.file), a.line-b.line) })
	var out []string
	for _, n := range w.notes {
		out = append(out, fmt.Sprintf("%s:%d: %s", n.file, n.line, n.text))
	}
	return slices.Compact(out)
}
