package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/compat"
)

const recreate = "recreate the bundle with 'mysdk bundle generate'"

// layout judges the directories: manifests are in one, flat, with nothing in it but manifests.
func (r *run) layout(fsys fs.FS) {
	for _, dir := range []string{bundle.ManifestsDir, bundle.MetadataDir} {
		if info, err := fs.Stat(fsys, dir); err != nil || !info.IsDir() {
			r.unreadable = true
			r.add(Error, "format/layout", "", "", "there is no directory "+dir, recreate)
		}
	}
	entries, err := fs.ReadDir(fsys, r.bundle.ManifestsDir)
	if err != nil {
		return // told above
	}
	for _, e := range entries {
		file := path.Join(r.bundle.ManifestsDir, e.Name())
		switch {
		case e.IsDir():
			r.add(Error, "format/layout", file, "", "OLM reads no directories below "+r.bundle.ManifestsDir, "move the manifests up, or remove the directory")
		case strings.HasPrefix(e.Name(), "."):
			r.add(Error, "format/layout", file, "", "a hidden file among the manifests", "remove it")
		}
	}
}

// firstObjects looks for manifests of which OLM reads nothing: it takes the
// first document of a file, of whatever name, and no list.
func (r *run) firstObjects() {
	const hint = "begin the file with one object"
	for _, f := range r.bundle.Files {
		if path.Dir(f.Name) != r.bundle.ManifestsDir {
			continue
		}
		var first map[string]any
		err := k8syaml.NewYAMLToJSONDecoder(bytes.NewReader(f.Data)).Decode(&first)
		kind, _ := first["kind"].(string)
		_, isList := first["items"]
		named := compat.IsManifest(f.Name)
		switch {
		case !named && kind == "", err != nil && !errors.Is(err, io.EOF):
			r.add(Error, "format/layout", f.Name, "", "it is not a manifest", "move it out of "+r.bundle.ManifestsDir)
		case err != nil:
			r.add(Error, "format/one-object", f.Name, "", "the file is empty", "remove it")
		case len(first) == 0:
			r.add(Error, "format/one-object", f.Name, "", "OLM reads the first document of a file, which is empty here", hint)
		case isList && strings.HasSuffix(kind, "List"):
			r.add(Error, "bundle/kind", f.Name, "kind", "OLM takes no "+kind+" from a bundle", "give each of its objects a file of its own")
		default:
			continue
		}
		r.passedOver[f.Name] = true
	}
}

// annotations judges metadata/annotations.yaml by the registry+v1 format.
func (r *run) annotations() {
	have := r.bundle.Annotations
	if have == nil {
		return // that it is missing is told already
	}
	file := r.bundle.AnnotationsFile
	say := func(key, text string) {
		r.add(Error, "format/annotations", file, `annotations["`+key+`"]`, text, recreate)
	}
	for _, key := range []string{bundle.MediaTypeKey, bundle.ManifestsKey, bundle.MetadataKey, bundle.PackageKey, bundle.ChannelsKey} {
		if _, ok := have[key]; !ok {
			say(key, "the annotation "+key+" is missing")
		}
	}
	for _, key := range []string{bundle.ManifestsKey, bundle.PackageKey} {
		if v, ok := have[key]; ok && v == "" {
			say(key, "the annotation "+key+" is empty")
		}
	}
	if v, ok := have[bundle.MediaTypeKey]; ok && v != bundle.MediaType && r.bundle.CSV != nil {
		say(bundle.MediaTypeKey, fmt.Sprintf("the media type is %q, and a bundle with a ClusterServiceVersion is %q", v, bundle.MediaType))
	}
	if v, ok := have[bundle.ChannelsKey]; ok && v == "" {
		say(bundle.ChannelsKey, "the bundle is in no channel")
	}
	v, ok := have[bundle.DefaultChannelKey]
	switch {
	case ok && v == "":
		say(bundle.DefaultChannelKey, "the default channel has no name")
	case ok && len(r.bundle.Channels) > 0 && !slices.Contains(r.bundle.Channels, v):
		r.add(Warning, "format/annotations", file, `annotations["`+bundle.DefaultChannelKey+`"]`,
			fmt.Sprintf("the default channel %s is not one of the bundle's channels, %s", v, strings.Join(r.bundle.Channels, ", ")), "a catalog must have it from another bundle")
	}
}

// objects judges what is in the manifests besides the CSV and the CRDs.
func (r *run) objects() {
	for _, o := range r.bundle.Objects {
		kind := o.GetKind()
		if r.passedOver[o.File] {
			continue
		}
		if o.Doc > 0 {
			text := fmt.Sprintf("OLM reads the first object of a file, and %s %s is object %d", kind, o.GetName(), o.Doc+1)
			level := Warning
			if kind == bundle.CSVKind {
				level = Error // without it there is no bundle
			}
			f := Finding{Level: level, Rule: "format/one-object", File: o.File, Text: text, Hint: "give it a file of its own"}
			f.Line, f.Column = r.locate(o.File, o.Doc, "")
			r.report.Findings = append(r.report.Findings, f)
			continue
		}
		if kind == bundle.CSVKind || kind == bundle.CRDKind {
			continue
		}
		if !bundle.IsSupported(kind) {
			r.add(Error, "bundle/kind", o.File, "kind", fmt.Sprintf("OLM takes no %s from a bundle", kind), "let the operator make it, or leave it out of config/manifests")
			continue
		}
		all := func(string, bool) []string { return nil } // any name is one
		for _, e := range validation.ValidateObjectMetaAccessor(o.Unstructured, false, all, field.NewPath("metadata")) {
			r.add(Error, "bundle/metadata", o.File, e.Field, fmt.Sprintf("%s %s: %s", kind, o.GetName(), e.Error()), "correct the manifest")
		}
	}
}

// dependency is an entry of metadata/dependencies.yaml.
type dependency struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// dependencies judges metadata/dependencies.yaml, and returns the constraints
// in it, which are the engine's to judge.
func (r *run) dependencies() []Constraint {
	var list []Constraint
	for _, f := range r.bundle.Files {
		if path.Dir(f.Name) != bundle.MetadataDir {
			continue
		}
		var doc struct {
			Dependencies []dependency `json:"dependencies"`
		}
		if yaml.Unmarshal(f.Data, &doc) != nil || len(doc.Dependencies) == 0 {
			continue // told as a problem if it matters
		}
		if r.dependenciesFile != "" {
			r.add(Warning, "format/dependencies", f.Name, "dependencies", "OLM reads the dependencies of the first file that has some, "+r.dependenciesFile, "move them there")
			continue
		}
		r.dependenciesFile = f.Name
		for i, d := range doc.Dependencies {
			at := fmt.Sprintf("dependencies[%d]", i)
			if d.Type == "olm.constraint" && len(d.Value) > 0 {
				list = append(list, Constraint{Field: at, Value: d.Value})
			} else if text := d.judge(); text != "" {
				r.add(Error, "format/dependencies", f.Name, at, "a dependency of the type "+d.Type+": "+text, dependencyHint)
			}
		}
	}
	return list
}

const dependencyHint = "see https://olm.operatorframework.io/docs/concepts/olm-architecture/dependency-resolution/"

// judge says what is wrong with a dependency, "" for nothing.
func (d dependency) judge() string {
	var v struct{ Group, Version, Kind, PackageName, Label string } // of all types but constraints
	if len(d.Value) == 0 {
		return "it has no value"
	}
	if err := json.Unmarshal(d.Value, &v); err != nil {
		return "the value cannot be read: " + err.Error()
	}
	switch d.Type {
	case "olm.gvk":
		if v.Group == "" || v.Version == "" || v.Kind == "" {
			return "group, version and kind are all needed"
		}
	case "olm.package":
		if v.PackageName == "" {
			return "packageName is missing"
		}
		if _, err := semver.ParseRange(v.Version); err != nil {
			return fmt.Sprintf("version %q is not a range such as >=1.0.0", v.Version)
		}
	case "olm.label":
		if v.Label == "" {
			return "label is missing"
		}
	default:
		return "OLM knows no such type"
	}
	return ""
}
