package root

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
)

func newVersion(f *cli.Factory) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "version", Short: "Print the versions of mysdk and its embedded Kubernetes", GroupID: "about",
		Example: "  mysdk version\n  mysdk version -o json",
		RunE: func(*cobra.Command, []string) error {
			b := cli.ThisBuild()
			return f.Report(output, b, func(w io.Writer) { fmt.Fprint(w, b) })
		},
	}
	cli.OutputFlag(c, &output)
	return c
}
