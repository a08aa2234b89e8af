// Package generate renders what controller-gen generates: deepcopy code, CRDs,
// RBAC roles and webhook configurations, from Go types and the markers above
// them. It knows controller-tools and the places where kubebuilder projects
// keep the outputs. It writes nothing into the project, prints nothing, and
// knows neither the PROJECT file nor a cluster.
package generate

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
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
	if r, ok := c.lookup(before); ok {
		stale, err := staleOutputs(o, t, slices.Sorted(maps.Keys(r.Outputs)))
		return Result{Unchanged: true, Warnings: append(o.warnings(r.findings), stale...), Inputs: before, Applied: r.Apply}, err
	}
	files, found, err := render(ctx, o, t, env)
	if err != nil {
		return Result{}, err
	}
	// Inputs that changed meanwhile were perhaps seen half old, half new.
	if after, err := c.inputs(); err != nil || after != before {
		before = ""
	}
	c.store(before, files, found)
	names := slices.Sorted(maps.Keys(files))
	stale, err := staleOutputs(o, t, names)
	if err != nil {
		return Result{}, err
	}
	res := Result{Warnings: append(o.warnings(found), stale...), Inputs: before, Applied: found.Apply}
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
}

// warnings are those of the findings that go with the selection of outputs.
func (o Options) warnings(f findings) []string {
	if !o.ApplyConfigurations {
		return f.Warnings
	}
	return append(slices.Clip(f.Warnings), f.Useless...)
}

// render renders everything that o selects, changed or not.
func render(ctx context.Context, o Options, t *tree, env goEnv) (files map[string][]byte, found findings, err error) {
	src, err := discover(t, env, o.Paths)
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
	if found.Warnings, err = checkAll(t, src, r, o.Lax, env); err != nil {
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
	}
	files, err = generateFrom(ctx, o, t, src, r, env)
	return files, found, err
}

// generateFrom runs the generators on sources whose markers are right.
func generateFrom(ctx context.Context, o Options, t *tree, src *sources, r *registry, env goEnv) (map[string][]byte, error) {
	var need []*sourcePackage
	if o.Deepcopy || o.CRDs || o.ApplyConfigurations {
		need = typed(src.packages)
	}
	l, err := load(ctx, t, src, o.Host.Environ(), need)
	if err != nil {
		return nil, err
	}
	if found := packageProblems(t, src, l); len(found) > 0 {
		return nil, sourceError(found, env, "run 'go mod tidy', then 'mysdk generate' again")
	}
	all := steps(o, t, l)
	if err := checkTypes(prefetch(src, l.typed, filters(all)), env); err != nil {
		return nil, err
	}
	files, runErr := runAll(ctx, all, t, r, env)
	if found := packageProblems(t, src, l); len(found) > 0 {
		return nil, sourceError(found, env, "correct the Go code and run the command again")
	}
	return files, runErr
}

// checkAll checks the markers of all files and returns what is only a warning.
func checkAll(t *tree, src *sources, r *registry, lax bool, env goEnv) ([]string, error) {
	var wrong, useless []problem
	for _, p := range src.packages {
		for _, f := range p.files {
			w, u := checkMarkers(t, src, f, r, lax)
			wrong, useless = append(wrong, w...), append(useless, u...)
		}
	}
	if len(wrong) > 0 && !lax {
		return nil, sourceError(wrong, env, "correct the markers, or pass --lax to be only warned about them")
	}
	var warnings []string
	for _, p := range tidy(append(wrong, useless...)) {
		warnings = append(warnings, p.String())
	}
	return warnings, nil
}

// sourceError makes one error of the findings. Where one of them lies outside
// the project and its Go is newer than mysdk's, that is the likely cause.
func sourceError(found []problem, env goEnv, hint string) error {
	outside := slices.ContainsFunc(found, func(p problem) bool { return filepath.IsAbs(p.file) })
	if outside && env.newer() {
		hint = fmt.Sprintf("the project uses %s, which is newer than this mysdk knows; build mysdk with that Go", env.GOVERSION)
	}
	return &clierr.Error{Err: &SourceError{problems: tidy(found)}, Hint: hint}
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
