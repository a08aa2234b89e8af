package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/example/mysdk/internal/cluster/state"
)

// renamed marks a flag that is the old name of another, which it annotates.
const renamed = "mysdk_renamed"

// RenameFlag keeps an old name of the flag now, or an old shorthand such as -t:
// hidden, with the same value.
func RenameFlag(fs *pflag.FlagSet, old, now string) {
	f := *fs.Lookup(now)
	f.Name, f.Shorthand, f.Hidden = old, "", true
	if letter, ok := strings.CutPrefix(old, "-"); ok {
		f.Name, f.Shorthand = letter, letter
	}
	f.Annotations = map[string][]string{renamed: {now}}
	fs.AddFlag(&f)
}

// resolveRenamed counts flags that were given by an old name as given by the
// new one, and tells that name.
func (f *Factory) resolveRenamed(fs *pflag.FlagSet) error {
	var err error
	fs.Visit(func(flag *pflag.Flag) {
		for _, now := range flag.Annotations[renamed] {
			old := "--" + flag.Name
			if flag.Shorthand != "" {
				old = "-" + flag.Shorthand
			}
			f.Say("Note: %s is now: --%s", old, now)
			err = errors.Join(err, fs.Set(now, flag.Value.String()))
			f.Given[now] = true
		}
	})
	return err
}

// ClusterFlag is the flag that tells embedded clusters apart.
func ClusterFlag(fs *pflag.FlagSet, name *string) {
	fs.StringVar(name, "cluster", state.DefaultName, "name of the embedded cluster")
	RenameFlag(fs, "name", "cluster")
}

// OutputFlag is the -o of whatever reports. Some know more formats than all do.
func OutputFlag(c *cobra.Command, value *string, more ...string) {
	formats := append([]string{"text", "json", "yaml"}, more...)
	*value = formats[0]
	last := len(formats) - 1
	c.Flags().VarP(Choice(value, formats...), "output", "o", "output format: "+strings.Join(formats[:last], ", ")+" or "+formats[last])
}
