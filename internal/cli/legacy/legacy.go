// Package legacy has the verbs and flags of operator-sdk v0.x and early
// kubebuilder, as translations into the commands of today.
package legacy

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
)

// The verbs that operator-sdk had before its v1, which guides still teach, are
// translations: each makes the command lines of today from its flags, prints
// them, and runs them as if they had been typed. So an old verb and the new
// ones cannot come to differ. They are left out of the main help.

// step is one command line of a translation.
type step struct {
	words []string // program and arguments
	dir   string   // where it runs, relative to the working directory
	quiet bool     // what it tells is of no interest: a step after it tells more
	undo  string   // a command line that takes it back; empty where nobody knows one
	// run does the work of another program; nil runs words, which are mysdk's.
	run func(ctx context.Context) error
}

// mysdkStep is a command line of mysdk.
func mysdkStep(args ...string) step { return step{words: append([]string{"mysdk"}, args...)} }

// before is a step that prepares the next one, and what takes it back.
func before(undo string, args ...string) step {
	s := mysdkStep(args...)
	s.quiet, s.undo = true, undo
	return s
}

// hidden leaves c, and what is below it, out of the help of its parent.
func hidden(c *cobra.Command) *cobra.Command {
	c.Hidden = true
	return c
}

// Join adds the old verbs to the tree of today's commands, and to those
// the flags that they had.
func Join(f *cli.Factory, root *cobra.Command) {
	command := func(names ...string) *cobra.Command {
		c, _, _ := root.Find(names)
		return c
	}
	command("generate").AddCommand(newGenerateK8s(f), hidden(newCSV(f, "csv", "generate csv")))
	root.AddCommand(newNew(f), newAdd(f), newBuild(f), newUp(f), newOLMCatalog(f), newAlpha(f))
	cli.RenameFlag(command("generate", "bundle").Flags(), "operator-name", "package")
	cli.RenameFlag(command("generate", "kustomize", "manifests").Flags(), "operator-name", "package")
	cli.RenameFlag(command("run", "packagemanifests").Flags(), "operator-version", "version")
	for _, c := range []*cobra.Command{command("run", "packagemanifests"), command("cleanup")} {
		cli.RenameFlag(c.Flags(), "operator-namespace", "namespace")
	}
	oldRun(f, command("run"))
	addGone(root)
}

// translate prints what verb is called today, and runs it.
func translate(ctx context.Context, f *cli.Factory, verb string, steps ...step) error {
	f.Say("Note: '%s' is now: %s", verb, spell(steps))
	for i, s := range steps {
		run := s.run
		if run == nil {
			run = func(ctx context.Context) error { return as(ctx, f, s) }
		}
		if err := run(ctx); err != nil {
			return withDone(err, steps[:i])
		}
	}
	return nil
}

// withDone adds to the hint of err which steps have been done before it, and
// how to take them back.
func withDone(err error, done []step) error {
	var undo []string
	for _, s := range slices.Backward(done) {
		if s.undo != "" {
			undo = append(undo, s.undo)
		}
	}
	// What has no words of its own, such as a new directory, belongs to the next.
	done = slices.DeleteFunc(slices.Clone(done), func(s step) bool { return s.run != nil })
	if len(done) == 0 {
		return err
	}
	hint := strings.TrimPrefix(clierr.HintOf(err)+"\ndone before that: "+spell(done), "\n")
	if len(undo) > 0 {
		hint += "\nto undo: " + strings.Join(undo, " && ")
	}
	return &clierr.Error{Err: err, Hint: hint}
}

// as runs a step of mysdk, with the global flags of the command that runs.
func as(ctx context.Context, f *cli.Factory, s step) error {
	b, args := f.In(f.Host.Path(s.dir)), s.words[1:]
	b.Inside, b.Plugins, b.Typed = "", nil, host.ShellJoin(args)
	root, _, err := b.Open(ctx, b, args)
	if err != nil {
		return err
	}
	b.Quiet, b.Verbose, b.Color = f.Quiet || s.quiet, f.Verbose, f.Color
	if err = root.ExecuteContext(ctx); err != nil {
		// Only b knows which flags were typed, where the old verb passes them on unread.
		return &clierr.Error{Err: err, Hint: b.Aim(clierr.HintOf(err))}
	}
	return nil
}

// spell is a translation as one line for a shell.
func spell(steps []step) string {
	var parts []string
	dir := ""
	for _, s := range steps {
		if s.dir != dir && s.dir != "" {
			parts, dir = append(parts, "cd "+host.ShellQuote(s.dir)), s.dir
		}
		parts = append(parts, host.ShellJoin(s.words))
	}
	return strings.Join(parts, " && ")
}

// withFlags adds those of the flags, each followed by its value, that have one.
func withFlags(args []string, flags ...string) []string {
	for i := 0; i+1 < len(flags); i += 2 {
		if flags[i+1] != "" {
			args = append(args, flags[i], flags[i+1])
		}
	}
	return args
}

// moved is an old verb whose flags are those of today.
func moved(f *cli.Factory, use, short, verb string, now ...string) *cobra.Command {
	return oldVerb(&cobra.Command{
		Use: use, Short: short, Long: short + ".", Example: "  mysdk " + verb,
		DisableFlagParsing: true, Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if cli.AsksHelp(args) {
				return c.Help()
			}
			return translate(c.Context(), f, verb, mysdkStep(append(slices.Clone(now), args...)...))
		},
	})
}

// newAlpha holds what was tried out in operator-sdk v0.9 to v0.19.
func newAlpha(f *cli.Factory) *cobra.Command {
	c := hidden(&cobra.Command{
		Use: "alpha", Short: "Deprecated aliases",
		Example: "  mysdk alpha olm install",
	})
	olm := &cobra.Command{
		Use: "olm", Short: "Install, inspect and uninstall the Operator Lifecycle Manager",
		Example: "  mysdk alpha olm install",
	}
	olm.AddCommand(
		moved(f, "install", "Install OLM into a cluster", "alpha olm install", "olm", "install"),
		moved(f, "status", "Show the status of OLM's components", "alpha olm status", "olm", "status"),
		moved(f, "uninstall", "Remove OLM", "alpha olm uninstall", "olm", "uninstall"),
	)
	c.AddCommand(olm, moved(f, "scorecard", "Run the tests of a bundle", "alpha scorecard", "scorecard"))
	return c
}
