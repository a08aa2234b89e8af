package cmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/image"
)

func newBundlePush(a *app) *cobra.Command {
	o := &imagePushOptions{}
	c := &cobra.Command{
		Use: "push [REF]", Short: "Push the image of a bundle or of a catalog to a registry",
		Long: `Push the image of a bundle or of a catalog to a registry.

REF is the name to push to. The image of that name is pushed, or the one that
--image names. Credentials are read from 'docker login' or 'podman login'.
Printed on stdout is the name with the digest.`,
		Example: `  mysdk bundle push --image ghcr.io/you/operator-bundle:v0.1.0`,
		Args:    atMostOne("the name to push to"),
		RunE: func(c *cobra.Command, args []string) error {
			o.To = strings.Join(args, "")
			return a.runBundlePush(c.Context(), o)
		},
	}
	c.Flags().StringVarP(&o.Image, "image", "t", "", "name of the built image (default REF)")
	useHTTPFlag(c, &o.UseHTTP)
	outputFlag(c, &o.output)
	return c
}

func (a *app) runBundlePush(ctx context.Context, o *imagePushOptions) error {
	name := o.Image
	if name == "" {
		name = o.To
	}
	if name == "" {
		return clierr.Usagef("mysdk bundle push --image ghcr.io/you/operator-bundle:v0.1.0", "specify the image to push")
	}
	ok, near, err := image.Stored(a.host, name)
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
	pushed, err := a.pushImage(ctx, o.PushOptions)
	if err != nil {
		return err
	}
	return a.report(o.output, pushed, func(w io.Writer) { fmt.Fprintln(w, pushed.Reference()) })
}
