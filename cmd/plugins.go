package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/kubebuilder/v3/pkg/plugin"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/project"
)

// pluginRun is a command line that external plugins take part in.
type pluginRun struct {
	command  string // path of the command below the root, such as "create api"
	chain    project.Chain
	steps    *project.Steps
	describe []string // what they say of themselves; for --help only
	examples []string // the same of their examples
}

// pluginCommands are the commands that run the plugins of a project.
func pluginCommands() map[string]project.Subcommand {
	list := map[string]project.Subcommand{}
	for _, s := range []project.Subcommand{
		project.InitSubcommand(), project.CreateAPISubcommand(), project.CreateWebhookSubcommand(), project.EditSubcommand(),
	} {
		list[s.Command] = s
	}
	return list
}

// builtIn is the Go plugin with the names that it goes by.
func (a *app) builtIn() project.BuiltIn {
	return project.BuiltIn{Plugin: a.goPlugin(), Aliases: []string{"go/v4", "go"}}
}

// loadPlugins finds the external plugins that the command line or the
// project's layout names, before flags are parsed: some of them are theirs.
// Where none is named, nothing is looked for and nothing is done.
func (a *app) loadPlugins(ctx context.Context, c *cobra.Command, typed []string) error {
	command := strings.TrimPrefix(c.CommandPath(), "mysdk ")
	what, ok := pluginCommands()[command]
	if !ok {
		return nil
	}
	chain, err := a.namedChain(command, typed)
	if err != nil || len(chain.External()) == 0 {
		return err
	}
	run := &pluginRun{command: command, chain: chain}
	if run.steps, err = chain.Steps(ctx, what, typed, a.pluginArgs); err != nil {
		return err
	}
	if asksHelp(typed) {
		for _, e := range chain.External() {
			m, err := e.Metadata(ctx, what.Short)
			if err != nil {
				return err
			}
			if text := strings.TrimSpace(m.Description); text != "" {
				run.describe = append(run.describe, fmt.Sprintf("Plugin %s: %s", plugin.KeyFor(e), text))
			}
			if text := strings.TrimRight(m.Examples, "\n"); text != "" {
				run.examples = append(run.examples, strings.TrimLeft(text, "\n"))
			}
		}
	}
	a.plugins = run
	return nil
}

// namedChain is the chain that init is given, or that of the project here.
// What is wrong with a PROJECT file is left for the command to tell.
func (a *app) namedChain(command string, typed []string) (project.Chain, error) {
	if command == "init" {
		return a.typedChain(typed)
	}
	f, err := project.Load(a.host.Dir)
	if err != nil {
		return nil, nil //nolint:nilerr // see above
	}
	p, err := f.Project()
	if err != nil {
		return nil, nil //nolint:nilerr // see above
	}
	chain, err := project.LayoutChain(a.host, p.Layout, a.builtIn())
	if err != nil {
		return nil, &clierr.Error{Err: fmt.Errorf("%s: layout: %w", project.FileName, err), Code: clierr.CodeFailed}
	}
	return chain, nil
}

// typedChain reads --plugins alone from a command line whose other flags are
// not all known yet.
func (a *app) typedChain(typed []string) (project.Chain, error) {
	fs := pflag.NewFlagSet("plugins", pflag.ContinueOnError)
	fs.ParseErrorsAllowlist.UnknownFlags = true
	fs.Usage = func() {}
	help := fs.BoolP("help", "h", false, "")
	keys := fs.StringSlice("plugins", nil, "")
	if err := fs.Parse(typed); err != nil && !*help && !errors.Is(err, pflag.ErrHelp) {
		return nil, nil //nolint:nilerr // the command's own flags have more to say
	}
	if len(*keys) == 0 {
		return nil, nil
	}
	chain, err := project.NewChain(a.host, *keys, a.builtIn())
	if err == nil && !slices.Contains(chain.Keys(), plugin.KeyFor(a.goPlugin())) {
		err = clierr.Usagef("put it into the list: --plugins go/v4,"+strings.Join(*keys, ","), "no plugin of the chain lays out the project: go/v4 is missing")
	}
	return chain, err
}

func asksHelp(typed []string) bool {
	return slices.ContainsFunc(typed, func(w string) bool { return w == "--help" || w == "-h" })
}

// pluginArgs are the flags that external plugins get, as they are after
// parsing: all but those that say how mysdk is to run.
func (a *app) pluginArgs() []string {
	own := []string{"plugins", "dry-run", "overwrite", "quiet", "verbose", "color", "chdir", "help"}
	args := []string{}
	a.running.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(own, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = []string{strings.Join(list.GetSlice(), ",")}
		}
		switch {
		case f.Value.Type() != "bool":
			args = append(args, "--"+f.Name, values[0])
		case values[0] == "true":
			args = append(args, "--"+f.Name)
		default:
			args = append(args, "--"+f.Name+"=false")
		}
	})
	return args
}

// joined returns the plugins' steps if they take part in the command, and
// adds what they say of themselves to its help.
func (a *app) joined(c *cobra.Command, command string) *project.Steps {
	if a.plugins == nil || a.plugins.command != command {
		return nil
	}
	c.Long = strings.Join(append([]string{c.Long}, a.plugins.describe...), "\n\n")
	c.Example = strings.Join(append([]string{c.Example}, a.plugins.examples...), "\n\n")
	return a.plugins.steps
}

// editByPlugins runs the edit of external plugins on the project as it will be
// with change.
func (a *app) editByPlugins(change fileset.Set) (fileset.Set, error) {
	if a.plugins == nil || a.plugins.command != "edit" {
		return change, nil
	}
	return project.Edit(a.plugins.steps, a.host.Dir, change)
}
