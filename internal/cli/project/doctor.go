package project

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/doctor"
	"github.com/example/mysdk/internal/project"
)

// NewDoctor is 'mysdk doctor'.
func NewDoctor(f *cli.Factory) *cobra.Command {
	o, output := doctor.Options{}, ""
	c := &cobra.Command{
		Use: "doctor", Short: "Diagnose problems with the machine, the project and the clusters", GroupID: "about",
		Long: `Diagnose problems with the machine, the project and the clusters, and show what
to type to fix them.

The checks cover the machine (Go and its settings, directories, disk, other
programs), the project in this directory (PROJECT, plugins, go.mod, generated
files, scaffold, kustomizations, commands that were killed) and the embedded
clusters. Your own clusters are checked only if you name one. If the project's
operator is deployed, its pods, logs and permissions are checked too, and if its
CRDs are installed, whether they still store old versions. Nothing is changed or
downloaded; what the go command would download is listed.

The exit code is 1 if there is a problem, and 0 if there are only warnings.`,
		Example: `  mysdk doctor
  mysdk doctor --context kind-dev
  mysdk doctor -o json`,
		RunE: func(c *cobra.Command, _ []string) error { return runDoctor(c.Context(), f, o, output) },
	}
	fs := c.Flags()
	fs.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig file of a cluster to check as well")
	fs.StringVar(&o.Context, "context", "", "kubeconfig context of a cluster to check as well")
	cli.OutputFlag(c, &output)
	return c
}

func runDoctor(ctx context.Context, f *cli.Factory, o doctor.Options, output string) error {
	start := f.Host.Now()
	o.Host, o.Dir, o.Build, o.Allowed = f.Host, f.Host.Dir, state.OwnVersion(), f.Allowed
	o.Plugin, o.BuiltIn, o.Generate = f.GoPlugin(), []project.BuiltIn{f.BuiltIn()}, f.PlainOptions()
	r, err := doctor.Examine(ctx, o)
	if err != nil {
		return err
	}
	if err := f.Report(output, r, func(w io.Writer) { doctorTable(w, r) }); err != nil {
		return err
	}
	f.Detail("checked everything in %s", f.Since(start))
	for _, c := range r.Checks {
		if c.Status == doctor.Problem {
			return clierr.Failedf("begin with the first: "+c.Hint, "%s and %s", cli.Count(r.Problems, "problem"), cli.Count(r.Warnings, "warning"))
		}
	}
	if r.Warnings > 0 {
		f.Say("%s, no problems", cli.Count(r.Warnings, "warning"))
	}
	return nil
}

// doctorTable prints one line for each check.
func doctorTable(w io.Writer, r doctor.Report) {
	fmt.Fprintln(w, "STATUS\tAREA\tCHECK\tFOUND")
	for _, c := range r.Checks {
		line := c.Found
		if c.Hint != "" {
			line += " -> " + c.Hint
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.Status, c.Area, c.Name, line)
	}
}
