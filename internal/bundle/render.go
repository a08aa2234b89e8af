// Package bundle makes the bundle that OLM installs an operator from: the
// ClusterServiceVersion, the CRDs and other objects, the annotations and the
// Dockerfile; and it reads bundles back. It knows the registry+v1 format, what
// goes where in a CSV, and the markers that describe one. It does not know the
// PROJECT file, the Go compiler, images or a cluster, and it writes nothing:
// what it makes is a fileset.Set.
package bundle

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/kube"
)

// Input is what a bundle is made from.
type Input struct {
	Package string
	Version string   // without a leading v; empty: the base's
	Layout  []string // of the project; empty: unknown

	// Objects are those of the operator as they would be applied, the samples,
	// the scorecard configuration and the base CSV. They are not changed.
	Objects []*unstructured.Unstructured
	// Base is the base where the objects have none; nil: the defaults of NewBase.
	Base *unstructured.Unstructured
	// BaseName says what the base is: a file's name, or "default".
	BaseName string
	// Described says where descriptions in the base come from, when it is not
	// the base's author: see Described of Base.
	Described map[string]string

	// ExtraServiceAccounts are accounts, besides those of the Deployments,
	// whose rights go into the CSV.
	ExtraServiceAccounts []string
	// Digests replace references to images: by tag -> by digest.
	Digests map[string]string
}

// Result is a bundle's manifests.
type Result struct {
	// Files are the manifests and tests, relative to the bundle, by name.
	Files Files
	// Scorecard tells that there is a scorecard configuration among them.
	Scorecard bool
	// Left are the objects that are not in the bundle.
	Left []Left
	// Notes are things to know, one line each.
	Notes []string

	csv  *unstructured.Unstructured
	from origins
	base string
	rest []File // without the CSV
}

// CheckVersion refuses what is not a semantic version, such as v1.0.
func CheckVersion(version string) error {
	v, err := semver.Parse(version)
	if err == nil && v.String() == version {
		return nil
	}
	hint := "use a version such as 0.1.0"
	if trimmed := strings.TrimPrefix(version, "v"); trimmed != version {
		if _, err := semver.Parse(trimmed); err == nil {
			hint = "write it as " + trimmed
		}
	}
	return clierr.Usagef(hint, "%q is not a semantic version", version)
}

// CheckPackage refuses what cannot be a package's name.
func CheckPackage(name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return clierr.Usagef("use lower-case letters, digits and dashes, such as shop-operator", "package %q is not a DNS label", name)
	}
	return nil
}

// Render makes the manifests of a bundle. createdAt is not set yet: see Date.
func Render(in Input) (*Result, error) {
	if err := CheckPackage(in.Package); err != nil {
		return nil, err
	}
	c, err := collect(in.Objects)
	if err != nil {
		return nil, err
	}
	b := &csvBuilder{in: &in, c: c, from: origins{}}
	b.chooseBase()
	g := grant(c, in.ExtraServiceAccounts)
	if err := b.build(g); err != nil {
		return nil, err
	}
	r := &Result{Left: c.left, Notes: b.notes, csv: b.csv, from: b.from, base: in.BaseName, Scorecard: c.scorecard != nil}
	if err := r.addFiles(slices.Concat(c.crds, c.services, c.others, g.files)); err != nil {
		return nil, err
	}
	if c.scorecard != nil {
		if err := r.add(ScorecardFile, c.scorecard.Object); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// chooseBase takes the CSV of the package out of the input; the other ones
// have no place in the bundle.
func (b *csvBuilder) chooseBase() {
	// operator-sdk wants the package's name as a prefix; a single one that has
	// another is what the user means, and gets the package's name with --version.
	i := slices.IndexFunc(b.c.csvs, func(u *unstructured.Unstructured) bool { return strings.HasPrefix(u.GetName(), b.in.Package+".") })
	if i < 0 && len(b.c.csvs) == 1 {
		i = 0
	}
	for j, u := range b.c.csvs {
		if j != i {
			b.c.leave(u, "a bundle has one ClusterServiceVersion, and this is not that of the package "+b.in.Package)
		}
	}
	switch {
	case i >= 0:
		b.csv = b.c.csvs[i]
	case b.in.Base != nil:
		b.csv = b.in.Base.DeepCopy()
	default:
		b.csv = NewBase(b.in.Package, false)
		b.in.BaseName = "default"
	}
	b.in.BaseName = cmp.Or(b.in.BaseName, "the ClusterServiceVersion of the input")
}

// addFiles adds the objects, each in a file of its own.
func (r *Result) addFiles(objects []*unstructured.Unstructured) error {
	used := map[string]int{}
	for _, u := range objects {
		u.SetNamespace("") // OLM puts them where the operator goes
		name := fileName(u)
		used[name]++
		if n := used[name]; n > 1 { // the same name in two namespaces
			r.Notes = append(r.Notes, kube.RefOf(u).String()+": another object of the input has this name, in another namespace; OLM puts both in one")
			name = strings.TrimSuffix(name, ".yaml") + "-" + strconv.Itoa(n) + ".yaml"
		}
		if err := r.add(path.Join(ManifestsDir, name), u.Object); err != nil {
			return err
		}
	}
	return nil
}

func (r *Result) add(name string, o object) error {
	data, err := marshal(o)
	if err != nil {
		return err
	}
	r.rest = append(r.rest, File{Name: name, Data: data})
	return nil
}

// Date sets createdAt and puts the CSV in its file, named after the package.
// It is now, unless old, the files of the last bundle, are the same but for
// that: then the time stays. A time in the base is the user's and stays too.
func (r *Result) Date(pkg string, old Files, now time.Time) error {
	name := path.Join(ManifestsDir, strings.ToLower(pkg)+".clusterserviceversion.yaml")
	at := []string{"metadata", "annotations", CreatedAtKey}
	if textAt(r.csv.Object, at...) != "" {
		r.from.say(at, r.base)
		return r.finish(name)
	}
	if before := createdAt(old, name); before != "" {
		put(r.csv.Object, before, at...)
		r.from.say(at, "kept: nothing else has changed")
		if err := r.finish(name); err != nil || sameFiles(r.Files, old) {
			return err
		}
	}
	put(r.csv.Object, now.UTC().Format(time.RFC3339), at...)
	r.from.say(at, "generated: now")
	return r.finish(name)
}

// finish writes the CSV and puts all files in the order of their names.
func (r *Result) finish(name string) error {
	data, err := marshal(r.csv.Object)
	if err != nil {
		return err
	}
	r.Files = append([]File{{Name: name, Data: data}}, r.rest...)
	slices.SortFunc(r.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// createdAt reads the time of the last bundle's CSV.
func createdAt(old Files, name string) string {
	f, _ := old.Get(name)
	objects, err := Parse(f.Data, name)
	if err != nil || len(objects) != 1 {
		return "" // it is about to be replaced
	}
	return textAt(objects[0].Object, "metadata", "annotations", CreatedAtKey)
}

// sameFiles goes one way: a file of old that nothing makes any more is no reason
// to call the bundle new, as it stays in its place. It reports whether every file stands in old as it is.
func sameFiles(files, old Files) bool {
	return !slices.ContainsFunc(files, func(f File) bool {
		o, ok := old.Get(f.Name)
		return !ok || !bytes.Equal(o.Data, f.Data)
	})
}

// Stale lists the manifests of old, the files of the last bundle, that nothing
// makes any more. generated are those with objects of the kinds that bundles are
// made of: one of a type or a role that is gone is still installed. Any other may
// be its author's as well.
func (r *Result) Stale(old Files) (generated, others []string) {
	for _, f := range old {
		_, made := r.Files.Get(f.Name)
		switch {
		case made || !strings.HasPrefix(f.Name, ManifestsDir+"/"):
		case holdsGenerated(f):
			generated = append(generated, f.Name)
		default:
			others = append(others, f.Name)
		}
	}
	return generated, others
}

func holdsGenerated(f File) bool {
	kinds := []string{CSVKind, CRDKind, "Service", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}
	objects, err := Parse(f.Data, f.Name)
	return err == nil && slices.ContainsFunc(objects, func(u *unstructured.Unstructured) bool { return slices.Contains(kinds, u.GetKind()) })
}
