package engine

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/bundle/validate"
)

// crdFiles judges manifests of CRDs by their names.
func crdFiles(ctx context.Context, files map[string][]byte) ([]validate.Result, error) {
	var out []validate.Result
	for _, name := range slices.Sorted(maps.Keys(files)) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(files[name], crd); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		out = append(out, crdResults(ctx, crd, name)...)
	}
	return out, ctx.Err()
}

// crdResults judges a CRD as the API server does when it is created. The
// validator of operator-framework/api passes over all that is in a schema:
// rules, patterns and defaults, for which the API server refuses a CRD as well.
func crdResults(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, name string) []validate.Result {
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(crd)
	internal := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, internal, nil); err != nil {
		return []validate.Result{{Validator: "crd", Object: name, Error: true, Type: "FieldValueInvalid", Detail: err.Error()}}
	}
	var out []validate.Result
	for _, e := range validation.ValidateCustomResourceDefinition(ctx, internal) {
		if strings.HasPrefix(e.Field, "status") {
			continue // the API server's own part
		}
		out = append(out, validate.Result{
			Validator: "crd", Object: name, Error: true, Type: string(e.Type), Field: asWritten(e.Field), Detail: said(e),
		})
	}
	return out
}

// said is the error without its field, and without a value that is more than a
// word: what is wrong with it says enough.
func said(e *field.Error) string {
	if k := reflect.Indirect(reflect.ValueOf(e.BadValue)).Kind(); e.Detail != "" && (k == reflect.Struct || k == reflect.Map || k == reflect.Slice) {
		return e.Detail
	}
	return strings.ReplaceAll(e.ErrorBody(), ":  in body", ": in body") // what validates has no name for the value
}

// asWritten is the path of a field in the manifest. What all versions have alike
// is hoisted out of them where the API server validates it.
func asWritten(path string) string {
	for hoisted, written := range map[string]string{
		"spec.validation": "spec.versions[0].schema", "spec.subresources": "spec.versions[0].subresources",
		"spec.additionalPrinterColumns": "spec.versions[0].additionalPrinterColumns", "spec.selectableFields": "spec.versions[0].selectableFields",
	} {
		if rest, ok := strings.CutPrefix(path, hoisted); ok {
			return written + rest
		}
	}
	return path
}
