package bundle

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	imagecmd "github.com/example/mysdk/internal/cli/image"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/image"
)

func newPush(f *cli.Factory) *cobra.Command {
	o := &imagecmd.PushOptions{}
	c := &cobra.Command{
		Use: "push [REF]", Short: "Push the image of a bundle or of a catalog to a registry",
		Long: `Push the image of a bundle or of a catalog to a registry.

REF is the name to push to. The image of that name is pushed, or the one that
--image names. Credentials are read from 'docker login' or 'podman login'.
Printed on stdout is the name with the digest.`,
		Example: `  mysdk bundle push --image ghcr.io/you/operator-bundle:v0.1.0`,
		Args:    cli.AtMostOne("the name to push to"),
		RunE: func(c *cobra.Command, args []string) error {
			o.To = strings.Join(args, "")
			return runPush(c.Context(), f, o)
		},
	}
	c.Flags().StringVarP(&o.Image, "image", "t", "", "name of the built image (default REF)")
	imagecmd.UseHTTPFlag(c, &o.UseHTTP)
	cli.OutputFlag(c, &o.Output)
	return c
}

func runPush(ctx context.Context, f *cli.Factory, o *imagecmd.PushOptions) error {
	name := cmp.Or(o.Image, o.To)
	if name == "" {
		return clierr.Usagef("mysdk bundle push --image ghcr.io/you/operator-bundle:v0.1.0", "specify the image to push")
	}
	ok, near, err := image.Stored(f.Host, name)
	if err != nil {
		return err
	}
	if !ok {
		hint := fmt.Sprintf("build it with 'mysdk bundle build --image %s'", name)
		if near != "" {
			hint = fmt.Sprintf("did you mean --image %s?", near)
		}
		return clierr.Failedf(hint, "no image %s has been built", name)
	}
	pushed, err := imagecmd.PushImage(ctx, f, o.PushOptions)
	if err != nil {
		return err
	}
	return f.Report(o.Output, pushed, func(w io.Writer) { fmt.Fprintln(w, pushed.Reference()) })
}
