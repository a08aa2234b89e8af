package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/cluster"
)

func newCluster(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "cluster", Short: "Start, stop and look at the Kubernetes control plane that mysdk brings", GroupID: "run",
		Long: `Start, stop and look at the Kubernetes control plane that mysdk brings.

It is etcd, kube-apiserver, the controllers and the scheduler in one process,
on this machine's loopback only, with simulated nodes on which pods become
Ready without running. What is in it survives stop and start.`,
		Example: `  mysdk cluster start
  mysdk kubectl get pods -A
  mysdk cluster stop`,
	}
	c.AddCommand(newClusterStart(a), newClusterStop(a), newClusterStatus(a), newClusterKubeconfig(a),
		newClusterLogs(a), newClusterReset(a), newClusterList(a), newClusterAssets(a))
	return c
}

// nameFlag is the flag that tells clusters apart.
func nameFlag(c *cobra.Command, name *string) {
	c.Flags().StringVar(name, "name", cluster.DefaultName, "name of the cluster")
}

func newClusterStart(a *app) *cobra.Command {
	o := cluster.Options{Progress: a.progress, Detail: a.stage}
	merge := false
	c := &cobra.Command{
		Use: "start", Short: "Start the cluster; starting a running one is fine",
		Example: "  mysdk cluster start\n  mysdk cluster start --name test --fresh --nodes 3",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.startCluster(c.Context(), o, merge)
		},
	}
	nameFlag(c, &o.Name)
	fs := c.Flags()
	fs.BoolVar(&o.Fresh, "fresh", false, "begin with an empty cluster")
	fs.IntVar(&o.Nodes, "nodes", 1, "simulated nodes")
	fs.BoolVar(&o.FSync, "fsync", false, "write to the disk at once: survives a power cut, slower")
	fs.BoolVar(&merge, "merge", false, "add the cluster to your own kubeconfig as well")
	fs.IntVarP(&o.Verbosity, "v", "v", 0, "verbosity of the cluster's log")
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
		file, err := cluster.MergeKubeconfig(a.host, o.Name)
		if err != nil {
			return err
		}
		a.say("Context %s is in %s", info.Context, file)
	}
	a.say("Use it with 'mysdk kubectl …', or in other tools:")
	return a.print(fmt.Appendf(nil, "export KUBECONFIG=%s\n", shellQuote(info.Kubeconfig)))
}

func newClusterStop(a *app) *cobra.Command {
	var name string
	c := &cobra.Command{
		Use: "stop", Short: "Stop the cluster and keep what is in it; stopping a stopped one is fine",
		Example: "  mysdk cluster stop",
		RunE: func(c *cobra.Command, _ []string) error {
			was, err := cluster.Stop(c.Context(), a.host, name)
			if err != nil {
				return err
			}
			if was {
				a.say("Cluster %s is stopped; 'mysdk cluster start' brings it back with everything in it", name)
			} else {
				a.say("Cluster %s was not running", name)
			}
			return nil
		},
	}
	nameFlag(c, &name)
	return c
}

func newClusterReset(a *app) *cobra.Command {
	var name string
	c := &cobra.Command{
		Use: "reset", Short: "Stop the cluster and remove everything in it",
		Example: "  mysdk cluster reset --name test",
		RunE: func(c *cobra.Command, _ []string) error {
			was, err := cluster.Reset(c.Context(), a.host, name)
			if err != nil {
				return err
			}
			if was {
				a.say("Cluster %s is gone with everything that was in it", name)
			} else {
				a.say("There was no cluster %s", name)
			}
			return nil
		},
	}
	nameFlag(c, &name)
	return c
}

func newClusterStatus(a *app) *cobra.Command {
	var name string
	output := "text"
	c := &cobra.Command{
		Use: "status", Short: "Tell whether the cluster runs, and where",
		Example: "  mysdk cluster status\n  mysdk cluster status -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			info, err := cluster.Status(c.Context(), a.host, name)
			if err != nil {
				return err
			}
			return a.report(output, info, func(w io.Writer) { describeCluster(w, info, a.host.Now()) })
		},
	}
	nameFlag(c, &name)
	outputFlag(c, &output)
	return c
}

func newClusterList(a *app) *cobra.Command {
	output := "text"
	c := &cobra.Command{
		Use: "list", Short: "List the clusters on this machine",
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
				file, err := cluster.MergeKubeconfig(a.host, name)
				if err != nil {
					return err
				}
				a.say("Added to %s", file)
				return nil
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
	nameFlag(c, &name)
	c.Flags().BoolVar(&merge, "merge", false, "add it to your own kubeconfig")
	c.Flags().BoolVar(&path, "path", false, "print the file's path instead of its content")
	return c
}

func newClusterLogs(a *app) *cobra.Command {
	var name string
	follow := false
	c := &cobra.Command{
		Use: "logs", Short: "Print the log of the cluster's own components",
		Example: "  mysdk cluster logs --follow",
		RunE: func(c *cobra.Command, _ []string) error {
			return cluster.Logs(c.Context(), a.host, name, follow, a.host.IO.Out)
		},
	}
	nameFlag(c, &name)
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on until Ctrl-C")
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

// outputFlag is the -o of whatever reports.
func outputFlag(c *cobra.Command, value *string) {
	c.Flags().VarP(choice(value, "text", "json", "yaml"), "output", "o", "format: text, json or yaml")
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
