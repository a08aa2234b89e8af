package migrate

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/example/mysdk/internal/adopt"
	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/migrate"
	"github.com/example/mysdk/internal/oldapi"
)

// migrateFiles rewrites single files where they are, or shows how.
func migrateFiles(ctx context.Context, f *cli.Factory, o *migrateOptions) error {
	names := make([]string, len(o.files))
	for i, name := range o.files {
		var err error
		if names[i], err = f.Below(name, "--file"); err != nil {
			return err
		}
	}
	p, err := migrate.Rewrite(migrate.Options{Files: f.Host.Files, Dir: f.Host.Dir}, names)
	if err != nil {
		return err
	}
	if err := f.Write(ctx, p.Changes, o.show); err != nil {
		return err
	}
	for _, name := range p.Changes.Paths() {
		if !o.show {
			f.Say("Rewrote %s", name)
		}
	}
	if p.Changes.Len() == 0 {
		f.Say("Nothing to rewrite: no old API was found")
	}
	needsYou(f, p)
	if o.show || o.offline {
		return nil
	}
	return compiledFiles(ctx, f, names)
}

// compiledFiles tells the errors of the compiler in the packages of files that were
// rewritten, once those in the files that have one remedy are corrected.
func compiledFiles(ctx context.Context, f *cli.Factory, names []string) error {
	f.Progress("Compiling the project")
	found, err := corrected(ctx, f, func(name string) bool { return slices.Contains(names, name) }, func(name string, data []byte) error {
		var set fileset.Set
		if err := set.Put(name, fileset.File{Data: data}); err != nil {
			return err
		}
		return f.Write(ctx, set, false)
	})
	if err != nil {
		return fmt.Errorf("compile what was rewritten: %w", err)
	}
	found = slices.DeleteFunc(found, func(e migrate.Problem) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return path.Dir(name) == path.Dir(e.File) })
	})
	for _, e := range found {
		f.Say("does not compile: %s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
		if cause := oldapi.Cause(e.Text); cause != "" {
			f.Say("  %s", cause)
		}
	}
	if n := len(found); n > 0 {
		return clierr.OutOfDatef("correct these lines, see "+oldapi.Guide+"; where a module is missing, run 'go mod tidy'",
			"the files were rewritten but do not compile: %s", cli.Count(n, "error"))
	}
	return nil
}

// WarnOfStrays names code of the project that lies where nothing builds it any
// more.
func WarnOfStrays(f *cli.Factory) error {
	dirs, err := adopt.Strays(f.Host.Files, f.Host.Dir)
	for _, dir := range dirs {
		f.Warn("%s: %s: %s", dir, adopt.Stray, adopt.StraysHint(dir))
	}
	return err
}

// needsYou lists the places of a plan that are marked.
func needsYou(f *cli.Factory, p *migrate.Plan) {
	for _, e := range p.Files {
		for _, n := range e.Notes {
			switch {
			case e.Status != migrate.Needs:
			case n.Line > 0:
				f.Say("manual step: %s:%d: %s", e.Path, n.Line, n.Text)
			default:
				f.Say("manual step: %s: %s", e.Path, n.Text)
			}
		}
	}
}
