// Package compat says which changes of CRDs break the objects and clients of
// those before. It finds CRDs in manifests and knows what to do about each kind
// of change. The rules are crdify's (sigs.k8s.io/crdify) and run in an Engine; Go
// types, git and images are not its business.
package compat

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/clierr"
)

// CRDs are manifests, each of one CRD, by metadata.name.
type CRDs map[string][]byte

// Request is what an Engine is asked. It can be written as JSON.
type Request struct {
	Old, New CRDs
	Config   Config
}

// Change is one that breaks something. It can be written as JSON.
type Change struct {
	CRD string `json:"crd"`
	// Version is that of the API; "v1alpha1 -> v1" for what differs between two
	// that are served, and empty for the CRD as a whole.
	Version string `json:"version,omitempty"`
	Field   string `json:"field,omitempty"` // such as spec.size; items and additionalProperties are steps
	Rule    string `json:"rule"`            // as crdify names it, or one of the Rules below
	Text    string `json:"message"`
	// Path is where the change is in the new manifest, such as
	// spec.versions[0].schema.openAPIV3Schema.properties[spec].minProperties.
	Path string `json:"path,omitempty"`
	// Hint is what to do about it.
	Hint string `json:"hint,omitempty"`
	// Warning is true where the configuration says that the rule only warns.
	Warning bool `json:"warning,omitempty"`
}

// Title is the change in one line.
func (c Change) Title() string {
	subject := strings.TrimSpace(c.CRD + " " + c.Version)
	if c.Field != "" {
		subject += ": " + c.Field
	}
	return subject + ": " + c.Text
}

// Rules that crdify does not have, as it compares two CRDs that are there and
// does not know in which versions objects are stored.
const (
	CRDRemoval           = "crdRemoval"
	ServedVersionRemoval = "servedVersionRemoval"
)

// Engine compares CRDs. It is not called directly, as crdify costs a program
// start-up time.
type Engine func(context.Context, Request) ([]Change, error)

// Compare returns the changes that break something, in the order of CRDs,
// versions and fields, with hints.
func Compare(ctx context.Context, engine Engine, req Request) ([]Change, error) {
	changes, err := engine(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("compare CRDs: %w", err)
	}
	changes = slices.DeleteFunc(changes, func(c Change) bool { return req.Config.enforcement(c.Rule) == "None" })
	for i := range changes {
		changes[i].Hint, changes[i].Warning = hints[changes[i].Rule], req.Config.enforcement(changes[i].Rule) == "Warn"
		if strings.Contains(changes[i].Version, " -> ") {
			changes[i].Hint = "without a conversion, values are lost or refused: let the versions be alike, or add one with 'mysdk create webhook --conversion'"
		}
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return slices.Compare([]string{a.CRD, a.Version, a.Field, a.Rule, a.Text}, []string{b.CRD, b.Version, b.Field, b.Rule, b.Text})
	})
	return slices.Compact(changes), nil
}

const (
	newVersion = "leave it as it was, or change it in a new version of the API with a conversion webhook"
	stricter   = "objects that are stored may break this: keep the old limit, or set the new one in a new version of the API"
)

// hints say what to do, by rule.
var hints = map[string]string{
	CRDRemoval:             "deleting a CRD deletes its objects: keep it until nobody has any",
	ServedVersionRemoval:   "serve it for another release, marked +kubebuilder:deprecatedversion, so that clients can move",
	"storedVersionRemoval": "objects are stored in it: keep it, marked +kubebuilder:unservedversion if need be, until status.storedVersions of the CRD is without it",
	"existingFieldRemoval": "values in it would be lost: keep it, with 'Deprecated:' in its comment, or leave it out of a new version of the API",
	"scope":                "the API server refuses this: make a new kind",
	"type":                 newVersion,
	"default":              "objects would change their meaning: leave the default as it was, or change it in a new version of the API",
	"enum":                 newVersion,
	"nullable":             newVersion,
	"pattern":              stricter,
	"required":             "objects that are stored lack it: make it +optional",
	"minimum":              stricter,
	"minItems":             stricter,
	"minLength":            stricter,
	"minProperties":        stricter,
	"maximum":              stricter,
	"maxItems":             stricter,
	"maxLength":            stricter,
	"maxProperties":        stricter,
	unhandled:              "no rule says whether this is compatible: check that all objects that were valid still are, or undo the change",
}

// Add takes the CRDs of a manifest in, which may have several documents. A patch of a
// CRD has no versions, and is passed over. name is for errors.
func (c CRDs) Add(name string, manifest []byte) error {
	if !bytes.Contains(manifest, []byte("CustomResourceDefinition")) {
		return nil // templates and the like need not parse
	}
	docs := k8syaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var object struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct {
				Version  string // of v1beta1
				Versions []any
			}
			Items []json.RawMessage // of a list
		}
		if err == nil {
			err = yaml.Unmarshal(doc, &object)
		}
		if err != nil {
			return clierr.Failedf("correct the manifest, or name a directory without it", "read %s: %w", name, err)
		}
		for _, item := range object.Items {
			text, err := yaml.JSONToYAML(item)
			if err = errors.Join(err, c.Add(name, text)); err != nil {
				return err
			}
		}
		if object.Kind != "CustomResourceDefinition" || object.Spec.Version == "" && len(object.Spec.Versions) == 0 {
			continue
		}
		if before, ok := c[object.Metadata.Name]; ok && !alike(before, doc) {
			return clierr.Failedf("name a directory that has each CRD once, such as config/crd/bases", "%s: the CRD %s is defined more than once", name, object.Metadata.Name)
		}
		c[object.Metadata.Name] = doc
	}
}

// alike reports whether two manifests have the same content, however they are written.
func alike(a, b []byte) bool {
	x, errX := yaml.YAMLToJSON(a)
	y, errY := yaml.YAMLToJSON(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// Read finds the CRDs in all manifests of a tree, such as a bundle's.
func Read(tree fs.FS) (CRDs, error) {
	found := CRDs{}
	return found, fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !IsManifest(name) {
			return err
		}
		if info, err := fs.Stat(tree, name); err != nil || !info.Mode().IsRegular() {
			return nil //nolint:nilerr // a link to nothing, or a directory
		}
		data, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		return found.Add(name, data)
	})
}

// IsManifest reports whether a file is one by its name.
func IsManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

// ReadCRD reads a CRD of today or of the API that Kubernetes 1.22 removed. Each
// version has a schema, if an empty one.
func ReadCRD(data []byte) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	var kind struct{ APIVersion string }
	if err := yaml.Unmarshal(data, &kind); err != nil {
		return nil, err
	}
	if kind.APIVersion != apiextensionsv1beta1.SchemeGroupVersion.String() {
		if err := yaml.Unmarshal(data, crd); err != nil {
			return nil, err
		}
	} else {
		old, internal := &apiextensionsv1beta1.CustomResourceDefinition{}, &apiextensions.CustomResourceDefinition{}
		if err := yaml.Unmarshal(data, old); err != nil {
			return nil, err
		}
		apiextensionsv1beta1.SetObjectDefaults_CustomResourceDefinition(old)
		if err := apiextensionsv1beta1.Convert_v1beta1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(old, internal, nil); err != nil {
			return nil, err
		}
		if err := apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(internal, crd, nil); err != nil {
			return nil, err
		}
		crd.TypeMeta = metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: old.Kind}
	}
	for i := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[i]; v.Schema == nil {
			v.Schema = &apiextensionsv1.CustomResourceValidation{}
		}
	}
	return crd, nil
}
