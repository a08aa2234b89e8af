package generate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/compat"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/kustomize"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/sarif"
)

type compatReport struct {
	Reference  string          `json:"reference"`
	Compatible bool            `json:"compatible"`
	Findings   []compatFinding `json:"findings"`
}

// compatFinding is a change with its place in the Go types.
type compatFinding struct {
	generate.Position
	compat.Change
}

// runCompat compares the CRDs, as the Go types make them now, with others.
func runCompat(ctx context.Context, f *cli.Factory, o *generateCommand) error {
	if err := f.RefusePending(); err != nil {
		return err
	}
	config, err := settings(f, compat.ReadConfig)
	if err != nil {
		return err
	}
	o.what = []string{"crds"}
	opts, err := o.options(f)
	if err != nil {
		return err
	}
	r, err := f.Render(ctx, opts)
	if err != nil {
		return err
	}
	now, dirs, err := currentCRDs(f, opts, r)
	if err != nil {
		return err
	}
	if err := convert(ctx, f, r, now); err != nil {
		return err
	}
	if len(now) == 0 {
		return clierr.Failedf("add an API with 'mysdk create api --group cache --kind Memcached'", "--check-compat: the project has no CRDs")
	}
	name, old, err := reference{f, dirs}.find(ctx, o.compat)
	if err != nil {
		return err
	}
	changes, err := compare(ctx, f, compat.Request{Old: old, New: now, Config: config})
	if err != nil {
		return err
	}
	report := compatReport{Reference: name, Findings: []compatFinding{}}
	parts := make([]generate.Part, 0, len(changes))
	for _, c := range changes {
		parts = append(parts, generate.Part{CRD: now[c.CRD], Path: c.Path})
	}
	if len(parts) > 0 {
		places, err := generate.Locate(ctx, opts, parts)
		if err != nil {
			return err
		}
		for i, at := range places {
			report.Findings = append(report.Findings, compatFinding{at, changes[i]})
		}
	}
	broken := len(slices.DeleteFunc(changes, func(c compat.Change) bool { return c.Warning }))
	report.Compatible = broken == 0
	return report.print(f, o.output, len(old), broken)
}

// compare leaves out CRDs that are alike: it takes the engine's process.
func compare(ctx context.Context, f *cli.Factory, all compat.Request) ([]compat.Change, error) {
	req := compat.Request{Old: compat.CRDs{}, New: compat.CRDs{}, Config: all.Config}
	for name, data := range all.Old {
		if now := all.New[name]; !bytes.Equal(data, now) {
			req.Old[name] = data
			if now != nil {
				req.New[name] = now
			}
		}
	}
	if len(req.Old) == 0 {
		return nil, nil
	}
	return compat.Compare(ctx, f.CompareCRDs, req)
}

// currentCRDs are the project's, and the directories that they are generated into. Of a
// CRD that is generated into several, that of the first call counts.
func currentCRDs(f *cli.Factory, opts generate.Options, r generate.Result) (found compat.CRDs, dirs []string, err error) {
	all, err := opts.CRDDirs()
	if err != nil {
		return nil, nil, err
	}
	p := &project.Project{}
	if file, err := project.Load(f.Host.Dir); err == nil { // generating does without it
		p = file.Project()
	}
	for _, dir := range all {
		crds, err := crdsIn(f, r, dir, p.Domain)
		if err != nil {
			return nil, nil, err
		}
		maps.Copy(crds, found)
		if len(crds) > len(found) {
			dirs = append(dirs, dir)
		}
		found = crds
	}
	return found, dirs, nil
}

// crdsIn are the CRDs that are generated into a directory, and those that somebody wrote
// or copied there. Those of the project's domain that no type makes any more are none.
func crdsIn(f *cli.Factory, r generate.Result, dir, domain string) (compat.CRDs, error) {
	names := slices.DeleteFunc(slices.Clone(r.Outputs), func(name string) bool { return path.Dir(name) != dir || !compat.IsManifest(name) })
	there, err := manifestsIn(f, dir)
	if err != nil {
		return nil, err
	}
	for _, name := range there {
		if !slices.Contains(names, name) && !isGone(r, name, domain) {
			names = append(names, name)
		}
	}
	found := compat.CRDs{}
	for _, name := range names {
		data, err := f.Tree().Read(r.Set, name)
		if err != nil {
			return nil, err
		}
		if err := found.Add(name, data); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// manifestsIn are the manifests in a directory of the project, none where that does not exist.
func manifestsIn(f *cli.Factory, dir string) (names []string, err error) {
	entries, err := f.Host.Files.ReadDir(f.Host.Path(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() && compat.IsManifest(e.Name()) {
			names = append(names, path.Join(dir, e.Name()))
		}
	}
	return names, nil
}

// isGone says whether no type makes a CRD of the domain any more.
func isGone(r generate.Result, name, domain string) bool {
	group, _, _ := strings.Cut(path.Base(name), "_")
	return slices.Contains(r.Stale, name) && domain != "" && strings.HasSuffix("."+group, "."+domain)
}

// convert gives CRDs that serve several versions the conversion that config/crd says.
// Nothing else of what is patched there counts: the reference is without it.
func convert(ctx context.Context, f *cli.Factory, r generate.Result, crds compat.CRDs) error {
	single := func(_ string, crd []byte) bool { return bytes.Count(crd, []byte("served: true")) < 2 }
	several := maps.Clone(crds)
	maps.DeleteFunc(several, single)
	src := kustomize.Source{Dir: f.Host.Dir, Files: f.Host.Files, Overlay: r.Set}
	if !src.Has("config/crd") || len(several) == 0 {
		return nil // without a kustomization there is no conversion
	}
	data, err := kustomize.Build(ctx, src, "config/crd")
	if ctx.Err() != nil {
		return ctx.Err()
	}
	built := compat.CRDs{}
	if err == nil {
		err = built.Add("config/crd", data)
	}
	if err != nil {
		f.Warn("a conversion webhook in config/crd would not be seen: %v; %s", err, clierr.HintOf(err))
	}
	for name, crd := range several {
		if crds[name], err = withConversion(crd, built[name]); err != nil {
			return fmt.Errorf("read the conversion of %s: %w", name, err)
		}
	}
	return nil
}

// withConversion is a CRD with the conversion of another one, if that has any.
func withConversion(crd, from []byte) ([]byte, error) {
	var to, other unstructured.Unstructured
	if err := errors.Join(yaml.Unmarshal(crd, &to.Object), yaml.Unmarshal(from, &other.Object)); err != nil {
		return nil, err
	}
	conversion, there, err := unstructured.NestedMap(other.Object, "spec", "conversion")
	if err != nil || !there {
		return crd, err
	}
	if err := unstructured.SetNestedMap(to.Object, conversion, "spec", "conversion"); err != nil {
		return nil, err
	}
	return yaml.Marshal(to.Object)
}

// print reports, and returns an error if anything is incompatible.
func (r compatReport) print(f *cli.Factory, format string, compared, broken int) error {
	var err error
	if format == "sarif" {
		var results []sarif.Result
		for _, c := range r.Findings {
			results = append(results, sarif.Result{Rule: "compat/" + c.Rule, Level: c.level(), Text: c.Title() + "\n" + c.Hint, File: f.InRepository(c.File), Line: c.Line, Column: c.Column})
		}
		err = f.Report("json", sarif.New("mysdk generate --check-compat", cli.ThisBuild().Version, nil, results), nil)
	} else {
		err = f.Report(format, r, func(w io.Writer) { r.text(w, compared) })
	}
	if err != nil || r.Compatible {
		return err
	}
	return clierr.OutOfDatef("correct what is listed above; what is meant to break goes into a new version of the API, or below "+compat.Key+" in .mysdk.yaml",
		"%s since %s", cli.Count(broken, "incompatible change"), r.Reference)
}

func (c compatFinding) level() string {
	if c.Warning {
		return "warning"
	}
	return "error"
}

// like says whether another change is the same one, of another field that comes
// from that line, as with a type of Kubernetes.
func (c compatFinding) like(d compatFinding) bool {
	return c.File == d.File && c.Line == d.Line && c.Line > 0 && c.CRD == d.CRD && c.Version == d.Version && c.Rule == d.Rule && c.Text == d.Text
}

// text prints each finding, but those that are alike as one.
func (r compatReport) text(w io.Writer, compared int) {
	for i, c := range r.Findings {
		if slices.ContainsFunc(r.Findings[:i], c.like) {
			continue
		}
		if c.File != "" {
			fmt.Fprintf(w, "%s:%d:%d: ", c.File, c.Line, c.Column)
		}
		if c.Warning {
			fmt.Fprint(w, "warning: ")
		}
		fmt.Fprintf(w, "%s (%s)\n", c.Title(), c.Rule)
		more := len(slices.DeleteFunc(slices.Clone(r.Findings[i+1:]), func(d compatFinding) bool { return !c.like(d) }))
		if more > 0 {
			fmt.Fprintf(w, "    and %s of this line in the same way\n", cli.Count(more, "more field"))
		}
		fmt.Fprintf(w, "    %s\n", c.Hint)
	}
	if r.Compatible {
		fmt.Fprintf(w, "compatible with %s (%s)\n", r.Reference, cli.Count(compared, "CRD"))
	}
}
