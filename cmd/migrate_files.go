package cmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/migrate"
	"github.com/example/mysdk/internal/oldapi"
)

// migrateFiles rewrites single files where they are, or shows how.
func (a *app) migrateFiles(ctx context.Context, o *migrateOptions) error {
	names := make([]string, len(o.files))
	for i, name := range o.files {
		var err error
		if names[i], err = a.below(name, "--file"); err != nil {
			return err
		}
	}
	p, err := migrate.Rewrite(migrate.Options{Files: a.host.Files, Dir: a.host.Dir}, names)
	if err != nil {
		return err
	}
	if err := a.write(ctx, p.Changes, o.show); err != nil {
		return err
	}
	for _, name := range p.Changes.Paths() {
		if !o.show {
			a.say("Rewrote %s", name)
		}
	}
	if p.Changes.Len() == 0 {
		a.say("Nothing to rewrite: no old API was found")
	}
	a.needsYou(p)
	if o.show || o.offline {
		return nil
	}
	return a.compiledFiles(ctx, names)
}

// compiledFiles tells the errors of the compiler in files that were rewritten.
func (a *app) compiledFiles(ctx context.Context, names []string) error {
	a.progress("Compiling the project")
	found, err := generate.Compile(ctx, a.host.Dir, a.host.Environ())
	if err != nil {
		return fmt.Errorf("compile what was rewritten: %w", err)
	}
	n := 0
	for _, e := range found {
		if !slices.Contains(names, e.File) {
			continue
		}
		n++
		a.say("does not compile: %s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
		if cause := oldapi.Cause(e.Text); cause != "" {
			a.say("  %s", cause)
		}
	}
	if n > 0 {
		return clierr.OutOfDatef("correct these lines, see "+oldapi.Guide+"; where a module is missing, run 'go mod tidy'",
			"the files were rewritten but do not compile: %s", count(n, "error"))
	}
	return nil
}

// warnOfStrays names code of the project that lies where nothing builds it any
// more.
func (a *app) warnOfStrays() error {
	dirs, err := oldapi.Strays(a.host.Files, a.host.Dir)
	for _, dir := range dirs {
		a.warn("%s: %s: %s", dir, oldapi.Stray, oldapi.StraysHint(dir))
	}
	return err
}

// needsYou lists the places of a plan that are marked.
func (a *app) needsYou(p *migrate.Plan) {
	for _, e := range p.Files {
		for _, n := range e.Notes {
			switch {
			case e.Status != migrate.Needs:
			case n.Line > 0:
				a.say("manual step: %s:%d: %s", e.Path, n.Line, n.Text)
			default:
				a.say("manual step: %s: %s", e.Path, n.Text)
			}
		}
	}
}
