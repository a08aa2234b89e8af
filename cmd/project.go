package cmd

import (
	"context"
	"fmt"
	"strconv"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/project"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// goPlugin is the plugin that scaffolds Go projects, the only one for now.
func (a *app) goPlugin() v4.Plugin {
	return v4.Plugin{
		CLIVersion: installable(thisBuild().Version), Year: a.host.Now().Year(),
		ReadFile: func(name string) ([]byte, error) { return a.host.Files.ReadFile(a.host.Path(name)) },
	}
}

// tree is the working directory as the target of commits.
func (a *app) tree() fileset.Tree { return fileset.Tree{FS: a.host.Files, Root: a.host.Dir} }

// recover ends a commit that an earlier run left half-way. done says that it
// was this very command, which has nothing left to do.
func (a *app) recover() (done bool, err error) {
	rec, err := a.tree().Recover()
	switch {
	case err != nil:
		return false, clierr.WithHint(fmt.Errorf("end an interrupted command: %w", err), "make the directory writable and run the command again")
	case rec.Command == "":
	case !rec.Finished:
		a.say("Took back 'mysdk %s', which was interrupted.", rec.Command)
	case rec.Command == a.typed:
		a.say("Finished 'mysdk %s', which was interrupted.", rec.Command)
		return true, nil
	default:
		a.say("Finished 'mysdk %s', which was interrupted; now 'mysdk %s'.", rec.Command, a.typed)
	}
	return false, nil
}

// write commits the change, or with dryRun prints it as a diff.
func (a *app) write(ctx context.Context, set fileset.Set, dryRun bool) error {
	t := a.tree()
	if dryRun {
		if err := a.check(set); err != nil {
			return err
		}
		diff, err := t.Diff(set)
		if err != nil {
			return err
		}
		return a.print(diff)
	}
	return clierr.WithHint(t.Commit(ctx, set, a.typed), again)
}

// again is the hint for a commit that was refused or broken off.
const again = "nothing was changed; run the command again when the cause is gone"

// check tells what is in the way of a change before more work is put into it.
func (a *app) check(set fileset.Set) error {
	return clierr.WithHint(a.tree().Check(set), again)
}

// loadProject reads PROJECT in the working directory after ending what an
// earlier run left half-way.
func (a *app) loadProject() (p *project.Project, done bool, err error) {
	if done, err = a.recover(); err != nil {
		return nil, false, err
	}
	f, err := project.Load(a.host.Dir)
	if err != nil {
		return nil, false, err
	}
	p, err = f.Project()
	return p, done, err
}

// generateOptions are what every run of the generators has in common.
func (a *app) generateOptions() generate.Options {
	cache, err := a.host.CacheDir()
	if err != nil {
		cache = "" // no home: nothing is remembered between runs
	}
	return generate.Options{
		Host: a.host, Dir: a.host.Dir, CacheDir: cache, ToolVersion: thisBuild().Version,
		Year: strconv.Itoa(a.host.Now().Year()),
	}
}

// render runs the generators and prints their warnings. A failure has a hint,
// whatever caused it.
func (a *app) render(ctx context.Context, opts generate.Options) (generate.Result, error) {
	r, err := generate.Render(ctx, opts)
	for _, w := range r.Warnings {
		a.warn("%s", w)
	}
	return r, clierr.WithHint(err, again)
}
