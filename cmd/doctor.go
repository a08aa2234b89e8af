package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/doctor"
	"github.com/example/mysdk/internal/project"
)

// doctorOptions are the flags of doctor.
type doctorOptions struct {
	kubeconfig, context string
	output              string
}

func newDoctor(a *app) *cobra.Command {
	o := &doctorOptions{}
	c := &cobra.Command{
		Use: "doctor", Short: "Diagnose problems with the machine, the project and the clusters", GroupID: "about",
		Long: `Say what keeps mysdk from working here, and what to type.

Looked at are the machine (Go and its settings, directories, disk, other
programs), the project in this directory (PROJECT, plugins, go.mod, generated
files, scaffold, kustomizations, commands that were killed) and the embedded
clusters. A cluster of yours is looked at where it is named. Where the project's
operator is deployed, its pods, logs and permissions are checked too. Nothing is
changed and nothing is downloaded; what the go command would fetch is listed.

Warnings leave the exit code at 0; with a problem it is 1.`,
		Example: `  mysdk doctor
  mysdk doctor --context kind-dev
  mysdk doctor -o json`,
		RunE: func(c *cobra.Command, _ []string) error { return a.runDoctor(c.Context(), o) },
	}
	fs := c.Flags()
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file of a cluster to check as well")
	fs.StringVar(&o.context, "context", "", "kubeconfig context of a cluster to check as well")
	outputFlag(c, &o.output)
	return c
}

func (a *app) runDoctor(ctx context.Context, o *doctorOptions) error {
	start := a.host.Now()
	r, err := doctor.Examine(ctx, doctor.Options{
		Host: a.host, Dir: a.host.Dir, Build: recordedVersion(), Plugin: a.goPlugin(), BuiltIn: []project.BuiltIn{a.builtIn()},
		Generate: a.plainOptions(), Kubeconfig: o.kubeconfig, Context: o.context, Allowed: a.allowed,
	})
	if err != nil {
		return err
	}
	if err := a.report(o.output, r, func(w io.Writer) { doctorTable(w, r) }); err != nil {
		return err
	}
	a.detail("looked at everything in %s", a.since(start))
	for _, c := range r.Checks {
		if c.Status == doctor.Problem {
			return clierr.Failedf("begin with the first: "+c.Hint, "%s and %s", count(r.Problems, "problem"), count(r.Warnings, "warning"))
		}
	}
	if r.Warnings > 0 {
		a.say("%s, no problems", count(r.Warnings, "warning"))
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

// recordedVersion is what the go command noted in this binary, as it does in
// that of the control plane.
func recordedVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return cmp.Or(info.Main.Version, "(devel)")
}
