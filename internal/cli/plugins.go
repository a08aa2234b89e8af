package cli

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
	Chain    project.Chain
	steps    *project.Steps
	describe []string // what they say of themselves; for --help only
	examples []string // the same of their examples
}

// BuiltIn is the Go plugin with the names that it goes by.
func (f *Factory) BuiltIn() project.BuiltIn {
	return project.BuiltIn{Plugin: f.GoPlugin(), Aliases: []string{"go/v4", "go"}}
}

// LoadPlugins finds the external plugins that the command line or the
// project's layout names, before flags are parsed: some of them are theirs.
// Where none is named, nothing is looked for and nothing is done.
func (f *Factory) LoadPlugins(ctx context.Context, c *cobra.Command, typed []string) error {
	command := strings.TrimPrefix(c.CommandPath(), "mysdk ")
	what, ok := project.SubcommandOf(command)
	if !ok {
		return nil
	}
	chain, err := f.namedChain(command, typed)
	if err != nil || len(chain.External()) == 0 {
		return err
	}
	run := &pluginRun{command: command, Chain: chain}
	if run.steps, err = chain.Steps(ctx, what, typed, f.pluginArgs); err != nil {
		return err
	}
	if AsksHelp(typed) {
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
	f.Plugins = run
	return nil
}

// namedChain is the chain that init is given, or that of the project here.
// What is wrong with a PROJECT file is left for the command to tell.
func (f *Factory) namedChain(command string, typed []string) (project.Chain, error) {
	if command == "init" {
		return f.typedChain(typed)
	}
	file, err := project.Load(f.Host.Dir)
	if err != nil {
		return nil, nil //nolint:nilerr // see above
	}
	chain, err := project.LayoutChain(f.Host, file.Project().Layout, f.BuiltIn())
	if err != nil {
		return nil, &clierr.Error{Err: fmt.Errorf("%s: layout: %w", project.FileName, err), Code: clierr.CodeFailed}
	}
	return chain, nil
}

// typedChain reads --plugins alone from a command line whose other flags are
// not all known yet.
func (f *Factory) typedChain(typed []string) (project.Chain, error) {
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
	chain, err := project.NewChain(f.Host, *keys, f.BuiltIn())
	if err == nil && !slices.Contains(chain.Keys(), plugin.KeyFor(f.GoPlugin())) {
		err = clierr.Usagef("put it into the list: --plugins go/v4,"+strings.Join(*keys, ","), "no plugin of the chain lays out the project: go/v4 is missing")
	}
	return chain, err
}

// AsksHelp reports whether a command line asks for help.
func AsksHelp(typed []string) bool {
	return slices.ContainsFunc(typed, func(w string) bool { return w == "--help" || w == "-h" })
}

// pluginArgs are the flags that external plugins get, as they are after
// parsing: all but those that say how mysdk runs.
func (f *Factory) pluginArgs() []string {
	own := []string{"plugins", "dry-run", "overwrite", "quiet", "verbose", "color", "chdir", "help"}
	args := []string{}
	f.Running.Flags().Visit(func(flag *pflag.Flag) {
		if slices.Contains(own, flag.Name) {
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = []string{strings.Join(list.GetSlice(), ",")}
		}
		switch {
		case flag.Value.Type() != "bool":
			args = append(args, "--"+flag.Name, values[0])
		case values[0] == "true":
			args = append(args, "--"+flag.Name)
		default:
			args = append(args, "--"+flag.Name+"=false")
		}
	})
	return args
}

// Joined returns the plugins' steps if they take part in the command, and
// adds what they say of themselves to its help.
func (f *Factory) Joined(c *cobra.Command, command string) *project.Steps {
	if f.Plugins == nil || f.Plugins.command != command {
		return nil
	}
	c.Long = strings.Join(append([]string{c.Long}, f.Plugins.describe...), "\n\n")
	c.Example = strings.Join(append([]string{c.Example}, f.Plugins.examples...), "\n\n")
	return f.Plugins.steps
}

// EditByPlugins runs the edit of external plugins on the project as it will be
// with change.
func (f *Factory) EditByPlugins(change fileset.Set) (fileset.Set, error) {
	if f.Plugins == nil || f.Plugins.command != "edit" {
		return change, nil
	}
	return project.Edit(f.Plugins.steps, f.Host.Dir, change)
}
