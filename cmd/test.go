package cmd

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/host"
)

func newTest(a *app, run func(context.Context, []string) error) *cobra.Command {
	return &cobra.Command{
		Use: "test [packages] [go test flags]", Short: "Run the project's tests against a real API server", GroupID: "run",
		Long: `Run the project's tests against a real API server.

It is 'go test' with KUBEBUILDER_ASSETS set to etcd and kube-apiserver as
controller-runtime's envtest starts them: both are the control plane that mysdk
brings, so nothing is downloaded. Arguments go to go test; without packages
they are ./...`,
		Example: `  mysdk test
  mysdk test ./internal/controller -run TestMemcached -v`,
		DisableFlagParsing: true,
		Args:               cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
				return c.Help()
			}
			return run(c.Context(), args)
		},
	}
}

func (a *app) runTest(ctx context.Context, args []string) error {
	if _, err := a.host.LookPath("go"); err != nil {
		return clierr.Failedf("install Go from https://go.dev/dl", "no go command in PATH: %w", err)
	}
	assets, err := cluster.Assets(ctx, a.host, a.progress)
	if err != nil {
		return err
	}
	a.detail("KUBEBUILDER_ASSETS=%s", assets)
	err = host.Run(ctx, a.host.Exec, host.Cmd{
		Name: "go", Args: testArgs(args), Dir: a.host.Dir,
		Env:   testEnv(a.host.Environ(), args, assets),
		Stdin: a.host.IO.In, Stdout: a.host.IO.Out, Stderr: a.host.IO.Err, Grace: 10 * time.Second,
	})
	if err != nil {
		return clierr.Failedf("run one of them with 'mysdk test ./… -run NAME -v'", "the tests did not pass: %w", err)
	}
	return nil
}

// testArgs puts ./... where no package is named.
func testArgs(args []string) []string {
	out := append([]string{"test"}, args...)
	for i, arg := range args {
		before := ""
		if i > 0 {
			before = args[i-1]
		}
		if strings.HasPrefix(arg, "-") || takesValue(before) {
			continue
		}
		return out
	}
	return append(out, "./...")
}

// takesValue reports whether a flag of go test written without = is followed
// by its value.
func takesValue(flag string) bool {
	if !strings.HasPrefix(flag, "-") || strings.Contains(flag, "=") {
		return false
	}
	return slices.Contains([]string{"run", "bench", "count", "timeout", "coverprofile", "coverpkg", "covermode", "parallel", "cpu", "skip", "tags", "p", "o", "exec", "fuzz", "fuzztime", "benchtime", "list", "shuffle", "outputdir", "cpuprofile", "memprofile", "ldflags", "gcflags", "mod"},
		strings.TrimLeft(flag, "-"))
}

// testEnv is the environment of the tests. They are compiled without cgo, as
// operators are, so that the packages compiled for one serve the other; the
// race detector needs cgo.
func testEnv(env, args []string, assets string) []string {
	out := append(slices.Clone(env), "KUBEBUILDER_ASSETS="+assets)
	isSet := slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "CGO_ENABLED=") })
	if !isSet && !slices.Contains(args, "-race") {
		out = append(out, "CGO_ENABLED=0")
	}
	return out
}
