// Package root is the command line of mysdk as a whole: it joins the groups of
// commands into one tree, parses a command line, and turns errors into messages
// and exit codes. What a command does is not its business.
package root

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	bundlecmd "github.com/example/mysdk/internal/cli/bundle"
	clustercmd "github.com/example/mysdk/internal/cli/cluster"
	deploycmd "github.com/example/mysdk/internal/cli/deploy"
	generatecmd "github.com/example/mysdk/internal/cli/generate"
	imagecmd "github.com/example/mysdk/internal/cli/image"
	"github.com/example/mysdk/internal/cli/legacy"
	migratecmd "github.com/example/mysdk/internal/cli/migrate"
	olmcmd "github.com/example/mysdk/internal/cli/olm"
	projectcmd "github.com/example/mysdk/internal/cli/project"
	recordedcmd "github.com/example/mysdk/internal/cli/recorded"
	runcmd "github.com/example/mysdk/internal/cli/run"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/host"
)

// Main runs the command line args and returns the exit code. It prints errors,
// once, on stderr.
func Main(ctx context.Context, h host.Host, args []string) int {
	f := &cli.Factory{Host: h, Typed: host.ShellJoin(args), Told: map[string]bool{}, Open: openTree}
	root, c, err := f.Open(ctx, f, args)
	if err != nil {
		return end(ctx, f, c, err)
	}
	ran, err := root.ExecuteContextC(ctx)
	return end(ctx, f, ran, errors.Join(err, f.Unknown))
}

// openTree builds the command tree for a command line, with the flags of external
// plugins that take part in it, and returns the command that it is about.
func openTree(ctx context.Context, f *cli.Factory, args []string) (root, c *cobra.Command, err error) {
	root = rootFor(f, args)
	c, flags, err := root.Find(args)
	if err == nil && !cli.Completing(args) {
		if err := f.Enter(c, args, flags); err != nil {
			return root, c, err
		}
		err = f.LoadPlugins(ctx, c, args)
		switch {
		case err != nil && cli.AsksHelp(args):
			f.Warn("%v", err)
		case err != nil:
			return root, c, err
		case f.Plugins != nil || c.FParseErrWhitelist.UnknownFlags:
			root = rootFor(f, args) // again: with their flags, and not parsed yet
		}
		if c.DisableFlagParsing {
			args = f.ParseGlobals(root, args)
		}
	}
	root.SetArgs(args)
	return root, c, nil // a command that is not known is told when it runs
}

// end reports how the command c ended, an error with its hint, and returns the exit code.
func end(ctx context.Context, f *cli.Factory, c *cobra.Command, err error) int {
	if err == nil {
		return 0
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		f.Say("Stopped.")
		return clierr.CodeInterrupted
	}
	if kubectl, ok := errors.AsType[*cluster.ExitError](err); ok {
		return kubectl.Code // it has said all there is to say
	}
	text := err.Error()
	if at := strings.TrimPrefix(c.CommandPath(), "mysdk "); at != "mysdk" && !strings.HasPrefix(text, "unknown command") && !strings.HasPrefix(text, at+": ") {
		text = at + ": " + text
	}
	fmt.Fprintf(f.Host.IO.Err, "%s %s\n", f.Paint(cli.Red, "Error:"), text)
	if h := clierr.HintOf(err); h != "" {
		fmt.Fprintf(f.Host.IO.Err, "%s  %s\n", f.Paint(cli.Yellow, "Hint:"), strings.ReplaceAll(f.Aim(h), "\n", "\n       "))
	}
	return clierr.CodeOf(err)
}

// Root returns the whole command tree, for the generator of the reference.
func Root(h host.Host) *cobra.Command {
	root := newRoot(&cli.Factory{Host: h})
	for commands := []*cobra.Command{root}; len(commands) > 0; {
		c := commands[0]
		noteSettings(c)
		commands = append(commands[1:], c.Commands()...)
	}
	return root
}

// rootFor is the command tree for a command line.
func rootFor(f *cli.Factory, args []string) *cobra.Command {
	root := newRoot(f)
	if cli.Completing(args) {
		completeFlags(f, root)
	}
	legacy.LeaveWordsToTest(root, args)
	return root
}

func newRoot(f *cli.Factory) *cobra.Command {
	root := &cobra.Command{
		Use:   "mysdk",
		Short: "Scaffold, run, test and ship Kubernetes operators written in Go",
		Long: `mysdk scaffolds, runs, tests and ships Kubernetes operators written in Go.

It needs nothing but Go: a Kubernetes control plane of its own runs operators
and tests on this machine, and the same commands work on any cluster.`,
		Example: `  # three commands from an empty directory to a reconciling operator
  mysdk init --domain example.com
  mysdk create api --group cache --kind Memcached
  mysdk run local --watch-namespace default`,
		SilenceErrors: true, SilenceUsage: true,
		Version: cli.ThisBuild().String(),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRunE: func(c *cobra.Command, words []string) error {
			f.Running = c
			clustercmd.KubectlAlone(c, words)
			return f.Configure(c)
		},
	}
	f.BindGlobals(root.PersistentFlags())
	root.Flags().Bool("version", false, "print the version")
	root.SetVersionTemplate("{{.Version}}")
	root.SetIn(f.Host.IO.In)
	root.SetOut(f.Host.IO.Out)
	root.SetErr(f.Host.IO.Err)
	root.SetFlagErrorFunc(cli.FlagError)
	root.AddGroup(
		&cobra.Group{ID: "write", Title: "Write an operator:"},
		&cobra.Group{ID: "run", Title: "Run it:"},
		&cobra.Group{ID: "about", Title: "About mysdk:"},
	)
	root.SetHelpCommandGroupID("about")
	root.SetCompletionCommandGroupID("about")
	root.AddCommand(
		projectcmd.NewInit(f), projectcmd.NewCreate(f), projectcmd.NewEdit(f), projectcmd.NewDelete(f), generatecmd.New(f), generatecmd.NewControllerGen(f), bundlecmd.New(f), bundlecmd.NewPkgmanToBundle(f), projectcmd.NewAdopt(f), projectcmd.NewUpgrade(f), migratecmd.New(f),
		runcmd.New(f), deploycmd.NewInstall(f), deploycmd.NewUninstall(f),
		deploycmd.NewDeploy(f), deploycmd.NewUndeploy(f), olmcmd.NewCleanup(f), deploycmd.NewBuildInstaller(f),
		runcmd.NewTest(f), recordedcmd.NewWhy(f), recordedcmd.NewRights(f), recordedcmd.NewUI(f), runcmd.NewExplore(f), bundlecmd.NewScorecard(f), clustercmd.New(f), olmcmd.New(f), clustercmd.NewKubectl(f), imagecmd.New(f), projectcmd.NewDoctor(f), newConfig(f), newVersion(f), helpEnvironment(), helpExitCodes(),
	)
	legacy.Join(f, root)
	addCompletion(root)
	addHelp(root)
	cli.Strict(root)
	helpOfKnown(f, root)
	return root
}

// addCompletion adds cobra's command of that name early enough to be strict too.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args = nil
			for _, shell := range c.Commands() {
				shell.Args = nil
			}
		}
	}
}

// helpOfKnown completes the help of a command when it is shown, and refuses that
// of a command that does not exist: cobra shows that of the group.
func helpOfKnown(f *cli.Factory, root *cobra.Command) {
	show := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if words := c.Flags().Args(); len(words) > 0 && c.HasSubCommands() && cli.AsksHelp(args) {
			if found, rest, err := c.Find(words); err == nil { // behind --help
				c, words = found, rest
				c.InitDefaultHelpFlag()
			}
			if f.Unknown = c.ValidateArgs(words); f.Unknown != nil && c.HasSubCommands() {
				return
			}
			f.Unknown = nil
		}
		noteSettings(c)
		show(c, args)
	})
}
