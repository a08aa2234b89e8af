package bundle

import (
	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	imagecmd "github.com/example/mysdk/internal/cli/image"
)

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
