package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/compat"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/migrate"
)

const crdBases = "config/crd/bases"

// binding are the rules that count between the old CRDs and the new ones.
// Defaults, and keywords that no rule knows, come with newer types of Kubernetes
// by the dozen, and refuse nothing; neither does what is wider than before.
func binding() compat.Config {
	wider := func(rule, policy string) compat.Validation {
		return compat.Validation{Name: rule, Enforcement: "Error", Configuration: map[string]any{policy: "Allow"}}
	}
	return compat.Config{UnhandledEnforcement: "None", Validations: []compat.Validation{
		{Name: "default", Enforcement: "None"}, wider("enum", "additionPolicy"), wider("nullable", "additionPolicy"), wider("pattern", "removalPolicy"),
	}}
}

// restoring are the markers that undo a change which the rule finds: what was
// written into a CRD by hand is in the types from then on.
var restoring = map[string]string{"required": "optional", "nullable": "nullable"}

// kept compares the CRDs in the copy with those that the project was deployed
// with. Fields that could be left out, or be null, can be so again; the other
// changes are added to the plan.
func kept(ctx context.Context, f *cli.Factory, p *migrate.Plan, set *fileset.Set) error {
	switch {
	case len(p.CRDs) == 0:
		return nil
	case !cluster.Installed(f.Host):
		const text = "CRDs were not compared with the old ones, because mysdk-cluster is not built yet: run 'mysdk cluster start', then 'mysdk generate --check-compat=DIR' with a directory of the old ones"
		f.Warn(text)
		p.General = append(p.General, migrate.Note{Text: text})
		return nil
	}
	f.Progress("Comparing the CRDs with the old ones")
	opts := f.PlainOptions()
	opts.CacheDir, opts.Lax, opts.CRDs = "", true, true
	broken, err := breaking(ctx, f, opts, p)
	if err == nil && len(broken) > 0 {
		var changed bool
		if changed, err = restore(f, p, set, broken); changed {
			var r generate.Result
			if r, err = generate.Render(ctx, opts); err == nil {
				err = takeGenerated(f, set, r)
			}
			if err == nil {
				broken, err = breaking(ctx, f, opts, p)
			}
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		f.Warn("the CRDs were not compared with the old ones: %v", err)
		return nil
	}
	p.Breaks = grouped(broken)
	return nil
}

// located is a change with its place in the Go types.
type located struct {
	generate.Position
	compat.Change
}

// breaking are the changes of the CRDs that break objects or clients.
func breaking(ctx context.Context, f *cli.Factory, opts generate.Options, p *migrate.Plan) ([]located, error) {
	now, err := compat.Read(os.DirFS(f.Host.Path(crdBases)))
	switch {
	case errors.Is(err, fs.ErrNotExist): // the generators failed, and it was said
		return nil, nil
	case err != nil:
		return nil, err
	}
	changes, err := compat.Compare(ctx, f.CompareCRDs, compat.Request{Old: p.CRDs, New: now, Config: binding()})
	if err != nil {
		return nil, err
	}
	var out []located
	var parts []generate.Part
	failed := slices.ContainsFunc(p.Problems, func(at migrate.Problem) bool { return at.File == generators })
	for _, c := range changes {
		// How versions are converted is in config/crd/patches, and a CRD that could
		// not be generated is not removed.
		if !strings.Contains(c.Version, " -> ") && (now[c.CRD] != nil || !failed) {
			out, parts = append(out, located{Change: c}), append(parts, generate.Part{CRD: now[c.CRD], Path: c.Path})
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	places, err := generate.Locate(ctx, opts, parts)
	if err != nil {
		return nil, err
	}
	for i, at := range places {
		out[i].Position = at
	}
	return out, nil
}

func (c located) name() string { return c.Field[strings.LastIndex(c.Field, ".")+1:] }

// restore marks the fields of the project's types that have markers by which they
// are as before, and says whether there are any.
func restore(f *cli.Factory, p *migrate.Plan, set *fileset.Set, changes []located) (changed bool, err error) {
	files := map[string]map[migrate.Field][]string{}
	for _, c := range changes {
		marker, at := restoring[c.Rule], migrate.Field{Line: c.Line, Name: c.name()}
		if marker == "" || c.File == "" || slices.Contains(files[c.File][at], marker) {
			continue
		}
		if files[c.File] == nil {
			files[c.File] = map[migrate.Field][]string{}
		}
		files[c.File][at] = append(files[c.File][at], marker)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		done, err := restoreIn(f, p, set, name, files[name])
		if err != nil {
			return changed, err
		}
		changed = changed || done
	}
	return changed, nil
}

func restoreIn(
	f *cli.Factory, p *migrate.Plan, set *fileset.Set, name string, markers map[migrate.Field][]string,
) (changed bool, err error) {
	src, err := f.Host.Files.ReadFile(f.Host.Path(name))
	if err != nil {
		return false, fmt.Errorf("read %s: %w", name, err)
	}
	data, err := migrate.Marked(name, src, markers)
	if err != nil {
		return false, err
	}
	if string(data) == string(src) {
		return false, nil
	}
	p.General = append(p.General, migrate.Note{Text: "Fields in " + name + " are marked +optional or +nullable, as they were in the CRD."})
	return true, rewritten(f, p, set, name, data)
}

// grouped are the changes as the page lists them: those of one line that are
// alike, as a type of Kubernetes has them in each CRD, once.
func grouped(changes []located) []migrate.Problem {
	var out []migrate.Problem
	for _, c := range changes {
		out = append(out, migrate.Problem{File: cmp.Or(c.File, crdBases), Line: c.Line, Column: c.Column, Text: c.Title() + ": " + c.Hint})
	}
	return migrate.Grouped(out, func(i int) string {
		c := changes[i]
		if c.Field == "" {
			return c.Title()
		}
		return fmt.Sprint(c.Position, c.Rule, c.name(), c.Text)
	})
}
