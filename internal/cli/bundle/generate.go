package bundle

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/image"
	"github.com/example/mysdk/internal/project"
)

type generateOptions struct {
	manifests, metadata bool // neither is both

	version        string
	channels       string
	defaultChannel string
	packageName    string

	inputDir, deployDir, crdsDir string
	kustomizeDir                 string
	outputDir                    string

	image           string
	useImageDigests bool
	useHTTP         bool
	extraAccounts   []string

	overwrite bool
	stdout    bool
	explain   string
	check     bool
	dryRun    bool
}

// NewGenerate is bundle generate, and generate bundle: use is its name.
func NewGenerate(f *cli.Factory, use string) *cobra.Command {
	o := &generateOptions{}
	c := &cobra.Command{
		Use: use, Short: "Generate the project's bundle in bundle/",
		Long: `Generate the project's bundle in bundle/.

It is generated from the Go types and their markers, from config/, which is
built in process, and from the base of the ClusterServiceVersion, which takes
precedence. Manifests from outside the project are read from --input-dir, from
--deploy-dir and --crds-dir, or from a pipe.

Objects that OLM does not accept in a bundle are listed with the reason. The
same project always gives the same bundle, byte for byte.`,
		Example: `  # version 0.1.0, with the operator's image
  mysdk bundle generate --version 0.1.0 --image registry.example.com/shop-operator:v0.1.0

  # images by digest, kept in config/manifests/image-digests.yaml
  mysdk bundle generate --version 0.1.0 --use-image-digests

  # where does a field come from?
  mysdk bundle generate --explain spec.install.spec.clusterPermissions

  # in CI: exit code 3 if the bundle is out of date
  mysdk bundle generate --version 0.1.0 --check`,
		// operator-sdk's -v is --version there, and takes a value.
		Args: func(c *cobra.Command, args []string) error {
			hint := ""
			if len(args) > 0 && c.Flags().Changed("verbose") {
				hint = "use --version " + args[0] + "; -v is --verbose"
			}
			return cli.NoArguments(hint)(c, args)
		},
		RunE: func(c *cobra.Command, _ []string) error { return runGenerate(c.Context(), f, o) },
	}
	o.bind(c.Flags())
	return c
}

// bind binds the flags of operator-sdk's generate bundle, and a few more.
func (o *generateOptions) bind(fs *pflag.FlagSet) {
	fs.BoolVar(&o.manifests, "manifests", false, "write the manifests only")
	fs.BoolVar(&o.metadata, "metadata", false, "write the annotations and the Dockerfile only")
	fs.StringVar(&o.version, "version", "", "semantic version of the bundle, such as 0.1.0 (default: the base's)")
	fs.StringVar(&o.channels, "channels", bundle.DefaultChannel, "channels of the bundle, separated by commas")
	fs.StringVar(&o.defaultChannel, "default-channel", "", "default channel of the bundle")
	fs.StringVar(&o.packageName, "package", "", "name of the package (default: the project's)")
	fs.StringVar(&o.inputDir, "input-dir", "", "read manifests from this directory instead of the project")
	fs.StringVar(&o.deployDir, "deploy-dir", "", "as --input-dir; CRDs come from --crds-dir where that is given")
	fs.StringVar(&o.crdsDir, "crds-dir", "", "with --deploy-dir: directory with the CRDs")
	fs.StringVar(&o.kustomizeDir, "kustomize-dir", bundle.ManifestsConfigDir, "directory of the kustomization, with the base in bases/")
	fs.StringVar(&o.outputDir, "output-dir", "", "directory to write the bundle to (default: "+bundle.DefaultDir+")")
	fs.StringVar(&o.image, "image", "", "the operator's image (default: the one in "+cli.ImageFile+")")
	fs.BoolVar(&o.useImageDigests, "use-image-digests", false, "name images by digest, and list them as related images")
	fs.BoolVar(&o.useHTTP, "use-http", false, "with --use-image-digests: registries may speak plain http")
	fs.StringSliceVar(&o.extraAccounts, "extra-service-accounts", nil, "additional service accounts whose permissions go into the CSV")
	fs.BoolVar(&o.overwrite, "overwrite", true, "overwrite existing annotations and Dockerfile; your own entries are kept")
	fs.BoolVar(&o.stdout, "stdout", false, "print the manifests and write nothing")
	fs.StringVar(&o.explain, "explain", "", "show where a field of the CSV comes from, such as spec.displayName, and write nothing")
	fs.BoolVar(&o.check, "check", false, "show a diff and exit with 3 if the bundle is out of date; write nothing")
	fs.BoolVar(&o.dryRun, "dry-run", false, "show changes as a diff without writing them")
}

// bundleJob is one run of bundle generate.
type bundleJob struct {
	*generateOptions
	f       *cli.Factory
	project *project.Project // nil outside of one
	pkg     string
	out     string       // directory of the bundle, relative to this one
	old     bundle.Files // what is there, relative to it
	set     fileset.Set  // what will be written
	notes   []string     // to be said with the bundle's own
}

// note keeps a line for report.
func (j *bundleJob) note(format string, args ...any) {
	j.notes = append(j.notes, fmt.Sprintf(format, args...))
}

// runGenerate makes the bundle in memory; finish is the only one to write.
func runGenerate(ctx context.Context, f *cli.Factory, o *generateOptions) error {
	j, err := newJob(f, o)
	if err != nil {
		return err
	}
	// As in operator-sdk: neither flag is both halves.
	if !o.manifests && !o.metadata {
		o.manifests, o.metadata = true, true
	}
	_, scorecard := j.old.Get(bundle.ScorecardFile)
	var r *bundle.Result
	if o.manifests {
		if r, err = j.render(ctx); err != nil {
			return err
		}
		scorecard = scorecard || r.Scorecard
	}
	switch {
	case o.explain != "":
		return j.explainField(r)
	case o.stdout:
		return j.printAll(r)
	}
	if o.metadata {
		if err := j.putMetadata(scorecard); err != nil {
			return err
		}
	}
	return j.finish(ctx, r)
}

// newJob checks the flags and reads what the bundle's directory holds.
func newJob(f *cli.Factory, o *generateOptions) (j *bundleJob, err error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	j = &bundleJob{generateOptions: o, f: f, pkg: o.packageName}
	if j.project, err = optionalProject(f); err != nil {
		return nil, err
	}
	if j.project != nil {
		j.pkg = cmp.Or(j.pkg, j.project.Name)
	}
	if j.pkg == "" {
		return nil, clierr.Usagef("add --package, or run the command in a project", "the package has no name: there is no PROJECT file in %s", f.Host.Dir)
	}
	if j.out, err = f.Below(cmp.Or(o.outputDir, bundle.DefaultDir), "--output-dir"); err != nil {
		return nil, err
	}
	if o.kustomizeDir, err = f.Below(o.kustomizeDir, "--kustomize-dir"); err != nil {
		return nil, err
	}
	for _, dir := range []string{bundle.ManifestsDir, bundle.MetadataDir, bundle.ScorecardDir} {
		if err := j.readOld(dir); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// validate refuses flags that contradict each other.
func (o *generateOptions) validate() error {
	switch {
	case o.inputDir != "" && (o.deployDir != "" || o.crdsDir != ""):
		return clierr.Usagef("choose one of them", "--input-dir and --deploy-dir cannot be combined")
	case o.crdsDir != "" && o.deployDir == "":
		return clierr.Usagef("add --deploy-dir, or use --input-dir", "--crds-dir goes with --deploy-dir")
	case o.stdout && o.outputDir != "":
		return clierr.Usagef("choose one of them", "--stdout and --output-dir cannot be combined")
	case o.stdout && o.metadata && !o.manifests:
		return clierr.Usagef("leave --metadata out", "--stdout prints the manifests and writes no files")
	case o.explain != "" && o.metadata && !o.manifests:
		return clierr.Usagef("leave --metadata out", "--explain is about the manifests")
	case len(bundle.SplitChannels(o.channels)) == 0:
		return clierr.Usagef("use --channels "+bundle.DefaultChannel, "--channels names none")
	}
	if o.version == "" {
		return nil
	}
	return bundle.CheckVersion(o.version)
}

// optionalProject is LoadProject where there may be none.
func optionalProject(f *cli.Factory) (*project.Project, error) {
	if _, err := f.Recover(); err != nil { // it may bring PROJECT
		return nil, err
	}
	if _, err := f.ReadFile(project.FileName); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	p, _, err := f.LoadProject()
	return p, err
}

// readOld reads the files in a directory of the bundle as it is.
func (j *bundleJob) readOld(dir string) error {
	entries, err := j.f.Host.Files.ReadDir(j.f.Host.Path(path.Join(j.out, dir)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the bundle: %w", err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		name := path.Join(dir, e.Name())
		data, err := j.f.ReadFile(path.Join(j.out, name))
		if err != nil {
			return fmt.Errorf("read the bundle: %w", err)
		}
		j.old = append(j.old, bundle.File{Name: name, Data: data})
	}
	return nil
}

// render makes the manifests and puts them into the set.
func (j *bundleJob) render(ctx context.Context) (*bundle.Result, error) {
	in := bundle.Input{Package: j.pkg, Version: j.version, ExtraServiceAccounts: j.extraAccounts}
	if j.project != nil {
		in.Layout = j.project.Layout
	}
	if err := j.gather(ctx, &in); err != nil {
		return nil, err
	}
	if err := j.pin(ctx, &in); err != nil {
		return nil, err
	}
	r, err := bundle.Render(in)
	if err != nil {
		return nil, err
	}
	now, given, err := image.SourceDate(j.f.Host)
	if err != nil {
		return nil, err
	}
	last := j.old
	switch {
	case !given:
		now = j.f.Host.Now()
	case !j.check: // that a time was given does not make the bundle another one
		last = nil
	}
	if err := r.Date(j.pkg, last, now); err != nil {
		return nil, err
	}
	for _, file := range r.Files {
		if err := j.set.Put(path.Join(j.out, file.Name), fileset.File{Data: file.Data}); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// putMetadata puts annotations.yaml and the Dockerfile into the set: with
// --overwrite=false, the one that is missing.
func (j *bundleJob) putMetadata(scorecard bool) error {
	dockerfile, err := j.f.ReadFile(bundle.DockerfileName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, annotated := j.old.Get(bundle.AnnotationsFile)
	keepAnnotations, keepDockerfile := !j.overwrite && annotated, !j.overwrite && err == nil
	if keepAnnotations && keepDockerfile {
		return nil
	}
	m, err := j.metadataOf(scorecard, keepAnnotations)
	if err != nil {
		return err
	}
	if !keepAnnotations {
		data, err := m.Annotations()
		if err != nil {
			return err
		}
		if err := j.set.Put(path.Join(j.out, bundle.AnnotationsFile), fileset.File{Data: data}); err != nil {
			return err
		}
	}
	switch {
	case keepDockerfile:
		return nil
	case bundle.OwnStages(dockerfile):
		j.f.Warn("%s has custom build stages and was not changed; make sure its labels match %s", bundle.DockerfileName, path.Join(j.out, bundle.AnnotationsFile))
		return nil
	}
	return j.set.Put(bundle.DockerfileName, fileset.File{Data: m.Dockerfile(j.out, dockerfile)})
}

// metadataOf is what there is to say of the bundle: what the flags say, with the
// annotations that the user has added, or with kept what the annotations say.
func (j *bundleJob) metadataOf(scorecard, kept bool) (bundle.Metadata, error) {
	m := bundle.Metadata{
		Package: j.pkg, Channels: bundle.SplitChannels(j.channels), DefaultChannel: j.defaultChannel, Scorecard: scorecard,
	}
	if j.project != nil {
		m.Layout = j.project.Layout
	}
	old, ok := j.old.Get(bundle.AnnotationsFile)
	if !ok {
		return m, nil
	}
	file, data := path.Join(j.out, bundle.AnnotationsFile), old.Data
	if kept {
		return bundle.KeptMetadata(file, data)
	}
	var err error
	m.Comments = bundle.AnnotationComments(data)
	_, m.Extra, err = bundle.Annotations(file, data)
	return m, err
}

func (j *bundleJob) explainField(r *bundle.Result) error {
	list, err := r.Explain(j.explain)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	for _, e := range list {
		fmt.Fprintf(&out, "%s\n  from: %s\n", e.Field, e.From)
		if text := e.Text(); text != "" {
			fmt.Fprintf(&out, "  value: %s\n", strings.ReplaceAll(text, "\n", "\n    "))
		}
	}
	return j.f.Print(out.Bytes())
}

// printAll prints the manifests as one YAML stream, for a cluster to be given:
// without the configuration of scorecard, which is of no API.
func (j *bundleJob) printAll(r *bundle.Result) error {
	var out bytes.Buffer
	for _, file := range r.Files {
		if strings.HasPrefix(file.Name, bundle.ManifestsDir+"/") {
			fmt.Fprintf(&out, "---\n%s", file.Data)
		}
	}
	j.report(r)
	return j.f.Print(out.Bytes())
}

// finish writes the set, or says what it would change.
func (j *bundleJob) finish(ctx context.Context, r *bundle.Result) error {
	if j.check {
		return j.compare(r)
	}
	if r != nil {
		j.report(r)
		j.warnStale(r)
	}
	if wrote, err := j.f.Settle(ctx, j.set, false, j.dryRun, j.out+" is up to date"); !wrote || err != nil {
		return err
	}
	j.f.Say("Next: mysdk bundle validate %s", host.ShellQuote(j.f.Here(j.out)))
	return nil
}

// compare is --check: the bundle is that of the project if every file is, and
// none of the last one is left behind that would be installed with it.
func (j *bundleJob) compare(r *bundle.Result) error {
	var stale []string
	if r != nil {
		stale = j.warnStale(r)
	}
	if err := j.f.DiffSet(j.set, true); err != nil || len(stale) == 0 {
		return err
	}
	return clierr.OutOfDatef("remove what is not yours, and add what is to the manifests that the bundle is made from", "out of date: nothing makes %s", strings.Join(stale, ", "))
}

// warnStale reports manifests that nothing generates any longer, and returns those
// that were made once.
func (j *bundleJob) warnStale(r *bundle.Result) []string {
	generated, others := r.Stale(j.old)
	for _, name := range slices.Sorted(slices.Values(slices.Concat(generated, others))) {
		j.f.Warn("%s stays in the bundle, and is not made from the project: remove it unless it is yours", path.Join(j.out, name))
	}
	for i, name := range generated {
		generated[i] = path.Join(j.out, name)
	}
	return generated
}

// report says what is not in the bundle, and what else there is to know.
func (j *bundleJob) report(r *bundle.Result) {
	for _, n := range j.notes {
		j.f.Say("%s", n)
	}
	for _, l := range r.Left {
		if l.Loss {
			j.f.Warn("not in the bundle: %s: %s", l.Object, l.Reason)
		} else {
			j.f.Say("not in the bundle: %s: %s", l.Object, l.Reason)
		}
	}
	for _, n := range r.Notes {
		j.f.Say("%s", n)
	}
}
