package fields

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Input says how a field is asked for in a form: text, number, choice, yaml, or
// group for an object whose fields are asked for one by one. One that may have other
// fields is asked for as a whole, as those would be lost, and so is one with a dot in
// the name of a field, which a path cannot have.
func (f *Field) Input() string {
	switch {
	case len(f.Enum) > 0 && !f.list && f.kind != "array":
		return "choice"
	case f.kind == "boolean":
		return "choice"
	case f.kind == "integer" || f.kind == "number":
		return "number"
	case f.kind == "string" || f.kind == "int-or-string":
		return "text"
	case f.kind == "object" && len(f.Fields) > 0 && !f.list && !f.open &&
		!slices.ContainsFunc(f.Fields, func(x *Field) bool { return strings.Contains(x.Name, ".") }):
		return "group"
	}
	return "yaml"
}

// Choices are the values of a choice.
func (f *Field) Choices() []string {
	if f.kind == "boolean" {
		return []string{"true", "false"}
	}
	return f.Enum
}

// Invalid are values of a form that are not of the type of their field, by path.
type Invalid map[string]string

// Error implements error.
func (e Invalid) Error() string {
	var list []string
	for path, why := range e {
		list = append(list, path+": "+why)
	}
	slices.Sort(list)
	return strings.Join(list, "; ")
}

// Fill puts the values of a form into an object. An empty value is a field that
// is not there, unless it was null or an empty string before, and an empty group one
// that was empty before. The error is an Invalid.
func Fill(object, before map[string]any, list []*Field, value func(path string) string) error {
	bad := Invalid{}
	fill(object, before, list, value, bad)
	if len(bad) > 0 {
		return bad
	}
	return nil
}

func fill(object, before map[string]any, list []*Field, value func(string) string, bad Invalid) {
	for _, f := range list {
		path := strings.Split(f.Path, ".")
		if f.Input() == "group" {
			fill(object, before, f.Fields, value, bad)
			was, found, err := unstructured.NestedMap(before, path...)
			if _, has, _ := unstructured.NestedFieldNoCopy(object, path...); found && err == nil && len(was) == 0 && !has {
				_ = unstructured.SetNestedMap(object, was, path...) // fails only below a value of another type, which is told
			}
			continue
		}
		text := value(f.Path)
		var v any
		var err error
		if strings.TrimSpace(text) != "" {
			v, err = f.parse(text)
		} else if was, found, _ := unstructured.NestedFieldNoCopy(before, path...); found && strings.TrimSpace(f.Text(before)) == "" {
			v = was
		} else {
			continue
		}
		if err == nil {
			err = unstructured.SetNestedField(object, v, path...)
		}
		if err != nil {
			bad[f.Path] = err.Error()
		}
	}
}

// parse reads a value of a form as JSON has it.
func (f *Field) parse(text string) (any, error) {
	trimmed := strings.TrimSpace(text)
	switch f.kind {
	case "string":
		return strings.ReplaceAll(text, "\r\n", "\n"), nil // as browsers send line breaks
	case "boolean":
		return trimmed == "true", nil
	case "integer":
		n, err := strconv.ParseInt(trimmed, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a whole number", trimmed)
		}
		return n, nil
	case "number":
		n, err := strconv.ParseFloat(trimmed, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return nil, fmt.Errorf("%q is not a number", trimmed)
		}
		return n, nil
	case "int-or-string":
		if n, err := strconv.ParseInt(trimmed, 10, 64); err == nil {
			return n, nil
		}
		return trimmed, nil
	}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	// As unstructured objects have numbers: int64 where that is enough.
	wrapped := unstructured.Unstructured{}
	if err := wrapped.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"V","v":` + string(data) + `}`)); err != nil {
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	return wrapped.Object["v"], nil
}

// Text is the value of the field in an object, as a form shows it; empty: none, or null.
func (f *Field) Text(object map[string]any) string {
	v, ok, err := unstructured.NestedFieldNoCopy(object, strings.Split(f.Path, ".")...)
	if !ok || err != nil || v == nil {
		return ""
	}
	if f.Input() != "yaml" {
		return plain(v)
	}
	data, err := json.Marshal(v)
	if err == nil {
		data, err = yaml.JSONToYAML(data)
	}
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(string(data))
}

// Nearest is the path of the field of a form that a message about path belongs
// to: itself, or the closest one around it; empty: none.
func Nearest(list []*Field, path string) string {
	for _, f := range list {
		if path == f.Path {
			return f.Path
		}
		rest, below := strings.CutPrefix(path, f.Path)
		if !below || rest[0] != '.' && rest[0] != '[' {
			continue
		}
		if f.Input() == "group" {
			if inner := Nearest(f.Fields, path); inner != "" {
				return inner
			}
		}
		return f.Path
	}
	return ""
}
