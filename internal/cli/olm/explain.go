package olm

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/olm/run"
)

// explainOptions are the flags and the argument of olm explain.
type explainOptions struct {
	cli.Target
	namespace string
	output    string
	pkg       string
}

func newExplain(f *cli.Factory) *cobra.Command {
	o := &explainOptions{}
	c := &cobra.Command{
		Use: "explain [PACKAGE]", Short: "Show operators installed by OLM and diagnose unhealthy ones",
		Long: `Show operators installed by OLM and diagnose unhealthy ones.

For each operator, however it was installed, all objects from the CatalogSource,
the Subscription, the InstallPlan and the ClusterServiceVersion to the pod are
checked. The first one at fault is shown with its condition, its last warning
and the end of its log. Nothing is changed. The exit code is 4 if any operator
is unhealthy; one whose upgrade waits for approval is not.`,
		Example: "  mysdk olm explain\n  mysdk olm explain shop-operator -n operators",
		Args:    cli.AtMostOne("a package"),
		RunE: func(c *cobra.Command, args []string) error {
			o.pkg = strings.Join(args, "")
			return runExplain(c.Context(), f, o)
		},
	}
	c.ValidArgsFunction = f.Packages
	o.Bind(c.Flags())
	c.Flags().StringVarP(&o.namespace, "namespace", "n", "", "namespace to check (default: all)")
	cli.OutputFlag(c, &o.output)
	return c
}

// runExplain describes every operator, and fails with the first finding: a script
// can wait for an operator with it.
func runExplain(ctx context.Context, f *cli.Factory, o *explainOptions) error {
	client, err := f.Connect(ctx, &o.Target, false)
	if err != nil {
		return err
	}
	found, err := run.Operators(ctx, client, o.namespace, o.pkg)
	if err != nil {
		return err
	}
	if len(found) == 0 && o.pkg != "" {
		return clierr.Failedf("see them all with 'mysdk olm explain'", "package %s is not installed", o.pkg)
	}
	var bad []run.Operator
	for _, op := range found {
		if op.Note != nil {
			op.Note.Hint = f.Aim(op.Note.Hint)
		}
		if op.Finding != nil {
			op.Finding.Hint = f.Aim(op.Finding.Hint) // for JSON, too
			bad = append(bad, op)
		}
	}
	if err := f.Report(o.output, found, func(w io.Writer) { describeOperators(w, o.namespace, found) }); err != nil {
		return err
	}
	if o.output == "text" {
		tellMore(f, found)
	}
	if len(bad) == 0 {
		return nil
	}
	return clierr.Unavailablef(bad[0].Finding.Hint, "%s", bad[0].Finding)
}

// tellMore says what the table has no room for.
func tellMore(f *cli.Factory, list []run.Operator) {
	for _, o := range list {
		if o.Note != nil {
			f.Say("%s\n  %s", o.Note, o.Note.Hint)
		}
		if o.Finding == nil {
			continue
		}
		for _, line := range o.Finding.Details() {
			f.Say("  %s", line)
		}
	}
}

// describeOperators is the table for people.
func describeOperators(w io.Writer, namespace string, list []run.Operator) {
	if len(list) == 0 {
		where := ""
		if namespace != "" {
			where = " in namespace " + namespace
		}
		fmt.Fprintf(w, "OLM has no operators installed%s\n", where)
		return
	}
	fmt.Fprintln(w, "NAMESPACE\tPACKAGE\tCSV\tPHASE\tPROBLEM")
	for _, o := range list {
		problem := "-"
		if o.Finding != nil {
			problem = o.Finding.String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", o.Namespace, cmp.Or(o.Package, "-"), cmp.Or(o.CSV, "-"), cmp.Or(o.Phase, "-"), problem)
	}
}
