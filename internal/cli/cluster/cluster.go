// Package cluster has the commands for the embedded clusters: cluster, with what
// is below it, and kubectl.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/recording"
)

// New is 'mysdk cluster', with what is below it.
func New(f *cli.Factory) *cobra.Command {
	c := &cobra.Command{
		Use: "cluster", Short: "Manage the embedded Kubernetes control plane", GroupID: "run",
		Long: `Manage the embedded Kubernetes control plane.

It is etcd, kube-apiserver, the controllers and the scheduler in one process,
on this machine's loopback only, with simulated nodes on which pods become
Ready without running. What is in it survives stop and start.

These commands start it if it is not running: cluster start, run local, install
and deploy (not with --dry-run), olm install, and scorecard (not with
--no-cluster). explore and test --controllers start a temporary one of their
own. All others that use a cluster, run bundle and kubectl too, need it running.`,
		Example: `  mysdk cluster start
  mysdk kubectl get pods -A
  mysdk cluster stop`,
	}
	c.AddCommand(newStart(f), newStop(f), newStatus(f), newKubeconfig(f),
		newLogs(f), newReset(f), newList(f), newAssets(f), newSimulate(f))
	return c
}

func newStart(f *cli.Factory) *cobra.Command {
	o := cluster.Options{Progress: f.Progress, Detail: f.Stage}
	merge, fsync := false, false
	c := &cobra.Command{
		Use: "start", Short: "Start the embedded cluster (no-op if it is running)",
		Example: "  mysdk cluster start\n  mysdk cluster start --cluster test --fresh --nodes 3\n  mysdk cluster start --cluster old --kubernetes 1.34",
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("fsync") {
				o.FSync = &fsync
			}
			return startCluster(c.Context(), f, o, merge)
		},
	}
	cli.ClusterFlag(c.Flags(), &o.Name)
	fs := c.Flags()
	fs.BoolVar(&o.Fresh, "fresh", false, "start with an empty cluster")
	fs.IntVar(&o.Nodes, "nodes", 0, "number of simulated nodes (default: that of the last start, or 1)")
	fs.BoolVar(&fsync, "fsync", false, "sync every write to disk: survives power loss, slower (default: as at the last start)")
	fs.StringVar(&o.Kubernetes, "kubernetes", "", "older minor `version` of Kubernetes to behave as, such as 1.34, until the cluster is stopped")
	fs.BoolVar(&merge, "merge", false, "add the cluster to your own kubeconfig as well")
	fs.IntVar(&o.Verbosity, "log-verbosity", 0, "verbosity of the cluster's log, from 0")
	cli.RenameFlag(fs, "v", "log-verbosity")
	return c
}

// startCluster starts a cluster, and prints what other tools need to use it. One that
// runs otherwise than the flags want, such as with another number of nodes, is not
// restarted: somebody may be working with it.
func startCluster(ctx context.Context, f *cli.Factory, o cluster.Options, merge bool) error {
	start := f.Host.Now()
	if f.Given["nodes"] {
		if err := cluster.CheckNodes(o.Nodes); err != nil {
			return err
		}
	}
	if o.Kubernetes != "" {
		minor, err := cli.MinorVersion(o.Kubernetes)
		if err != nil {
			return err
		}
		o.Kubernetes = minor
	}
	if o.Fresh {
		warnOfRun(ctx, f, o.Name)
	}
	info, err := cluster.Start(ctx, f.Host, o)
	if err != nil {
		return err
	}
	if other := otherwise(f, o, info); info.AlreadyRunning && other != "" {
		return clierr.Failedf(fmt.Sprintf("run '%s' first; its data is kept", state.Command("stop", info.Name)),
			"cluster %s is running %s", info.Name, other)
	}
	if info.AlreadyRunning {
		f.Say("Cluster %s is running at %s (Kubernetes %s)", info.Name, info.Server, info.Version)
		taken, err := cluster.TakeCurrent(f.Host, info.Name)
		if err != nil {
			return err
		}
		if taken {
			f.Say("Context %s is the current one in %s again", info.Context, info.Kubeconfig)
		}
		if info.Tied {
			f.Warn("cluster %s stops when the 'mysdk run local' that started it ends", info.Name)
		}
	} else {
		f.Say("Cluster %s is ready at %s (Kubernetes %s) after %s", info.Name, info.Server, info.Version, f.Since(start))
	}
	if merge {
		if err := mergeKubeconfig(f, info.Name); err != nil {
			return err
		}
	}
	f.Say("%s", f.Aim("Use it with 'mysdk kubectl …', or in other tools:"))
	return f.Print([]byte(host.Export("KUBECONFIG", info.Kubeconfig) + "\n"))
}

// otherwise says how a cluster runs, if it is not as the flags want it.
func otherwise(f *cli.Factory, o cluster.Options, info *cluster.Info) string {
	switch {
	case o.Kubernetes != "" && !strings.HasPrefix(info.Version, "v"+o.Kubernetes+"."):
		return "as Kubernetes " + info.Version
	case f.Given["nodes"] && o.Nodes != info.Nodes:
		return "with " + cli.Count(info.Nodes, "node")
	case f.Given["fsync"] && *o.FSync && !info.FSync:
		return "without --fsync"
	case f.Given["fsync"] && !*o.FSync && info.FSync:
		return "with --fsync"
	case f.Given["log-verbosity"] && o.Verbosity != info.Verbosity:
		return fmt.Sprintf("with --log-verbosity %d", info.Verbosity)
	}
	return ""
}

// mergeKubeconfig adds the cluster to the user's kubeconfig and says how to use
// it there: the current context stays what it was.
func mergeKubeconfig(f *cli.Factory, name string) error {
	file, err := cluster.MergeKubeconfig(f.Host, name)
	if err != nil {
		return err
	}
	kubeContext := state.ContextName(name)
	f.Say("Context %s is in %s; to make it the current one: kubectl config use-context %s", kubeContext, file, kubeContext)
	return nil
}

func newStop(f *cli.Factory) *cobra.Command {
	var name string
	c := &cobra.Command{
		Use: "stop", Short: "Stop the embedded cluster and keep its data (no-op if it is stopped)",
		Example: "  mysdk cluster stop",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.KnownCluster(c.Context(), name); err != nil {
				return err
			}
			warnOfRun(c.Context(), f, name)
			was, err := cluster.Stop(c.Context(), f.Host, name)
			if err != nil {
				return err
			}
			if was {
				f.Say("Cluster %s stopped; its data is kept", name)
			} else {
				f.Say("Cluster %s was not running", name)
			}
			return nil
		},
	}
	cli.ClusterFlag(c.Flags(), &name)
	return c
}

func newReset(f *cli.Factory) *cobra.Command {
	var name string
	yes := false
	c := &cobra.Command{
		Use: "reset", Aliases: []string{"delete"}, Short: "Delete the embedded cluster and all its data",
		Long: `Delete the embedded cluster and all its data.

A context that 'mysdk cluster kubeconfig --merge' added to your kubeconfig is
removed as well.`,
		Example: "  mysdk cluster reset --cluster test\n  mysdk cluster reset --yes",
		RunE:    func(c *cobra.Command, _ []string) error { return resetCluster(c.Context(), f, name, yes) },
	}
	cli.ClusterFlag(c.Flags(), &name)
	c.Flags().BoolVarP(&yes, "yes", "y", false, "skip confirmation")
	return c
}

// resetCluster deletes a cluster. Its context is taken out of the user's kubeconfig
// first: after a failure the cluster is still there, and not a context that leads
// nowhere.
func resetCluster(ctx context.Context, f *cli.Factory, name string, yes bool) error {
	info, err := cluster.Status(ctx, f.Host, name)
	if err != nil {
		return err
	}
	if _, err := f.Host.Files.Lstat(info.StateDir); errors.Is(err, fs.ErrNotExist) {
		f.Say("Cluster %s does not exist", name)
		return nil
	}
	warnOfRun(ctx, f, name)
	if !yes {
		yes, err = f.Ask(ctx, fmt.Sprintf("Everything in cluster %s will be deleted. Continue? [y/N] ", name),
			clierr.Usagef("add --yes to delete it", "nothing was deleted: stdin is not a terminal, and everything in cluster %s would be deleted", name))
		if err != nil {
			return err
		}
		if !yes {
			f.Say("Nothing was deleted.")
			return nil
		}
	}
	if _, err := cluster.Stop(ctx, f.Host, name); err != nil {
		return err // before any kubeconfig changes
	}
	files, err := cluster.UnmergeKubeconfig(f.Host, name)
	for _, file := range files {
		f.Say("Context %s is removed from %s", info.Context, file)
	}
	if err != nil {
		return err
	}
	kept, err := cluster.KeepOthers(f.Host, name)
	for _, file := range kept {
		f.Say("Its kubeconfig, with what other tools wrote to it, is kept in %s", file)
	}
	if err != nil {
		return err
	}
	if _, err := cluster.Reset(ctx, f.Host, name); err != nil {
		return err
	}
	f.Say("Cluster %s deleted", name)
	return nil
}

func newStatus(f *cli.Factory) *cobra.Command {
	var name string
	var output string
	c := &cobra.Command{
		Use: "status", Short: "Show whether the embedded cluster is running, and where",
		Example: "  mysdk cluster status\n  mysdk cluster status -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			info, err := cluster.Status(c.Context(), f.Host, name)
			if err != nil {
				return err
			}
			if unknown := f.KnownCluster(c.Context(), name); unknown != nil {
				f.Warn("%v", unknown)
			}
			return f.Report(output, info, func(w io.Writer) { describeCluster(w, info, f.Host.Now()) })
		},
	}
	cli.ClusterFlag(c.Flags(), &name)
	cli.OutputFlag(c, &output)
	return c
}

func newList(f *cli.Factory) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the clusters on this machine",
		Example: "  mysdk cluster list",
		RunE: func(c *cobra.Command, _ []string) error {
			list, err := cluster.List(c.Context(), f.Host)
			if err != nil {
				return err
			}
			return f.Report(output, list, func(w io.Writer) {
				fmt.Fprintln(w, "NAME\tSTATE\tSERVER\tVERSION")
				for _, i := range list {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", i.Name, i.State, i.Server, i.Version)
				}
			})
		},
	}
	cli.OutputFlag(c, &output)
	return c
}

func newAssets(f *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use: "assets", Short: "Print the directory with etcd and kube-apiserver for envtest",
		Long: `Print the directory with etcd, kube-apiserver and kubectl, for tools that start
controller-runtime's envtest themselves, such as an editor's test runner. All
three are links to the control plane that mysdk brings. etcd and kube-apiserver
end when the process that started them ends, but not on Windows.`,
		Example: `  KUBEBUILDER_ASSETS="$(mysdk cluster assets)" go test ./...`,
		RunE: func(c *cobra.Command, _ []string) error {
			dir, err := cluster.Assets(c.Context(), f.Host, f.Progress)
			if err != nil {
				return err
			}
			return f.Print([]byte(dir + "\n"))
		},
	}
}

func newKubeconfig(f *cli.Factory) *cobra.Command {
	var name string
	merge, path := false, false
	c := &cobra.Command{
		Use: "kubeconfig", Short: "Print the cluster's kubeconfig, or add it to yours",
		Example: "  mysdk cluster kubeconfig --path\n  mysdk cluster kubeconfig --merge",
		RunE: func(*cobra.Command, []string) error {
			switch {
			case merge && path:
				return clierr.Usagef("leave out --path: --merge says which file it changes", "--path cannot be combined with --merge")
			case merge:
				return mergeKubeconfig(f, name)
			}
			file, data, err := cluster.Kubeconfig(f.Host, name)
			if err != nil {
				return err
			}
			if path {
				data = []byte(file + "\n")
			}
			return f.Print(data)
		},
	}
	cli.ClusterFlag(c.Flags(), &name)
	c.Flags().BoolVar(&merge, "merge", false, "merge it into your kubeconfig without changing its current context")
	c.Flags().BoolVar(&path, "path", false, "print the file's path instead of its content")
	return c
}

func newLogs(f *cli.Factory) *cobra.Command {
	var name string
	follow := false
	c := &cobra.Command{
		Use: "logs", Short: "Print the control plane's log",
		Example: "  mysdk cluster logs --follow",
		RunE: func(c *cobra.Command, _ []string) error {
			return cluster.Logs(c.Context(), f.Host, name, follow, f.Host.IO.Out)
		},
	}
	cli.ClusterFlag(c.Flags(), &name)
	c.Flags().BoolVarP(&follow, "follow", "f", false, "follow the log until Ctrl-C")
	return c
}

func describeCluster(w io.Writer, i cluster.Info, now time.Time) {
	fmt.Fprintf(w, "Name:\t%s\nState:\t%s\n", i.Name, i.State)
	if i.State == cluster.Running && i.PID != 0 {
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

// askTimeout bounds the question who uses a cluster, which one that runs answers at
// once.
const askTimeout = 2 * time.Second

// warnOfRun names the run that loses its cluster when that is stopped. It is not
// refused: whoever stops a cluster may mean just that.
func warnOfRun(ctx context.Context, f *cli.Factory, name string) {
	control, err := cluster.Control(ctx, f.Host, name)
	if err != nil {
		return // it does not run, or stopping it tells what is wrong
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	rec, err := control.Recording(ctx, recording.End(), 0)
	if err == nil && rec.Active {
		f.Warn("'mysdk run local' in %s is using cluster %s; its operator will lose the connection", rec.Project, name)
	}
}
