package olm

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/catalog"
	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/image"
	"github.com/example/mysdk/internal/olm/run"
	"github.com/example/mysdk/internal/registry"
)

// PackageManifestsDir is where operator-sdk kept package manifests.
const PackageManifestsDir = "packagemanifests"

// NewRunPackageManifests is 'mysdk run packagemanifests'.
func NewRunPackageManifests(f *cli.Factory) *cobra.Command {
	o := &runBundleOptions{}
	c := &cobra.Command{
		Use: "packagemanifests [DIR]", Aliases: []string{"pm"}, Short: "Install an operator from package manifests (the format before bundles) with OLM",
		Long: `Install an operator from package manifests (the format before bundles) with OLM.

DIR has a file NAME.package.yaml and a directory for each version. The version
is converted to a bundle in memory and installed as by 'run bundle'; 'mysdk
pkgman-to-bundle' writes the bundles to disk.`,
		Example: "  mysdk run packagemanifests --version 0.0.1\n  mysdk run packagemanifests ./packagemanifests --install-mode OwnNamespace",
		Args:    cli.AtMostOne("the directory of the package manifests"),
		RunE: func(c *cobra.Command, args []string) error {
			o.bundle = cmp.Or(strings.Join(args, ""), PackageManifestsDir)
			return runPackageManifests(c.Context(), f, o)
		},
	}
	o.output, o.securityContext, o.pullPolicy, o.noPush = "text", "restricted", "IfNotPresent", true
	fs := c.Flags()
	o.Bind(fs)
	o.bindWait(fs)
	fs.StringVar(&o.installMode, "install-mode", "", "AllNamespaces, OwnNamespace, SingleNamespace=ns or MultiNamespace=a,b (default: what the operator supports)")
	fs.StringVar(&o.version, "version", "", "version to install (default: the newest of the default channel)")
	fs.StringVar(&o.serviceAccount, "service-account", "", "service account of the catalog's pod (default: the namespace's default one)")
	fs.BoolVar(&o.rollback, "rollback", false, "restore the previous state if the operator does not become ready")
	cli.OutputFlag(c, &o.output)
	return c
}

func runPackageManifests(ctx context.Context, f *cli.Factory, o *runBundleOptions) error {
	mode, err := run.ParseMode(o.installMode)
	if err != nil {
		return err
	}
	if info, err := os.Stat(f.Host.Path(o.bundle)); err != nil || !info.IsDir() {
		return clierr.Usagef("name the directory with NAME.package.yaml", "there is no directory %s", o.bundle)
	}
	list, err := catalog.FromPackageManifests(os.DirFS(f.Host.Path(o.bundle)))
	if err != nil {
		return fmt.Errorf("%s: %w", o.bundle, err)
	}
	b, err := pickVersion(list, o.version)
	if err != nil {
		return fmt.Errorf("%s: %w", o.bundle, err)
	}
	client, err := f.Connect(ctx, &o.Target, false)
	if err != nil {
		return err
	}
	return installBundle(ctx, f, client, b, mode, registry.Access{}, o)
}

// pickVersion is the bundle of a version, or the newest of the default channel.
func pickVersion(list []catalog.Converted, version string) (*bundle.Bundle, error) {
	var newest *bundle.Bundle
	var have []string
	for _, c := range list {
		b, err := bundle.Load(image.Files(c.Files).Sub(bundle.DefaultDir).FS())
		if err != nil {
			return nil, fmt.Errorf("version %s: %w", c.Version, err)
		}
		have = append(have, b.Version())
		switch {
		case version != "" && version == b.Version():
			return b, nil
		case version != "" || c.Guessed || !slices.Contains(c.Channels, b.DefaultChannel):
		case newest == nil || b.CSV.Spec.Version.GT(newest.CSV.Spec.Version.Version):
			newest = b
		}
	}
	if newest == nil {
		hint := "there is " + strings.Join(have, ", ")
		return nil, clierr.Usagef(hint, "there is no version %s", cmp.Or(version, "in the default channel"))
	}
	return newest, nil
}
