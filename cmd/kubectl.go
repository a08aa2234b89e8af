package cmd

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
)

func newKubectl(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "kubectl [--cluster-name NAME] ...", Short: "kubectl, pointed at the embedded cluster", GroupID: "run",
		Long: `kubectl, pointed at the embedded cluster.

It is the real kubectl, built in. Without --kubeconfig or --context among its
arguments it talks to the cluster that 'mysdk cluster start' and 'mysdk run
local' use, and never to the one your KUBECONFIG names.`,
		Example: `  mysdk kubectl get pods -A
  mysdk kubectl apply -k config/samples`,
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			name, rest := clusterName(args)
			return a.kubectl(c.Context(), name, rest)
		},
		Args: cobra.ArbitraryArgs,
	}
	return c
}

// clusterName takes --cluster-name off the front of kubectl's arguments.
func clusterName(args []string) (name string, rest []string) {
	if len(args) >= 2 && args[0] == "--cluster-name" {
		return args[1], args[2:]
	}
	return cluster.DefaultName, args
}

func (a *app) kubectl(ctx context.Context, name string, args []string) error {
	if namesCluster(args) {
		return cluster.Kubectl(ctx, a.host, "", args)
	}
	info, err := cluster.Status(ctx, a.host, name)
	if err != nil {
		return err
	}
	if info.State != cluster.Running && needsServer(args) {
		return clierr.Unavailablef("start it with 'mysdk cluster start', or name another with --kubeconfig or --context", "cluster %s is not running", name)
	}
	return cluster.Kubectl(ctx, a.host, info.Kubeconfig, args)
}

// namesCluster reports whether kubectl's arguments choose a cluster.
func namesCluster(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		flag, _, _ := strings.Cut(arg, "=")
		return flag == "--kubeconfig" || flag == "--context" || flag == "--server" || flag == "-s"
	})
}

// needsServer reports whether a kubectl command talks to a cluster; help,
// completion and the like do not.
func needsServer(args []string) bool {
	if len(args) == 0 || slices.ContainsFunc(args, func(arg string) bool { return arg == "--help" || arg == "-h" || arg == "--client" }) {
		return false
	}
	return !slices.Contains([]string{"help", "completion", "config", "kustomize", "options", "plugin", "__complete"}, args[0])
}

// shellQuote makes a word that a POSIX shell reads as s.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%,=", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
