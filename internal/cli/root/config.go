package root

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
)

func newConfig(f *cli.Factory) *cobra.Command {
	c := &cobra.Command{
		Use: "config", Short: "Show the configuration of mysdk", GroupID: "about",
		Example: "  mysdk config view",
	}
	var output string
	view := &cobra.Command{
		Use: "view", Short: "Show the settings that apply here, and where they come from",
		Long: `Show the settings that apply here, and where they come from.

'mysdk help environment' lists the keys, the variables and the files.`,
		Example: "  mysdk config view\n  mysdk config view -o json",
		RunE:    func(c *cobra.Command, _ []string) error { return viewConfig(f, c.Root(), output) },
	}
	cli.OutputFlag(view, &output)
	c.AddCommand(view)
	return c
}

func viewConfig(f *cli.Factory, root *cobra.Command, output string) error {
	layers, err := f.ReadConfig(root)
	if err != nil {
		return err
	}
	list := []cli.Setting{}
	for _, key := range cli.SettingKeys() {
		if s, ok := f.Lookup(layers, key); ok {
			list = append(list, s)
		}
	}
	list = append(list, cli.FileSettings(layers)...)
	f.Say("Files: %s", strings.Join(f.ConfigFiles(), ", "))
	return f.Report(output, list, func(w io.Writer) {
		fmt.Fprintln(w, "KEY\tVALUE\tFROM")
		for _, s := range list {
			fmt.Fprintf(w, "%s\t%s\t%s\n", s.Key, strings.Join(s.Values, ","), s.From)
		}
	})
}
