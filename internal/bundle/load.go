package bundle

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/compat"
	"github.com/example/mysdk/internal/kube"
)

// File is a file of a bundle as it stands there.
type File struct {
	Name string // slash-separated, relative to the bundle
	Data []byte
}

// Files are those of a bundle.
type Files []File

// Get returns the file of that name.
func (f Files) Get(name string) (File, bool) {
	i := slices.IndexFunc(f, func(one File) bool { return one.Name == name })
	if i < 0 {
		return File{}, false
	}
	return f[i], true
}

// Object is an object of a bundle's manifests.
type Object struct {
	*unstructured.Unstructured
	File string // where it stands, relative to the bundle
	Doc  int    // its place among the objects of the file, from 0; OLM reads the first of a file only
}

// Bundle is what a bundle holds.
type Bundle struct {
	// Package, Channels and DefaultChannel are what the annotations say.
	Package        string
	Channels       []string
	DefaultChannel string // empty: not said
	// Annotations are all of metadata/annotations.yaml, and AnnotationsFile where they stand.
	Annotations     map[string]string
	AnnotationsFile string

	// CSV is the ClusterServiceVersion, and CSVFile where it stands.
	CSV     *v1alpha1.ClusterServiceVersion
	CSVFile string
	// Objects are those of the manifests, the CSV and the CRDs included, by file name.
	Objects []Object
	// Files are all files, manifests, metadata and tests, by name.
	Files Files
	// ManifestsDir is where the manifests stand, as the annotations say.
	ManifestsDir string
}

// Name is the CSV's name, such as shop-operator.v0.1.0, or "".
func (b *Bundle) Name() string {
	if b.CSV == nil {
		return ""
	}
	return b.CSV.Name
}

// Version is spec.version of the CSV, such as 0.1.0, or "".
func (b *Bundle) Version() string {
	if b.CSV == nil {
		return ""
	}
	return b.CSV.Spec.Version.String()
}

// CSVObject is the ClusterServiceVersion with every field that its file has,
// known to the Go type or not; nil without one.
func (b *Bundle) CSVObject() *unstructured.Unstructured {
	for _, o := range b.Objects {
		if IsCSV(o.Unstructured) {
			return o.Unstructured
		}
	}
	return nil
}

// CRDs are the CustomResourceDefinitions among the objects.
func (b *Bundle) CRDs() []Object {
	return slices.DeleteFunc(slices.Clone(b.Objects), func(o Object) bool { return !IsCRD(o.Unstructured) })
}

// Load reads the bundle that fsys holds: a bundle's directory (os.DirFS) or
// the files of its image. A bundle that cannot be read whole is an error with
// every Problem in it, the place first.
func Load(fsys fs.FS) (*Bundle, error) {
	b, problems, err := Read(fsys)
	if err != nil {
		return nil, err
	}
	if b.Annotations != nil && b.Package == "" {
		problems = append(problems, Problem{Text: PackageKey + " is missing from the annotations"})
	}
	var all []error
	for _, p := range problems {
		all = append(all, p)
	}
	return b, clierr.WithHint(errors.Join(all...), "see 'mysdk bundle validate', or recreate the bundle with 'mysdk bundle generate'")
}

// Read is Load for those who judge bundles: it returns as much of the bundle
// as can be read, and the problems with the rest. The error is one of the file
// system alone.
func Read(fsys fs.FS) (*Bundle, []Problem, error) {
	b := &Bundle{}
	if err := b.readFiles(fsys); err != nil {
		return nil, nil, fmt.Errorf("read bundle: %w", err)
	}
	problems := b.readAnnotations()
	problems = append(problems, b.readManifests()...)
	return b, problems, nil
}

// readFiles takes every regular file but hidden ones, and what links lead to:
// programs that unpack a bundle follow them.
func (b *Bundle) readFiles(fsys fs.FS) error {
	// WalkDir goes by name, so everything in a Bundle is in a fixed order.
	return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name != "." && strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := fs.Stat(fsys, name)
		if err != nil && d.Type()&fs.ModeSymlink == 0 {
			return err
		}
		if err != nil || !info.Mode().IsRegular() {
			return nil //nolint:nilerr // a link to nowhere is no file
		}
		data, err := fs.ReadFile(fsys, name)
		b.Files = append(b.Files, File{Name: name, Data: data})
		return err
	})
}

// annotationsDocument is what metadata/annotations.yaml looks like.
type annotationsDocument struct {
	Annotations map[string]string `json:"annotations"`
}

// readAnnotations takes the annotations from the first file of metadata/ that
// has them: operator-registry does not mind its name.
func (b *Bundle) readAnnotations() []Problem {
	b.ManifestsDir = ManifestsDir
	var problems []Problem
	empty := false
	for _, f := range b.Files {
		if path.Dir(f.Name) != MetadataDir {
			continue
		}
		var doc annotationsDocument
		if err := yaml.Unmarshal(f.Data, &doc); err != nil {
			if compat.IsManifest(f.Name) {
				problems = append(problems, yamlProblem(f.Name, err))
			}
			continue
		}
		switch {
		case !doc.hasAny(f.Name):
			empty = empty || f.Name == AnnotationsFile
		case b.Annotations == nil:
			b.Annotations, b.AnnotationsFile = doc.Annotations, f.Name
		}
	}
	if b.Annotations == nil && empty {
		return append(problems, Problem{File: AnnotationsFile, Text: "there are no annotations in it"})
	}
	if b.Annotations == nil {
		return append(problems, Problem{Text: "no " + AnnotationsFile + ", which names the package and the channels"})
	}
	b.Package, b.DefaultChannel = b.Annotations[PackageKey], b.Annotations[DefaultChannelKey]
	b.Channels = SplitChannels(b.Annotations[ChannelsKey])
	// "manifests/" as a rule; cleaned so that nothing outside is meant.
	b.ManifestsDir = cmp.Or(strings.Trim(path.Clean("/"+b.Annotations[ManifestsKey]), "/"), ManifestsDir)
	return problems
}

// hasAny reports whether a file of that name has the bundle's annotations.
// Others are dependencies.yaml and properties.yaml.
func (d annotationsDocument) hasAny(file string) bool {
	if file == AnnotationsFile {
		return len(d.Annotations) > 0
	}
	return d.Annotations[PackageKey] != "" || d.Annotations[MediaTypeKey] != ""
}

// SplitChannels takes a comma-separated list of channels apart.
func SplitChannels(list string) []string {
	var channels []string
	for c := range strings.SplitSeq(list, ",") {
		if c = strings.TrimSpace(c); c != "" && !slices.Contains(channels, c) {
			channels = append(channels, c)
		}
	}
	return channels
}

// readManifests takes the objects from the manifests. Programs that unpack a
// bundle go by what a file holds and not by its name; of those with another
// name than manifests have, what is no manifest is passed over.
func (b *Bundle) readManifests() []Problem {
	var problems []Problem
	any := false
	for _, f := range b.Files {
		// OLM reads no subdirectories.
		if path.Dir(f.Name) != b.ManifestsDir {
			continue
		}
		any = any || compat.IsManifest(f.Name)
		objects, err := kube.ParseManifests(f.Data, f.Name)
		if err != nil {
			if compat.IsManifest(f.Name) {
				problems = append(problems, placed(f.Name, err)...)
			}
			continue
		}
		for i, u := range objects {
			b.Objects = append(b.Objects, Object{Unstructured: u, File: f.Name, Doc: i})
		}
	}
	if !any {
		return append(problems, Problem{Text: "no manifests in " + b.ManifestsDir + "/"})
	}
	return append(problems, b.readCSV()...)
}

func (b *Bundle) readCSV() []Problem {
	var problems []Problem
	for _, o := range b.Objects {
		switch {
		case !IsCSV(o.Unstructured):
		case b.CSVFile != "":
			problems = append(problems, Problem{File: o.File, Text: "a bundle has one ClusterServiceVersion, and there is one in " + b.CSVFile + " already"})
		default:
			b.CSVFile = o.File
			csv := &v1alpha1.ClusterServiceVersion{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, csv); err != nil {
				problems = append(problems, shapeProblem(o, err))
				continue
			}
			b.CSV = csv
		}
	}
	if b.CSVFile == "" && len(problems) == 0 {
		problems = append(problems, b.noCSV())
	}
	return problems
}

// noCSV says that there is no ClusterServiceVersion, or what keeps one from being it.
func (b *Bundle) noCSV() Problem {
	for _, o := range b.Objects {
		if o.GetKind() == CSVKind {
			return Problem{File: o.File, Field: "apiVersion", Text: fmt.Sprintf("the apiVersion of a %s is %s, not %s", CSVKind, v1alpha1.SchemeGroupVersion, o.GetAPIVersion())}
		}
	}
	return Problem{Text: "no ClusterServiceVersion in " + b.ManifestsDir + "/"}
}

// shapeProblem says which field of a ClusterServiceVersion has a value of
// another type than its own. The conversion does not; reading it as JSON, as
// OLM does, tells more. err is the conversion's.
func shapeProblem(o Object, err error) Problem {
	p := Problem{File: o.File, Text: "read the ClusterServiceVersion: " + err.Error()}
	data, merr := json.Marshal(o.Object)
	var shape *json.UnmarshalTypeError
	if merr != nil || !errors.As(json.Unmarshal(data, &v1alpha1.ClusterServiceVersion{}), &shape) {
		return p
	}
	names := map[string]string{"array": "list", "object": "mapping", "bool": "boolean"}
	given, _, _ := strings.Cut(shape.Value, " ") // "number 1.5" as well
	p.Field, p.Text = shape.Field, fmt.Sprintf("%s has a value that is a %s", shape.Field, cmp.Or(names[given], given))
	switch kind := shape.Type.Kind(); {
	case kind == reflect.String && given != "array" && given != "object":
		p.Text += ": write it in quotes"
	case kind == reflect.String:
		p.Text += ", not a string"
	case kind == reflect.Slice:
		p.Text += ", not a list"
	case kind == reflect.Struct || kind == reflect.Map:
		p.Text += ", not a mapping"
	case kind == reflect.Bool:
		p.Text += ", not true or false"
	default:
		p.Text += ", not a number"
	}
	return p
}

// IsCSV goes by group and kind; the version does not matter.
func IsCSV(u *unstructured.Unstructured) bool {
	return u.GetKind() == CSVKind && u.GroupVersionKind().Group == CSVGroup
}

// IsCRD is IsCSV for CRDs.
func IsCRD(u *unstructured.Unstructured) bool {
	return u.GetKind() == CRDKind && u.GroupVersionKind().Group == CRDGroup
}

// placed takes an error of ParseManifests apart: each of its lines is file:line: text.
func placed(file string, err error) []Problem {
	at := regexp.MustCompile(`^` + regexp.QuoteMeta(file) + `:(\d+): (.*)$`)
	var problems []Problem
	for text := range strings.SplitSeq(err.Error(), "\n") {
		p := Problem{File: file, Text: text}
		if m := at.FindStringSubmatch(text); m != nil {
			p.Text = m[2]
			p.Line, _ = strconv.Atoi(m[1]) // digits; too many of them leave the line unknown
		}
		problems = append(problems, p)
	}
	return problems
}

// yamlProblem words an error of the YAML parser, with its line.
func yamlProblem(file string, err error) Problem {
	p := Problem{File: file, Text: err.Error()}
	if m := regexp.MustCompile(`(?s)^.*?yaml: line (\d+): (.*)$`).FindStringSubmatch(p.Text); m != nil {
		p.Text = m[2]
		p.Line, _ = strconv.Atoi(m[1]) // as above
	}
	return p
}
