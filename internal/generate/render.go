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
	"slices"

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
	t := newTree(opts.Dir, opts.Overlay)
	o, err := opts.withDefaults(t)
	if err != nil {
		return Result{}, err
	}
	env, err := readGoEnv(ctx, o.Host, o.Dir)
	if err != nil {
		return Result{}, err
	}
	c := newCache(o, t, env)
	before, err := c.inputs()
	if err != nil {
		return Result{}, err
	}
	if r, ok := c.lookup(before); ok && !(r.Found.Unjudged && o.canJudge(ctx)) {
		names, warnings := slices.Sorted(maps.Keys(r.Outputs)), o.warnings(r.Found)
		stale, crds, err := staleOutputs(o, t, names, warnings)
		return Result{Unchanged: true, Outputs: names, Stale: crds, Warnings: append(warnings, stale...), Inputs: before, Applied: r.Found.Apply}, err
	}
	files, found, err := render(ctx, o, t, env, c.judged())
	if err != nil {
		return Result{}, err
	}
	// Inputs that changed meanwhile were perhaps seen half old, half new.
	if after, err := c.inputs(); err != nil || after != before {
		before = ""
	}
	c.store(before, files, found)
	names, warnings := slices.Sorted(maps.Keys(files)), o.warnings(found)
	stale, crds, err := staleOutputs(o, t, names, warnings)
	if err != nil {
		return Result{}, err
	}
	res := Result{Outputs: names, Stale: crds, Warnings: append(warnings, stale...), Inputs: before, Applied: found.Apply}
	for _, name := range names {
		if err := putChanged(&res, t, name, files[name]); err != nil {
			return Result{}, err
		}
	}
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
	// Judged is set where the API server would take all CRDs, and Unjudged where
	// that is not known.
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
func render(ctx context.Context, o Options, t *tree, env goEnv, judged map[string]string) (files map[string][]byte, found findings, err error) {
	src, err := discover(t, env, o.paths())
	if err != nil {
		return nil, found, err
	}
	if len(src.problems) > 0 {
		return nil, found, sourceError(src.problems, env, "correct the Go code and run the command again")
	}
	r, err := newRegistry()
	if err != nil {
		return nil, found, err
	}
	if found.Warnings, err = checkAll(t, src, r, o, env); err != nil {
		return nil, found, err
	}
	apply, useless := asksForApply(t, src)
	found.Apply = apply
	for _, p := range useless {
		found.Useless = append(found.Useless, p.String())
	}
	if o.ApplyConfigurations = o.ApplyConfigurations && apply; o.ApplyConfigurations {
		if err := canApply(o); err != nil {
			return nil, found, err
		}
	} else {
		o.jobs = slices.DeleteFunc(slices.Clone(o.jobs), func(j job) bool { return j.name == applyName })
	}
	files, err = generateFrom(ctx, o, t, src, r, env)
	if err != nil {
		return nil, found, err
	}
	refused, err := inspection{Options: o, tree: t, src: src, registry: r, env: env}.inspect(ctx, files, judged, &found)
	found.Warnings = append(found.Warnings, refused...)
	return files, found, err
}

// generateFrom runs the generators on sources whose markers are right.
func generateFrom(ctx context.Context, o Options, t *tree, src *sources, r *registry, env goEnv) (map[string][]byte, error) {
	l, all, err := loadTyped(ctx, o, t, src, env)
	if err != nil {
		return nil, err
	}
	files, runErr := runAll(ctx, all, t, r, env)
	if found := packageProblems(t, src, l); len(found) > 0 {
		return nil, sourceError(found, env, "correct the Go code and run the command again")
	}
	return files, runErr
}

// loadTyped loads and type-checks what the generators need.
func loadTyped(ctx context.Context, o Options, t *tree, src *sources, env goEnv) (*loaded, []step, error) {
	var need []*sourcePackage
	for _, j := range o.jobs {
		if j.needsTypes() {
			need = append(need, typed(j.find(src.packages))...)
		}
	}
	l, err := load(ctx, t, src, o.Host.Environ(), unique(need))
	if err != nil {
		return nil, nil, err
	}
	if found := packageProblems(t, src, l); len(found) > 0 {
		said := (&SourceError{problems: found}).Error()
		return nil, nil, sourceError(found, env, cmp.Or(mainpkg.Hint(said), "run 'go mod tidy'")+", then run the command again")
	}
	all := steps(o, t, src, l)
	return l, all, checkTypes(prefetch(src, l.typed, filters(all)), env)
}

const correctMarkers = "correct the markers; 'mysdk generate --lax' only warns about them"

// checkAll checks the markers of all files and returns what is only a warning.
func checkAll(t *tree, src *sources, r *registry, o Options, env goEnv) ([]string, error) {
	var wrong, useless []problem
	for _, p := range src.packages {
		tolerates, err := o.tolerance(p)
		if err != nil {
			return nil, err
		}
		for _, f := range p.files {
			w, u := checkMarkers(t, src, f, r, tolerates)
			wrong, useless = append(wrong, w...), append(useless, u...)
		}
	}
	if len(wrong) > 0 {
		return nil, sourceError(wrong, env, correctMarkers)
	}
	var warnings []string
	for _, p := range tidy(useless) {
		warnings = append(warnings, p.String())
	}
	return warnings, nil
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
func sourceError(found []problem, env goEnv, hint string) error {
	outside := slices.ContainsFunc(found, func(p problem) bool { return filepath.IsAbs(p.file) })
	if outside && env.newer() {
		hint = fmt.Sprintf("the project uses %s, which is newer than this mysdk knows; build mysdk with that Go", env.GOVERSION)
	}
	err := &SourceError{problems: tidy(found)}
	return &clierr.Error{Err: err, Hint: cmp.Or(oldapi.Hint(err.Error()), hint)}
}

// putChanged adds an output to the result unless the project has it already.
func putChanged(res *Result, t *tree, name string, data []byte) error {
	old, err := t.read(name)
	if err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := res.Set.Put(name, fileset.File{Data: data}); err != nil {
		return fmt.Errorf("generate: %w", err)
	}
	return nil
}

// unique drops repeats and keeps the order.
func unique(packages []*sourcePackage) []*sourcePackage {
	seen := map[*sourcePackage]bool{}
	return slices.DeleteFunc(packages, func(p *sourcePackage) bool {
		again := seen[p]
		seen[p] = true
		return again
	})
}
