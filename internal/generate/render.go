// Package generate renders what controller-gen generates: deepcopy code, CRDs,
// RBAC roles and webhook configurations, from Go types and the markers above
// them. It knows controller-tools and the places where kubebuilder projects
// keep the outputs. It writes nothing into the project, prints nothing, and
// knows neither the PROJECT file nor a cluster.
package generate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/mainpkg"
	"github.com/example/mysdk/internal/oldapi"
)

// Render renders the outputs that opts select and returns those that differ
// from what the project has, byte for byte what controller-gen of
// ControllerToolsVersion writes. An error in the sources is a *SourceError
// with all of them; nothing is rendered then.
func Render(ctx context.Context, opts Options) (Result, error) {
	w, err := open(ctx, opts)
	if err != nil {
		return Result{}, err
	}
	c := newCache(w)
	inputs, err := c.inputs()
	if err != nil {
		return Result{}, err
	}
	res := Result{Inputs: inputs}
	last, ok := c.lookup(inputs)
	found := last.Found
	if res.Unchanged = ok && !(found.Unjudged && w.canJudge(ctx)); res.Unchanged {
		res.Outputs = slices.Sorted(maps.Keys(last.Outputs))
	} else {
		var files map[string][]byte
		if files, found, err = w.render(ctx, c.judged()); err != nil {
			return Result{}, err
		}
		// Inputs that changed meanwhile were perhaps seen half old, half new.
		if after, err := c.inputs(); err != nil || after != inputs {
			res.Inputs = ""
		}
		c.store(res.Inputs, files, found)
		res.Outputs = slices.Sorted(maps.Keys(files))
		if res.Set, err = w.changed(files); err != nil {
			return Result{}, err
		}
	}
	res.Applied, res.Warnings = found.Apply, w.warnings(found)
	stale, crds, err := w.staleOutputs(res.Outputs, res.Warnings)
	if err != nil {
		return Result{}, err
	}
	res.Stale, res.Warnings = crds, append(res.Warnings, stale...)
	return res, nil
}

// findings are what a run finds in the sources besides its outputs.
type findings struct {
	Warnings []string `json:"warnings,omitempty"` // about markers
	// Useless are warnings about markers that ask for apply configurations.
	// They are apart because they are only for runs that make such, which the
	// record of another run may serve.
	Useless []string `json:"useless,omitempty"`
	Apply   bool     `json:"apply,omitempty"` // packages ask for apply configurations
	// Judged is set where the API server would take all CRDs, and Unjudged where that is not known.
	Judged   bool `json:"judged,omitempty"`
	Unjudged bool `json:"unjudged,omitempty"`
}

// warnings are those of the findings that go with the selection of outputs.
func (o Options) warnings(f findings) []string {
	if !o.ApplyConfigurations {
		return f.Warnings
	}
	return append(slices.Clip(f.Warnings), f.Useless...)
}

// render renders everything that o selects, changed or not. CRDs that have the
// hashes in judged are known to be right.
func (w workspace) render(ctx context.Context, judged map[string]string) (
	files map[string][]byte, found findings, err error,
) {
	if w, err = w.withSources(); err != nil {
		return nil, found, err
	}
	if len(w.src.problems) > 0 {
		return nil, found, w.sourceError(w.src.problems, correctCode)
	}
	if found.Warnings, err = w.checkAll(); err != nil {
		return nil, found, err
	}
	found.Apply, found.Useless = w.asksForApply()
	if w.ApplyConfigurations && found.Apply {
		if err := w.canApply(); err != nil {
			return nil, found, err
		}
	} else {
		w.jobs = slices.DeleteFunc(slices.Clone(w.jobs), func(j job) bool { return j.name == applyName })
	}
	l, err := w.loadTyped(ctx)
	if err != nil {
		return nil, found, err
	}
	files, err = w.runAll(ctx, l)
	if problems := w.packageProblems(l); len(problems) > 0 {
		err = w.sourceError(problems, correctCode)
	}
	if err != nil {
		return nil, found, err
	}
	refused, err := w.inspect(ctx, files, judged, &found)
	found.Warnings = append(found.Warnings, refused...)
	return files, found, err
}

// loadTyped loads and type-checks what the generators need.
func (w workspace) loadTyped(ctx context.Context) (*loaded, error) {
	l, err := w.load(ctx)
	if err != nil {
		return nil, err
	}
	if found := w.packageProblems(l); len(found) > 0 {
		said := (&SourceError{problems: found}).Error()
		return nil, w.sourceError(found, cmp.Or(mainpkg.Hint(said), "run 'go mod tidy'")+", then run the command again")
	}
	return l, checkTypes(prefetch(w.src, l.typed, w.filters()), w.env)
}

// Hints at what to do about errors in the sources.
const (
	correctCode    = "correct the Go code and run the command again"
	correctMarkers = "correct the markers; 'mysdk generate --lax' only warns about them"
)

// checkAll checks the markers of all files and returns what is only a warning.
func (w workspace) checkAll() ([]string, error) {
	var wrong, useless []problem
	for _, p := range w.src.packages {
		tolerates, err := w.tolerance(p)
		if err != nil {
			return nil, err
		}
		for _, f := range p.files {
			bad, idle := w.checkMarkers(f, tolerates)
			wrong, useless = append(wrong, bad...), append(useless, idle...)
		}
	}
	if len(wrong) > 0 {
		return nil, w.sourceError(wrong, correctMarkers)
	}
	return lines(useless), nil
}

// tolerance says which mistakes in markers of a package are only warned of.
func (o Options) tolerance(p *sourcePackage) (func(m marker, unknown bool) bool, error) {
	if o.Lax || !o.Foreign {
		return func(marker, bool) bool { return o.Lax }, nil
	}
	read := &markers.Registry{} // by the generators that look at the package
	for _, j := range o.jobs {
		if j.covers(p.dir) {
			if err := j.generator.RegisterMarkers(read); err != nil {
				return nil, fmt.Errorf("generate: register markers: %w", err)
			}
		}
	}
	return func(m marker, unknown bool) bool {
		return unknown || !m.place.known || read.Lookup(m.text, m.place.target) == nil
	}, nil
}

// sourceError makes one error of the findings. Where one of them lies outside
// the project and its Go is newer than mysdk's, that is the likely cause.
func (w workspace) sourceError(found []problem, hint string) error {
	outside := slices.ContainsFunc(found, func(p problem) bool { return filepath.IsAbs(p.file) })
	if outside && w.env.newer() {
		hint = fmt.Sprintf("the project uses %s, which is newer than this mysdk knows; build mysdk with that Go",
			w.env.GOVERSION)
	}
	err := &SourceError{problems: tidy(found)}
	return &clierr.Error{Err: err, Hint: cmp.Or(oldapi.Hint(err.Error()), hint)}
}

// changed are the outputs that the project does not have already.
func (w workspace) changed(files map[string][]byte) (set fileset.Set, err error) {
	for name, data := range files {
		if old, err := w.read(name); err == nil && bytes.Equal(old, data) {
			continue
		}
		if err := set.Put(name, fileset.File{Data: data}); err != nil {
			return set, fmt.Errorf("generate: %w", err)
		}
	}
	return set, nil
}

// filters say which references between types the generators follow.
func (o Options) filters() []loader.NodeFilter {
	var out []loader.NodeFilter
	for _, j := range o.jobs {
		if g, ok := j.generator.(genall.NeedsTypeChecking); ok {
			out = append(out, g.CheckFilter())
		}
	}
	return out
}

// runAll runs the generators on shared packages, markers and types, and
// returns all their outputs by name. Errors in the sources stay with the
// packages, see packageProblems.
func (w workspace) runAll(ctx context.Context, l *loaded) (map[string][]byte, error) {
	checker := &loader.TypeChecker{NodeFilters: w.filters()}
	collector := &markers.Collector{Registry: w.registry.Registry}
	files := map[string][]byte{}
	for _, j := range w.jobs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out := &output{tree: w.tree, dir: j.config, code: j.code, files: map[string][]byte{}}
		g := &genall.GenerationContext{Collector: collector, OutputRule: out, InputRule: w.tree}
		for _, p := range j.packages(w.src) {
			g.Roots = append(g.Roots, l.byPath[p.importPath])
		}
		if j.needsTypes() {
			g.Checker = checker
		}
		if err := j.run(g, w.env); err != nil {
			return nil, err
		}
		for name, data := range out.files {
			if j.name == crdName {
				data = attribute(data)
			}
			files[name] = data
		}
	}
	return files, nil
}

func (j job) run(g *genall.GenerationContext, env goEnv) (err error) {
	defer recoverAs(&err, j.name, env)
	if err := j.generator.Generate(g); err != nil {
		return fmt.Errorf("generate %s: %w", j.name, err)
	}
	if c, ok := j.generator.(crd.Generator); ok {
		recheckConflicts(c, g)
	}
	return nil
}

// recoverAs must be deferred. It turns a panic, as seen with a Go newer than
// the generators know, into an error that says where and with which versions.
func recoverAs(err *error, what string, env goEnv) {
	if p := recover(); p != nil {
		*err = clierr.Failedf("build mysdk with the Go that the project uses, or report the types that cause this",
			"generate %s: panic at %s: %v (mysdk is built with %s, the project uses %s)",
			what, panicSite(), p, runtime.Version(), env.GOVERSION)
	}
}

// panicSite is the innermost line of controller-tools on the stack of a panic
// that is being recovered.
func panicSite() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		f, more := frames.Next()
		if strings.Contains(f.Function, "controller-tools/") {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
		if !more {
			return "an unknown line"
		}
	}
}
