// Package fields reads what a CRD's schema declares: as a reference for people,
// and as a form whose values become an object. It knows structural schemas and Go
// structs, neither clusters nor pages.
package fields

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Field is a property of a schema.
type Field struct {
	Name        string
	Path        string // from the object on: spec.size; items of a list: spec.ports[]
	Type        string // in words: "list of string", "map of string", "integer or string"
	Format      string
	Description string
	Required    bool
	Default     string // as JSON; empty: none
	Enum        []string
	Limits      []string // such as "at least 1"
	Rules       []Rule
	Fields      []*Field // of an object, or of the items of a list or map

	kind string // type in the schema
	list bool   // Fields are of items
	open bool   // of an object that may have other fields, too
}

// Rule is a validation in CEL.
type Rule struct{ Rule, Message string }

// Of returns the fields of a CRD's objects in one version, without apiVersion,
// kind and metadata. None: it has no schema of that version.
func Of(crd *unstructured.Unstructured, version string) []*Field {
	return slices.DeleteFunc(properties(Schema(crd, version), ""), func(f *Field) bool {
		return f.Name == "apiVersion" || f.Name == "kind" || f.Name == "metadata"
	})
}

// Versions are a CRD's versions, without what is none. They are the CRD's own, to
// be read only: copies of all their schemas would take longer than most uses.
func Versions(crd *unstructured.Unstructured) (versions []map[string]any) {
	field, _, _ := unstructured.NestedFieldNoCopy(crd.Object, "spec", "versions")
	list, _ := field.([]any)
	for _, v := range list {
		if m, ok := v.(map[string]any); ok {
			versions = append(versions, m)
		}
	}
	return versions
}

// Schema is the schema of a CRD's version; nil: none.
func Schema(crd *unstructured.Unstructured, version string) map[string]any {
	for _, v := range Versions(crd) {
		if v["name"] == version {
			schema, _, _ := unstructured.NestedMap(v, "schema", "openAPIV3Schema")
			return schema
		}
	}
	return nil
}

// properties are the fields of an object's schema.
func properties(schema map[string]any, path string) []*Field {
	props, _ := schema["properties"].(map[string]any)
	required := texts(schema["required"])
	var list []*Field
	for _, name := range slices.Sorted(maps.Keys(props)) {
		if p, ok := props[name].(map[string]any); ok {
			f := read(p, strings.TrimPrefix(path+"."+name, "."))
			f.Name, f.Required = name, slices.Contains(required, name)
			list = append(list, f)
		}
	}
	return list
}

// read reads a schema.
func read(schema map[string]any, path string) *Field {
	text := func(key string) string { s, _ := schema[key].(string); return s }
	f := &Field{Path: path, Format: text("format"), Description: text("description"), kind: text("type"), Limits: limits(schema), Rules: rules(schema)}
	if d, ok := schema["default"]; ok {
		f.Default = asJSON(d)
	}
	values, _ := schema["enum"].([]any)
	for _, v := range values {
		f.Enum = append(f.Enum, plain(v))
	}
	f.open = schema["x-kubernetes-preserve-unknown-fields"] == true || schema["x-kubernetes-embedded-resource"] == true
	f.both(schema)
	items, isList := schema["items"].(map[string]any)
	entries, isMap := schema["additionalProperties"].(map[string]any)
	switch {
	case schema["x-kubernetes-int-or-string"] == true:
		f.Type, f.kind = "integer or string", "int-or-string"
	case isList:
		f.holds("list of ", read(items, path+"[]"))
	case isMap:
		f.holds("map of ", read(entries, path+".*"))
	default:
		f.Type = cmp.Or(f.kind, "any")
		f.Fields = properties(schema, path)
	}
	return f
}

// holds makes a field a list or map of others.
func (f *Field) holds(what string, inner *Field) {
	f.Type, f.Fields, f.list = what+inner.Type, inner.Fields, true
	f.Rules, f.Enum = append(f.Rules, inner.Rules...), append(f.Enum, inner.Enum...)
	for _, limit := range inner.Limits {
		f.Limits = append(f.Limits, "each "+strings.TrimPrefix(limit, "each "))
	}
}

// both adds what a type and its field demand, each in a schema of its own.
func (f *Field) both(schema map[string]any) {
	all, _ := schema["allOf"].([]any)
	for _, one := range all {
		m, _ := one.(map[string]any)
		part := read(m, f.Path)
		f.Limits, f.Rules = append(f.Limits, part.Limits...), append(f.Rules, part.Rules...)
		if len(f.Enum) == 0 {
			f.Enum = part.Enum
		} else if len(part.Enum) > 0 {
			f.Enum = slices.DeleteFunc(slices.Clone(f.Enum), func(v string) bool { return !slices.Contains(part.Enum, v) })
		}
	}
}

// limits are the bounds of a value, in words.
func limits(schema map[string]any) []string {
	var list []string
	one := strings.NewReplacer(" 1 characters", " 1 character", " 1 items", " 1 item", " 1 entries", " 1 entry")
	add := func(key, words string) {
		if v, ok := schema[key]; ok {
			list = append(list, one.Replace(fmt.Sprintf(words, plain(v))))
		}
	}
	least, most := "at least %s", "at most %s"
	if schema["exclusiveMinimum"] == true {
		least = "more than %s"
	}
	if schema["exclusiveMaximum"] == true {
		most = "less than %s"
	}
	add("minimum", least)
	add("maximum", most)
	add("multipleOf", "a multiple of %s")
	add("minLength", "at least %s characters")
	add("maxLength", "at most %s characters")
	add("pattern", "matches %s")
	add("minItems", "at least %s items")
	add("maxItems", "at most %s items")
	add("minProperties", "at least %s entries")
	add("maxProperties", "at most %s entries")
	by := ""
	if keys := texts(schema["x-kubernetes-list-map-keys"]); len(keys) > 0 {
		by = " by " + strings.Join(keys, ", ")
	}
	add("x-kubernetes-list-type", "list type %s"+by)
	if schema["nullable"] == true {
		list = append(list, "may be null")
	}
	if schema["x-kubernetes-preserve-unknown-fields"] == true {
		list = append(list, "may have any other fields")
	}
	return list
}

func rules(schema map[string]any) []Rule {
	items, _ := schema["x-kubernetes-validations"].([]any)
	var list []Rule
	for _, item := range items {
		m, _ := item.(map[string]any)
		rule, _ := m["rule"].(string)
		message, _ := m["message"].(string)
		if message == "" {
			message, _ = m["messageExpression"].(string)
		}
		list = append(list, Rule{rule, message})
	}
	return list
}

func texts(v any) []string {
	items, _ := v.([]any)
	var list []string
	for _, item := range items {
		if s, ok := item.(string); ok {
			list = append(list, s)
		}
	}
	return list
}

// plain is a value without the quotes of JSON.
func plain(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return asJSON(v)
}

func asJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// Rules are the validations of a CRD's objects as a whole, in one version.
func Rules(crd *unstructured.Unstructured, version string) []Rule {
	return rules(Schema(crd, version))
}

// Description describes the objects of a CRD as a whole, in one version.
func Description(crd *unstructured.Unstructured, version string) string {
	text, _ := Schema(crd, version)["description"].(string)
	return text
}

// Names are the names in JSON of a struct's fields, sorted.
func Names(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() { // for the iterator Fields, the linker keeps all methods of all types
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
