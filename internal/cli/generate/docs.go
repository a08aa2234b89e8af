package generate

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/apidocs"
	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/project"
)

type docsOptions struct {
	format    string
	outputDir string
	check     bool
	dryRun    bool
}

func newDocs(f *cli.Factory) *cobra.Command {
	o := &docsOptions{format: "markdown"}
	c := &cobra.Command{
		Use: "docs", Short: "Write a reference of the API for its users",
		Long: `Write a reference of the API for its users, from the Go types.

It has each version of each kind: the fields with types, defaults, limits and
CEL rules, the comments of the Go types, and the sample in config/samples as an
example. The file is api.md, or api.html, a self-contained page, in
docs/reference or the directory that --output-dir names. The first time,
test/samples is written too: a test for 'mysdk test' that applies every sample.`,
		Example: `  mysdk generate docs
  mysdk generate docs --format html --output-dir dist

  # fail with exit code 3 and a diff if it is out of date
  mysdk generate docs --check`,
		RunE: func(c *cobra.Command, _ []string) error { return runDocs(c.Context(), f, o) },
	}
	fs := c.Flags()
	fs.Var(cli.Choice(&o.format, "markdown", "html"), "format", "format of the reference: markdown or html")
	fs.StringVar(&o.outputDir, "output-dir", "docs/reference", "directory to write it to")
	fs.BoolVar(&o.check, "check", false, "show a diff and exit with 3 if it is out of date; write nothing")
	fs.BoolVar(&o.dryRun, "dry-run", false, "show changes as a diff without writing them")
	return c
}

// runDocs writes the reference of the API, and once a test that applies its examples.
func runDocs(ctx context.Context, f *cli.Factory, o *docsOptions) error {
	if err := f.OldProject(); err != nil {
		return err
	}
	if _, err := f.Recover(); err != nil {
		return err
	}
	dir, err := f.Below(o.outputDir, "--output-dir")
	if err != nil {
		return err
	}
	kinds, crds, err := documented(ctx, f)
	if err != nil {
		return err
	}
	name, render := path.Join(dir, "api.md"), apidocs.Markdown
	if o.format == "html" {
		name, render = path.Join(dir, "api.html"), apidocs.HTML
	}
	data, err := render(kinds)
	if err != nil {
		return err
	}
	set, err := docsSet(f, name, data, crds)
	if err != nil {
		return err
	}
	_, err = f.Settle(ctx, set, o.check, o.dryRun, name+" is up to date")
	return err
}

// docsSet is the reference, with the first of which comes the test of its examples.
// crds are the directories of the CRDs.
func docsSet(f *cli.Factory, name string, data []byte, crds []string) (set fileset.Set, err error) {
	if err := set.Put(name, fileset.File{Data: data}); err != nil {
		return set, err
	}
	for _, file := range []string{name, apidocs.SamplesTest} {
		switch _, err := f.ReadFile(file); {
		case err == nil:
			return set, nil
		case !errors.Is(err, fs.ErrNotExist):
			return set, clierr.Failedf("make it readable, or move what is in its way", "%w", err)
		}
	}
	header, err := f.ReadFile(project.HeaderFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return set, err
	}
	header = bytes.ReplaceAll(header, []byte(" "+generate.ThisYear), []byte(f.Host.Now().Format(" 2006")))
	return set, set.Put(apidocs.SamplesTest, fileset.File{Data: apidocs.TestOfSamples(header, crds)})
}

// documented are the kinds of the project, with their samples, and the directories of their CRDs.
func documented(ctx context.Context, f *cli.Factory) ([]apidocs.Kind, []string, error) {
	opts, err := (&generateCommand{what: []string{"crds"}}).options(f)
	if err != nil {
		return nil, nil, err
	}
	r, err := f.Render(ctx, opts)
	if err != nil {
		return nil, nil, err
	}
	found, dirs, err := currentCRDs(f, opts, r)
	if err != nil {
		return nil, nil, err
	}
	if len(found) == 0 {
		return nil, nil, clierr.Failedf("add an API with 'mysdk create api --group cache --kind Memcached'", "the project has no CRDs")
	}
	var crds []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(found)) {
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(found[name], &crd.Object); err != nil {
			return nil, nil, err
		}
		crds = append(crds, crd)
	}
	samples, err := sampleFiles(f)
	if err != nil {
		return nil, nil, err
	}
	kinds, err := apidocs.Kinds(crds, samples)
	return kinds, dirs, clierr.WithHint(err, "correct the YAML of the sample")
}

// sampleFiles are the manifests in config/samples, none where that does not exist.
func sampleFiles(f *cli.Factory) (out []apidocs.Sample, err error) {
	names, err := manifestsIn(f, "config/samples")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		data, err := f.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out = append(out, apidocs.Sample{Name: name, Data: data})
	}
	return out, nil
}
