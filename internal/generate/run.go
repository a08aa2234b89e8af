package generate

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/example/mysdk/internal/clierr"
)

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
func (r renderer) runAll(ctx context.Context, l *loaded) (map[string][]byte, error) {
	checker := &loader.TypeChecker{NodeFilters: r.filters()}
	collector := &markers.Collector{Registry: r.registry.Registry}
	files := map[string][]byte{}
	for _, j := range r.jobs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out := &output{tree: r.tree, dir: j.config, code: j.code, files: map[string][]byte{}}
		g := &genall.GenerationContext{Collector: collector, OutputRule: out, InputRule: r.tree}
		for _, p := range j.packages(r.src) {
			g.Roots = append(g.Roots, l.byPath[p.importPath])
		}
		if j.needsTypes() {
			g.Checker = checker
		}
		if err := j.run(g, r.env); err != nil {
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
