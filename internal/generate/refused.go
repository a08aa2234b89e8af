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

	lazy "go.podman.io/storage/pkg/regexp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
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
func (w workspace) inspect(
	ctx context.Context, files map[string][]byte, judged map[string]string, found *findings,
) ([]string, error) {
	wrong, tolerated, hint := w.groupless(files)
	if len(wrong) == 0 {
		hint = correctMarkers
		refused, more, err := w.refused(ctx, files, judged, found)
		if err != nil {
			return nil, err
		}
		wrong, tolerated = refused, append(tolerated, more...)
		typed := func(p problem) bool { return !strings.Contains(p.msg, ".type: Required value") }
		if len(wrong) > 0 && !slices.ContainsFunc(wrong, typed) {
			hint = "a field with +kubebuilder:validation:Schemaless, or whose type contains itself, has no schema: give it both that marker and +kubebuilder:pruning:PreserveUnknownFields"
		}
	}
	if len(wrong) > 0 {
		return nil, w.sourceError(wrong, hint)
	}
	stray, err := w.strayPaths(files)
	if err != nil {
		return nil, err
	}
	return lines(append(tolerated, stray...)), nil
}

// refused asks the judge about CRDs that are not known to be right.
func (w workspace) refused(
	ctx context.Context, files map[string][]byte, judged map[string]string, found *findings,
) (wrong, tolerated []problem, err error) {
	if w.Judge == nil {
		return nil, nil, nil
	}
	ask := map[string][]byte{}
	doubtful := w.doubtful()
	for name, data := range files {
		if isCRD(name, data) && judged[name] != lastrun.Sum(data) && (doubtful || storedTwice(data) || typeless(data)) {
			ask[name] = data
		}
	}
	if len(ask) == 0 {
		found.Judged = true
		return nil, nil, nil
	}
	refused, done, err := w.Judge(ctx, ask)
	if err != nil {
		return nil, nil, fmt.Errorf("generate: %w", err)
	}
	if slices.ContainsFunc(refused, func(one Refusal) bool { return strings.Contains(one.Text, "estimated rule cost exceeds") }) {
		// The total follows from the one that is too expensive.
		refused = slices.DeleteFunc(refused, func(one Refusal) bool { return strings.Contains(one.Text, "rule cost total") })
	}
	l := newLocator(w)
	for _, one := range refused {
		if strings.HasPrefix(one.Field, "metadata.annotations") {
			continue // kustomizations add those
		}
		p, ours, err := l.problem(one, ask[one.File])
		switch {
		case err != nil:
			return nil, nil, err
		case w.Lax || w.Foreign && !ours:
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
func (w workspace) doubtful() bool {
	mayBe := func(text string) bool {
		def, _ := w.registry.anywhere(text)
		return def != nil && !slices.Contains(harmless, lastWord(def.Name))
	}
	for _, p := range w.src.packages {
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

// versionName is how packages of APIs are called.
var versionName = lazy.Delayed(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// groupless finds kinds in packages that name no group: controller-gen makes
// CRDs of them that no API server takes. A file of that kind which a project of
// other tools has already is one that it lives with.
func (w workspace) groupless(files map[string][]byte) (wrong, tolerated []problem, hint string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		plural, ok := strings.CutPrefix(path.Base(name), "_")
		if !ok || plural == ".yaml" || !bytes.Contains(files[name], []byte("\nkind: CustomResourceDefinition\n")) {
			continue
		}
		kind := kindName.FindSubmatch(files[name])
		for _, p := range w.src.packages {
			if kind == nil || p.marked("+groupName") {
				continue
			}
			spec, file := p.typeNamed(string(kind[1]))
			if spec == nil {
				continue
			}
			at := newProblem(w.tree, w.src.fset.Position(spec.Name.Pos()),
				fmt.Sprintf("kind %s belongs to no API group: its package lacks the marker +groupName", kind[1]))
			if !versionName.MatchString(file.ast.Name.Name) || w.Lax || w.Foreign && w.exists(name) {
				at.msg += fmt.Sprintf(", and no API server takes %s", name)
				tolerated = append(tolerated, at)
				continue
			}
			wrong, hint = append(wrong, at), fmt.Sprintf("add '// +groupName=GROUP', with the API group, above 'package' in %s", file.name)
		}
	}
	return wrong, tolerated, hint
}

var kindName = lazy.Delayed(`(?m)^    kind: (\w+)$`)

// strayPaths finds print columns and scale paths that name fields which the kind does
// not have, as after a change of its type. The API server takes them, and finds nothing.
func (w workspace) strayPaths(files map[string][]byte) (stray []problem, err error) {
	l := newLocator(w)
	for name, data := range files {
		if !isCRD(name, data) {
			continue
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(data, &crd); err != nil {
			return nil, fmt.Errorf("generate: read %s: %w", name, err)
		}
		for i, v := range crd.Spec.Versions {
			for field, path := range pathsOf(v) {
				missing := missingIn(v.Schema, path)
				if missing == "" {
					continue
				}
				p, _, err := l.problem(Refusal{File: name, Field: fmt.Sprintf("spec.versions[%d].%s", i, field), Text: "there is no field " + missing}, data)
				if err != nil {
					return nil, err
				}
				stray = append(stray, p)
			}
		}
	}
	return stray, nil
}

// pathsOf are the paths to fields in a version of a CRD, by where they are in it.
func pathsOf(v apiextensionsv1.CustomResourceDefinitionVersion) map[string]string {
	paths := map[string]string{}
	for i, c := range v.AdditionalPrinterColumns {
		paths[fmt.Sprintf("additionalPrinterColumns[%d].jsonPath", i)] = c.JSONPath
	}
	if v.Subresources != nil && v.Subresources.Scale != nil {
		s := v.Subresources.Scale
		paths["subresources.scale.specReplicasPath"] = s.SpecReplicasPath
		paths["subresources.scale.statusReplicasPath"] = s.StatusReplicasPath
		paths["subresources.scale.labelSelectorPath"] = ptr.Deref(s.LabelSelectorPath, "")
	}
	return paths
}

var plainStep = lazy.Delayed(`^[\w-]+$`)

// missingIn is the beginning of a path up to the first field that the schema does not
// have; empty where it has all, or leaves open what there is.
func missingIn(v *apiextensionsv1.CustomResourceValidation, path string) string {
	if v == nil || v.OpenAPIV3Schema == nil || !strings.HasPrefix(path, ".") {
		return ""
	}
	s, at := *v.OpenAPIV3Schema, ""
	for step := range strings.SplitSeq(path[1:], ".") {
		name, _, indexed := strings.Cut(step, "[")
		open := s.XPreserveUnknownFields != nil || s.XEmbeddedResource || s.AdditionalProperties != nil || len(s.Properties) == 0
		everywhere := at == "" && slices.Contains([]string{"metadata", "kind", "apiVersion"}, name)
		if open || everywhere || !plainStep.MatchString(name) {
			return ""
		}
		next, ok := s.Properties[name]
		if at += "." + name; !ok {
			return at
		}
		if indexed {
			return ""
		}
		s = next
	}
	return ""
}
