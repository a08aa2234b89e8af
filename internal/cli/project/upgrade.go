package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/mainpkg"
	"github.com/example/mysdk/internal/upgrade"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// upgradeOptions are the flags of upgrade.
type upgradeOptions struct {
	check, plan, dryRun, finish bool
	force, keepGoing, workflow  bool
	from, baselines, output     string
}

// NewUpgrade is 'mysdk upgrade'.
func NewUpgrade(f *cli.Factory) *cobra.Command {
	return upgradeCommand(func(ctx context.Context, o *upgradeOptions) error { return runUpgrade(ctx, f, o) })
}

// upgradeCommand is the command that hands its options to run.
func upgradeCommand(run func(context.Context, *upgradeOptions) error) *cobra.Command {
	o := &upgradeOptions{}
	c := &cobra.Command{
		Use: "upgrade", Short: "Upgrade the project's scaffold to this version of mysdk", GroupID: "write",
		Long: `Upgrade the project's scaffold to this version of mysdk.

This is a three-way merge, offline, of the old scaffold, the new scaffold and
your changes: go.mod by requirement, the Makefile by target, YAML by key, Go by
declaration. Files that you have not changed are replaced, files that you
removed are not added again, generated files are regenerated, and your types,
controllers, webhooks and samples are kept. Everything is written at once or not
at all.

If you and the scaffold changed the same lines, yours are kept, and the
scaffold's change is written to a .rej file, as a patch. Apply what you want,
delete the file, and finish the upgrade with --continue.

A kubebuilder or operator-sdk project gets the scaffold of mysdk in the same
way: files that are exactly as those tools wrote them are replaced.`,
		Example: `  # what would happen to each file
  mysdk upgrade --plan

  # the same as a diff, then for real
  mysdk upgrade --dry-run
  mysdk upgrade

  # after conflicts: decide, remove the .rej files, and
  mysdk upgrade --continue

  # in CI: exit code 3 if there is something to do
  mysdk upgrade --check

  # a GitHub workflow that upgrades in a pull request
  mysdk upgrade --workflow`,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	fs := c.Flags()
	fs.BoolVar(&o.check, "check", false, "write nothing, and exit with code 3 if there is something to do")
	fs.BoolVar(&o.plan, "plan", false, "print what would happen to each file and write nothing")
	fs.BoolVar(&o.dryRun, "dry-run", false, "show changes as a diff without writing them")
	fs.BoolVar(&o.finish, "continue", false, "finish an upgrade after its conflicts are resolved")
	fs.BoolVar(&o.force, "force", false, "upgrade even if git has uncommitted changes, which are kept")
	fs.BoolVar(&o.keepGoing, "keep-going", false, "exit with code 0 even if there are conflicts")
	fs.BoolVar(&o.workflow, "workflow", false, "also write a GitHub workflow that does this once a week, in a pull request")
	fs.StringVar(&o.from, "from", "", "version of mysdk that wrote the scaffold; default: what PROJECT records")
	fs.StringVar(&o.baselines, "baselines", "", "`directory` with additional scaffold baselines, as VERSION.zip")
	cli.OutputFlag(c, &o.output)
	c.PreRunE = func(*cobra.Command, []string) error { return o.refuse() }
	return c
}

// refuse names flags that contradict each other.
func (o *upgradeOptions) refuse() error {
	var modes []string
	for _, m := range []struct {
		name string
		set  bool
	}{{"--check", o.check}, {"--plan", o.plan}, {"--dry-run", o.dryRun}, {"--continue", o.finish}} {
		if m.set {
			modes = append(modes, m.name)
		}
	}
	switch {
	case len(modes) > 1:
		return clierr.Usagef("use one of them", "%s cannot be combined", strings.Join(modes, " and "))
	case o.finish && (o.from != "" || o.workflow):
		return clierr.Usagef("leave out --from and --workflow", "--continue only finishes an upgrade that was started")
	case o.dryRun && o.output != "text":
		return clierr.Usagef("use --plan -o "+o.output+" to see what would happen to each file", "--dry-run cannot be combined with --output %s", o.output)
	}
	return nil
}

// runUpgrade plans an upgrade, builds the project's kustomizations with it, and only
// then writes: a plan after which they would not build is never carried out, and
// --dry-run shows it with the reason.
func runUpgrade(ctx context.Context, f *cli.Factory, o *upgradeOptions) error {
	project, done, err := f.LoadProject()
	if done || err != nil {
		return err
	}
	u, err := upgrader(f, o)
	if err != nil {
		return err
	}
	if o.finish {
		return finishUpgrade(ctx, f, u, o)
	}
	p, err := u.New()
	if err != nil {
		return err
	}
	if o.workflow {
		if err := u.WithWorkflow(p); err != nil {
			return err
		}
	}
	if p.Empty() && !o.check && !o.plan {
		return nothingToUpgrade(f, p, o)
	}
	unfit := u.Verify(ctx, p)
	if o.check || o.plan {
		return cmp.Or(unfit, reportPlan(f, p, o))
	}
	set, generated := p.Set, true
	if len(project.Resources) > 0 {
		if set, generated, err = generateUpgraded(ctx, f, set, o.dryRun); err != nil {
			return err
		}
	}
	if o.dryRun {
		return errors.Join(f.Write(ctx, set, true), unfit)
	}
	if unfit != nil {
		return unfit
	}
	if err := checkClean(ctx, f, o.force); err != nil {
		return err
	}
	if err := f.Write(ctx, set, false); err != nil {
		return err
	}
	return reportUpgrade(f, p, o, generated)
}

// upgrader is the engine for the project here.
func upgrader(f *cli.Factory, o *upgradeOptions) (upgrade.Options, error) {
	u := upgrade.Options{Files: f.Host.Files, Dir: f.Host.Dir, Plugin: f.GoPlugin(), From: o.from}
	if o.baselines == "" {
		return u, nil
	}
	dir := f.Host.Path(o.baselines)
	if info, err := f.Host.Files.Lstat(dir); err != nil || !info.IsDir() {
		return u, clierr.Usagef("name a directory that 'make baseline' has written into", "%s is not a directory", o.baselines)
	}
	u.Further = os.DirFS(dir)
	return u, nil
}

// finishUpgrade records the new version.
func finishUpgrade(ctx context.Context, f *cli.Factory, u upgrade.Options, o *upgradeOptions) error {
	p, err := u.Finish()
	if err != nil {
		return err
	}
	if p.Empty() {
		return nothingToUpgrade(f, p, o)
	}
	if err := f.Write(ctx, p.Set, false); err != nil {
		return err
	}
	if err := reportData(f, p, o); err != nil {
		return err
	}
	f.Say("The project's scaffold is now that of %s", p.To)
	f.Say("Next: mysdk test")
	return nil
}

// nothingToUpgrade says why there is nothing to write: the scaffold is
// today's, or all that is left are conflicts.
func nothingToUpgrade(f *cli.Factory, p *upgrade.Plan, o *upgradeOptions) error {
	if err := reportData(f, p, o); err != nil {
		return err
	}
	if len(p.Conflicts()) > 0 {
		return conflicts(f, p, o)
	}
	f.Say("Nothing to do: the project's scaffold is of %s", p.To)
	return nil
}

// generateUpgraded generates what comes of the change, and says whether it
// could. Code that does not compile with it does not stop it: it is the
// user's next step.
func generateUpgraded(ctx context.Context, f *cli.Factory, set fileset.Set, dryRun bool) (fileset.Set, bool, error) {
	whole, err := generateInto(ctx, f, set.Clone(), dryRun)
	switch {
	case err == nil:
		changed, err := f.Changed(whole)
		return changed, true, err
	case ctx.Err() != nil:
		return set, false, ctx.Err()
	}
	f.Warn("%s", notGenerated(err))
	return set, false, nil
}

// notGenerated is the warning for an error of the generators: its first line,
// without what the go command advises, and what to do.
func notGenerated(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	line, _, _ = strings.Cut(line, "; to ")
	return fmt.Sprintf("generated files are out of date: %s; %s, then run 'mysdk generate'", strings.TrimSuffix(line, ":"), cmp.Or(mainpkg.Hint(err.Error()), "fix this"))
}

// checkClean refuses to write into a project with changes that git has not
// recorded: afterwards nobody could tell one from the other. Without git, or
// outside of a repository, there is nothing to check. Where git cannot tell,
// nobody else can.
func checkClean(ctx context.Context, f *cli.Factory, force bool) error {
	if force {
		return nil
	}
	if _, err := f.Host.LookPath("git"); err != nil {
		return nil //nolint:nilerr // no git, nothing to ask
	}
	out, said, err := f.Git(ctx, nil, "status", "--porcelain", "--untracked-files=all", "--", ".")
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && strings.Contains(said, "not a git repository"):
		return nil
	case err != nil:
		return clierr.Failedf("fix that, so that git can show what the upgrade changes, or add --force",
			"nothing was written: git cannot say whether there are changes that are not committed: %s", cmp.Or(strings.TrimSpace(said), err.Error()))
	case out == "":
		return nil
	}
	files := strings.Split(strings.TrimRight(out, "\n"), "\n")
	shown := strings.Join(files[:min(len(files), 5)], "\n")
	if len(files) > 5 {
		shown += fmt.Sprintf("\nand %d more", len(files)-5)
	}
	return clierr.Failedf("commit or stash them first, so that you can see what the upgrade does; or add --force",
		"nothing was written: git has changes that are not committed:\n%s", shown)
}

// reportPlan prints the plan; with --check its emptiness is the exit code.
func reportPlan(f *cli.Factory, p *upgrade.Plan, o *upgradeOptions) error {
	if o.plan || o.output != "text" || !p.Empty() {
		if err := f.Report(o.output, p, func(w io.Writer) { planText(w, p) }); err != nil {
			return err
		}
	}
	if o.check && o.output == "text" && p.Empty() && len(p.Conflicts()) == 0 {
		f.Say("Nothing to do: the project's scaffold is of %s", p.To)
	}
	if !o.check || p.Empty() && len(p.Conflicts()) == 0 {
		return nil
	}
	hint := "run 'mysdk upgrade'"
	switch {
	case p.Empty():
		hint = "decide, remove the .rej files, and run 'mysdk upgrade --continue'"
	case o.workflow:
		hint = "run 'mysdk upgrade --workflow'"
	}
	if p.From != p.To {
		return clierr.OutOfDatef(hint, "the project's scaffold is of %s, and this is %s", p.From, p.To)
	}
	return clierr.OutOfDatef(hint, "%s is out of date", strings.Join(append(p.Set.Paths(), p.Conflicts()...), ", "))
}

// planText is the plan for people.
func planText(w io.Writer, p *upgrade.Plan) {
	if p.From == p.To && len(p.Files) == 0 {
		fmt.Fprintf(w, "The project's scaffold is of %s\n", p.To)
		return
	}
	fmt.Fprintf(w, "From %s to %s\n", p.From, p.To)
	for _, f := range p.Files {
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%s\t%s\t%s", f.Action, f.Path, f.Detail), "\t"))
	}
	for _, line := range slices.Concat(p.Notes, deploys(p)) {
		fmt.Fprintln(w, line)
	}
}

// deploys says what config/default deploys that it did not before.
func deploys(p *upgrade.Plan) []string {
	var out []string
	for _, change := range p.Objects {
		out = append(out, "config/default "+change)
	}
	return out
}

// reportData prints a plan for programs, where that was asked for: whatever the
// command does, its output is that of the format.
func reportData(f *cli.Factory, p *upgrade.Plan, o *upgradeOptions) error {
	if o.output == "text" {
		return nil
	}
	return f.Report(o.output, p, nil)
}

// reportUpgrade says what was done and what is next.
func reportUpgrade(f *cli.Factory, p *upgrade.Plan, o *upgradeOptions, generated bool) error {
	if err := reportData(f, p, o); err != nil {
		return err
	}
	counts := map[upgrade.Action]int{}
	for _, file := range p.Files {
		counts[file.Action]++
		f.Detail("  %s %s", file.Action, file.Path)
	}
	var parts []string
	for _, action := range []upgrade.Action{upgrade.New, upgrade.Updated, upgrade.Merged, upgrade.Deleted, upgrade.Kept, upgrade.Conflict} {
		if n := counts[action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, action))
		}
	}
	if p.From == p.To && len(p.Files) == 1 && p.Files[0].Path == v4.WorkflowPath {
		f.Say("Wrote %s", p.Files[0].Path)
		return nil
	}
	f.Say("Upgraded the scaffold from %s to %s: %s", p.From, p.To, strings.Join(parts, ", "))
	for _, n := range p.Notes {
		f.Warn("%s", n)
	}
	for _, line := range deploys(p) {
		f.Say("%s", line)
	}
	if len(p.Conflicts()) > 0 {
		return conflicts(f, p, o)
	}
	f.Say("Next: %s", nextAfterUpgrade(p, generated))
	return nil
}

// nextAfterUpgrade is what to type after an upgrade without conflicts.
func nextAfterUpgrade(p *upgrade.Plan, generated bool) string {
	var steps []string
	if slices.ContainsFunc(p.Files, func(f upgrade.File) bool { return f.Path == "go.mod" && f.Action == upgrade.Merged }) {
		steps = append(steps, "go mod tidy")
	}
	if !generated {
		steps = append(steps, "mysdk generate")
	}
	if p.Formats {
		steps = append(steps, "go vet -printf -fix ./...")
	}
	if p.ByMake {
		return strings.Join(append(steps, "make test"), " && ")
	}
	return strings.Join(append(steps, "mysdk test"), " && ")
}

// conflicts lists what is left to decide, as an error unless that was not
// wanted.
func conflicts(f *cli.Factory, p *upgrade.Plan, o *upgradeOptions) error {
	var list []string
	for _, file := range p.Files {
		if file.Action == upgrade.Conflict {
			list = append(list, fmt.Sprintf("  %s: %s, see %s", file.Path, file.Detail, file.Reject))
		}
	}
	err := clierr.Failedf("take over what you want ('patch -p1 <FILE.rej' takes all of it), remove the .rej files, and run 'mysdk upgrade --continue'",
		"you and the scaffold changed the same lines:\n%s", strings.Join(list, "\n"))
	if o.keepGoing {
		f.Warn("%v", err)
		return nil
	}
	return err
}
