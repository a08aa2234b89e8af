package legacy

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"mvdan.cc/sh/v3/shell"

	"github.com/example/mysdk/internal/cli"
	runcmd "github.com/example/mysdk/internal/cli/run"
	"github.com/example/mysdk/internal/clierr"
)

func newBuild(f *cli.Factory) *cobra.Command {
	var builder, goArgs, base string
	c := hidden(oldVerb(&cobra.Command{
		Use: "build IMAGE", Short: "Compile the operator and build its image IMAGE",
		Long: `Compile the operator and build its image IMAGE.

No docker, podman or buildah takes part: mysdk writes the layers itself. The
image is kept on this machine; 'mysdk image push IMAGE' brings it to a registry.`,
		Example: `  mysdk build quay.io/example/memcached-operator:v0.0.1`,
		Args:    cli.ExactlyOne("the name of the image", "mysdk build quay.io/example/memcached-operator:v0.0.1"),
	}))
	fs := c.Flags()
	fs.Var(cli.Choice(&builder, "docker", "podman", "buildah"), "image-builder", "no effect: no other program builds the image")
	fs.StringVar(&goArgs, "go-build-args", "", "-ldflags for the build of the operator, as one string such as \"-ldflags -X=main.xyz=abc\"")
	fs.StringVar(&base, "base", "", "base image of the operator's image, as in 'mysdk image build'")
	const why = "no Dockerfile takes part in the build"
	refused := []refusal{
		{flag: "image-build-args", why: why, instead: "run 'docker build' with them: the project has a Dockerfile"},
		{flag: "docker-build-args", why: why, instead: "run 'docker build' with them: the project has a Dockerfile"},
		{flag: "enable-tests", why: "images hold the operator alone", instead: "run the tests with 'mysdk test'", isSwitch: true},
	}
	bindRefused(fs, refused)
	c.RunE = func(c *cobra.Command, args []string) error {
		ldflags, err := ldflagsOf(f, goArgs)
		if err := cmp.Or(err, checkRefused(f, c.Flags(), refused)); err != nil {
			return err
		}
		noticeIgnored(f, c.Flags(), map[string]string{"image-builder": "mysdk builds the image itself"})
		line := withFlags([]string{"image", "build", "--image", args[0]}, "--go-ldflags", ldflags, "--base", base)
		return translate(c.Context(), f, "build", mysdkStep(line...))
	}
	return c
}

// ldflagsOf takes the value of -ldflags out of arguments of go build, of which
// it is the one that the image's build has.
func ldflagsOf(f *cli.Factory, goArgs string) (string, error) {
	const hint = "pass linker options only, such as --go-build-args \"-ldflags -X=main.version=v1\"; GOFLAGS holds the rest"
	words, err := shell.Fields(goArgs, f.Host.Getenv)
	if err != nil {
		return "", clierr.Usagef("quote the whole string, and quote values that contain spaces", "--go-build-args: %w", err)
	}
	if len(words) == 0 {
		return "", nil
	}
	flag, value, joined := strings.Cut(words[0], "=")
	if strings.TrimLeft(flag, "-") != "ldflags" || !strings.HasPrefix(flag, "-") {
		return "", clierr.Usagef(hint, "--go-build-args: %s cannot be passed on", words[0])
	}
	rest := words[1:]
	if joined {
		rest = append([]string{value}, rest...)
	}
	if len(rest) == 0 {
		return "", clierr.Usagef(hint, "--go-build-args: %s has no value", words[0])
	}
	// Linker options that follow belong to it, as in operator-sdk's own example.
	for i, word := range rest[1:] {
		if _, ok := runcmd.GoBuildFlags()[runcmd.ParseGoFlag(word).Name]; ok {
			return "", clierr.Usagef(hint, "--go-build-args: %s cannot be passed on", word)
		}
		if strings.ContainsAny(word, " \t") {
			rest[i+1] = quoteForGo(word)
		}
	}
	return strings.Join(rest, " "), nil
}

// quoteForGo puts a word into quotes, of which the go command knows both sorts,
// and no escapes.
func quoteForGo(word string) string {
	if strings.Contains(word, `"`) {
		return "'" + word + "'"
	}
	return `"` + word + `"`
}

// runOptions are the flags with which an operator was run locally.
type runOptions struct {
	local, olm                                      bool
	namespace, watch, kubeconfig, operator, ldflags string
	delve                                           bool
}

func (o *runOptions) bind(fs *pflag.FlagSet) {
	fs.StringVar(&o.namespace, "namespace", "default", "namespace to watch; \"\" for all")
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster (default: the embedded cluster)")
	fs.StringVar(&o.operator, "operator-flags", "", "flags for the operator, as one string such as \"--flag1 value1 --flag2=value2\"")
	fs.StringVar(&o.ldflags, "go-ldflags", "", "-ldflags for the build of the operator")
	fs.BoolVar(&o.delve, "enable-delve", false, "run the operator under Delve, listening on port 2345")
	bindRefused(fs, watchesRefusals())
}

// watchesRefusals are flags for operators of Ansible and Helm, which watch what
// a file lists.
func watchesRefusals() []refusal {
	return []refusal{
		{flag: "watches-file", why: goOnly, instead: otherTool}, {flag: "reconcile-period", why: goOnly, instead: otherTool},
		{flag: "max-workers", why: goOnly, instead: otherTool},
	}
}

// args is run local's command line of today. No namespace that was typed as ""
// means all, whatever the configuration says.
func (o *runOptions) args(namespaces string, typed bool) []string {
	args := []string{"run", "local"}
	if namespaces == "" && typed {
		args = append(args, "--watch-namespace=")
	}
	args = withFlags(args,
		"--watch-namespace", namespaces, "--kubeconfig", o.kubeconfig, "--operator-flags", o.operator, "--go-ldflags", o.ldflags)
	if o.delve {
		args = append(args, "--debug")
	}
	return args
}

func newUp(f *cli.Factory) *cobra.Command {
	c := hidden(&cobra.Command{
		Use: "up", Short: "Run the operator",
		Example: "  mysdk up local --namespace=default",
	})
	o := &runOptions{}
	local := oldVerb(&cobra.Command{
		Use: "local", Short: "Build the operator and run it on this machine, against a cluster",
		Long: `Build the operator and run it on this machine, against a cluster.

The cluster is the embedded one, unless --kubeconfig names another: KUBECONFIG
alone does not. CRDs are applied, and the operator runs until Ctrl-C.`,
		Example: `  mysdk up local --namespace=default

  # with flags of the operator's own
  mysdk up local --operator-flags="--zap-log-level=debug"`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkRefused(f, c.Flags(), watchesRefusals()); err != nil {
				return err
			}
			namespace := c.Flags().Lookup("namespace").DefValue
			if f.Given["namespace"] {
				namespace = o.namespace
			}
			return translate(c.Context(), f, "up local", mysdkStep(o.args(namespace, true)...))
		},
	})
	o.bind(local.Flags())
	c.AddCommand(local)
	return c
}

// oldRun gives the command run the flags that it had when it had no
// subcommands: --local, and --olm.
func oldRun(f *cli.Factory, c *cobra.Command) {
	o := &runOptions{}
	fs := c.Flags()
	fs.BoolVar(&o.local, "local", false, "the same as 'run local'")
	fs.BoolVar(&o.olm, "olm", false, "the same as 'run bundle'")
	o.bind(fs)
	fs.StringVar(&o.watch, "watch-namespace", "", "namespaces to watch, separated by commas")
	olm := &olmOptions{}
	olm.bind(fs)
	fs.VisitAll(func(flag *pflag.Flag) { flag.Hidden = true })
	c.AddCommand(newEntrypoint("ansible"), newEntrypoint("helm"))
	c.RunE = func(c *cobra.Command, _ []string) error {
		switch {
		case o.local && o.olm:
			return clierr.Usagef("leave one of them out", "--local and --olm cannot be combined")
		case o.olm:
			if err := o.misplaced(f); err != nil {
				return err
			}
			return olm.run(c.Context(), f, c.Flags(), "run --olm")
		case !o.local:
			return clierr.Usagef("choose one of: "+strings.Join(cli.Children(c), ", "), "%q needs a subcommand", c.CommandPath())
		}
		if err := cmp.Or(checkRefused(f, fs, watchesRefusals()), olm.misplaced(f)); err != nil {
			return err
		}
		namespaces := o.watch
		if f.Given["namespace"] && !f.Given["watch-namespace"] {
			namespaces = o.namespace
		}
		return translate(c.Context(), f, "run --local", mysdkStep(o.args(namespaces, f.Given["namespace"] || f.Given["watch-namespace"])...))
	}
}

// misplaced refuses what run --olm has no use for.
func (o *runOptions) misplaced(f *cli.Factory) error {
	switch {
	case f.Given["namespace"]:
		return useInstead("--namespace with --olm", "it is the namespace to watch", "use --operator-namespace for the one to install into")
	case f.Given["watch-namespace"]:
		return useInstead("--watch-namespace with --olm", "the install mode says what is watched", "use --install-mode SingleNamespace="+o.watch)
	}
	for _, flag := range []string{"operator-flags", "go-ldflags", "enable-delve", "watches-file", "reconcile-period", "max-workers"} {
		if f.Given[flag] {
			return clierr.Usagef("leave it out", "--%s with --olm: it is for --local", flag)
		}
	}
	return nil
}

// newTestLocal is the verb that ran tests against a cluster.
func newTestLocal(f *cli.Factory) *cobra.Command {
	var goFlags string
	c := hidden(oldVerb(&cobra.Command{
		Use: "local [DIR]", Short: "Run the tests in DIR",
		Long: `Run the tests in DIR, or all.

The tests find an API server by KUBEBUILDER_ASSETS, as envtest starts it, and
make what they need themselves: there is no manifest to create beforehand, and
the operator runs within the test.`,
		Example: `  mysdk test local ./internal/controller --go-test-flags "-v -run TestMemcached"`,
		Args:    cli.AtMostOne("the directory of the tests"),
	}))
	fs := c.Flags()
	fs.StringVar(&goFlags, "go-test-flags", "", "flags for go test, as one string")
	for _, name := range []string{"up-local", "no-setup", "debug", "skip-cleanup-error"} {
		fs.Bool(name, false, "without effect, see above")
	}
	const manifests, namespace = "tests make what they need themselves", "tests make namespaces of their own"
	refused := []refusal{
		{flag: "global-manifest", why: manifests, instead: "load CRDs by envtest.Environment.CRDDirectoryPaths, as the scaffolded suite_test.go does"},
		{flag: "namespaced-manifest", why: manifests, instead: "create the objects in the test"},
		{flag: "image", why: "the operator runs within the test", instead: "for an image, run 'mysdk deploy' and test against its cluster with USE_EXISTING_CLUSTER=true"},
		{flag: "kubeconfig", why: "tests get an API server of their own", instead: "for another cluster: USE_EXISTING_CLUSTER=true KUBECONFIG=FILE go test ./..."},
		{flag: "namespace", why: namespace, instead: "create the namespace in the test"},
		{flag: "operator-namespace", why: namespace, instead: "create the namespace in the test"},
		{flag: "watch-namespace", why: namespace, instead: "set the manager's cache.Options in the test"},
		{flag: "local-operator-flags", why: "the operator runs within the test", instead: "set the options of its manager in the test"},
		{flag: "molecule-test-flags", why: goOnly, instead: "run molecule itself"},
	}
	bindRefused(fs, refused)
	c.RunE = func(c *cobra.Command, args []string) error {
		flags, err := shell.Fields(goFlags, f.Host.Getenv)
		if err != nil {
			err = clierr.Usagef("quote the whole string, and quote values that contain spaces", "--go-test-flags: %w", err)
		}
		if err := cmp.Or(err, checkRefused(f, c.Flags(), refused), f.OldProject()); err != nil {
			return err
		}
		const why = "tests run the manager and make what they need themselves"
		noticeIgnored(f, c.Flags(), map[string]string{"up-local": why, "no-setup": why, "skip-cleanup-error": why, "debug": "use --go-test-flags -v"})
		line := append([]string{"test"}, testPackage(args)...)
		return translate(c.Context(), f, "test local", mysdkStep(append(line, flags...)...))
	}
	return c
}

// testPackage is the argument of test local for the go command, which takes a
// directory for a package of the standard library without its ./
func testPackage(args []string) []string {
	if len(args) == 0 || strings.HasPrefix(args[0], ".") || strings.HasPrefix(args[0], "/") {
		return args
	}
	return []string{"./" + args[0]}
}

// newTestCluster says what became of test cluster.
func newTestCluster() *cobra.Command {
	return gone("cluster", "Removed: run an image of tests in a cluster",
		"tests are no longer built into images", "run them against a whole cluster of their own: mysdk test --controllers", "mysdk test --controllers")
}
