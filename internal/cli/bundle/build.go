package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/cli"
	imagecmd "github.com/example/mysdk/internal/cli/image"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/image"
	"github.com/example/mysdk/internal/registry"
)

type buildOptions struct {
	dir     string
	file    string
	image   string
	push    bool
	useHTTP bool
	output  string
}

func newBuild(f *cli.Factory) *cobra.Command {
	o := &buildOptions{}
	c := &cobra.Command{
		Use: "build [DIR]", Short: "Build the image of a bundle, without docker",
		Long: `Build the image of a bundle, without docker.

The image contains the manifests, metadata and tests that bundle.Dockerfile
copies, from scratch, and its labels. With DIR, or without a bundle.Dockerfile,
it contains the bundle in DIR (default bundle), with labels from its
annotations. The same bundle gives the same digest, which is printed on stdout.
The image is kept on this machine, as with 'mysdk image build'.`,
		Example: `  mysdk bundle build --image ghcr.io/you/operator-bundle:v0.1.0
  mysdk bundle build --image ghcr.io/you/operator-bundle:v0.1.0 --push`,
		Args: cli.AtMostOne("the directory of the bundle"),
		RunE: func(c *cobra.Command, args []string) error {
			o.dir = strings.Join(args, "")
			return runBuild(c.Context(), f, o)
		},
	}
	fs := c.Flags()
	fs.StringVarP(&o.image, "image", "t", "", "name of the image, with a tag")
	fs.StringVarP(&o.file, "file", "f", "", "Dockerfile with the labels and what to copy (default "+bundle.DockerfileName+")")
	fs.BoolVar(&o.push, "push", false, "push the image when it is built")
	imagecmd.UseHTTPFlag(c, &o.useHTTP)
	cli.OutputFlag(c, &o.output)
	return c
}

// runBuild makes the image of a bundle. The labels of bundle.Dockerfile and the
// annotations in the bundle say the same thing twice: where they differ, OLM would
// take one and opm the other, and so neither is chosen here.
func runBuild(ctx context.Context, f *cli.Factory, o *buildOptions) error {
	start := f.Host.Now()
	if _, err := f.Recover(); err != nil {
		return err
	}
	files, labels, err := bundleContents(f, o)
	if err != nil {
		return err
	}
	b, err := bundle.Load(files.FS())
	if err != nil {
		return err
	}
	if o.image == "" {
		return clierr.Usagef(fmt.Sprintf("mysdk bundle build --image ghcr.io/you/%s-bundle:v%s", b.Package, b.Version()), "specify an image name")
	}
	if o.push {
		if err := image.CheckPush(o.image); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b.Annotations)) {
		if have, ok := labels[key]; ok && have != b.Annotations[key] {
			return clierr.Failedf("recreate both with 'mysdk bundle generate'",
				"the label %s is %q, and the annotations of the bundle say %q", key, have, b.Annotations[key])
		}
		labels[key] = b.Annotations[key]
	}
	built, err := image.BuildFiles(ctx, f.Host, image.FilesOptions{
		Image: o.image, Files: files, Labels: labels, CreatedBy: "mysdk bundle build", Progress: f.Progress,
	})
	if err != nil {
		return err
	}
	f.Say("Built %s of %s: %d files, %s to push, after %s", built.Image, b.Name(), len(files), cli.Megabytes(built.Platforms[0].Size), f.Since(start))
	if o.push {
		if _, err := imagecmd.PushImage(ctx, f, image.PushOptions{Image: o.image, Access: registry.Access{UseHTTP: o.useHTTP}}); err != nil {
			return err
		}
	}
	return f.Report(o.output, built, func(w io.Writer) { fmt.Fprintln(w, built.Digest) })
}

// bundleContents are the files of the image and the labels that were written
// down for it: by the Dockerfile, or none with a directory alone.
func bundleContents(f *cli.Factory, o *buildOptions) (image.Files, map[string]string, error) {
	if o.dir != "" && o.file != "" {
		return nil, nil, clierr.Usagef("leave one of them out", "the Dockerfile says what to copy, and a directory was named too")
	}
	file := cmp.Or(o.file, bundle.DockerfileName)
	if o.dir == "" {
		data, err := f.Host.Files.ReadFile(f.Host.Path(file))
		switch {
		case err == nil:
			r, err := image.ParseRecipe(data, file)
			if err != nil {
				return nil, nil, err
			}
			files, err := r.Gather(os.DirFS(filepath.Dir(f.Host.Path(file))), file)
			return files, r.Labels, clierr.WithHint(err, "recreate the bundle with 'mysdk bundle generate'")
		case o.file != "" || !errors.Is(err, fs.ErrNotExist):
			return nil, nil, clierr.WithHint(fmt.Errorf("read the Dockerfile: %w", err), "write it with 'mysdk bundle generate', or name another with --file")
		}
		o.dir = bundle.DefaultDir
	}
	r := &image.Recipe{Copies: []image.Copy{{From: []string{"."}}}}
	files, err := r.Gather(os.DirFS(f.Host.Path(o.dir)), o.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, clierr.Failedf("write it with 'mysdk bundle generate'", "there is no bundle in %s", o.dir)
	case err != nil:
		return nil, nil, clierr.Failedf("check that it is a directory with readable files", "read the bundle: %w", err)
	}
	return files, map[string]string{}, nil
}
