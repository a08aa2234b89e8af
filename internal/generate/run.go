package generate

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/applyconfiguration"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/example/mysdk/internal/clierr"
)

// step is one generator with its input and output.
type step struct {
	name      string
	generator genall.Generator
	roots     []*loader.Package
	out       *output
}

// steps are the generators that o selects, each with the packages among its
// paths.
func steps(o Options, t *tree, src *sources, l *loaded) []step {
	var out []step
	for _, j := range o.jobs {
		s := step{name: j.name, generator: j.generator, out: &output{tree: t, dir: j.config, code: j.code, files: map[string][]byte{}}}
		packages := j.find(src.packages)
		if j.needsTypes() {
			packages = typed(packages)
		}
		for _, p := range packages {
			s.roots = append(s.roots, l.byPath[p.importPath])
		}
		if g, ok := s.generator.(applyconfiguration.Generator); ok {
			s.generator, s.out.dir = applyStep{generator: g, tree: t, year: o.Year}, "."
		}
		out = append(out, s)
	}
	return out
}

// filters say which references between types the generators follow.
func filters(all []step) []loader.NodeFilter {
	var out []loader.NodeFilter
	for _, s := range all {
		if g, ok := s.generator.(genall.NeedsTypeChecking); ok {
			out = append(out, g.CheckFilter())
		}
	}
	return out
}

// runAll runs the generators on shared packages, markers and types, and
// returns all their outputs by name. Errors in the sources stay with the
// packages, see packageProblems.
func runAll(ctx context.Context, all []step, t *tree, r *registry, env goEnv) (map[string][]byte, error) {
	checker := &loader.TypeChecker{NodeFilters: filters(all)}
	collector := &markers.Collector{Registry: r.Registry}
	files := map[string][]byte{}
	for _, s := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		g := &genall.GenerationContext{Collector: collector, Roots: s.roots, OutputRule: s.out, InputRule: t}
		if _, ok := s.generator.(genall.NeedsTypeChecking); ok {
			g.Checker = checker
		}
		if err := s.run(g, env); err != nil {
			return nil, err
		}
		for name, data := range s.out.files {
			if s.name == crdName {
				data = attribute(data)
			}
			files[name] = data
		}
	}
	return files, nil
}

// run calls the generator.
func (s step) run(g *genall.GenerationContext, env goEnv) (err error) {
	defer recoverAs(&err, s.name, env)
	if err := s.generator.Generate(g); err != nil {
		return fmt.Errorf("generate %s: %w", s.name, err)
	}
	if c, ok := s.generator.(crd.Generator); ok {
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
