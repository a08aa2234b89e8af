// Package chart has the command that generates the project's Helm chart, which
// edit runs too, as a plugin of kubebuilder's.
package chart

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/example/mysdk/internal/chart"
	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/image"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/rewrite/merge3"
)

// PluginKey is what PROJECT records the chart under, as kubebuilder's plugin
// does, with its two fields.
const (
	PluginKey      = "helm.kubebuilder.io/v2-alpha"
	manifestsField = "manifests"
	outputField    = "output"
	defaultOutput  = "dist"
)

// Options are the flags of generate chart.
type Options struct {
	Manifests, OutputDir, Image string
	Force, Check, DryRun        bool
}

// New is 'mysdk generate chart'.
func New(f *cli.Factory) *cobra.Command {
	o := &Options{}
	c := &cobra.Command{
		Use: "chart", Short: "Generate the project's Helm chart in dist/chart",
		Long: `Generate the project's Helm chart in dist/chart.

With its default values the chart installs what 'mysdk deploy' applies: the
objects of config/default. Names and values are those of kubebuilder's plugin
helm/v2-alpha: image, replicas, arguments, environment, resources, placement,
labels, the scope of the roles, and switches for CRDs, webhooks, cert-manager,
metrics, ServiceMonitor and network policies.

Your changes to the chart are kept. Run the command again when the project has
changed: the change is merged into your files, or written to a .rej file beside
yours if it conflicts. Your own templates are not touched. To tell your changes
from the project's, the last version written is kept in dist/chart/.mysdk.zip:
commit it. A chart of kubebuilder's is taken over with --force: its values stay.

PROJECT records the chart. 'mysdk generate' does not write it, but warns when
it is out of date.`,
		Example: `  # the chart, with the operator's image
  mysdk generate chart --image registry.example.com/shop-operator:v0.1.0

  # in charts/chart, from other manifests
  mysdk generate chart --manifests install.yaml --output-dir charts

  # in CI: exit code 3 if the chart is out of date
  mysdk generate chart --check

  # try it
  helm template shop dist/chart --namespace shop-system`,
		RunE: func(c *cobra.Command, _ []string) error {
			if filepath.ToSlash(o.Manifests) == cli.InstallerFile { // to be read; without ./ it is kubebuilder's default, which is built
				o.Manifests = "./" + cli.InstallerFile
			}
			return Run(c.Context(), f, o)
		},
	}
	fs := c.Flags()
	o.Bind(fs)
	fs.StringVar(&o.Image, "image", "", "the operator's image (default: the one in "+cli.ImageFile+", or of the last run if there is none)")
	fs.BoolVar(&o.Force, "force", false, "overwrite your changes, except in Chart.yaml, and the templates of a chart that mysdk did not create")
	fs.BoolVar(&o.Check, "check", false, "show a diff and exit with 3 if the chart is out of date; write nothing")
	fs.BoolVar(&o.DryRun, "dry-run", false, "show changes as a diff without writing them")
	return c
}

// Bind binds the flags that kubebuilder's plugin has for itself.
func (o *Options) Bind(fs *pflag.FlagSet) {
	fs.StringVar(&o.Manifests, "manifests", "", "make the chart of the manifests in this file (default: what PROJECT records, else of config/default)")
	fs.StringVar(&o.OutputDir, "output-dir", "", "write the chart to chart/ below this directory (default: what PROJECT records, else "+defaultOutput+")")
}

type job struct {
	*Options
	f    *cli.Factory
	file *project.File
	name string // of the project
	dir  string // of the chart, relative to the project
	set  fileset.Set
	last map[string][]byte // the chart as it was written last, nil for none

	foreign []string // templates that were there before mysdk's first chart
}

// Run generates the chart in memory and commits it, unless it was told not to.
func Run(ctx context.Context, f *cli.Factory, o *Options) error {
	start := f.Host.Now()
	j, err := open(f, o)
	if err != nil {
		return err
	}
	now, err := j.render(ctx)
	if err != nil {
		return err
	}
	plan, err := j.merge(now)
	if err != nil {
		return err
	}
	if err := j.put(now, plan); err != nil {
		return err
	}
	if o.Check || o.DryRun {
		return f.DiffSet(j.set, o.Check)
	}
	if j.set, err = f.Changed(j.set); err != nil {
		return err
	}
	if err := f.Write(ctx, j.set, false); err != nil {
		return err
	}
	return j.report(plan, f.Since(start))
}

// open reads PROJECT and completes the flags by what it records.
func open(f *cli.Factory, o *Options) (j *job, err error) {
	if o.Manifests != "" && o.Image != "" {
		return nil, clierr.Usagef("build the manifests with the image, or leave --manifests out", "--manifests and --image cannot be combined")
	}
	p, _, err := f.LoadProject()
	if err != nil {
		return nil, err
	}
	j = &job{Options: o, f: f, name: p.Name}
	if j.file, err = project.Load(f.Host.Dir); err != nil {
		return nil, err
	}
	if filepath.IsAbs(o.Manifests) { // PROJECT is for other machines, too
		if o.Manifests, err = f.Below(o.Manifests, "--manifests"); err != nil {
			return nil, clierr.Usagef("name it by a relative path, as PROJECT records it", "%w", err)
		}
		o.Manifests = "./" + o.Manifests
	}
	o.Manifests = cmp.Or(filepath.ToSlash(o.Manifests), j.file.PluginField(PluginKey, manifestsField), cli.InstallerFile)
	if o.Image != "" && !j.builds() {
		return nil, clierr.Usagef("build "+o.Manifests+" with the image, and leave --image out", "the chart is made of %s, which has its image already", o.Manifests)
	}
	o.OutputDir = cmp.Or(o.OutputDir, j.file.PluginField(PluginKey, outputField), defaultOutput)
	if o.OutputDir, err = f.Below(o.OutputDir, "--output-dir"); err != nil {
		return nil, err
	}
	j.dir = path.Join(o.OutputDir, "chart")
	j.last, err = j.base()
	return j, err
}

// builds reports whether the manifests are built here, not read.
func (j *job) builds() bool {
	return j.Manifests == cli.InstallerFile && (j.has(cli.DeployDir) || !j.has(cli.InstallerFile))
}

// render makes the chart. While the project has the scaffold's name for its image,
// which nobody can pull, the chart keeps the image that it was made with.
func (j *job) render(ctx context.Context) (map[string][]byte, error) {
	now, err := j.renderOnce(ctx)
	if err != nil || !j.builds() || j.Image != "" {
		return now, err
	}
	if name, err := chart.Image(now); err != nil || name != image.DefaultName {
		return now, err
	}
	if j.Image, err = chart.Image(j.last); err != nil || j.Image == "" {
		return now, err
	}
	return j.renderOnce(ctx)
}

// renderOnce renders the chart's manifests, with the image if there is one. Those of
// build-installer are built again, in memory.
func (j *job) renderOnce(ctx context.Context) (map[string][]byte, error) {
	in := chart.Input{Name: j.name}
	var err error
	if j.builds() {
		in.Objects, in.Optional, err = j.f.OptionalManifests(ctx, j.Image)
	} else if in.Objects, err = j.f.Host.Files.ReadFile(j.f.Host.Path(j.Manifests)); errors.Is(err, fs.ErrNotExist) {
		return nil, clierr.Usagef("build it first, or leave --manifests out", "there is no %s", j.Manifests)
	}
	if err != nil {
		return nil, err
	}
	return chart.Render(in)
}

func (j *job) has(name string) bool {
	_, err := j.f.Host.Files.Lstat(j.f.Host.Path(name))
	return err == nil
}

// read returns a file of the chart, nil for none.
func (j *job) read(name string) ([]byte, error) {
	data, err := j.f.ReadFile(path.Join(j.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if data == nil && err == nil {
		data = []byte{}
	}
	return data, err
}

// base reads the chart as it was written last, nil for none.
func (j *job) base() (map[string][]byte, error) {
	data, err := j.read(chart.BaseName)
	if data == nil || err != nil {
		return nil, err
	}
	files, err := chart.Unpack(data)
	if err != nil {
		return nil, clierr.Failedf("restore it from version control, or remove it and add --force", "%s: %w", path.Join(j.dir, chart.BaseName), err)
	}
	return files, nil
}

func (j *job) merge(now map[string][]byte) (*chart.Plan, error) {
	plan, err := chart.Merge(j.last, now, j.read, j.reject, j.Force)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", j.dir, err)
	}
	if j.last == nil {
		err = j.findForeign("templates", now)
	}
	return plan, err
}

// reject is what a merge has left out of a file of the chart: a patch for the file
// as it is going to be on disk.
func (j *job) reject(name string, merged, wanted []byte) []byte {
	name = path.Join(j.dir, name)
	ended := func(data []byte) []byte { return j.f.LF().Ended(j.f.Host.Path(name), data) }
	return merge3.Reject(name, ended(merged), ended(wanted))
}

// findForeign notes the files below a directory that the chart does not have.
func (j *job) findForeign(dir string, now map[string][]byte) error {
	entries, err := j.f.Host.Files.ReadDir(j.f.Host.Path(path.Join(j.dir, dir)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			err = errors.Join(err, j.findForeign(name, now))
		} else if now[name] == nil {
			j.foreign = append(j.foreign, path.Join(j.dir, name))
		}
	}
	return err
}

// put makes a set of what will be written, with the base and PROJECT.
func (j *job) put(now map[string][]byte, plan *chart.Plan) error {
	if !maps.EqualFunc(j.last, now, slices.Equal) { // the same files may be packed in other ways
		packed, err := chart.Pack(now)
		if err != nil {
			return err
		}
		if err := j.set.Put(path.Join(j.dir, chart.BaseName), fileset.File{Data: packed}); err != nil {
			return err
		}
	}
	for name, data := range plan.Write {
		if err := j.set.Put(path.Join(j.dir, name), fileset.File{Data: data}); err != nil {
			return err
		}
	}
	for _, name := range plan.Remove {
		if err := j.set.Put(path.Join(j.dir, name), fileset.File{Removed: true}); err != nil {
			return err
		}
	}
	for _, field := range [][2]string{{manifestsField, j.Manifests}, {outputField, j.OutputDir}} {
		if j.file.PluginField(PluginKey, field[0]) == field[1] {
			continue
		}
		var err error
		if j.file, err = j.file.WithPluginField(PluginKey, field[0], field[1]); err != nil {
			return err
		}
	}
	data, err := j.file.Bytes()
	if err != nil {
		return err
	}
	return j.set.Put(project.FileName, fileset.File{Data: data})
}

// report says what became of the chart. A conflict is an error: something is
// left to do.
func (j *job) report(plan *chart.Plan, took string) error {
	for _, name := range plan.Kept {
		j.f.Warn("%s was kept because you changed it, but nothing in the project generates it any longer", path.Join(j.dir, name))
	}
	if len(j.foreign) > 0 {
		j.f.Warn("the chart has %s that mysdk does not write; remove those that are not yours:\n  %s", cli.Count(len(j.foreign), "template"), strings.Join(j.foreign, "\n  "))
	}
	if len(plan.Unread) > 0 {
		j.f.Warn("mysdk's templates do not read these values: %s; move what you need of them to the values that they read", strings.Join(plan.Unread, ", "))
	}
	for _, name := range plan.Gone {
		j.f.Detail("%s stays removed; --force writes it again", path.Join(j.dir, name))
	}
	if len(plan.Conflicts) > 0 {
		var names []string
		for _, name := range plan.Conflicts {
			names = append(names, path.Join(j.dir, name)+chart.RejectSuffix)
		}
		return clierr.Failedf("take over what you want of it ('patch -p1 <FILE"+chart.RejectSuffix+"' takes all) and remove it",
			"your changes stay, and what could not be merged with them is in %s", strings.Join(names, ", "))
	}
	if j.set.Len() == 0 {
		j.f.Say("Nothing to do: %s is up to date", j.dir)
		return nil
	}
	for _, name := range j.set.Paths() {
		j.f.Detail("wrote %s", name)
	}
	j.f.Say("%s: wrote %s (%s)", j.dir, cli.Count(j.set.Len(), "file"), took)
	j.f.Say("Next: helm install %s %s --namespace %s-system --create-namespace", j.name, host.ShellQuote(j.f.Here(j.dir)), j.name)
	return nil
}

// WarnStale warns if the project has a chart that is not that of its manifests,
// or that cannot be compared with them. Generated files are taken as they are.
func WarnStale(ctx context.Context, f *cli.Factory) {
	file, err := project.Load(f.Host.Dir)
	if err != nil || file.PluginField(PluginKey, outputField) == "" {
		return // a directory without a project has no chart
	}
	there := *f
	there.AsIs = true
	switch stale, err := stale(ctx, &there); {
	case err != nil:
		f.Warn("cannot tell whether the Helm chart is out of date: %v", err)
	case stale:
		f.Warn("the Helm chart is out of date; run 'mysdk generate chart'")
	}
}

// stale says whether the chart is there and another one than that of now.
func stale(ctx context.Context, f *cli.Factory) (bool, error) {
	j, err := open(f, &Options{})
	if err != nil || j.last == nil {
		return false, err
	}
	if j.builds() { // with the image that it was made with
		if j.Image, err = chart.Image(j.last); err != nil {
			return false, err
		}
	}
	now, err := j.render(ctx)
	return err == nil && !maps.EqualFunc(j.last, now, slices.Equal), err
}
