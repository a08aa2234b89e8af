package generate

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/lastrun"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

// Refusal is one thing for which the API server would refuse a CRD.
type Refusal struct {
	File  string // of the CRD
	Field string // its path in the manifest, as the API server writes it
	Text  string // the API server's words
}

// Judge says what the API server would refuse of CRDs, which are given by file;
// done is false if that cannot be known now, which no CRDs ask for.
type Judge func(ctx context.Context, crds map[string][]byte) (refused []Refusal, done bool, err error)

// inspect reports CRDs that no API server would take: errors where the project's
// own types make them so. The rest, what --lax allows, and paths that lead nowhere
// are returned.
func (r renderer) inspect(ctx context.Context, files map[string][]byte, judged map[string]string, found *findings) ([]string, error) {
	wrong, tolerated, hint := r.groupless(files)
	if len(wrong) == 0 {
		hint = correctMarkers
		w, u, err := r.refused(ctx, files, judged, found)
		if err != nil {
			return nil, err
		}
		wrong, tolerated = w, append(tolerated, u...)
		if len(w) > 0 && !slices.ContainsFunc(w, func(p problem) bool { return !strings.Contains(p.msg, ".type: Required value") }) {
			hint = "a field with +kubebuilder:validation:Schemaless, or whose type contains itself, has no schema: give it both that marker and +kubebuilder:pruning:PreserveUnknownFields"
		}
	}
	if len(wrong) > 0 {
		return nil, r.sourceError(wrong, hint)
	}
	stray, err := r.strayPaths(files)
	if err != nil {
		return nil, err
	}
	return lines(append(tolerated, stray...)), nil
}

// refused asks the judge about CRDs that are not known to be right.
func (r renderer) refused(ctx context.Context, files map[string][]byte, judged map[string]string, found *findings) (wrong, tolerated []problem, err error) {
	if r.Judge == nil {
		return nil, nil, nil
	}
	ask := map[string][]byte{}
	doubtful := r.doubtful()
	for name, data := range files {
		if isCRD(name, data) && judged[name] != lastrun.Sum(data) && (doubtful || storedTwice(data) || typeless(data)) {
			ask[name] = data
		}
	}
	if len(ask) == 0 {
		found.Judged = true
		return nil, nil, nil
	}
	refused, done, err := r.Judge(ctx, ask)
	if err != nil {
		return nil, nil, fmt.Errorf("generate: %w", err)
	}
	if slices.ContainsFunc(refused, func(one Refusal) bool { return strings.Contains(one.Text, "estimated rule cost exceeds") }) {
		// The total follows from the one that is too expensive.
		refused = slices.DeleteFunc(refused, func(one Refusal) bool { return strings.Contains(one.Text, "rule cost total") })
	}
	l := newLocator(r)
	for _, one := range refused {
		if strings.HasPrefix(one.Field, "metadata.annotations") {
			continue // kustomizations add those
		}
		p, ours, err := l.problem(one, ask[one.File])
		switch {
		case err != nil:
			return nil, nil, err
		case r.Lax || r.Foreign && !ours:
			tolerated = append(tolerated, p)
		default:
			wrong = append(wrong, p)
		}
	}
	found.Judged, found.Unjudged = done && len(tolerated) == 0, !done
	return wrong, tolerated, nil
}

// isCRD reports whether a file is a CRD, other than one without a group, which has
// its own warnings.
func isCRD(name string, data []byte) bool {
	return bytes.Contains(data, []byte("\nkind: CustomResourceDefinition\n")) && !strings.HasPrefix(path.Base(name), "_")
}

// storedTwice reports whether a CRD has two storage versions, which controller-tools lets pass.
func storedTwice(crd []byte) bool { return bytes.Count(crd, []byte("\n    storage: true\n")) > 1 }

// typeless reports whether a schema in a CRD has no type, as controller-tools leaves
// that of a field whose type contains itself.
func typeless(data []byte) bool {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(data, &crd); err != nil {
		return true // the judge says what is wrong with it
	}
	return slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Schema != nil && v.Schema.OpenAPIV3Schema != nil && anyTypeless(*v.Schema.OpenAPIV3Schema)
	})
}

func anyTypeless(s apiextensionsv1.JSONSchemaProps) bool {
	below := slices.Collect(maps.Values(s.Properties))
	if s.Items != nil && s.Items.Schema != nil {
		below = append(below, *s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		below = append(below, *s.AdditionalProperties.Schema)
	}
	return s.Type == "" && !s.XIntOrString && s.XPreserveUnknownFields == nil || slices.ContainsFunc(below, anyTypeless)
}

// canJudge reports whether the judge would know.
func (o Options) canJudge(ctx context.Context) bool {
	if o.Judge == nil {
		return false
	}
	_, done, err := o.Judge(ctx, nil)
	return done && err == nil
}

// harmless are the last words of markers that make nothing of a CRD which the
// API server could refuse.
var harmless = []string{
	"groupName", "versionName", "optional", "Optional", "required", "Required", "nullable", "status", "storageversion", "unservedversion", "skipversion", "skip",
	"Minimum", "Maximum", "ExclusiveMinimum", "ExclusiveMaximum", "MultipleOf", "MinLength", "MaxLength", "MinItems", "MaxItems", "MinProperties", "MaxProperties",
	"Enum", "enum", "Format", "externalDocs", "example", "title", "hub", "spoke", "root", "generate", "interfaces", "deepcopy-gen", "package", "rbac", "webhook", "webhookconfiguration",
}

// doubtful reports whether a marker of the project might make a CRD that the API
// server refuses. Judging takes its time, which a plain scaffold need not.
func (r renderer) doubtful() bool {
	mayBe := func(text string) bool {
		def, _ := r.registry.anywhere(text)
		return def != nil && !slices.Contains(harmless, lastWord(def.Name))
	}
	for _, p := range r.src.packages {
		for _, f := range p.files {
			conditions := conditionDocs(f.ast)
			for c, text := range markerComments(f.ast) {
				if mayBe(text) && !slices.Contains(conditions, c) {
					return true
				}
			}
		}
	}
	return false
}

// conditionDocs are the comments above fields with lists of conditions, which every kind has.
func conditionDocs(f *ast.File) (out []*ast.Comment) {
	for field := range goedit.Each[*ast.Field](f) {
		if list, ok := field.Type.(*ast.ArrayType); ok && field.Doc != nil {
			if sel, ok := list.Elt.(*ast.SelectorExpr); ok && sel.Sel.Name == "Condition" {
				out = append(out, field.Doc.List...)
			}
		}
	}
	return out
}

func lastWord(name string) string {
	_, last := splitLast(name)
	return last
}
