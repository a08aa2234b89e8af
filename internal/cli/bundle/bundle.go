// Package bundle has the commands that make, check and publish bundles and
// catalogs: bundle, with what is below it, generate kustomize manifests,
// pkgman-to-bundle and scorecard.
package bundle

import (
	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	imagecmd "github.com/example/mysdk/internal/cli/image"
)

// New is the parent of the commands that make and check OLM bundles.
func New(f *cli.Factory) *cobra.Command {
	c := &cobra.Command{
		Use: "bundle", Short: "Generate, validate, build and publish OLM bundles", GroupID: "write",
		Long: `Generate, validate, build and publish the bundle that OLM installs the operator
from.

A bundle is a directory with the operator's manifests and metadata for catalogs.
Images of bundles, and catalogs, are built without a container tool.`,
		Example: `  mysdk bundle generate --version 0.1.0
  mysdk bundle validate ./bundle
  mysdk bundle build --image ghcr.io/you/operator-bundle:v0.1.0 --push`,
	}
	c.AddCommand(NewGenerate(f, "generate"))
	c.AddCommand(newValidate(f), newBuild(f), newPush(f), newCatalog(f))
	return c
}

func newPush(f *cli.Factory) *cobra.Command {
	return imagecmd.NewPush(f, &cobra.Command{
		Short: "Push the image of a bundle or of a catalog to a registry",
		Long: `Push the image of a bundle or of a catalog to a registry.

REF is the name to push to. The image of that name is pushed, or the one that
--image names. Credentials are read from 'docker login' or 'podman login'.
Printed on stdout is the name with the digest.`,
		Example: `  mysdk bundle push --image ghcr.io/you/operator-bundle:v0.1.0`,
	}, "mysdk bundle build")
}
