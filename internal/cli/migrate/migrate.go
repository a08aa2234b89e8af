// Package migrate has the command of that name: it carries a project of an old
// layout over, generates, compiles and reports what is left to do. The rewriting
// is internal/migrate's.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/migrate"
	"github.com/example/mysdk/internal/relayout"
)

// migrateOptions is what was asked of migrate.
type migrateOptions struct {
	apply   bool
	dryRun  bool
	diff    bool
	force   bool
	offline bool
	show    bool // --dry-run or --diff was typed
	dir     string
	files   []string
	output  string // format
}

// New is 'mysdk migrate'.
func New(f *cli.Factory) *cobra.Command {
	o := &migrateOptions{}
	c := &cobra.Command{
		Use: "migrate", Short: "Migrate an operator-sdk v0.x, go/v2 or go/v3 project to the current layout", GroupID: "write",
		Long: `Migrate an operator-sdk v0.x, go/v2 or go/v3 project to the current layout.

The project is scaffolded as by 'mysdk init' and 'mysdk create api', and your
code is moved into it: types and controllers, with imports and calls of
controller-runtime updated, roles as markers, the environment, arguments and
resources of the operator's container, samples, bundles and required modules.

The main program is the scaffold's, with your controllers, types and webhooks.
If the old one does more, it is kept as cmd/main.go.old, to copy the rest from.

Without --apply nothing is written: the plan is printed, file by file. Lines
that need manual steps are marked with TODO(migrate). --apply writes everything
at once to the project, whose git tree must be clean, and --output-dir writes
the new project into another directory. Both compile the result and build
config/default; MIGRATION.md lists the marked lines, the lines of the old main
program that the new one lacks, changes of the CRDs that break objects, and
errors of the compiler and of kustomize, for which the exit code is 3.

In a project of the current layout, --file rewrites single files in place: types
or controllers copied from an old tutorial or project. What cannot be rewritten
is marked with TODO(migrate), and what does not compile afterwards is listed.`,
		Example: `  # the plan, in the root of the old project
  mysdk migrate

  # the same as JSON
  mysdk migrate -o json

  # look at the result without touching the project
  mysdk migrate --output-dir ../memcached-operator-v4

  # do it
  mysdk migrate --apply

  # rewrite a controller that was copied from an old tutorial
  mysdk migrate --file internal/controller/memcached_controller.go`,
		RunE: func(c *cobra.Command, _ []string) error { return runMigrate(c.Context(), f, o) },
	}
	fs := c.Flags()
	fs.BoolVar(&o.dryRun, "dry-run", true, "print the plan and write nothing")
	fs.BoolVar(&o.apply, "apply", false, "write the result to the project, which must be clean in git")
	fs.StringVar(&o.dir, "output-dir", "", "write the result into this directory, which must be empty or not exist")
	fs.BoolVar(&o.diff, "diff", false, "print the plan as a unified diff")
	fs.BoolVar(&o.force, "force", false, "with --apply: allow a tree with uncommitted changes, or outside git")
	fs.BoolVar(&o.offline, "offline", false, "leave out 'go mod tidy', the generators and the compiler, which need the project's modules")
	fs.StringArrayVar(&o.files, "file", nil, "Go file to rewrite in place, in a project of today's layout; may be repeated")
	cli.OutputFlag(c, &o.output)
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if strings.Contains(err.Error(), "--output\"") {
			return clierr.Usagef("name a directory with --output-dir", "%w", err)
		}
		return c.Parent().FlagErrorFunc()(c, err)
	})
	c.PreRunE = func(c *cobra.Command, _ []string) error { return o.check(c.Flags().Changed("dry-run")) }
	return c
}

func (o *migrateOptions) check(dryRunTyped bool) error {
	writes := o.apply || o.dir != ""
	o.show = o.diff || o.dryRun && dryRunTyped
	switch {
	case o.output != "text" && (o.diff || len(o.files) > 0):
		return clierr.Usagef("leave out --output", "--output is for the plan and its result, not for --diff and --file")
	case len(o.files) > 0 && (writes || o.force):
		return clierr.Usagef("leave them out; --dry-run shows the change without writing it", "--apply, --output-dir and --force are for whole projects, and --file for single files")
	case len(o.files) > 0:
		return nil
	case o.apply && o.dir != "":
		return clierr.Usagef("leave one of them out", "--apply and --output-dir cannot be combined")
	case writes && dryRunTyped && o.dryRun:
		return clierr.Usagef("leave out --dry-run, which is what happens without --apply and --output-dir", "--dry-run writes nothing")
	case writes && o.diff:
		return clierr.Usagef("leave out --diff: it is for the plan", "--diff is not for --apply and --output-dir")
	case o.force && !o.apply:
		return clierr.Usagef("add --apply, or leave out --force", "--force requires --apply")
	case !writes && dryRunTyped && !o.dryRun:
		return clierr.Usagef("add --apply, or --output-dir DIR", "--dry-run=false does not say where to write to")
	}
	return nil
}

func runMigrate(ctx context.Context, f *cli.Factory, o *migrateOptions) error {
	if o.apply || len(o.files) > 0 && !o.show {
		if done, err := f.Recover(); done || err != nil {
			return err
		}
	} else if err := f.RefusePending(); err != nil {
		return err
	}
	if len(o.files) > 0 {
		return migrateFiles(ctx, f, o)
	}
	p, err := migrate.Make(migrate.Options{Files: f.Host.Files, Dir: f.Host.Dir, Scaffolder: f.Scaffolder})
	if err != nil {
		return err
	}
	if len(p.Files) == 0 {
		if o.output != "text" {
			return reportMigration(f, o.output, p, false)
		}
		f.Say("There is nothing to migrate: the layout is %s", p.From)
		for _, l := range p.Left {
			f.Say("still to do: %s", l)
		}
		return WarnOfStrays(f)
	}
	switch {
	case o.dir != "":
		return migrateInto(ctx, f, o, p)
	case o.apply:
		return migrateHere(ctx, f, o, p)
	case o.diff:
		return f.Write(ctx, p.Changes, true)
	}
	show := func() error { return f.Print([]byte(migrationText(p))) }
	if o.output != "text" {
		show = func() error { return reportMigration(f, o.output, p, false) }
	}
	if err := show(); err != nil {
		return err
	}
	f.Say("Nothing was written. Next: mysdk migrate --apply, or --output-dir DIR")
	return nil
}

// migrationText is the plan for people.
func migrationText(p *migrate.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "From the layout of %s to %s:\n\n", p.From, migrate.LayoutCurrent)
	count := map[migrate.Status]int{}
	for _, e := range p.Files {
		count[e.Status]++
		fmt.Fprintf(&b, "%-10s %s", e.Status, e.Path)
		if e.Status == migrate.Dropped {
			fmt.Fprintf(&b, ": %s\n", e.Notes[0].Text)
			continue
		}
		if e.From != "" {
			fmt.Fprintf(&b, " (from %s)", e.From)
		}
		b.WriteString("\n")
		for _, n := range e.Notes {
			if n.Line > 0 {
				fmt.Fprintf(&b, "             line %d: %s\n", n.Line, n.Text)
			} else {
				fmt.Fprintf(&b, "             %s\n", n.Text)
			}
		}
	}
	fmt.Fprintf(&b, "\n%d clean, %d changed, %d new, %d dropped, %d manual\n",
		count[migrate.Clean], count[migrate.Changed], count[migrate.New], count[migrate.Dropped], count[migrate.Needs])
	return b.String()
}

// migrateInto writes the new project into another directory.
func migrateInto(ctx context.Context, f *cli.Factory, o *migrateOptions, p *migrate.Plan) error {
	there := f.In(f.Host.Path(o.dir))
	if done, err := there.Recover(); done || err != nil {
		return err
	}
	if err := emptyDir(there.Host.Dir); err != nil {
		return err
	}
	set := p.Result.Clone()
	r := newReplacements(f, there.Host.Dir)
	if err := r.turn(&set, r.absolute); err != nil {
		return err
	}
	if err := r.turn(&set, r.named); err != nil {
		return err
	}
	if err := complete(ctx, f, o, p, &set, there.Host.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(there.Host.Dir, 0o755); err != nil {
		return err
	}
	if err := there.Write(ctx, set, false); err != nil {
		return err
	}
	return reportMigrated(f, o, p, set)
}

func emptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return clierr.Failedf("name a directory that does not exist yet", "%s is not empty", dir)
	}
	return nil
}

// migrateHere writes the new project over the old one.
func migrateHere(ctx context.Context, f *cli.Factory, o *migrateOptions, p *migrate.Plan) error {
	set := p.Changes.Clone()
	if !o.force {
		if err := cleanInGit(ctx, f, set); err != nil {
			return err
		}
	}
	set, err := f.Check(set)
	if err != nil {
		return err
	}
	if err := complete(ctx, f, o, p, &set, f.Host.Dir); err != nil {
		return err
	}
	if !o.force { // again: that took minutes, in which somebody may have edited
		if err := cleanInGit(ctx, f, set); err != nil {
			return err
		}
	}
	set, err = f.Tree().Changed(set)
	if err != nil {
		return err
	}
	if err := f.Write(ctx, set, false); err != nil {
		return err
	}
	wrote := slices.DeleteFunc(set.Paths(), func(name string) bool { file, _ := set.Get(name); return file.Removed })
	ignored, _, err := f.Git(ctx, strings.NewReader(strings.Join(wrote, "\x00")), "check-ignore", "-z", "--stdin")
	if first, rest, _ := strings.Cut(ignored, "\x00"); err == nil { // some are
		f.Warn("git ignores %s that migrate wrote, such as %s: change .gitignore, or add them with 'git add -f'", cli.Count(1+strings.Count(rest, "\x00"), "file"), first)
	}
	return reportMigrated(f, o, p, set)
}

// cleanInGit refuses a tree whose old state could not be had back once the set is
// written.
func cleanInGit(ctx context.Context, f *cli.Factory, set fileset.Set) error {
	changed, err := git(ctx, f, "status", "--porcelain", "--untracked-files=normal", ".")
	if err != nil {
		return err
	}
	if n := strings.Count(changed, "\n"); n > 0 {
		return clierr.Failedf("commit or stash them, use --output-dir DIR, or add --force", "the tree has %s, such as %s",
			cli.Count(n, "uncommitted change"), strings.TrimSpace(strings.SplitN(changed, "\n", 2)[0]))
	}
	ignored, err := git(ctx, f, "ls-files", "-z", "--others", "--ignored", "--exclude-standard")
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(ignored, "\x00") {
		if _, in := set.Get(name); in && !strings.HasPrefix(name, "vendor/") && !relayout.IsGenerated(name) {
			return clierr.Failedf("add it with 'git add -f' and commit it, use --output-dir DIR, or add --force", "git ignores %s, and its old state would be lost", name)
		}
	}
	return nil
}

// git is what git prints in the project's directory.
func git(ctx context.Context, f *cli.Factory, args ...string) (string, error) {
	out, said, err := f.Git(ctx, nil, args...)
	const hint = "commit it to git first, use --output-dir DIR, or add --force"
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil && said != "" && !strings.Contains(said, "not a git repository"):
		return "", clierr.Failedf(hint, "ask git whether everything is committed: %s", strings.TrimSpace(said))
	case err != nil:
		return "", clierr.Failedf(hint, "the project is not in git, and its old state would be lost")
	}
	return out, nil
}

// shownProblems is how many problems are printed: MIGRATION.md has
// them all.
const shownProblems = 20

// reportMigrated says what was written and what is left to do. Problems
// end it with an error, although the migration was carried out: a script
// must not go on with a project that does not build.
func reportMigrated(f *cli.Factory, o *migrateOptions, p *migrate.Plan, set fileset.Set) error {
	if o.output != "text" {
		if err := reportMigration(f, o.output, p, true); err != nil {
			return err
		}
	}
	f.Wrote(set)
	needsYou(f, p)
	page, there := path.Join(o.dir, migrate.ReportName), ""
	if o.dir != "" {
		there = "cd " + host.ShellQuote(o.dir) + " && "
	}
	if o.offline {
		there += "go mod tidy && mysdk generate && "
	}
	for i, c := range p.Problems {
		if i == shownProblems {
			f.Say("… and %d more in %s", len(p.Problems)-i, page)
			break
		}
		f.Say("does not build: %s: %s", c.At(), c.Text)
	}
	if n := len(p.Breaks); n > 0 {
		f.Warn("%s of the CRDs may break objects that are stored: see %s", cli.Count(n, "change"), page)
	}
	switch n := p.Open(); {
	case len(p.Problems) > 0:
		return clierr.OutOfDatef(fmt.Sprintf("read %s, which lists them, then run '%s%s'", page, there, recheck(p)), "the project was migrated but does not build: %s", cli.Count(len(p.Problems), "error"))
	case n > 0:
		f.Say("Next: read %s, then %sgo build ./... (%s with manual steps)", page, there, cli.Count(n, "file"))
	default:
		f.Say("Next: %sgo build ./... && mysdk test", there)
	}
	return nil
}

// recheck is the command that finds what is left of the problems.
func recheck(p *migrate.Plan) string {
	if slices.ContainsFunc(p.Problems, func(c migrate.Problem) bool { return c.File == cli.DeployDir }) {
		return "go vet ./... && mysdk build-installer"
	}
	return "go vet ./..."
}

// reportMigration prints the plan, or what became of it, in a format for
// programs.
func reportMigration(f *cli.Factory, format string, p *migrate.Plan, written bool) error {
	files := p.Files
	if files == nil {
		files = []migrate.Entry{}
	}
	return f.Report(format, struct {
		From     migrate.Layout    `json:"from"`
		To       migrate.Layout    `json:"to"`
		Written  bool              `json:"written"`
		Files    []migrate.Entry   `json:"files"`
		Notes    []migrate.Note    `json:"notes,omitempty"`
		Problems []migrate.Problem `json:"problems,omitempty"`
		Breaks   []migrate.Problem `json:"breaks,omitempty"` // changes of CRDs
		Left     []string          `json:"left,omitempty"`
	}{p.From, migrate.LayoutCurrent, written, files, p.General, p.Problems, p.Breaks, p.Left}, nil)
}
