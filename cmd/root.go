// Package cmd is the command line of mysdk: it knows flags, help, the layers
// of configuration, exit codes and what to print. The work is done by the
// engines below internal/, which it calls and which know nothing of it.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/host"
)

// app is what all commands share: the world, and the global flags.
type app struct {
	host    host.Host
	quiet   bool
	verbose bool
	color   string
	chdir   string          // the directory of -C
	inside  string          // where the user is, seen from the project's root; empty for the root
	allowed []string        // contexts of real clusters that may be written to unnamed
	typed   string          // the command line, for the journal of an interrupted commit
	plugins *pluginRun      // external plugins that take part, nil without any
	running *cobra.Command  // the one that runs, known once flags are parsed
	told    map[string]bool // lines that are printed only once
	given   map[string]bool // names of the flags that were typed; known then, too
	unknown error           // a subcommand that help was asked for does not exist
	// open builds the command tree for a command line, for verbs that run others.
	open func(ctx context.Context, a *app, args []string) (root, c *cobra.Command, err error)
}

// in returns a copy whose working directory is dir.
func (a *app) in(dir string) *app {
	there := *a
	there.host.Dir = dir
	return &there
}

// Main runs the command line args and returns the exit code. It prints errors,
// once, on stderr.
func Main(ctx context.Context, h host.Host, args []string) int {
	a := &app{host: h, typed: strings.Join(args, " "), told: map[string]bool{}, open: openTree}
	root, c, err := a.open(ctx, a, args)
	if err != nil {
		return a.end(ctx, c, err)
	}
	ran, err := root.ExecuteContextC(ctx)
	return a.end(ctx, ran, errors.Join(err, a.unknown))
}

// openTree builds the command tree for a command line, with the flags of external
// plugins that take part in it, and returns the command that it is about.
func openTree(ctx context.Context, a *app, args []string) (root, c *cobra.Command, err error) {
	root = rootFor(a, args)
	c, flags, err := root.Find(args)
	if err == nil && !completing(args) {
		if err := a.enter(c, args, flags); err != nil {
			return root, c, err
		}
		err = a.loadPlugins(ctx, c, args)
		switch {
		case err != nil && asksHelp(args):
			a.warn("%v", err)
		case err != nil:
			return root, c, err
		case a.plugins != nil || a.chdir != "":
			root = rootFor(a, args) // again: with their flags, and not parsed yet
		}
		if c.DisableFlagParsing {
			args = a.parseGlobals(root, args)
		}
	}
	root.SetArgs(args)
	return root, c, nil // a command that is not known is told when it runs
}

// end reports how the command c ended and returns the exit code.
func (a *app) end(ctx context.Context, c *cobra.Command, err error) int {
	if err == nil {
		return 0
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		a.say("Stopped.")
		return clierr.CodeInterrupted
	}
	return a.fail(c, err)
}

// Root returns the whole command tree, for the generator of the reference.
func Root(h host.Host) *cobra.Command { return newRoot(&app{host: h}) }

// rootFor is the command tree for a command line.
func rootFor(a *app, args []string) *cobra.Command {
	root := newRoot(a)
	if completing(args) {
		a.completeFlags(root)
	}
	leaveWordsToTest(root, args)
	return root
}

func newRoot(a *app) *cobra.Command {
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
		Version: thisBuild().String(),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRunE: func(c *cobra.Command, words []string) error {
			a.running = c
			kubectlAlone(c, words)
			return a.configure(c)
		},
	}
	a.bindGlobals(root.PersistentFlags())
	root.Flags().Bool("version", false, "print the version")
	root.SetVersionTemplate("{{.Version}}")
	root.SetIn(a.host.IO.In)
	root.SetOut(a.host.IO.Out)
	root.SetErr(a.host.IO.Err)
	root.SetFlagErrorFunc(flagError)
	root.AddGroup(
		&cobra.Group{ID: "write", Title: "Write an operator:"},
		&cobra.Group{ID: "run", Title: "Run it:"},
		&cobra.Group{ID: "about", Title: "About mysdk:"},
	)
	root.SetHelpCommandGroupID("about")
	root.SetCompletionCommandGroupID("about")
	root.AddCommand(
		newInit(a), newCreate(a), newEdit(a), newDelete(a), newGenerate(a), newControllerGen(a), newBundle(a), newPkgmanToBundle(a), newAdopt(a), newUpgrade(a), newMigrate(a),
		newRun(a), newInstall(a), newUninstall(a),
		newDeploy(a), newUndeploy(a), newCleanup(a), newBuildInstaller(a),
		newTest(a), newScorecard(a), newCluster(a), newOLM(a), newKubectl(a), newImage(a), newDoctor(a), newConfig(a), newVersion(a), helpEnvironment(), helpExitCodes(),
	)
	a.joinLegacy(root)
	addCompletion(root)
	addHelp(root)
	noteSettings(root)
	strict(root)
	a.helpOfKnown(root)
	return root
}

func (a *app) bindGlobals(fs *pflag.FlagSet) {
	fs.BoolVarP(&a.quiet, "quiet", "q", false, "print only errors and results")
	fs.BoolVarP(&a.verbose, "verbose", "v", false, "print more details")
	a.color = "auto"
	fs.Var(choice(&a.color, "auto", "always", "never"), "color", "colorize the output: auto, always or never")
	fs.StringVarP(&a.chdir, "chdir", "C", "", "change to this directory first")
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

// strict makes every command refuse arguments that it does not take, and every
// group of commands refuse to do nothing: no mistake exits 0.
func strict(c *cobra.Command) {
	if c.Args == nil && c.HasSubCommands() {
		c.Args = func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(c, args[0])
		}
	}
	if c.Args == nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return clierr.Usagef("see '"+c.CommandPath()+" --help'", "%q takes no arguments, got %q", c.CommandPath(), strings.Join(args, " "))
		}
	}
	if c.HasSubCommands() && c.HasParent() && c.Run == nil && c.RunE == nil {
		c.RunE = func(c *cobra.Command, _ []string) error {
			return clierr.Usagef("choose one of: "+strings.Join(children(c), ", "), "%q needs a subcommand", c.CommandPath())
		}
	}
	for _, sub := range c.Commands() {
		strict(sub)
	}
}

// unknownCommand is the error of a word that is none of c's subcommands.
func unknownCommand(c *cobra.Command, word string) error {
	names := children(c)
	hint := clierr.DidYouMean(word, names)
	if clierr.Closest(word, names) == "" && len(names) > fewNames {
		hint = "see '" + c.CommandPath() + " --help' for the commands"
		if longer := elsewhere(c, word); longer != "" {
			hint = "did you mean '" + longer + "'?"
		}
	}
	return clierr.Usagef(hint, "unknown command %q for %q", word, c.CommandPath())
}

// kubectlVerbs are words of kubectl's that people type after mysdk.
var kubectlVerbs = []string{"annotate", "api-resources", "apply", "describe", "events", "exec", "explain", "get", "label", "patch", "port-forward", "rollout", "scale", "top", "wait"}

// elsewhere is the command that has the word one level deeper, if only one has.
func elsewhere(c *cobra.Command, word string) string {
	if !c.HasParent() && slices.Contains(kubectlVerbs, word) {
		return c.CommandPath() + " kubectl " + word
	}
	var found []string
	for _, group := range c.Commands() {
		if group.IsAvailableCommand() && slices.Contains(children(group), word) {
			found = append(found, group.CommandPath()+" "+word)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// helpOfKnown refuses the help of a command that does not exist: cobra shows
// that of the group.
func (a *app) helpOfKnown(root *cobra.Command) {
	show := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if words := c.Flags().Args(); c.HasSubCommands() && asksHelp(args) {
			if a.unknown = c.ValidateArgs(words); a.unknown != nil {
				return
			}
		}
		show(c, args)
	})
}

// fewNames are as many as a hint lists.
const fewNames = 8

func children(c *cobra.Command) []string {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// flagError turns pflag's complaint into a usage error that knows better names.
func flagError(c *cobra.Command, err error) error {
	if c.HasSubCommands() {
		// The flags of a misspelt subcommand are not the group's to judge.
		if err := c.ValidateArgs(c.Flags().Args()); err != nil {
			return err
		}
	}
	var missing *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "bool" {
		name := invalid.GetFlag().Name
		return clierr.Usagef("use --"+name+" or --"+name+"=false", "invalid argument %q for \"--%s\" flag: must be true or false", invalid.GetValue(), name)
	}
	if invalid != nil && invalid.GetFlag().Value.Type() == "duration" {
		return clierr.Usagef("give a number with a unit, such as 90s or 2m", "%w", err)
	}
	if !errors.As(err, &missing) {
		return clierr.Usagef("see '"+c.CommandPath()+" --help'", "%w", err)
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := clierr.Closest(missing.GetSpecifiedName(), names); near != "" {
		return clierr.Usagef("did you mean --"+near+"?", "unknown flag --%s", missing.GetSpecifiedName())
	}
	hint := "see '" + c.CommandPath() + " --help' for its flags"
	if missing.GetSpecifiedShortnames() != "" {
		return clierr.Usagef(hint, "%w", err)
	}
	return clierr.Usagef(hint, "unknown flag --%s", missing.GetSpecifiedName())
}

// fail prints err and its hint and returns its exit code.
func (a *app) fail(c *cobra.Command, err error) int {
	var kubectl *cluster.ExitError
	if errors.As(err, &kubectl) {
		return kubectl.Code // it has said all there is to say
	}
	text := err.Error()
	if at := strings.TrimPrefix(c.CommandPath(), "mysdk "); at != "mysdk" && !strings.HasPrefix(text, "unknown command") && !strings.HasPrefix(text, at+": ") {
		text = at + ": " + text
	}
	fmt.Fprintf(a.host.IO.Err, "%s %s\n", a.paint(red, "Error:"), text)
	if h := clierr.HintOf(err); h != "" {
		fmt.Fprintf(a.host.IO.Err, "%s  %s\n", a.paint(yellow, "Hint:"), indent(h))
	}
	return clierr.CodeOf(err)
}

// indent lines up the lines of a hint after the first.
func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n       ") }
