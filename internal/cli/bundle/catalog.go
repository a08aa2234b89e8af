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
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/catalog"
	"github.com/example/mysdk/internal/cli"
	imagecmd "github.com/example/mysdk/internal/cli/image"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/image"
	"github.com/example/mysdk/internal/registry"
	"github.com/example/mysdk/internal/rewrite/yamledit"
)

// Where a catalog image has its catalog and the cache of it: the places that opm's own images have.
const (
	CatalogDir = "configs"
	cacheDir   = "tmp/cache"
)

type catalogOptions struct {
	catalog.AddOptions
	bundles   []string
	fromIndex string
	tag       string
	outputDir string
	format    string
	validate  bool
	push      bool
	useHTTP   bool
	dryRun    bool
}

func newCatalog(f *cli.Factory) *cobra.Command {
	o := &catalogOptions{format: catalog.YAML}
	o.Mode = catalog.ModeReplaces
	c := &cobra.Command{
		Use: "catalog [BUNDLE...]", Short: "Create an OLM catalog of bundles, as files or as an image",
		Long: `Create an OLM catalog of bundles, as files or as an image, without opm.

A BUNDLE is an image, an archive or a directory. OLM pulls a bundle by the name
of its image; all manifests of a directory go into the catalog, unless it is
written as DIR=IMAGE. Each bundle becomes an entry of the channels that its
annotations name. Its CSV says what it replaces (spec.replaces, spec.skips, the
annotation olm.skipRange), or the versions do, with --mode. Every channel is
checked for one newest bundle and an upgrade path to it from all others.

The catalog goes to stdout, to files with --output-dir, or into an image with
--tag, together with the cache that lets 'opm serve' start at once.`,
		Example: `  # the files of a catalog with one bundle
  mysdk bundle catalog ./bundle=ghcr.io/you/operator-bundle:v0.1.0 --output-dir catalog

  # an image, with one more bundle than the last one had
  mysdk bundle catalog ghcr.io/you/operator-bundle:v0.2.0 \
    --from-index ghcr.io/you/operator-catalog:v0.1.0 --tag ghcr.io/you/operator-catalog:v0.2.0 --push

  # check a catalog
  mysdk bundle catalog --from-index catalog --validate`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			o.bundles = append(o.bundles, args...)
			return runCatalog(c.Context(), f, o)
		},
	}
	fs := c.Flags()
	fs.StringSliceVarP(&o.bundles, "bundles", "b", nil, "bundles to add, separated by commas, besides the arguments")
	fs.StringVar(&o.fromIndex, "from-index", "", "catalog to add to: an image, or a directory or file")
	fs.StringVarP(&o.tag, "tag", "t", "", "name of the image to build")
	fs.StringVar(&o.outputDir, "output-dir", "", "directory for the catalog's files: PACKAGE/catalog.yaml")
	fs.VarP(cli.Choice(&o.format, catalog.YAML, catalog.JSON), "output", "o", "format of the catalog: yaml or json")
	fs.Var(cli.Choice(&o.Mode, catalog.ModeReplaces, catalog.ModeSemver, catalog.ModeSkipPatch), "mode", "what a bundle replaces: what its CSV says (replaces), the previous version (semver), or the previous minor version, skipping patches (semver-skippatch)")
	fs.StringVar(&o.DefaultChannel, "default-channel", "", "default channel of the packages that are added to (default: what the newest bundle says)")
	fs.BoolVar(&o.validate, "validate", false, "check the catalog, and write nothing")
	fs.BoolVar(&o.push, "push", false, "push the image when it is built")
	fs.BoolVar(&o.dryRun, "dry-run", false, "with --output-dir: show changes as a diff without writing them")
	imagecmd.UseHTTPFlag(c, &o.useHTTP)
	return c
}

func (o *catalogOptions) check() error {
	switch {
	case len(o.bundles) == 0 && o.fromIndex == "":
		return clierr.Usagef("mysdk bundle catalog ./bundle", "name at least one bundle, or a catalog with --from-index")
	case o.push && o.tag == "":
		return clierr.Usagef("add --tag ghcr.io/you/operator-catalog:v0.1.0", "--push needs an image, which --tag names")
	case o.dryRun && o.outputDir == "":
		return clierr.Usagef("add --output-dir catalog", "--dry-run requires --output-dir")
	case o.dryRun && o.tag != "":
		return clierr.Usagef("leave --tag out", "--dry-run is about the files of --output-dir, and --tag builds an image")
	case o.push:
		return image.CheckPush(o.tag)
	}
	return nil
}

// runCatalog assembles a catalog, checks it as a whole, and writes it to where it
// was asked for: a directory, an image, or standard output without either.
func runCatalog(ctx context.Context, f *cli.Factory, o *catalogOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.outputDir != "" { // it may be what --from-index reads
		if done, err := f.Recover(); done && o.tag == "" || err != nil {
			return err
		}
	}
	c, err := assembleCatalog(ctx, f, o)
	if err != nil {
		return err
	}
	if len(c.Packages) == 0 {
		return clierr.Failedf("name a directory with a catalog.yaml, or bundles to make one of", "there is no catalog in %s", o.fromIndex)
	}
	if err := c.Check(); err != nil {
		return err
	}
	f.Say("%s", summary(c))
	if o.validate {
		return nil
	}
	if o.outputDir != "" {
		if err := writeCatalog(ctx, f, c, o); err != nil || o.tag == "" {
			return err
		}
	}
	if o.tag != "" {
		return buildCatalog(ctx, f, c, o)
	}
	data, err := c.Encode(o.format)
	if err != nil {
		return err
	}
	return f.Print(data)
}

// assembleCatalog adds the bundles to the catalog there is.
func assembleCatalog(ctx context.Context, f *cli.Factory, o *catalogOptions) (*catalog.Catalog, error) {
	c := &catalog.Catalog{}
	var err error
	if o.fromIndex != "" {
		if c, err = readCatalog(ctx, f, o); err != nil {
			return nil, fmt.Errorf("--from-index: %w", err)
		}
	}
	var list []catalog.Addition
	for _, arg := range o.bundles {
		add, err := addition(ctx, f, arg, o.useHTTP)
		if err != nil {
			return nil, err
		}
		list = append(list, add)
	}
	return c, c.Add(list, o.AddOptions)
}

func readCatalog(ctx context.Context, f *cli.Factory, o *catalogOptions) (*catalog.Catalog, error) {
	file := f.Host.Path(o.fromIndex)
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && isPath(o.fromIndex):
		return nil, clierr.Usagef("name a directory or a file", "there is no catalog %s", o.fromIndex)
	case absent(o.fromIndex, err):
		named := image.IsExplicit(o.fromIndex) // else it is meant to be a directory, or an image of this machine
		c, err := FetchCatalog(ctx, f, image.OpenOptions{Image: o.fromIndex, Access: registry.Access{UseHTTP: o.useHTTP}, Offline: !named, RegistryFirst: true, RegistryOnly: o.push})
		if err != nil && !named {
			return nil, clierr.Usagef(fmt.Sprintf("name a directory or a file; an image in a registry needs its tag, as in %s:v0.0.1", o.fromIndex), "there is no catalog %s", o.fromIndex)
		}
		return c, err
	case err != nil:
		return nil, err
	case info.IsDir():
		if err := f.RefusePending(); err != nil {
			return nil, err
		}
		return catalog.Read(os.DirFS(file))
	}
	data, err := f.Host.Files.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return catalog.Parse(data, o.fromIndex)
}

// addition reads a bundle as it was named: IMAGE, DIR, or DIR=IMAGE.
func addition(ctx context.Context, f *cli.Factory, arg string, useHTTP bool) (catalog.Addition, error) {
	from, name, named := strings.Cut(arg, "=")
	if named {
		if _, _, _, err := image.Split(name); err != nil {
			return catalog.Addition{}, fmt.Errorf("%s: %w", arg, err)
		}
	}
	b, err := ReadBundle(ctx, f, from, image.OpenOptions{Access: registry.Access{UseHTTP: useHTTP}})
	if err != nil {
		return catalog.Addition{}, err
	}
	if _, err := f.Host.Files.Lstat(f.Host.Path(from)); err != nil && !named {
		name = from // an image, which OLM pulls by the same name
	}
	return catalog.Addition{Bundle: b, Image: name}, nil
}

// summary says what is in the catalog.
func summary(c *catalog.Catalog) string {
	var parts []string
	for _, p := range c.Packages {
		var channels []string
		for _, ch := range c.Channels {
			if ch.Package == p.Name {
				channels = append(channels, fmt.Sprintf("%s at %s", ch.Name, ch.Head()))
			}
		}
		slices.Sort(channels)
		parts = append(parts, fmt.Sprintf("%s: %s", p.Name, strings.Join(channels, ", ")))
	}
	if len(parts) > 3 {
		return fmt.Sprintf("The catalog is valid: %d packages, %d channels, %d bundles", len(c.Packages), len(c.Channels), len(c.Bundles))
	}
	return "The catalog is valid: " + strings.Join(parts, "; ")
}

func writeCatalog(ctx context.Context, f *cli.Factory, c *catalog.Catalog, o *catalogOptions) error {
	files, err := c.Files(o.format)
	if err != nil {
		return err
	}
	dir, err := belowHere(f, o.outputDir)
	if err != nil {
		return err
	}
	replaced, err := replacedFiles(f, c, o, files)
	if err != nil {
		return err
	}
	var set fileset.Set
	names := slices.Concat(slices.Sorted(maps.Keys(files)), replaced)
	for i, name := range names {
		data, kept := files[name]
		names[i] = path.Join(dir, name)
		warnOfComments(f, names[i])
		if err := set.Put(names[i], fileset.File{Data: data, Removed: !kept}); err != nil {
			return err
		}
	}
	if err := f.Write(ctx, set, o.dryRun); err != nil || o.dryRun {
		return err
	}
	f.Say("Wrote %s", strings.Join(names[:len(files)], ", "))
	if len(replaced) > 0 {
		f.Say("Removed %s, whose objects are in them now", strings.Join(names[len(files):], ", "))
	}
	return nil
}

// belowHere is a directory to write to, relative to the working directory.
func belowHere(f *cli.Factory, outputDir string) (string, error) {
	dir, err := filepath.Rel(f.Host.Dir, f.Host.Path(outputDir))
	if err != nil || !filepath.IsLocal(dir) {
		return "", clierr.Usagef("name a directory below this one", "--output-dir %s is outside of the working directory", outputDir)
	}
	return filepath.ToSlash(dir), nil
}

// replacedFiles are those of --output-dir whose objects are written into files of
// other names. One that was not read for the catalog is an error: there would be
// two of everything that it has. So is one of the same name with objects that the
// catalog does not have.
func replacedFiles(f *cli.Factory, c *catalog.Catalog, o *catalogOptions, files map[string][]byte) ([]string, error) {
	root := f.Host.Path(o.outputDir)
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil, nil //nolint:nilerr // there is nothing, or writing reports what is wrong
	}
	beside, err := c.Beside(os.DirFS(root), files)
	if err != nil {
		return nil, err
	}
	read, err := filesRead(f, o.fromIndex)
	if err != nil {
		return nil, err
	}
	unread := func(name string) bool { return !slices.Contains(read, filepath.Join(root, filepath.FromSlash(name))) }
	for _, name := range beside {
		if unread(name) {
			return nil, clierr.Failedf("remove it, or name another --output-dir", "%s: it has objects of the same package, and would be part of the catalog too", path.Join(filepath.ToSlash(o.outputDir), name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if unread(name) {
			if err := losesNone(f, c, path.Join(filepath.ToSlash(o.outputDir), name)); err != nil {
				return nil, err
			}
		}
	}
	return beside, nil
}

// losesNone refuses to replace a file that has what the catalog does not have.
func losesNone(f *cli.Factory, c *catalog.Catalog, name string) error {
	data, err := f.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	old, err := catalog.Parse(data, name)
	if err != nil {
		return clierr.Failedf("correct the file, or remove it", "%w", err)
	}
	if lost := old.Missing(c); len(lost) > 0 {
		hint := "add '--from-index " + name + "' to keep them, or remove the file"
		if f.Given["from-index"] {
			hint = "name another --output-dir, or remove the file"
		}
		return clierr.Failedf(hint, "%s has objects that the new catalog lacks: %s", name, strings.Join(lost, ", "))
	}
	return nil
}

// warnOfComments says that a file of the old catalog loses its comments: only its objects are read.
func warnOfComments(f *cli.Factory, name string) {
	data, err := f.ReadFile(name)
	if err != nil || path.Ext(name) == ".json" {
		return // there is none, or it has no comments
	}
	if docs, err := yamledit.Documents(data); err == nil && slices.ContainsFunc(docs, yamledit.Commented) {
		f.Warn("%s has comments, which are not kept", name)
	}
}

// filesRead are the files that a catalog to add to was read from, none for an image.
func filesRead(f *cli.Factory, fromIndex string) ([]string, error) {
	at := f.Host.Path(fromIndex)
	info, err := os.Stat(at)
	switch {
	case fromIndex == "" || err != nil:
		return nil, nil //nolint:nilerr // an image
	case !info.IsDir():
		return []string{at}, nil
	}
	names, err := catalog.FileNames(os.DirFS(at))
	for i, name := range names {
		names[i] = filepath.Join(at, filepath.FromSlash(name))
	}
	return names, err
}

func buildCatalog(ctx context.Context, f *cli.Factory, c *catalog.Catalog, o *catalogOptions) error {
	start := f.Host.Now()
	files, err := c.Files(catalog.JSON)
	if err != nil {
		return err
	}
	var cache map[string][]byte
	if err := f.AskCluster(ctx, "catalog-cache", files, &cache); err != nil {
		return err
	}
	built, err := BuildCatalog(ctx, f, files, cache, image.FilesOptions{Image: o.tag, CreatedBy: "mysdk bundle catalog", Progress: f.Progress})
	if err != nil {
		return err
	}
	f.Say("Built %s: /%s and its cache /%s, %s to push, after %s", built.Image, CatalogDir, cacheDir, cli.Megabytes(built.Platforms[0].Size), f.Since(start))
	result := built.Digest
	if o.push {
		pushed, err := imagecmd.PushImage(ctx, f, image.PushOptions{Image: o.tag, Access: registry.Access{UseHTTP: o.useHTTP}})
		if err != nil {
			return err
		}
		result = pushed.Reference()
	}
	return f.Report("text", nil, func(w io.Writer) { fmt.Fprintln(w, result) })
}

// BuildCatalog makes an image of a catalog's files and of its cache, if there is one.
func BuildCatalog(ctx context.Context, f *cli.Factory, files, cache map[string][]byte, o image.FilesOptions) (image.Built, error) {
	o.Files, o.Labels = image.Files{}, map[string]string{configsLabel: "/" + CatalogDir}
	for name, data := range files {
		o.Files[CatalogDir+"/"+name] = data
	}
	for name, data := range cache {
		o.Files[cacheDir+"/"+name] = data
	}
	return image.BuildFiles(ctx, f.Host, o)
}

// configsLabel says where an image has its catalog.
const configsLabel = "operators.operatorframework.io.index.configs.v1"

// FetchCatalog reads the catalog of an index image.
func FetchCatalog(ctx context.Context, f *cli.Factory, o image.OpenOptions) (*catalog.Catalog, error) {
	dir := ""
	o.Progress, o.Warn = f.Progress, f.WarnLine
	o.Roots = func(labels map[string]string) []string {
		dir = cmp.Or(strings.Trim(labels[configsLabel], "/"), CatalogDir)
		return []string{dir}
	}
	c, err := image.Open(ctx, f.Host, o)
	if err != nil {
		return nil, err
	}
	if len(c.Files) == 0 {
		return nil, clierr.Failedf("use an image with a file-based catalog", "image %s has no catalog in /%s", o.Image, dir)
	}
	return catalog.Read(c.Files.Sub(dir).FS())
}
