package cluster

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
)

// NewKubectl is 'mysdk kubectl'.
func NewKubectl(f *cli.Factory) *cobra.Command {
	var name string
	c := &cobra.Command{
		Use: "kubectl [--cluster NAME] COMMAND", Short: "Run kubectl against the embedded cluster", GroupID: "run",
		Long: `Run kubectl against the embedded cluster.

This is the real kubectl, built in. It uses the cluster of 'mysdk cluster start'
and 'mysdk run local', and ignores KUBECONFIG, kuberc and the service account of
a pod. Only kubectl's flags --kubeconfig, --context and --server, before any --,
select another cluster.

--cluster is the name of an embedded cluster, as in other commands. With one of
those three flags it is what it is in kubectl: a cluster in the kubeconfig.
A kubectl plugin gets the kubeconfig of the embedded cluster.`,
		Example: `  mysdk kubectl get pods -A
  mysdk kubectl apply -k config/samples
  mysdk kubectl --cluster test get nodes
  mysdk kubectl --context kind-dev get nodes`,
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			return cluster.Kubectl(c.Context(), f.Host, name, args)
		},
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(c *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			if err := f.Configure(c); err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			words := append(args, toComplete)
			if values, ok := clusterValues(f, c, words); ok {
				return values, cobra.ShellCompDirectiveNoFileComp
			}
			return completeKubectl(c.Context(), f, name, words)
		},
	}
	// kubectl parses its own flags; this one is filled from the configuration.
	c.Flags().StringVar(&name, "cluster", state.DefaultName, "name of the embedded cluster")
	return c
}

// completeKubectl has kubectl complete its arguments. Its answer ends with a
// line ":N", the directive for the shell.
func completeKubectl(ctx context.Context, f *cli.Factory, name string, args []string) ([]string, cobra.ShellCompDirective) {
	out, err := cluster.CompleteKubectl(ctx, f.Host, name, args)
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	last := len(lines) - 1
	directive, convErr := strconv.Atoi(strings.TrimPrefix(lines[last], ":"))
	if err != nil || convErr != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return lines[:last], cobra.ShellCompDirective(directive)
}

// clusterValues completes --context and --cluster, unless another flag names a
// cluster: kubectl sees one cluster, and the user may mean any.
func clusterValues(f *cli.Factory, c *cobra.Command, words []string) (values []string, ok bool) {
	last := len(words) - 1
	flag, typed, joined := strings.Cut(words[last], "=")
	before := words[:last]
	if !joined && last > 0 {
		flag, typed, before = words[last-1], words[last], words[:last-1]
	}
	if slices.ContainsFunc(before, func(w string) bool {
		name, _, _ := strings.Cut(w, "=")
		return slices.Contains([]string{"--", "--kubeconfig", "--context", "--server", "-s"}, name)
	}) {
		return nil, false
	}
	switch flag {
	case "--context":
		values = f.ContextNames(c)
	case "--cluster":
		values = f.ClusterNames(c)
	default:
		return nil, false
	}
	return slices.DeleteFunc(values, func(v string) bool { return !strings.HasPrefix(v, typed) }), true
}

// KubectlAlone hides mysdk's own flags from the completion of kubectl's words.
func KubectlAlone(c *cobra.Command, words []string) {
	if cli.Completing([]string{c.Name()}) && len(words) > 0 && words[0] == "kubectl" {
		c.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = true })
	}
}
