package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/relayout"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// Scaffolder is the plugin with another reader of the license header.
func (f *Factory) Scaffolder(read func(string) ([]byte, error)) project.Scaffolder {
	p := f.GoPlugin()
	p.ReadFile = read
	return p
}

// LF are the files of the machine as a checkout with LF has them.
func (f *Factory) LF() relayout.LF { return relayout.LF{Files: f.Host.Files} }

// ReadFile reads a file of the project by its slash-separated name.
func (f *Factory) ReadFile(name string) ([]byte, error) {
	return f.LF().ReadFile(f.Host.Path(filepath.FromSlash(name)))
}

// Changed is what a set changes in the project. Files of a checkout with CRLF keep
// their line ends.
func (f *Factory) Changed(set fileset.Set) (fileset.Set, error) {
	return f.LF().Changed(set, f.Host.Dir)
}

// Below makes the value of a flag a clean slash-separated path below the
// project: only there files are written.
func (f *Factory) Below(dir, flag string) (string, error) {
	rel, err := filepath.Rel(f.Host.Dir, f.Host.Path(filepath.FromSlash(dir)))
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return "", clierr.Usagef("name a path below this directory", "%s %s: it does not lie below %s", flag, dir, f.Host.Dir)
	}
	return path.Clean(filepath.ToSlash(rel)), nil
}

// DiffSet prints what would change; with check it is an error that there is
// anything. The hint is what was typed, without the flags that write nothing: other
// flags would make something else.
func (f *Factory) DiffSet(set fileset.Set, check bool) error {
	changed, err := f.Changed(set)
	if err != nil {
		return err
	}
	diff, err := f.Tree().Diff(changed)
	if err := errors.Join(err, f.Print(diff)); err != nil {
		return err
	}
	if !check || changed.Len() == 0 {
		return nil
	}
	typed := slices.DeleteFunc(strings.Split(f.Typed, " "), func(word string) bool {
		flag := strings.TrimSuffix(word, "=true")
		return flag == "--check" || flag == "--dry-run"
	})
	return clierr.OutOfDatef("run 'mysdk "+strings.Join(typed, " ")+"' and commit the result", "out of date: %s", strings.Join(changed.Paths(), ", "))
}

// Settle ends a command that generates: it shows the change as DiffSet does, or
// writes it and says which files those are, or says done where nothing is to
// change.
func (f *Factory) Settle(ctx context.Context, set fileset.Set, check, dryRun bool, done string) (wrote bool, err error) {
	if check || dryRun {
		return false, f.DiffSet(set, check)
	}
	changed, err := f.Changed(set)
	if err != nil {
		return false, clierr.WithHint(err, again)
	}
	if changed.Len() == 0 {
		f.Say("Nothing to do: %s", done)
		return false, nil
	}
	if err := f.Write(ctx, changed, false); err != nil {
		return false, err
	}
	for _, name := range changed.Paths() {
		f.Say("wrote %s", name)
	}
	return true, nil
}

// OldProject is the error of a command that needs a project of today where
// operator-sdk v0.x has made the one here, and else nothing.
func (f *Factory) OldProject() error {
	_, noFile := f.Host.Files.Lstat(f.Host.Path(project.FileName))
	if _, err := f.Host.Files.Lstat(f.Host.Path("cmd/manager/main.go")); err != nil || !errors.Is(noFile, fs.ErrNotExist) {
		return nil
	}
	_, err := project.Load(f.Host.Dir)
	return err
}

// GoPlugin is the plugin that scaffolds Go projects, the only one for now.
func (f *Factory) GoPlugin() v4.Plugin {
	return v4.Plugin{
		CLIVersion: installable(ThisBuild().Version), Year: f.Host.Now().Year(),
		ReadFile: func(name string) ([]byte, error) { return f.Host.Files.ReadFile(f.Host.Path(name)) },
	}
}

// Tree is the working directory as the target of commits.
func (f *Factory) Tree() fileset.Tree { return fileset.Tree{FS: f.Host.Files, Root: f.Host.Dir} }

// Recover ends a commit that an earlier run left half-way. done says that it
// was this very command, which has nothing left to do, but to generate: its
// sources may have changed since. A command that was told to write nothing is
// refused instead.
func (f *Factory) Recover() (done bool, err error) {
	if f.writesNothing() {
		return false, f.RefusePending()
	}
	rec, err := f.Tree().Recover(f.Running.Context())
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
		f.Say("Rolled back the interrupted 'mysdk %s'.", rec.Command)
	case rec.Command == f.Typed:
		f.Say("Finished 'mysdk %s', which was interrupted.", rec.Command)
		return true, nil
	default:
		f.Say("Finished 'mysdk %s', which was interrupted; now 'mysdk %s'.", rec.Command, f.Typed)
	}
	return false, nil
}

// writesNothing reports whether a flag says that the command only looks.
func (f *Factory) writesNothing() bool {
	for _, name := range []string{"dry-run", "check", "plan", "stdout"} {
		if flag := f.Running.Flags().Lookup(name); flag != nil && flag.Changed && flag.Value.String() == "true" {
			return true
		}
	}
	return false
}

// RefusePending is an error where an interrupted command has left files that
// only a command that writes can finish or roll back.
func (f *Factory) RefusePending() error {
	command, err := f.Tree().Pending(f.Running.Context())
	if err != nil || command == "" {
		return err
	}
	return clierr.Failedf("run 'mysdk "+command+"' again to finish it", "'mysdk %s' was interrupted while it was writing files", command)
}

// Write commits the change, or with dryRun prints it as a diff.
func (f *Factory) Write(ctx context.Context, set fileset.Set, dryRun bool) error {
	t := f.Tree()
	if dryRun {
		if _, err := f.Check(set); err != nil {
			return err
		}
		diff, err := t.Diff(set)
		if err != nil {
			return err
		}
		return f.Print(diff)
	}
	err := t.Commit(ctx, set, f.Typed)
	if _, ok := errors.AsType[*fileset.UnfinishedError](err); ok {
		return clierr.WithHint(err, "some files are written already; fix the problem and run the command again to finish")
	}
	return clierr.WithHint(err, again)
}

// Wrote says how many files a change has written and removed, and with --verbose
// which.
func (f *Factory) Wrote(set fileset.Set) {
	removed := 0
	for _, name := range set.Paths() {
		did := "wrote"
		if file, _ := set.Get(name); file.Removed {
			did = "removed"
			removed++
		}
		f.Detail("  %s %s", did, name)
	}
	f.Say("Wrote %s, removed %d", Count(set.Len()-removed, "file"), removed)
}

// again is the hint for a commit that was refused or broken off.
const again = "no files were changed; fix the problem and run the command again"

// Check reports what is in the way of a change before more work is put into it. What
// it returns is refused by Write if the files have changed by then.
func (f *Factory) Check(set fileset.Set) (fileset.Set, error) {
	set, err := f.Tree().Check(set)
	return set, clierr.WithHint(err, again)
}

// LoadProject reads PROJECT in the working directory after ending what an
// earlier run left half-way.
func (f *Factory) LoadProject() (p *project.Project, done bool, err error) {
	if done, err = f.Recover(); err != nil {
		return nil, false, err
	}
	file, err := project.Load(f.Host.Dir)
	if err != nil {
		return nil, false, err
	}
	return file.Project(), done, nil
}

// Render runs the generators and prints their warnings. A failure has a hint,
// whatever caused it.
func (f *Factory) Render(ctx context.Context, opts generate.Options) (generate.Result, error) {
	r, err := generate.Render(ctx, opts)
	for _, w := range r.Warnings {
		f.Warn("%s", w)
	}
	return r, clierr.WithHint(err, again)
}
