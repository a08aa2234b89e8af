package cmd

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/image"
	"github.com/example/mysdk/internal/olm/run"
)

func newImage(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "image", Short: "Build, push and save the operator's container image without docker", GroupID: "run",
		Long: `Build the operator's container image, push it and save it.

There is no daemon and no Dockerfile: the go command compiles, and mysdk writes
the layers. Images are kept on this machine under their names, like docker's.`,
		Example: `  mysdk image build --platform linux/amd64,linux/arm64
  mysdk image push ghcr.io/you/operator:v0.1.0 --image controller:latest`,
	}
	c.AddCommand(newImageBuild(a), newImagePush(a), newImageSave(a))
	return c
}

// imageBuildOptions are the flags of image build.
type imageBuildOptions struct {
	image.BuildOptions
	push   bool
	sbom   string
	output string
}

func newImageBuild(a *app) *cobra.Command {
	o := &imageBuildOptions{sbom: "spdx"}
	c := &cobra.Command{
		Use: "build [.]", Short: "Compile the operator for each platform and build its image",
		Long: `Compile the operator for each platform and build its image.

The image has the operator as /manager, on a base with certificates and a passwd
file, and runs it as the user 65532, as the scaffolded Dockerfile does. The same
source gives the same digest, on any machine: every time in the image is
SOURCE_DATE_EPOCH, or 1970. The digest is printed on stdout.

The base is ` + image.DefaultBase + `, kept in a cache. With
'--base scratch' it is made here and needs no network: the certificates are this
machine's, or those in the file that SSL_CERT_FILE names.

A bill of materials in SPDX, made from what the linker recorded, goes with the
image as an OCI artifact that refers to it.`,
		Example: `  # for this machine's architecture
  mysdk image build

  # for several platforms, and on to a registry
  mysdk image build --image ghcr.io/you/operator:v0.1.0 --platform linux/amd64,linux/arm64 --push

  # without a network
  mysdk image build --base scratch --offline`,
		Args: contextArg,
		RunE: func(c *cobra.Command, _ []string) error { return a.runImageBuild(c.Context(), o) },
	}
	imageFlag(c, &o.Image, "name of the image, with a tag")
	fs := c.Flags()
	fs.StringSliceVar(&o.Platforms, "platform", nil, "platforms, separated by commas (default: linux on this machine's architecture)")
	fs.StringVar(&o.Base, "base", image.DefaultBase, "image to build on, or scratch")
	fs.StringArrayVar(&o.Labels, "label", nil, "KEY=VALUE to label the image with; may be repeated")
	fs.StringVar(&o.GoLDFlags, "go-ldflags", "", "-ldflags for the build of the operator, besides -s -w")
	fs.BoolVar(&o.push, "push", false, "push the image when it is built")
	fs.BoolVar(&o.Offline, "offline", false, "work offline: take the base image and Go modules from caches")
	fs.Var(choice(&o.sbom, "spdx", "none"), "sbom", "bill of materials: spdx or none")
	useHTTPFlag(c, &o.UseHTTP)
	outputFlag(c, &o.output)
	return c
}

// contextArg takes the argument that docker build needs, where it says what is
// built anyway.
func contextArg(c *cobra.Command, args []string) error {
	if len(args) == 0 || len(args) == 1 && filepath.Clean(args[0]) == "." {
		return nil
	}
	return clierr.Usagef("run it in the project's directory", "%q takes no arguments, got %q", c.CommandPath(), strings.Join(args, " "))
}

// imageFlag is the flag that names an image in the store.
func imageFlag(c *cobra.Command, value *string, usage string) {
	c.Flags().StringVarP(value, "image", "t", image.DefaultName, usage)
}

func useHTTPFlag(c *cobra.Command, value *bool) {
	c.Flags().BoolVar(value, "use-http", false, "plain http with any registry, not only with one on this machine")
}

func (a *app) runImageBuild(ctx context.Context, o *imageBuildOptions) error {
	if o.push && o.Offline {
		return clierr.Usagef("build with --offline, and push when there is a network", "--push needs a network, and --offline forbids one")
	}
	p, _, err := a.loadProject()
	if err != nil {
		return err
	}
	if o.push {
		if err := image.CheckPush(o.Image); err != nil {
			return err // before the long work
		}
	}
	start := a.host.Now()
	opts := o.BuildOptions
	opts.Dir, opts.Title, opts.Tool, opts.NoSBOM = a.host.Dir, p.Name, "mysdk-"+thisBuild().Version, o.sbom == "none"
	opts.Progress = func(s string) { a.say("%s", s) }
	opts.Warn = func(s string) { a.warn("%s", s) }
	built, err := image.Build(ctx, a.host, opts)
	if err != nil {
		return err
	}
	for _, part := range built.Platforms {
		a.say("%s for %s: %s to push", built.Image, part.Platform, megabytes(part.Size))
	}
	a.say("Built %s on %s after %s", built.Image, built.Base, a.since(start))
	if err := a.offerImage(ctx, o.Image); err != nil {
		return err
	}
	if o.push {
		if _, err := a.pushImage(ctx, image.PushOptions{Image: o.Image, Access: image.Access{UseHTTP: o.UseHTTP}}); err != nil {
			return err
		}
	}
	return a.report(o.output, built, func(w io.Writer) { fmt.Fprintln(w, built.Digest) })
}

// offerImage lets a running embedded cluster run the operator in an image that
// was built just now, as a docker of one's own would for a cluster on it.
func (a *app) offerImage(ctx context.Context, img string) error {
	info, err := cluster.Status(ctx, a.host, cluster.DefaultName)
	if err != nil || info.State != cluster.Running {
		return err
	}
	return run.Programs{Host: a.host, Cluster: cluster.DefaultName, Say: a.detail}.RegisterImage(ctx, img)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// pushImage pushes and says where to.
func (a *app) pushImage(ctx context.Context, o image.PushOptions) (image.Pushed, error) {
	start := a.host.Now()
	o.Progress = func(s string) { a.say("%s", s) }
	o.Warn = func(s string) { a.warn("%s", s) }
	pushed, err := image.Push(ctx, a.host, o)
	if err == nil {
		a.say("Pushed %s after %s", pushed.Image, a.since(start))
	}
	return pushed, err
}

// imagePushOptions are the flags and the argument of image push.
type imagePushOptions struct {
	image.PushOptions
	output string
}

func newImagePush(a *app) *cobra.Command {
	o := &imagePushOptions{}
	c := &cobra.Command{
		Use: "push [REF]", Short: "Push a built image to a registry",
		Long: `Push a built image to a registry, with its bill of materials.

REF is the name to push to. The image of that name is pushed, or the one that
--image names. Credentials are read from 'docker login' or 'podman login'.
Printed on stdout is the name with the digest, as a manifest should have it.`,
		Example: `  mysdk image build --image ghcr.io/you/operator:v0.1.0
  mysdk image push ghcr.io/you/operator:v0.1.0

  # an image that was built under another name
  mysdk image push localhost:5000/operator:dev --image controller:latest`,
		Args: atMostOne("the name to push to"),
		RunE: func(c *cobra.Command, args []string) error {
			o.To = strings.Join(args, "")
			return a.runImagePush(c.Context(), o)
		},
	}
	fs := c.Flags()
	fs.StringVarP(&o.Image, "image", "t", "", "name of the built image (default REF)")
	useHTTPFlag(c, &o.UseHTTP)
	outputFlag(c, &o.output)
	return c
}

// atMostOne takes one argument or none.
func atMostOne(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) <= 1 {
			return nil
		}
		return clierr.Usagef("see '"+c.CommandPath()+" --help'", "%q takes %s and nothing more, and got %q", c.CommandPath(), what, strings.Join(args, " "))
	}
}

func (a *app) runImagePush(ctx context.Context, o *imagePushOptions) error {
	if o.To == "" && o.Image == "" {
		return clierr.Usagef("mysdk image push ghcr.io/you/operator:v0.1.0", "specify where to push the image")
	}
	pushed, err := a.pushImage(ctx, o.PushOptions)
	if err != nil {
		return err
	}
	return a.report(o.output, pushed, func(w io.Writer) { fmt.Fprintln(w, pushed.Reference()) })
}

func newImageSave(a *app) *cobra.Command {
	o := &image.SaveOptions{}
	c := &cobra.Command{
		Use: "save [FILE.tar]", Short: "Save a built image as an archive for docker and podman, or as an OCI layout",
		Long: `Save a built image as an archive for docker and podman, or as an OCI layout.

FILE.tar is for 'docker load', 'podman load' and 'kind load image-archive'; '-'
is the standard output. It holds one platform. An OCI layout is a directory with
all platforms and the bills of materials.`,
		Example: `  mysdk image save controller.tar
  mysdk image save --image ghcr.io/you/operator:v0.1.0 --oci-layout dist/operator`,
		Args: atMostOne("the file to save to"),
		RunE: func(c *cobra.Command, args []string) error {
			o.File = strings.Join(args, "")
			return a.runImageSave(c.Context(), o)
		},
	}
	imageFlag(c, &o.Image, "name of the built image")
	fs := c.Flags()
	fs.StringVar(&o.Layout, "oci-layout", "", "directory to write an OCI image layout to; new or empty")
	fs.StringVar(&o.Platform, "platform", "", "the platform to save, where the image has several (default: linux on this machine's architecture)")
	return c
}

func (a *app) runImageSave(ctx context.Context, o *image.SaveOptions) error {
	opts := *o
	opts.Progress = func(s string) { a.say("%s", s) }
	saved, err := image.Save(ctx, a.host, opts)
	if err != nil || saved.Path == image.Stdout {
		return err
	}
	a.say("Saved %s", strings.Join(strings.Fields(saved.Image+" "+saved.Platform), " for "))
	return a.print([]byte(saved.Path + "\n"))
}
