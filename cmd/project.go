package cmd

import (
	"context"
	"errors"
	"fmt"

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
// was this very command, which has nothing left to do. A command that was told
// to write nothing is refused instead.
func (a *app) recover() (done bool, err error) {
	if a.writesNothing() {
		return false, a.refusePending()
	}
	rec, err := a.tree().Recover(a.running.Context())
	var stuck *fileset.StuckError
	switch {
	case errors.As(err, &stuck) && stuck.Lost:
		return false, clierr.Failedf("restore the project's files, from version control for instance, delete .mysdk-commit and run the command again", "%w", err)
	case errors.As(err, &stuck):
		return false, clierr.Failedf("move your version of "+stuck.Path+" out of the project, run the command again, then merge the two", "%w", err)
	case err != nil:
		return false, clierr.WithHint(fmt.Errorf("finish an interrupted command: %w", err), "fix the problem and run the command again")
	case rec.Command == "":
	case !rec.Finished:
		a.say("Rolled back the interrupted 'mysdk %s'.", rec.Command)
	case rec.Command == a.typed:
		a.say("Finished 'mysdk %s', which was interrupted.", rec.Command)
		return true, nil
	default:
		a.say("Finished 'mysdk %s', which was interrupted; now 'mysdk %s'.", rec.Command, a.typed)
	}
	return false, nil
}

// writesNothing reports whether a flag says that the command only looks.
func (a *app) writesNothing() bool {
	for _, name := range []string{"dry-run", "check", "plan", "stdout"} {
		if f := a.running.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "true" {
			return true
		}
	}
	return false
}

// refusePending is an error where an interrupted command has left files that
// only a command that writes can finish or roll back.
func (a *app) refusePending() error {
	command, err := a.tree().Pending(a.running.Context())
	if err != nil || command == "" {
		return err
	}
	return clierr.Failedf("run 'mysdk "+command+"' again to finish it", "'mysdk %s' was interrupted while it was writing files", command)
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
	err := t.Commit(ctx, set, a.typed)
	var unfinished *fileset.UnfinishedError
	if errors.As(err, &unfinished) {
		return clierr.WithHint(err, "some files are written already; fix the problem and run the command again to finish")
	}
	return clierr.WithHint(err, again)
}

// again is the hint for a commit that was refused or broken off.
const again = "no files were changed; fix the problem and run the command again"

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

// render runs the generators and prints their warnings. A failure has a hint,
// whatever caused it.
func (a *app) render(ctx context.Context, opts generate.Options) (generate.Result, error) {
	r, err := generate.Render(ctx, opts)
	for _, w := range r.Warnings {
		a.warn("%s", w)
	}
	return r, clierr.WithHint(err, again)
}
