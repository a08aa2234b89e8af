package cli

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/example/mysdk/internal/clierr"
)

// NoArguments refuses arguments, with a hint at what they may be for; empty: at the help.
func NoArguments(hint string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return clierr.Usagef(cmp.Or(hint, "see '"+c.CommandPath()+" --help'"), "%q takes no arguments, got %q", c.CommandPath(), strings.Join(args, " "))
	}
}

// AtMostOne takes one argument or none.
func AtMostOne(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) <= 1 {
			return nil
		}
		return clierr.Usagef("see '"+c.CommandPath()+" --help'", "%q takes %s and nothing more, and got %q", c.CommandPath(), what, strings.Join(args, " "))
	}
}

// ExactlyOne refuses anything but one argument. An empty one is that of a
// variable which is not set, and names nothing.
func ExactlyOne(what, such string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return clierr.Usagef("such as: "+such, "%q needs %s", c.CommandPath(), what)
		case len(args) == 1 && args[0] == "":
			return clierr.Usagef("such as: "+such, "%q needs %s, and got an empty argument", c.CommandPath(), what)
		case len(args) == 1:
			return nil
		}
		return clierr.Usagef("such as: "+such, "%q takes %s and nothing more, and got %q", c.CommandPath(), what, strings.Join(args, " "))
	}
}

// positive is a duration that is more than nothing.
type positive struct{ pflag.Value }

// Set implements pflag.Value.
func (p positive) Set(s string) error {
	if d, err := time.ParseDuration(s); err == nil && d <= 0 {
		return errors.New("must be more than 0")
	}
	return p.Value.Set(s)
}

// Strict makes every command refuse arguments that it does not take and times that
// are not positive, and every group of commands refuse to do nothing: no mistake
// exits 0.
func Strict(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Value.Type() == "duration" {
			f.Value = positive{f.Value}
		}
	})
	if c.Args == nil && c.HasSubCommands() {
		c.Args = func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return UnknownCommand(c, args[0])
		}
	}
	if c.Args == nil {
		c.Args = NoArguments("")
	}
	if c.HasSubCommands() && c.HasParent() && c.Run == nil && c.RunE == nil {
		c.RunE = func(c *cobra.Command, _ []string) error {
			return clierr.Usagef("choose one of: "+strings.Join(Children(c), ", "), "%q needs a subcommand", c.CommandPath())
		}
	}
	for _, sub := range c.Commands() {
		Strict(sub)
	}
}

// UnknownCommand is the error of a word that is none of c's subcommands.
func UnknownCommand(c *cobra.Command, word string) error {
	names := Children(c)
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
		if group.IsAvailableCommand() && slices.Contains(Children(group), word) {
			found = append(found, group.CommandPath()+" "+word)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// fewNames are as many as a hint lists.
const fewNames = 8

// Children are the names of the subcommands that help shows.
func Children(c *cobra.Command) []string {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// FlagError turns pflag's complaint into a usage error that knows better names.
func FlagError(c *cobra.Command, err error) error {
	if words := c.Flags().Args(); len(words) > 0 && c.HasSubCommands() {
		// The flags of a subcommand are not the group's to judge: of one that is
		// misspelt, or stands behind --help.
		if sub, _, missing := c.Find(words); missing == nil && sub != c {
			return clierr.Usagef("run '"+sub.CommandPath()+" --help'", "%w", err)
		}
		if err := c.ValidateArgs(words); err != nil {
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
	if subs := childrenWith(c, missing.GetSpecifiedName()); len(subs) > 0 {
		return clierr.Usagef("did you mean '"+strings.Join(subs, "' or '")+"'?", "unknown flag --%s", missing.GetSpecifiedName())
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := clierr.Closest(missing.GetSpecifiedName(), names); near != "" {
		return clierr.Usagef("did you mean --"+near+"?", "unknown flag --%s", missing.GetSpecifiedName())
	}
	hint := "see '" + c.CommandPath() + " --help' for its flags"
	if missing.GetSpecifiedShortnames() != "" {
		return clierr.Usagef(hint, "%w", err)
	}
	return clierr.Usagef(hint, "unknown flag --%s", missing.GetSpecifiedName())
}

// childrenWith are the subcommands of c that have the flag, with it. Those of the
// root are too many to name.
func childrenWith(c *cobra.Command, flag string) []string {
	var found []string
	for _, sub := range c.Commands() {
		if f := sub.Flags().Lookup(flag); c.HasParent() && sub.IsAvailableCommand() && f != nil && !f.Hidden {
			found = append(found, sub.CommandPath()+" --"+flag)
		}
	}
	return found
}
