package legacy

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/example/mysdk/internal/cli"
	olmcmd "github.com/example/mysdk/internal/cli/olm"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/olm/run"
)

// olmOptions are the flags of run --olm.
type olmOptions struct {
	namespace, installMode, version, manifests, timeout string
}

func (o *olmOptions) bind(fs *pflag.FlagSet) {
	fs.StringVar(&o.namespace, "operator-namespace", "", "namespace to install into")
	fs.StringVar(&o.installMode, "install-mode", "", "install mode and namespaces to watch, such as OwnNamespace")
	fs.StringVar(&o.version, "operator-version", "", "version of the operator")
	fs.StringVar(&o.manifests, "manifests", "", "directory of the bundle (default: bundle)")
	fs.StringVar(&o.timeout, "timeout", "", "time to wait, such as 2m")
	fs.String("olm-namespace", "olm", "namespace of OLM (detected)")
	bindRefused(fs, []refusal{olmInclude()})
}

func olmInclude() refusal {
	return refusal{flag: "include", why: "OperatorGroup and Subscription are made by the command", instead: "apply other objects with 'mysdk kubectl apply -f FILE'"}
}

// misplaced refuses what run --local has no use for.
func (o *olmOptions) misplaced(f *cli.Factory) error {
	for _, flag := range []string{"operator-namespace", "install-mode", "operator-version", "manifests", "timeout", "olm-namespace", "include"} {
		if f.Given[flag] {
			return clierr.Usagef("leave it out", "--%s with --local: it is for --olm", flag)
		}
	}
	return nil
}

// run installs the project's bundle, or the package manifests, by OLM.
func (o *olmOptions) run(ctx context.Context, f *cli.Factory, fs *pflag.FlagSet, verb string) error {
	err := cmp.Or(checkRefused(f, fs, []refusal{olmInclude()}), o.check())
	if err != nil {
		return err
	}
	noticeIgnored(f, fs, map[string]string{"olm-namespace": "it is detected"})
	steps, err := o.steps(f)
	if err != nil {
		return err
	}
	last := &steps[len(steps)-1]
	last.words = withFlags(last.words, "--namespace", o.namespace, "--install-mode", o.installMode, "--timeout", o.timeout,
		"--kubeconfig", fs.Lookup("kubeconfig").Value.String())
	return translate(ctx, f, verb, steps...)
}

// check refuses what the last command line would refuse when the bundle has
// been written.
func (o *olmOptions) check() error {
	if _, err := run.ParseMode(o.installMode); err != nil {
		return err
	}
	if _, err := time.ParseDuration(cmp.Or(o.timeout, "0")); err != nil {
		return clierr.Usagef("such as: --timeout 2m", "--timeout: %w", err)
	}
	return nil
}

// steps are the command lines of today, without the flags that are passed on.
func (o *olmOptions) steps(f *cli.Factory) ([]step, error) {
	manifests := o.manifests
	if err := f.OldProject(); err != nil && manifests == "" {
		// What operator-sdk v0.x has written can be installed as it is.
		if manifests = oldCatalog(f, nil); manifests == "" {
			return nil, err
		}
	}
	names, err := packageFiles(f, manifests)
	switch {
	case err != nil:
		return nil, err
	case len(names) > 0:
		return []step{mysdkStep(withFlags([]string{"run", "packagemanifests", manifests}, "--version", o.version)...)}, nil
	case manifests != "" && o.version != "":
		return nil, useInstead("--operator-version with --manifests "+manifests, "there is no NAME.package.yaml, and a bundle is of one version", "leave --operator-version out")
	case manifests != "":
		return []step{mysdkStep("run", "bundle", localPath(manifests))}, nil
	}
	install := mysdkStep("run", "bundle", localPath(bundleDir))
	if o.version == "" {
		return []step{install}, nil
	}
	return []step{bundleStep(f, bundleDir, "bundle", "generate", "--version", o.version), install}, nil
}

// packageFiles are the files NAME.package.yaml in dir, or one directory below.
func packageFiles(f *cli.Factory, dir string) ([]string, error) {
	if dir == "" {
		return nil, nil
	}
	for _, pattern := range []string{"*.package.y*ml", "*/*.package.y*ml"} {
		if names, err := fs.Glob(os.DirFS(f.Host.Path(dir)), pattern); err != nil || len(names) > 0 {
			return names, err
		}
	}
	return nil, nil
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

// oldPackageManifests gives the command run packagemanifests the flags that
// it had in operator-sdk v0.x, and the directory that was written there.
func oldPackageManifests(f *cli.Factory, c *cobra.Command) {
	fs, o := c.Flags(), &olmOptions{}
	fs.StringVar(&o.version, "operator-version", "", "as --version")
	fs.StringVar(&o.namespace, "operator-namespace", "", "as --namespace")
	fs.String("olm-namespace", "olm", "no effect: detected")
	for _, name := range []string{"operator-version", "operator-namespace", "olm-namespace"} {
		fs.Lookup(name).Hidden = true
	}
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		noticeIgnored(f, fs, map[string]string{"olm-namespace": "it is detected"})
		if o.version == "" && o.namespace == "" && len(args) > 0 {
			return run(c, args)
		}
		dir := oldCatalog(f, args)
		if _, err := f.Host.Files.Lstat(f.Host.Path(olmcmd.PackageManifestsDir)); dir == "" && err != nil {
			if err := f.OldProject(); err != nil {
				return err
			}
		}
		if o.version == "" && o.namespace == "" && dir == "" {
			return run(c, args)
		}
		line := []string{"run", "packagemanifests"}
		if dir != "" {
			line = append(line, dir)
		}
		line = withFlags(line, "--version", o.version, "--namespace", o.namespace)
		return translate(c.Context(), f, "run packagemanifests", mysdkStep(append(line, typedFlags(f, c)...)...))
	}
	without(f, c, []refusal{olmInclude()})
}

// oldCatalog is the directory of package manifests that args names, or the one
// that operator-sdk v0.x wrote where there is none of today; else nothing.
func oldCatalog(f *cli.Factory, args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	if _, err := f.Host.Files.Lstat(f.Host.Path(olmcmd.PackageManifestsDir)); err == nil {
		return ""
	}
	found, err := fs.Glob(os.DirFS(f.Host.Dir), oldCatalogDir+"/*/*.package.yaml")
	if err != nil || len(found) != 1 {
		return ""
	}
	return path.Dir(found[0])
}

// newAlpha holds what was tried out in operator-sdk v0.9 to v0.19.
func newAlpha(f *cli.Factory) *cobra.Command {
	c := hidden(&cobra.Command{
		Use: "alpha", Short: "Deprecated aliases",
		Example: "  mysdk alpha olm install",
	})
	olm := &cobra.Command{
		Use: "olm", Short: "Install, inspect and uninstall the Operator Lifecycle Manager",
		Example: "  mysdk alpha olm install",
	}
	olm.AddCommand(
		moved(f, "install", "Install OLM into a cluster", "alpha olm install", "olm", "install"),
		moved(f, "status", "Show the status of OLM's components", "alpha olm status", "olm", "status"),
		moved(f, "uninstall", "Remove OLM", "alpha olm uninstall", "olm", "uninstall"),
	)
	c.AddCommand(olm, moved(f, "scorecard", "Run the tests of a bundle", "alpha scorecard", "scorecard"))
	c.AddCommand(retiredAlpha()...)
	return c
}
