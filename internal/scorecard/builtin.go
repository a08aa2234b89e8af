package scorecard

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/example/mysdk/internal/kube"
)

// program is the command by which a configuration names a built-in test; its
// argument is the test. The image beside it is never pulled.
const program = "scorecard-test"

// fieldManager is under whose name the API server is asked, without effect.
const fieldManager = "mysdk-scorecard"

// check is a built-in test. api may be nil.
type check func(ctx context.Context, s Subject, api *kube.Client) v1alpha3.TestResult

// builtin returns the built-in test that t names; nil if it names none.
func builtin(t v1alpha3.TestConfiguration) check {
	if len(t.Entrypoint) != 2 || t.Entrypoint[0] != program {
		return nil
	}
	run := map[string]func(*result, context.Context){
		"basic-check-spec":         (*result).checkSpec,
		"olm-bundle-validation":    (*result).checkBundle,
		"olm-crds-have-validation": (*result).checkSchemas,
		"olm-crds-have-resources":  (*result).checkResources,
		"olm-spec-descriptors":     (*result).checkSpecDescriptors,
		"olm-status-descriptors":   (*result).checkStatusDescriptors,
	}[t.Entrypoint[1]]
	if run == nil {
		return nil
	}
	return func(ctx context.Context, s Subject, api *kube.Client) v1alpha3.TestResult {
		r := &result{v1alpha3.TestResult{Name: t.Entrypoint[1], State: v1alpha3.PassState}, s, api}
		run(r, ctx)
		return r.TestResult
	}
}

// result collects what a test of a bundle finds.
type result struct {
	v1alpha3.TestResult
	Subject
	api *kube.Client // nil: nobody is asked
}

func (r *result) fail(format string, args ...any) {
	r.State = v1alpha3.FailState
	r.Errors = append(r.Errors, fmt.Sprintf(format, args...))
}

func (r *result) suggest(format string, args ...any) {
	r.Suggestions = append(r.Suggestions, fmt.Sprintf(format, args...))
}

func (r *result) note(format string, args ...any) { r.Log += fmt.Sprintf(format, args...) + "\n" }

// examples are the custom resources that the CSV shows as examples.
func (r *result) examples() []*unstructured.Unstructured {
	text := r.CSV.GetAnnotations()["alm-examples"]
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var objects []map[string]any
	if err := json.Unmarshal([]byte(text), &objects); err != nil {
		r.State = v1alpha3.ErrorState
		r.Errors = append(r.Errors, fmt.Sprintf("read the annotation alm-examples of %s: %v", r.CSV.GetName(), err))
		return nil
	}
	var list []*unstructured.Unstructured
	for _, o := range objects {
		list = append(list, &unstructured.Unstructured{Object: o})
	}
	r.note("%d examples in %s", len(list), r.CSV.GetName())
	return list
}

// checkSpec is the test basic-check-spec: examples have a spec, and the API server
// accepts them. A missing spec alone is no failure, as with operator-sdk.
func (r *result) checkSpec(ctx context.Context) {
	for _, cr := range r.examples() {
		if cr.Object["spec"] == nil {
			r.suggest("give the example %s %s a spec", cr.GetKind(), cr.GetName())
		}
		r.ask(ctx, cr)
	}
}

// ask has the API server check an object of a kind that it serves, in the
// context's namespace: its own may be of another cluster.
func (r *result) ask(ctx context.Context, u *unstructured.Unstructured) {
	if r.api == nil {
		return
	}
	served, err := r.api.Serves(ctx, u.GroupVersionKind())
	if err == nil && !served {
		r.note("the cluster does not serve %s: %s was not tried on it", u.GroupVersionKind(), u.GetName())
		return
	}
	if err == nil {
		u = u.DeepCopy()
		u.SetNamespace("")
		_, err = r.api.Apply(ctx, []*unstructured.Unstructured{u}, kube.ApplyOptions{DryRun: true, Force: true, FieldManager: fieldManager})
	}
	if err != nil {
		r.fail("%v", err)
		return
	}
	r.note("the API server accepts %s %s", u.GetKind(), u.GetName())
}

func (r *result) checkBundle(context.Context) {
	problems, warnings := r.Validate()
	for _, p := range problems {
		r.fail("%s", p)
	}
	r.Suggestions = append(r.Suggestions, warnings...)
}

// checkSchemas is the test olm-crds-have-validation: every field of an example
// is in the schema of its CRD, and the API server accepts the CRD.
func (r *result) checkSchemas(ctx context.Context) {
	for _, cr := range r.examples() {
		for _, crd := range r.CRDs {
			if crd.Spec.Names.Kind == cr.GetKind() && crd.Spec.Group == cr.GroupVersionKind().Group {
				r.checkSchema(cr, crd)
			}
		}
	}
	for _, crd := range r.CRDs {
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
		if err != nil {
			r.fail("read CRD %s: %v", crd.GetName(), err)
			continue
		}
		delete(object, "status")
		r.ask(ctx, &unstructured.Unstructured{Object: object})
	}
}

func (r *result) checkSchema(cr *unstructured.Unstructured, crd *apiextensionsv1.CustomResourceDefinition) {
	for _, v := range crd.Spec.Versions {
		if v.Name != cr.GroupVersionKind().Version {
			continue
		}
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			r.suggest("give version %s of %s a schema", v.Name, crd.GetName())
			continue
		}
		root := v.Schema.OpenAPIV3Schema.DeepCopy()
		root.XEmbeddedResource = true // apiVersion, kind and metadata are every object's
		missing := unknown(cr.Object, root, "")
		slices.Sort(missing)
		for _, field := range slices.Compact(missing) {
			r.State = v1alpha3.FailState
			r.suggest("add %s to the schema of %s in version %s: an example has it", field, crd.GetName(), v.Name)
		}
	}
}

// unknown are the fields of a value that its schema does not have, which the API
// server would drop.
func unknown(value any, s *apiextensionsv1.JSONSchemaProps, at string) (paths []string) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			if s.Items != nil && s.Items.Schema != nil {
				paths = append(paths, unknown(item, s.Items.Schema, at)...)
			}
		}
	case map[string]any:
		for name, inner := range v {
			field, ok := s.Properties[name]
			path := strings.TrimPrefix(at+"."+name, ".")
			switch {
			case s.XEmbeddedResource && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name):
			case ok:
				paths = append(paths, unknown(inner, &field, path)...)
			case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
				paths = append(paths, unknown(inner, s.AdditionalProperties.Schema, path)...)
			case s.AdditionalProperties == nil && (s.XPreserveUnknownFields == nil || !*s.XPreserveUnknownFields):
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// fields are the names below the spec or the status of an object, sorted.
func fields(u *unstructured.Unstructured, part string) []string {
	m, _ := u.Object[part].(map[string]any)
	return slices.Sorted(maps.Keys(m))
}

func (r *result) checkResources(context.Context) {
	for _, owned := range r.CSV.Spec.CustomResourceDefinitions.Owned {
		if len(owned.Resources) == 0 {
			r.fail("owned CRD %s %s names no resources", owned.Kind, owned.Version)
			r.suggest(`add +operator-sdk:csv:customresourcedefinitions:resources={{Deployment,v1,""}} above type %s, with the kinds that the operator makes`, owned.Kind)
		}
	}
}

// checkSpecDescriptors is the test olm-spec-descriptors: every field of an
// example's spec has a descriptor.
func (r *result) checkSpecDescriptors(context.Context) {
	for _, cr := range r.examples() {
		owned := r.owned(cr)
		if owned == nil {
			continue
		}
		if cr.Object["spec"] == nil {
			r.fail("the example %s %s has no spec", cr.GetKind(), cr.GetName())
			continue
		}
		for _, field := range fields(cr, "spec") {
			described := slices.ContainsFunc(owned.SpecDescriptors, func(d v1alpha1.SpecDescriptor) bool { return d.Path == field })
			if !described {
				r.fail("%s does not have a spec descriptor", field)
				r.suggest("add +operator-sdk:csv:customresourcedefinitions:type=spec to the field %s of %s", field, cr.GetKind())
			}
		}
	}
}

// checkStatusDescriptors is the test olm-status-descriptors: an owned CRD whose
// example has a status describes it.
func (r *result) checkStatusDescriptors(context.Context) {
	for _, cr := range r.examples() {
		owned := r.owned(cr)
		if owned == nil {
			continue
		}
		switch {
		case len(fields(cr, "status")) == 0:
			r.suggest("give the example %s %s a status, so that its status descriptors can be checked", cr.GetKind(), cr.GetName())
		case len(owned.StatusDescriptors) == 0:
			r.fail("%s does not have a status descriptor", owned.Name)
			r.suggest("add +operator-sdk:csv:customresourcedefinitions:type=status to the status fields of %s", cr.GetKind())
		}
	}
}

// owned returns the CSV's entry for the kind of an example.
func (r *result) owned(cr *unstructured.Unstructured) *v1alpha1.CRDDescription {
	list := r.CSV.Spec.CustomResourceDefinitions.Owned
	for i := range list {
		if list[i].Kind == cr.GetKind() && list[i].Version == cr.GroupVersionKind().Version {
			return &list[i]
		}
	}
	r.fail("the CSV owns no CRD for the example %s, %s", cr.GetName(), cr.GroupVersionKind())
	return nil
}
