// Package image has the commands that build, push and save the operator's image.
package image

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/hostprogram"
	"github.com/example/mysdk/internal/image"
	"github.com/example/mysdk/internal/registry"
)

// New is 'mysdk image', with what is below it.
func New(f *cli.Factory) *cobra.Command {
	c := &cobra.Command{
		Use: "image", Short: "Build, push and save the operator's container image without docker", GroupID: "run",
		Long: `Build the operator's container image, push it and save it.

This needs no daemon and no Dockerfile: the go command compiles, and mysdk
writes the layers. Images are kept on this machine under their names, like
docker's.`,
		Example: `  mysdk image build --platform linux/amd64,linux/arm64
  mysdk image push ghcr.io/you/operator:v0.1.0 --image controller:latest`,
	}
	c.AddCommand(newBuild(f), newPush(f), newSave(f))
	return c
}

type buildOptions struct {
	image.BuildOptions
	push    bool
	sbom    string
	output  string
	cluster string
}

func newBuild(f *cli.Factory) *cobra.Command {
	o := &buildOptions{sbom: "spdx"}
	c := &cobra.Command{
		Use: "build [.]", Short: "Compile the operator for each platform and build its image",
		Long: `Compile the operator for each platform and build its image.

The image has the operator as /manager, on a base with certificates and a passwd
file, and runs it as the user 65532, as the scaffolded Dockerfile does. The image
has nothing else of the Dockerfile's last stage: no other files, variables,
arguments, labels or user, nor what RUN does. Warnings name what is left out, and the
-ldflags and -tags of the Dockerfile's go build, which are not used either.

The digest is printed on stdout. The same commit, built by the same Go on the same
base, gives the same digest on any machine: every time in the image is
SOURCE_DATE_EPOCH, or 1970.

The base is ` + image.DefaultBase + `, kept in a cache. With
'--base scratch' it is made here and needs no network: the certificates are this
machine's, or those in the file that SSL_CERT_FILE names.

An SPDX bill of materials, made from what the linker recorded, is attached to the
image as an OCI artifact that refers to it.`,
		Example: `  # for this machine's architecture
  mysdk image build

  # for several platforms, and on to a registry
  mysdk image build --image ghcr.io/you/operator:v0.1.0 --platform linux/amd64,linux/arm64 --push

  # without a network
  mysdk image build --base scratch --offline`,
		Args: contextArg,
		RunE: func(c *cobra.Command, _ []string) error { return runBuild(c.Context(), f, o) },
	}
	fs := c.Flags()
	fs.StringVarP(&o.Image, "image", "t", image.DefaultName, "name of the image, with a tag")
	fs.StringSliceVar(&o.Platforms, "platform", nil, "platforms, separated by commas (default: linux on this machine's architecture)")
	fs.StringVar(&o.Base, "base", image.DefaultBase, "image to build on, or scratch")
	fs.StringArrayVar(&o.Labels, "label", nil, "KEY=VALUE to label the image with; may be repeated")
	fs.StringVar(&o.GoLDFlags, "go-ldflags", "", "-ldflags for the build of the operator, besides -s -w")
	fs.StringVar(&o.cluster, "cluster", state.DefaultName, "name of the embedded cluster that will run the image, if it is running")
	fs.BoolVar(&o.push, "push", false, "push the image when it is built")
	fs.BoolVar(&o.Offline, "offline", false, "work offline: take the base image and Go modules from caches")
	fs.Var(cli.Choice(&o.sbom, "spdx", "none"), "sbom", "bill of materials: spdx or none")
	UseHTTPFlag(c, &o.UseHTTP)
	cli.OutputFlag(c, &o.output)
	return c
}

// contextArg takes the argument that docker build needs, where it says what is
// built anyway.
func contextArg(c *cobra.Command, args []string) error {
	if len(args) == 1 && filepath.Clean(args[0]) == "." {
		return nil
	}
	return cli.NoArguments("run it in the project's directory")(c, args)
}

// UseHTTPFlag is the flag for registries without TLS.
func UseHTTPFlag(c *cobra.Command, value *bool) {
	c.Flags().BoolVar(value, "use-http", false, "plain http with any registry, not only with one on this machine")
}

// runBuild builds an image, and pushes it with --push. What can be wrong with the
// command line is checked before the compiler has worked for minutes.
func runBuild(ctx context.Context, f *cli.Factory, o *buildOptions) error {
	if o.push && o.Offline {
		return clierr.Usagef("build with --offline, and push when there is a network", "--push needs a network, and --offline forbids one")
	}
	p, _, err := f.LoadProject()
	if err != nil {
		return err
	}
	if o.push {
		if err := image.CheckPush(o.Image); err != nil {
			return err
		}
	}
	if err := f.KnownCluster(ctx, o.cluster); err != nil {
		return err
	}
	start := f.Host.Now()
	o.Dir, o.Title, o.Tool, o.NoSBOM = f.Host.Dir, p.Name, "mysdk-"+cli.ThisBuild().Version, o.sbom == "none"
	o.Progress, o.Warn = f.Progress, f.WarnLine
	built, err := image.Build(ctx, f.Host, o.BuildOptions)
	if err != nil {
		return err
	}
	for _, part := range built.Platforms {
		f.Say("%s for %s: %s to push", built.Image, part.Platform, cli.Megabytes(part.Size))
	}
	f.Say("Built %s on %s after %s", built.Image, built.Base, f.Since(start))
	if o.push {
		if _, err := PushImage(ctx, f, image.PushOptions{Image: o.Image, Access: registry.Access{UseHTTP: o.UseHTTP}}); err != nil {
			return err
		}
	}
	if err := f.Report(o.output, built, func(w io.Writer) { fmt.Fprintln(w, built.Digest) }); err != nil {
		return err
	}
	return offerImage(ctx, f, o.cluster, o.Image)
}

// offerImage lets a running embedded cluster run the operator in an image that
// was built just now, as a docker of one's own would for a cluster on it.
func offerImage(ctx context.Context, f *cli.Factory, name, img string) error {
	info, err := cluster.Status(ctx, f.Host, name)
	if err != nil || info.State != cluster.Running {
		return err
	}
	return hostprogram.Programs{Host: f.Host, Cluster: name, Say: f.Detail}.RegisterImage(ctx, img)
}

// PushImage pushes and says where to.
func PushImage(ctx context.Context, f *cli.Factory, o image.PushOptions) (image.Pushed, error) {
	start := f.Host.Now()
	o.Progress, o.Warn = f.Progress, f.WarnLine
	pushed, err := image.Push(ctx, f.Host, o)
	if err == nil {
		f.Say("Pushed %s after %s", pushed.Image, f.Since(start))
	}
	return pushed, err
}

func newPush(f *cli.Factory) *cobra.Command {
	return NewPush(f, &cobra.Command{
		Short: "Push a built image to a registry",
		Long: `Push a built image to a registry, with its bill of materials.

REF is the name to push to. The image of that name is pushed, or the one that
--image names. Credentials are read from 'docker login' or 'podman login'.
The name with the digest, for use in a manifest, is printed on stdout.`,
		Example: `  mysdk image build --image ghcr.io/you/operator:v0.1.0
  mysdk image push ghcr.io/you/operator:v0.1.0

  # an image that was built under another name
  mysdk image push localhost:5000/operator:dev --image controller:latest`,
	}, "mysdk image build")
}

// NewPush is a push command with the texts of c, for images that builder builds.
func NewPush(f *cli.Factory, c *cobra.Command, builder string) *cobra.Command {
	o, output := image.PushOptions{Builder: builder}, ""
	c.Use, c.Args = "push [REF]", cli.AtMostOne("the name to push to")
	c.RunE = func(c *cobra.Command, args []string) error {
		if o.To = strings.Join(args, ""); o.To == "" && o.Image == "" {
			return clierr.Usagef("such as: mysdk "+cli.CommandName(c)+" ghcr.io/you/operator:v0.1.0", "specify the image to push")
		}
		pushed, err := PushImage(c.Context(), f, o)
		if err != nil {
			return err
		}
		return f.Report(output, pushed, func(w io.Writer) { fmt.Fprintln(w, pushed.Reference()) })
	}
	c.Flags().StringVarP(&o.Image, "image", "t", "", "name of the built image (default REF)")
	UseHTTPFlag(c, &o.UseHTTP)
	cli.OutputFlag(c, &output)
	return c
}

func newSave(f *cli.Factory) *cobra.Command {
	o := &image.SaveOptions{}
	c := &cobra.Command{
		Use: "save [FILE.tar]", Short: "Save a built image as an archive for docker and podman, or as an OCI layout",
		Long: `Save a built image as an archive for docker and podman, or as an OCI layout.

FILE.tar is for 'docker load', 'podman load' and 'kind load image-archive', and
has one platform; '-' is the standard output. An OCI layout is a directory with
all platforms and the bills of materials.

Without --image, it saves what 'mysdk image build' made of the project in this
directory, and nothing that another project built under the same name.`,
		Example: `  mysdk image save controller.tar
  mysdk image save --image ghcr.io/you/operator:v0.1.0 --oci-layout dist/operator`,
		Args: cli.AtMostOne("the file to save to"),
		RunE: func(c *cobra.Command, args []string) error {
			o.File = strings.Join(args, "")
			return runSave(c.Context(), f, o)
		},
	}
	fs := c.Flags()
	fs.StringVarP(&o.Image, "image", "t", "", "name of the built image (default: "+image.DefaultName+", if this project built it)")
	fs.StringVar(&o.Layout, "oci-layout", "", "directory to write an OCI image layout to; new or empty")
	fs.StringVar(&o.Platform, "platform", "", "the platform to save, where the image has several (default: linux on this machine's architecture)")
	return c
}

func runSave(ctx context.Context, f *cli.Factory, o *image.SaveOptions) error {
	if o.Image == "" {
		if _, _, err := f.LoadProject(); err != nil {
			return err
		}
	}
	o.Progress, o.Warn = f.Progress, f.WarnLine
	saved, err := image.Save(ctx, f.Host, *o)
	if err != nil || saved.Path == image.Stdout {
		return err
	}
	f.Say("Saved %s", strings.Join(strings.Fields(saved.Image+" "+saved.Platform), " for "))
	return f.Print([]byte(saved.Path + "\n"))
}
