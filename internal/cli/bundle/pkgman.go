package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/catalog"
	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/image"
)

type pkgmanOptions struct {
	dir       string
	outputDir string
	imageBase string
	buildCmd  string
	dryRun    bool
}

// NewPkgmanToBundle is 'mysdk pkgman-to-bundle'.
func NewPkgmanToBundle(f *cli.Factory) *cobra.Command {
	o := &pkgmanOptions{}
	c := &cobra.Command{
		Use: "pkgman-to-bundle DIR", Short: "Create a bundle for each version in a directory of package manifests", GroupID: "write",
		Long: `Create a bundle of every version in a directory of package manifests, the format
that OLM used before bundles.

DIR has a file NAME.package.yaml, and a directory with manifests for each
version. Each version becomes OUTPUT-DIR/bundle-VERSION, with the bundle and its
Dockerfile. It is in every channel from whose current CSV a chain of
spec.replaces leads to it, or else in the default channel. With --image-tag-base
an image of each bundle is built, named BASE:VERSION, without a container tool.`,
		Example: `  mysdk pkgman-to-bundle packagemanifests
  mysdk pkgman-to-bundle packagemanifests --image-tag-base quay.io/you/operator-bundle`,
		Args: cli.AtMostOne("the directory of the package manifests"),
		RunE: func(c *cobra.Command, args []string) error {
			o.dir = strings.Join(args, "")
			return runPkgmanToBundle(c.Context(), f, o)
		},
	}
	fs := c.Flags()
	fs.StringVar(&o.outputDir, "output-dir", "bundles", "directory for the bundles; new or empty")
	fs.StringVar(&o.imageBase, "image-tag-base", "", "build images of this name, with the version's directory as the tag")
	fs.StringVar(&o.buildCmd, "build-cmd", "", "removed: images are built without a command")
	fs.BoolVar(&o.dryRun, "dry-run", false, "show changes as a diff without writing or building anything")
	return c
}

func (o *pkgmanOptions) check() error {
	switch {
	case o.dir == "":
		return clierr.Usagef("mysdk pkgman-to-bundle packagemanifests", "specify the directory of the package manifests")
	case o.buildCmd != "":
		return clierr.Usagef("leave it out: --image-tag-base builds the images here; or run your command in each directory of --output-dir afterwards",
			"--build-cmd is for a container tool, and none is needed")
	}
	return nil
}

// runPkgmanToBundle writes one bundle for each version of a package. Nothing is
// written into a directory that has something in it: old bundles among new ones
// would be taken for the package's.
func runPkgmanToBundle(ctx context.Context, f *cli.Factory, o *pkgmanOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	finished, err := f.Recover()
	if err != nil {
		return err
	}
	to, err := belowHere(f, o.outputDir)
	if err != nil {
		return err
	}
	entries, err := f.Host.Files.ReadDir(f.Host.Path(o.outputDir))
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case len(entries) > 0 && !finished: // else they are these bundles, and their images are missing
		return clierr.Failedf("remove it, or name another with --output-dir", "the directory %s is not empty", o.outputDir)
	}
	if info, err := os.Stat(f.Host.Path(o.dir)); err != nil || !info.IsDir() {
		return clierr.Usagef("name the directory with NAME.package.yaml", "there is no directory %s", o.dir)
	}
	list, err := catalog.FromPackageManifests(os.DirFS(f.Host.Path(o.dir)))
	if err != nil {
		return fmt.Errorf("%s: %w", o.dir, err)
	}
	var set fileset.Set
	for _, c := range list {
		if o.imageBase != "" { // before anything is written: the directory has to be empty
			if err := image.CheckName(o.imageBase + ":" + c.Version); err != nil {
				return fmt.Errorf("--image-tag-base: %w", err)
			}
		}
		for name, data := range c.Files {
			if err := set.Put(path.Join(to, "bundle-"+c.Version, name), fileset.File{Data: data}); err != nil {
				return err
			}
		}
	}
	if err := f.Write(ctx, set, o.dryRun); err != nil || o.dryRun {
		return err
	}
	return finishPkgman(ctx, f, list, o)
}

// finishPkgman says what was made, and builds the images.
func finishPkgman(ctx context.Context, f *cli.Factory, list []catalog.Converted, o *pkgmanOptions) error {
	for _, c := range list {
		dir := path.Join(o.outputDir, "bundle-"+c.Version)
		if c.Guessed {
			f.Warn("%s: no channel leads to it, so it is in the default channel, %s", dir, strings.Join(c.Channels, ","))
		}
		f.Say("Wrote %s: channels %s", dir, strings.Join(c.Channels, ", "))
		if o.imageBase == "" {
			continue
		}
		if err := buildConverted(ctx, f, c, o.imageBase+":"+c.Version); err != nil {
			return fmt.Errorf("build the image of %s: %w", dir, err)
		}
	}
	f.Say("Next: mysdk bundle validate %s", host.ShellQuote(path.Join(o.outputDir, "bundle-"+list[len(list)-1].Version, bundle.DefaultDir)))
	return nil
}

// buildConverted builds the image of a bundle and prints its name and digest.
func buildConverted(ctx context.Context, f *cli.Factory, c catalog.Converted, name string) error {
	r, err := image.ParseRecipe(c.Files[bundle.DockerfileName], bundle.DockerfileName)
	if err != nil {
		return err
	}
	built, err := image.BuildFiles(ctx, f.Host, image.FilesOptions{
		Image: name, Files: image.Files(c.Files).Sub(bundle.DefaultDir), Labels: r.Labels, CreatedBy: "mysdk pkgman-to-bundle", Progress: f.Progress,
	})
	if err != nil {
		return err
	}
	return f.Report("text", nil, func(w io.Writer) { fmt.Fprintf(w, "%s\t%s\n", built.Image, built.Digest) })
}
