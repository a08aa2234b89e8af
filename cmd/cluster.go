package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
)

func newCluster(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "cluster", Short: "Manage the embedded Kubernetes control plane", GroupID: "run",
		Long: `Manage the embedded Kubernetes control plane.

It is etcd, kube-apiserver, the controllers and the scheduler in one process,
on this machine's loopback only, with simulated nodes on which pods become
Ready without running. What is in it survives stop and start.`,
		Example: `  mysdk cluster start
  mysdk kubectl get pods -A
  mysdk cluster stop`,
	}
	c.AddCommand(newClusterStart(a), newClusterStop(a), newClusterStatus(a), newClusterKubeconfig(a),
		newClusterLogs(a), newClusterReset(a), newClusterList(a), newClusterAssets(a), newClusterSimulate(a))
	return c
}

func newClusterStart(a *app) *cobra.Command {
	o := cluster.Options{Progress: a.progress, Detail: a.stage}
	merge := false
	c := &cobra.Command{
		Use: "start", Short: "Start the embedded cluster (no-op if it is running)",
		Example: "  mysdk cluster start\n  mysdk cluster start --cluster test --fresh --nodes 3",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.startCluster(c.Context(), o, merge)
		},
	}
	clusterFlag(c.Flags(), &o.Name)
	fs := c.Flags()
	fs.BoolVar(&o.Fresh, "fresh", false, "start with an empty cluster")
	fs.IntVar(&o.Nodes, "nodes", 1, "number of simulated nodes")
	fs.BoolVar(&o.FSync, "fsync", false, "sync every write to disk: survives power loss, slower")
	fs.BoolVar(&merge, "merge", false, "add the cluster to your own kubeconfig as well")
	fs.IntVar(&o.Verbosity, "log-verbosity", 0, "verbosity of the cluster's log, from 0")
	renameFlag(fs, "v", "log-verbosity")
	return c
}

func (a *app) startCluster(ctx context.Context, o cluster.Options, merge bool) error {
	start := a.host.Now()
	info, err := cluster.Start(ctx, a.host, o)
	if err != nil {
		return err
	}
	if info.AlreadyRunning {
		a.say("Cluster %s is running at %s (Kubernetes %s)", info.Name, info.Server, info.Version)
	} else {
		a.say("Cluster %s is ready at %s (Kubernetes %s) after %s", info.Name, info.Server, info.Version, a.since(start))
	}
	if merge {
		if err := a.mergeKubeconfig(info.Name); err != nil {
			return err
		}
	}
	a.say("Use it with 'mysdk kubectl …', or in other tools:")
	return a.print(fmt.Appendf(nil, "export KUBECONFIG=%s\n", shellQuote(info.Kubeconfig)))
}

// mergeKubeconfig adds the cluster to the user's kubeconfig and says how to use
// it there: the current context stays what it was.
func (a *app) mergeKubeconfig(name string) error {
	file, err := cluster.MergeKubeconfig(a.host, name)
	if err != nil {
		return err
	}
	kubeContext := state.ContextName(name)
	a.say("Context %s is in %s; to make it the current one: kubectl config use-context %s", kubeContext, file, kubeContext)
	return nil
}

func newClusterStop(a *app) *cobra.Command {
	var name string
	c := &cobra.Command{
		Use: "stop", Short: "Stop the embedded cluster and keep its data (no-op if it is stopped)",
		Example: "  mysdk cluster stop",
		RunE: func(c *cobra.Command, _ []string) error {
			was, err := cluster.Stop(c.Context(), a.host, name)
			if err != nil {
				return err
			}
			if was {
				a.say("Cluster %s stopped; its data is kept", name)
			} else {
				a.say("Cluster %s was not running", name)
			}
			return nil
		},
	}
	clusterFlag(c.Flags(), &name)
	return c
}

func newClusterReset(a *app) *cobra.Command {
	var name string
	yes := false
	c := &cobra.Command{
		Use: "reset", Aliases: []string{"delete"}, Short: "Delete the embedded cluster and all its data",
		Long: `Delete the embedded cluster and all its data.

A context that 'mysdk cluster kubeconfig --merge' added to your kubeconfig is
removed as well.`,
		Example: "  mysdk cluster reset --cluster test\n  mysdk cluster reset --yes",
		RunE:    func(c *cobra.Command, _ []string) error { return a.resetCluster(c.Context(), name, yes) },
	}
	clusterFlag(c.Flags(), &name)
	c.Flags().BoolVarP(&yes, "yes", "y", false, "skip confirmation")
	return c
}

func (a *app) resetCluster(ctx context.Context, name string, yes bool) error {
	info, err := cluster.Status(ctx, a.host, name)
	if err != nil {
		return err
	}
	if _, err := a.host.Files.Lstat(info.StateDir); errors.Is(err, fs.ErrNotExist) {
		a.say("Cluster %s does not exist", name)
		return nil
	}
	if !yes {
		yes, err = a.ask(ctx, fmt.Sprintf("Everything in cluster %s will be deleted. Continue? [y/N] ", name),
			clierr.Usagef("add --yes to delete it", "nothing was deleted: stdin is not a terminal, and everything in cluster %s would be deleted", name))
		if err != nil {
			return err
		}
		if !yes {
			a.say("Nothing was deleted.")
			return nil
		}
	}
	files, err := cluster.UnmergeKubeconfig(a.host, name)
	for _, file := range files {
		a.say("Context %s is removed from %s", info.Context, file)
	}
	if err != nil {
		return err
	}
	if _, err := cluster.Reset(ctx, a.host, name); err != nil {
		return err
	}
	a.say("Cluster %s deleted", name)
	return nil
}

func newClusterStatus(a *app) *cobra.Command {
	var name string
	var output string
	c := &cobra.Command{
		Use: "status", Short: "Show whether the embedded cluster is running, and where",
		Example: "  mysdk cluster status\n  mysdk cluster status -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			info, err := cluster.Status(c.Context(), a.host, name)
			if err != nil {
				return err
			}
			return a.report(output, info, func(w io.Writer) { describeCluster(w, info, a.host.Now()) })
		},
	}
	clusterFlag(c.Flags(), &name)
	outputFlag(c, &output)
	return c
}

func newClusterList(a *app) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the clusters on this machine",
		Example: "  mysdk cluster list",
		RunE: func(c *cobra.Command, _ []string) error {
			list, err := cluster.List(c.Context(), a.host)
			if err != nil {
				return err
			}
			return a.report(output, list, func(w io.Writer) {
				fmt.Fprintln(w, "NAME\tSTATE\tSERVER\tVERSION")
				for _, i := range list {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", i.Name, i.State, i.Server, i.Version)
				}
			})
		},
	}
	outputFlag(c, &output)
	return c
}

func newClusterAssets(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "assets", Short: "Print the directory with etcd and kube-apiserver for envtest",
		Long: `Print the directory with etcd, kube-apiserver and kubectl, for tools that start
controller-runtime's envtest themselves, such as an editor's test runner. All
three are links to the control plane that mysdk brings.`,
		Example: `  KUBEBUILDER_ASSETS="$(mysdk cluster assets)" go test ./...`,
		RunE: func(c *cobra.Command, _ []string) error {
			dir, err := cluster.Assets(c.Context(), a.host, a.progress)
			if err != nil {
				return err
			}
			return a.print([]byte(dir + "\n"))
		},
	}
}

func newClusterKubeconfig(a *app) *cobra.Command {
	var name string
	merge, path := false, false
	c := &cobra.Command{
		Use: "kubeconfig", Short: "Print the cluster's kubeconfig, or add it to yours",
		Example: "  mysdk cluster kubeconfig --path\n  mysdk cluster kubeconfig --merge",
		RunE: func(*cobra.Command, []string) error {
			if merge {
				return a.mergeKubeconfig(name)
			}
			file, data, err := cluster.Kubeconfig(a.host, name)
			if err != nil {
				return err
			}
			if path {
				data = []byte(file + "\n")
			}
			return a.print(data)
		},
	}
	clusterFlag(c.Flags(), &name)
	c.Flags().BoolVar(&merge, "merge", false, "add it to your own kubeconfig, whose current context stays")
	c.Flags().BoolVar(&path, "path", false, "print the file's path instead of its content")
	return c
}

func newClusterLogs(a *app) *cobra.Command {
	var name string
	follow := false
	c := &cobra.Command{
		Use: "logs", Short: "Print the control plane's log",
		Example: "  mysdk cluster logs --follow",
		RunE: func(c *cobra.Command, _ []string) error {
			return cluster.Logs(c.Context(), a.host, name, follow, a.host.IO.Out)
		},
	}
	clusterFlag(c.Flags(), &name)
	c.Flags().BoolVarP(&follow, "follow", "f", false, "follow the log until Ctrl-C")
	return c
}

func describeCluster(w io.Writer, i cluster.Info, now time.Time) {
	fmt.Fprintf(w, "Name:\t%s\nState:\t%s\n", i.Name, i.State)
	if i.State == cluster.Running {
		fmt.Fprintf(w, "Ready:\t%t\nServer:\t%s\nKubernetes:\t%s\nNodes:\t%d\nPID:\t%d\nUp:\t%s\n",
			i.Ready, i.Server, i.Version, i.Nodes, i.PID, now.Sub(i.StartedAt).Round(time.Second))
		if i.Memory > 0 {
			fmt.Fprintf(w, "Memory:\t%d MiB\n", i.Memory>>20)
		}
	}
	if i.Problem != "" {
		fmt.Fprintf(w, "Problem:\t%s\n", i.Problem)
	}
	fmt.Fprintf(w, "Kubeconfig:\t%s\nState directory:\t%s\n", i.Kubeconfig, i.StateDir)
}

// report prints data in the format asked for; text writes tab-separated cells.
func (a *app) report(format string, data any, text func(io.Writer)) error {
	switch format {
	case "json":
		out, err := json.MarshalIndent(data, "", "  ")
		if err != nil {
			return err
		}
		return a.print(append(out, '\n'))
	case "yaml":
		out, err := yaml.Marshal(data)
		if err != nil {
			return err
		}
		return a.print(out)
	}
	w := tabwriter.NewWriter(a.host.IO.Out, 0, 8, 2, ' ', 0)
	text(w)
	return w.Flush()
}
