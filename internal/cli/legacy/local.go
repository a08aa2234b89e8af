package legacy

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"mvdan.cc/sh/v3/shell"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
)

func newBuild(f *cli.Factory) *cobra.Command {
	var goArgs, base string
	c := hidden(oldVerb(&cobra.Command{
		Use: "build IMAGE", Short: "Compile the operator and build its image IMAGE",
		Long: `Compile the operator and build its image IMAGE.

mysdk writes the layers itself and needs no docker, podman or buildah. The image
is kept on this machine; 'mysdk image push IMAGE' pushes it to a registry.`,
		Example: `  mysdk build quay.io/example/memcached-operator:v0.0.1`,
		Args:    cli.ExactlyOne("the name of the image", "mysdk build quay.io/example/memcached-operator:v0.0.1"),
	}))
	c.Flags().StringVar(&goArgs, "go-build-args", "", "-ldflags for the build of the operator, as one string such as \"-ldflags -X=main.xyz=abc\"")
	c.Flags().StringVar(&base, "base", "", "base image of the operator's image, as in 'mysdk image build'")
	c.RunE = func(c *cobra.Command, args []string) error {
		ldflags, err := ldflagsOf(f, goArgs)
		if err != nil {
			return err
		}
		return translate(c.Context(), f, "build", mysdkStep(withFlags([]string{"image", "build", "--image", args[0]}, "--go-ldflags", ldflags, "--base", base)...))
	}
	return c
}

// ldflagsOf takes the one value of -ldflags out of arguments of go build, which
// is all that the image's build has.
func ldflagsOf(f *cli.Factory, goArgs string) (string, error) {
	const hint = "pass linker options only, such as --go-build-args \"-ldflags -X=main.version=v1\", or use 'mysdk image build --go-ldflags'; GOFLAGS holds the rest"
	words, err := shell.Fields(goArgs, f.Host.Getenv)
	if err != nil {
		return "", clierr.Usagef("quote the whole string, and quote values that contain spaces", "--go-build-args: %w", err)
	}
	if len(words) == 1 {
		words = strings.SplitN(words[0], "=", 2)
	}
	switch {
	case len(words) == 0:
		return "", nil
	case len(words) != 2 || strings.TrimLeft(words[0], "-") != "ldflags":
		return "", clierr.Usagef(hint, "--go-build-args: %s cannot be passed on", strings.Join(words, " "))
	}
	return words[1], nil
}

// localOptions are the flags with which an operator was run locally.
type localOptions struct {
	namespace, kubeconfig, context, operator, ldflags string
	delve                                             bool
}

func (o *localOptions) bind(fs *pflag.FlagSet) {
	fs.StringVar(&o.namespace, "namespace", "default", "namespace to watch; \"\" for all")
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster (default: the embedded cluster)")
	fs.StringVar(&o.context, "context", "", "kubeconfig context of the cluster (default: the embedded cluster)")
	fs.StringVar(&o.operator, "operator-flags", "", "flags for the operator, as one string such as \"--flag1 value1 --flag2=value2\"")
	fs.StringVar(&o.ldflags, "go-ldflags", "", "-ldflags for the build of the operator")
	fs.BoolVar(&o.delve, "enable-delve", false, "run the operator under Delve, listening on port 2345")
}

// run runs the operator by today's command line. No namespace that was typed
// as "" means all, whatever the configuration says.
func (o *localOptions) run(ctx context.Context, f *cli.Factory, verb, namespaces string, typed bool) error {
	args := []string{"run", "local"}
	if namespaces == "" && typed {
		args = append(args, "--watch-namespace=")
	}
	args = withFlags(args,
		"--watch-namespace", namespaces, "--kubeconfig", o.kubeconfig, "--context", o.context, "--operator-flags", o.operator, "--go-ldflags", o.ldflags)
	if o.delve {
		args = append(args, "--debug")
	}
	return translate(ctx, f, verb, mysdkStep(args...))
}

func newUp(f *cli.Factory) *cobra.Command {
	c := hidden(&cobra.Command{
		Use: "up", Short: "Run the operator",
		Example: "  mysdk up local --namespace=default",
	})
	o := &localOptions{}
	local := oldVerb(&cobra.Command{
		Use: "local", Short: "Build the operator and run it on this machine, against a cluster",
		Long: `Build the operator and run it on this machine, against a cluster.

The embedded cluster is used, unless --kubeconfig or --context names another
one; KUBECONFIG alone does not. CRDs are applied, and the operator runs until
Ctrl-C.`,
		Example: `  mysdk up local --namespace=default

  # with flags for the operator
  mysdk up local --operator-flags="--zap-log-level=debug"`,
		RunE: func(c *cobra.Command, _ []string) error {
			// The configuration is for other commands, whose flags have the same name.
			namespace := c.Flags().Lookup("namespace").DefValue
			if f.Given["namespace"] {
				namespace = o.namespace
			}
			return o.run(c.Context(), f, "up local", namespace, true)
		},
	})
	o.bind(local.Flags())
	c.AddCommand(local)
	return c
}

// oldRun gives the command run the flags that it had when it had no
// subcommands but --local.
func oldRun(f *cli.Factory, c *cobra.Command) {
	var local bool
	var watch string
	o, fs := &localOptions{}, pflag.NewFlagSet("run", pflag.ContinueOnError)
	fs.BoolVar(&local, "local", false, "the same as 'run local'")
	o.bind(fs)
	fs.StringVar(&watch, "watch-namespace", "", "namespaces to watch, separated by commas")
	fs.VisitAll(func(flag *pflag.Flag) { flag.Hidden = true })
	c.Flags().AddFlagSet(fs)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if !local {
			return clierr.Usagef("choose one of: "+strings.Join(cli.Children(c), ", "), "%q needs a subcommand", c.CommandPath())
		}
		if f.Given["namespace"] && !f.Given["watch-namespace"] {
			watch = o.namespace
		}
		return o.run(c.Context(), f, "run --local", watch, f.Given["namespace"] || f.Given["watch-namespace"])
	}
}
