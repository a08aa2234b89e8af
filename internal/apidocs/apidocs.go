// Package apidocs renders the reference of an API from its CRDs: each version of
// each kind with its fields, defaults, limits and rules, and an example. It knows
// Markdown and HTML; what a schema declares package fields reads. It has the test
// that applies the examples, too.
package apidocs

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/fields"
)

//go:embed templates/test/samples/samples_test.go.tmpl
var samplesTest []byte

// SamplesTest is the path of the test that applies the samples.
const SamplesTest = "test/samples/samples_test.go"

// TestOfSamples is the text of SamplesTest below the license header of the
// project, which may be empty, for CRDs in directories of the project.
func TestOfSamples(header []byte, crds []string) []byte {
	var dirs []string
	for _, dir := range crds {
		dirs = append(dirs, `filepath.Join(root, "`+strings.ReplaceAll(dir, "/", `", "`)+`")`)
	}
	text := bytes.Replace(samplesTest, []byte(`filepath.Join(root, "config", "crd", "bases")`), []byte(strings.Join(dirs, ", ")), 1)
	return bytes.TrimLeft(slices.Concat(bytes.TrimSpace(header), []byte("\n\n"), text), "\n")
}

// Sample is a file of manifests.
type Sample struct {
	Name string
	Data []byte
}

// Kind is a version of a kind.
type Kind struct {
	Kind, APIVersion string
	About            string // where it lives and by which names
	Notes            []string
	Description      string
	Rules            []fields.Rule // of the object as a whole
	Example          string        // YAML, as it stands in its file
	Objects          []Object
}

// Object is an object within a kind: spec, say, or the items of a list.
type Object struct {
	Path   string // such as spec.ports[]; "" for the kind itself
	Rules  []fields.Rule
	Fields []*fields.Field
}

// Anchor is the kind's in a page.
func (k Kind) Anchor() string {
	return strings.ToLower(strings.NewReplacer("/", "", ".", "").Replace(k.Kind + "-" + k.APIVersion))
}

// Kinds are those of the CRDs, by name, the newest version as its CRD has it
// last. The first object of each kind in the samples is its example.
func Kinds(crds []*unstructured.Unstructured, samples []Sample) ([]Kind, error) {
	examples, err := examplesIn(samples)
	if err != nil {
		return nil, err
	}
	var out []Kind
	for _, crd := range crds {
		text := func(path ...string) string { s, _, _ := unstructured.NestedString(crd.Object, path...); return s }
		for _, version := range fields.Versions(crd) {
			name, _ := version["name"].(string)
			k := Kind{Kind: text("spec", "names", "kind"), APIVersion: text("spec", "group") + "/" + name, Description: fields.Description(crd, name), Rules: fields.Rules(crd, name)}
			k.About = "Scope: " + text("spec", "scope") + ". Resource: " + text("spec", "names", "plural") + "."
			if short, _, _ := unstructured.NestedStringSlice(crd.Object, "spec", "names", "shortNames"); len(short) > 0 {
				k.About += " Short: " + strings.Join(short, ", ") + "."
			}
			k.Notes = notes(version)
			k.Example = examples[k.APIVersion+" "+k.Kind]
			k.Objects = objects(fields.Of(crd, name), nil)
			out = append(out, k)
		}
	}
	slices.SortStableFunc(out, func(a, b Kind) int { return cmp.Compare(a.Kind, b.Kind) })
	return out, nil
}

// notes say what is special about a version.
func notes(version map[string]any) (out []string) {
	if version["served"] == false {
		out = append(out, "This version is not served.")
	}
	if version["deprecated"] == true {
		warning, _ := version["deprecationWarning"].(string)
		out = append(out, cmp.Or(warning, "This version is deprecated."))
	}
	return out
}

// objects are the one of the fields and rules, if there are any, and those within,
// from the outside in.
func objects(list []*fields.Field, rules []fields.Rule) []Object {
	if len(list) == 0 {
		return nil
	}
	path := strings.TrimSuffix(strings.TrimSuffix(list[0].Path, list[0].Name), ".")
	out := []Object{{Path: path, Rules: rules, Fields: list}}
	for _, f := range list {
		out = append(out, objects(f.Fields, f.Rules)...)
	}
	return out
}

// examplesIn are the first objects of each kind, by apiVersion and kind.
func examplesIn(samples []Sample) (map[string]string, error) {
	out := map[string]string{}
	for _, sample := range samples {
		docs := k8syaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(sample.Data)))
		for {
			doc, err := docs.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil && yaml.Unmarshal(doc, &[]any{}) == nil {
				continue // a patch of the kustomization's, or nothing
			}
			var object struct{ APIVersion, Kind string }
			if err == nil {
				err = yaml.Unmarshal(doc, &object)
			}
			if err != nil {
				return nil, fmt.Errorf("read the example in %s: %w", sample.Name, err)
			}
			if key := object.APIVersion + " " + object.Kind; out[key] == "" {
				out[key] = withoutLicense(strings.TrimSpace(strings.TrimPrefix(string(doc), "---")))
			}
		}
	}
	return out, nil
}

// withoutLicense leaves out the comment at the top if it is the license of the file.
func withoutLicense(text string) string {
	rest := text
	for strings.HasPrefix(rest, "#") {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	head := strings.ToLower(text[:len(text)-len(rest)])
	if strings.Contains(head, "license") || strings.Contains(head, "copyright") {
		return strings.TrimSpace(rest)
	}
	return text
}

// quantity is the limit of Kubernetes' quantities.
const quantity = `matches ^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// validation is what holds for the values of a field, in words.
func validation(f *fields.Field) (out []string) {
	if len(f.Enum) > 0 {
		out = append(out, "one of "+strings.Join(f.Enum, ", "))
	}
	for _, limit := range f.Limits {
		out = append(out, strings.Replace(limit, quantity, "a quantity, such as 500m or 2Gi", 1))
	}
	return out
}

// typeOf is the type of a field, with its format.
func typeOf(f *fields.Field) string {
	if f.Format != "" {
		return f.Type + " (" + f.Format + ")"
	}
	return f.Type
}

//go:embed templates/page.html.tmpl
var page string

// HTML is the reference as one page that needs nothing else.
func HTML(kinds []Kind) ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{"validation": validation, "typeOf": typeOf}).Parse(page)
	return render(t, err, kinds)
}

// render fills in a page that has been parsed.
func render(t interface{ Execute(io.Writer, any) error }, err error, kinds []Kind) ([]byte, error) {
	var b bytes.Buffer
	if err == nil {
		err = t.Execute(&b, kinds)
	}
	if err != nil {
		return nil, fmt.Errorf("render the API reference: %w", err)
	}
	return b.Bytes(), nil
}
