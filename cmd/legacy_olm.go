package cmd

import (
	"context"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/example/mysdk/internal/project"
)

// legacyOLMOptions are the flags of run --olm.
type legacyOLMOptions struct {
	namespace, installMode, version, manifests, timeout string
}

func (o *legacyOLMOptions) bind(fs *pflag.FlagSet) {
	fs.StringVar(&o.namespace, "operator-namespace", "", "namespace to install into")
	fs.StringVar(&o.installMode, "install-mode", "", "install mode and namespaces to watch, such as OwnNamespace")
	fs.StringVar(&o.version, "operator-version", "", "version of the operator")
	fs.StringVar(&o.manifests, "manifests", "", "directory of the bundle (default: bundle)")
	fs.StringVar(&o.timeout, "timeout", "", "time to wait, such as 2m")
	fs.String("olm-namespace", "olm", "where OLM is, which is found out")
	bindRefused(fs, []refusal{olmInclude()})
}

func olmInclude() refusal {
	return refusal{flag: "include", why: "OperatorGroup and Subscription are made by the command", instead: "apply other objects with 'mysdk kubectl apply -f FILE'"}
}

// run installs the project's bundle by OLM.
func (o *legacyOLMOptions) run(ctx context.Context, a *app, fs *pflag.FlagSet, verb string) error {
	if err := checkRefused(fs, []refusal{olmInclude()}); err != nil {
		return err
	}
	dir := "./" + bundleDir
	if o.manifests != "" {
		dir = localPath(o.manifests)
	}
	var steps []step
	if o.version != "" && o.manifests == "" {
		steps = append(steps, mysdkStep("bundle", "generate", "--version", o.version))
	}
	kubeconfig := ""
	if f := fs.Lookup("kubeconfig"); f != nil {
		kubeconfig = f.Value.String()
	}
	args := withFlags([]string{"run", "bundle", dir},
		"--namespace", o.namespace, "--install-mode", o.installMode, "--timeout", o.timeout, "--kubeconfig", kubeconfig)
	return a.translate(ctx, verb, append(steps, mysdkStep(args...))...)
}

// localPath is a directory as an argument that cannot be read as an image's name.
func localPath(dir string) string {
	if path.IsAbs(dir) || strings.HasPrefix(dir, ".") {
		return dir
	}
	return "./" + dir
}

// withFlags adds those of the flags, each followed by its value, that have one.
func withFlags(args []string, flags ...string) []string {
	for i := 0; i+1 < len(flags); i += 2 {
		if flags[i+1] != "" {
			args = append(args, flags[i], flags[i+1])
		}
	}
	return args
}

// legacyPackageManifests gives the command run packagemanifests the flags that
// it had in operator-sdk v0.x, and the directory that was written there.
func legacyPackageManifests(a *app, c *cobra.Command) *cobra.Command {
	fs, o := c.Flags(), &legacyOLMOptions{}
	fs.StringVar(&o.version, "operator-version", "", "as --version")
	fs.StringVar(&o.namespace, "operator-namespace", "", "as --namespace")
	fs.String("olm-namespace", "olm", "without effect: found out")
	for _, name := range []string{"operator-version", "operator-namespace", "olm-namespace"} {
		fs.Lookup(name).Hidden = true
	}
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		a.noticeIgnored(fs, map[string]string{"olm-namespace": "it is found out"})
		if o.version == "" && o.namespace == "" && len(args) > 0 {
			return run(c, args)
		}
		dir := a.oldCatalog(args)
		if o.version == "" && o.namespace == "" && dir == "" {
			return run(c, args)
		}
		line := []string{"run", "packagemanifests"}
		if dir != "" {
			line = append(line, dir)
		}
		line = withFlags(line, "--version", o.version, "--namespace", o.namespace)
		return a.translate(c.Context(), "run packagemanifests", mysdkStep(append(line, typedFlags(c)...)...))
	}
	return without(c, []refusal{olmInclude()})
}

// oldCatalog is the directory of package manifests that args names, or the one
// that operator-sdk v0.x wrote where there is none of today; else nothing.
func (a *app) oldCatalog(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	if _, err := a.host.Files.Lstat(a.host.Path(packageManifestsDir)); err == nil {
		return ""
	}
	found, err := fs.Glob(os.DirFS(a.host.Dir), "deploy/olm-catalog/*/*.package.yaml")
	if err != nil || len(found) != 1 {
		return ""
	}
	return path.Dir(found[0])
}

// legacyCleanup gives the command cleanup the two spellings with which it found
// out the package itself: --olm, which was also the default, and packagemanifests.
func legacyCleanup(a *app, c *cobra.Command) *cobra.Command {
	found := []string{"install-mode", "olm-namespace", "operator-version", "include", "manifests"}
	old := append([]string{"olm", "operator-namespace"}, found...)
	c.Flags().Bool("olm", true, "the project's own operator")
	c.Flags().String("operator-namespace", "", "namespace that the operator is installed in")
	bindFound(c.Flags(), found)
	for _, name := range old {
		c.Flags().Lookup(name).Hidden = true
	}
	check, run := c.Args, c.RunE
	own := func(c *cobra.Command, args []string) bool {
		return len(args) == 0 && slices.ContainsFunc(old, func(name string) bool { return c.Flags().Changed(name) })
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if own(c, args) {
			return nil
		}
		return check(c, args)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case c.Flags().Lookup("olm").Value.String() == "false":
			return useInstead("--olm=false", "only what OLM has installed is cleaned up", "use 'mysdk undeploy' for what 'mysdk deploy' installed")
		case own(c, args):
			return a.cleanUpOwn(c, "cleanup --olm")
		}
		return run(c, args)
	}
	manifests := hidden(oldVerb(&cobra.Command{
		Use: "packagemanifests", Short: "Remove the project's own operator that OLM has installed",
		Example: "  mysdk cleanup packagemanifests --operator-namespace operators",
		RunE:    func(c *cobra.Command, _ []string) error { return a.cleanUpOwn(c, "cleanup packagemanifests") },
		Args:    atMostOne("the directory of the package manifests"),
	}))
	fs := manifests.Flags()
	fs.String("kubeconfig", "", "kubeconfig of the cluster (default: the embedded cluster)")
	fs.String("operator-namespace", "", "namespace that the operator is installed in")
	fs.String("timeout", "", "time to wait, such as 2m")
	bindFound(fs, found)
	c.AddCommand(manifests)
	return c
}

// bindFound binds flags for what is found out today.
func bindFound(fs *pflag.FlagSet, names []string) {
	for _, name := range names {
		fs.String(name, "", "without effect: found out")
	}
}

// cleanUpOwn removes the operator of the project here.
func (a *app) cleanUpOwn(c *cobra.Command, verb string) error {
	f, err := project.Load(a.host.Dir)
	if err != nil {
		return err
	}
	p, err := f.Project()
	if err != nil {
		return err
	}
	line := []string{"cleanup", p.Name}
	for _, name := range []string{"kubeconfig", "namespace", "operator-namespace", "timeout"} {
		if flag := c.Flags().Lookup(name); flag != nil && flag.Changed {
			line = append(line, "--"+strings.TrimPrefix(name, "operator-"), flag.Value.String())
		}
	}
	return a.translate(c.Context(), verb, mysdkStep(line...))
}

// newLegacyAlpha holds what was tried out in operator-sdk v0.9 to v0.19.
func newLegacyAlpha(a *app) *cobra.Command {
	c := hidden(&cobra.Command{
		Use: "alpha", Short: "Run commands that were once being tried out",
		Example: "  mysdk alpha olm install",
	})
	olm := &cobra.Command{
		Use: "olm", Short: "Install, look at and remove the Operator Lifecycle Manager",
		Example: "  mysdk alpha olm install",
	}
	olm.AddCommand(
		moved(a, "install", "Install OLM into a cluster", "alpha olm install", "olm", "install"),
		moved(a, "status", "Tell how OLM is", "alpha olm status", "olm", "status"),
		moved(a, "uninstall", "Remove OLM", "alpha olm uninstall", "olm", "uninstall"),
	)
	c.AddCommand(olm, moved(a, "scorecard", "Run the tests of a bundle", "alpha scorecard", "scorecard"))
	return c
}
