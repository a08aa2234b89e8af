// Package engine runs the rules of operator-framework/api on a bundle for
// package validate, those of the API server on CRDs, and those of crdify on two
// CRDs for package compat. It is a package of its own because it links a good
// part of the API server, for the rules of CRDs: programs that judge no bundles
// should not start with that. It knows how to call the rules and nothing else.
package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	apierrors "github.com/operator-framework/api/pkg/validation/errors"
	interfaces "github.com/operator-framework/api/pkg/validation/interfaces"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/mysdk/internal/bundle/validate"
)

// optional are the optional validators by their names.
var optional = map[string]interfaces.Validator{
	"operatorhubv2": validation.OperatorHubV2Validator,
	"capabilities":  validation.StandardCapabilitiesValidator,
	"categories":    validation.StandardCategoriesValidator,
	//lint:ignore SA1019 deprecated, and still asked for by name
	"operatorhub":           validation.OperatorHubValidator,
	"community":             validation.CommunityOperatorValidator,
	"alpha-deprecated-apis": validation.AlphaDeprecatedAPIsValidator,
	"good-practices":        validation.GoodPracticesValidator,
	"objects":               validation.ObjectValidator,
}

// Run is a validate.Engine. It writes the manifests to a temporary directory,
// as the rules read a bundle from one.
func Run(ctx context.Context, req validate.Request) (results []validate.Result, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(req.CRDs) > 0 {
		return crdFiles(ctx, req.CRDs)
	}
	dir, err := os.MkdirTemp("", "mysdk-bundle-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for name, data := range req.Manifests {
		if !filepath.IsLocal(name) {
			return nil, fmt.Errorf("the manifest %q is not below the bundle", name)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, err
		}
	}
	b, err := manifests.GetBundleFromDir(dir)
	if err == nil && b.CSV != nil && len(b.CSV.Spec.Icon) == 0 {
		b.CSV.Spec.Icon = nil // the rules take the first of a list that is empty
	}
	if err != nil {
		text := strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")
		text = strings.ReplaceAll(text, dir, "manifests")
		return []validate.Result{{Validator: "bundle", Error: true, Type: "BundleNotValid", Detail: text}}, nil
	}
	r := &runner{}
	r.defaults(ctx, b)
	r.constraints(req.Constraints)
	return r.results, r.optionals(b, req)
}

type runner struct{ results []validate.Result }

// defaults are the rules that every bundle has to obey.
func (r *runner) defaults(ctx context.Context, b *manifests.Bundle) {
	r.run("bundle", validation.BundleValidator, b)
	if b.CSV != nil {
		r.run("csv", validation.ClusterServiceVersionValidator, b.CSV)
	}
	for _, crd := range b.V1beta1CRDs {
		r.run("crd", validation.CustomResourceDefinitionValidator, crd)
	}
	for _, crd := range b.V1CRDs {
		r.results = append(r.results, crdResults(ctx, crd, crd.Name)...)
	}
}

// optionals run as operator-sdk runs them: each sees every object.
func (r *runner) optionals(b *manifests.Bundle, req validate.Request) error {
	objects := b.ObjectsToValidate()
	for _, o := range b.Objects {
		objects = append(objects, o)
	}
	values := map[string]string{}
	maps.Copy(values, req.Values)
	objects = append(objects, values)
	for _, name := range req.Validators {
		v, ok := optional[name]
		if !ok {
			return fmt.Errorf("there is no validator %q", name)
		}
		if name == "good-practices" {
			// The channels are in the annotations, which the rules do not read.
			b.Channels, b.DefaultChannel = req.Channels, req.Default
		}
		r.run(name, v, objects...)
	}
	return nil
}

// run runs the rules of a validator. Some take for granted what a bundle need
// not have; that one fails is an error of the bundle, as nobody can vouch for it.
func (r *runner) run(name string, v interfaces.Validator, objects ...any) {
	defer func() {
		if failed := recover(); failed != nil {
			r.results = append(r.results, validate.Result{
				Validator: name, Error: true, Type: "RuleFailed", Detail: fmt.Sprintf("the rules of %s cannot judge this bundle: %v", name, failed),
			})
		}
	}()
	r.add(name, v.Validate(objects...))
}

func (r *runner) add(validator string, found []apierrors.ManifestResult) {
	for _, f := range found {
		for _, e := range append(f.Errors, f.Warnings...) {
			res := validate.Result{
				Validator: validator, Object: f.Name, Error: e.Level == apierrors.LevelError,
				Type: string(e.Type), Field: e.Field, Detail: inOrder(e.Detail),
			}
			if v := reflect.ValueOf(e.BadValue); v.Kind() == reflect.String || v.CanInt() || e.Type == apierrors.ErrorInvalidOperation {
				res.Value = fmt.Sprint(e.BadValue) // of anything else the detail says enough
			}
			if o, ok := objectName(e.BadValue); ok {
				res.Object = o
			}
			r.results = append(r.results, res)
		}
	}
}

// inOrder puts lists in order, such as ["b" "a"], and of such lists, as in
// Role: (["b"]),Job: (["a"]),. Rules collect some in maps, and a report must be
// the same each time.
func inOrder(detail string) string {
	names := regexp.MustCompile(`\["[^"]*"(?: "[^"]*")+\]`)
	detail = names.ReplaceAllStringFunc(detail, func(list string) string {
		parts := strings.Split(list[1:len(list)-1], " ")
		slices.Sort(parts)
		return "[" + strings.Join(parts, " ") + "]"
	})
	lists := regexp.MustCompile(`(?:[\w.-]+: \(\[[^)]*\]\),?)+`)
	return lists.ReplaceAllStringFunc(detail, func(list string) string {
		parts := strings.Split(strings.TrimSuffix(list, ","), "),")
		for i := range parts {
			parts[i] = strings.TrimSuffix(parts[i], ")") + ")"
		}
		slices.Sort(parts)
		return strings.Join(parts, ", ")
	})
}

// objectName is the name of the object that a rule hands out by value.
func objectName(v any) (string, bool) {
	value := reflect.Indirect(reflect.ValueOf(v))
	if value.Kind() != reflect.Struct {
		return "", false
	}
	field := value.FieldByName("ObjectMeta")
	if !field.IsValid() {
		return "", false
	}
	meta, ok := field.Interface().(metav1.ObjectMeta)
	return meta.Name, ok
}
