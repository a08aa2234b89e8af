package bundle

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fields"
)

// origins says where the fields of a CSV come from, by path.
type origins map[string]string

// say notes where a field comes from.
func (o origins) say(path []string, from string) { o[join(path)] = from }

// join writes a path as people type it: spec.install, and a key with dots in brackets.
func join(path []string) string {
	var b strings.Builder
	for i, key := range path {
		switch {
		case strings.ContainsAny(key, "./["):
			b.WriteString("[" + key + "]")
		case i > 0:
			b.WriteString("." + key)
		default:
			b.WriteString(key)
		}
	}
	return b.String()
}

// SplitField takes the path of a field apart: spec.owned[0] and spec.owned.0 are the
// same, and a key with dots is a["b.c"].
func SplitField(field string) []string {
	var path []string
	for field != "" {
		var key string
		if rest, ok := strings.CutPrefix(field, "["); ok {
			key, field, _ = strings.Cut(rest, "]")
			key = strings.Trim(key, `"'`)
		} else if i := strings.IndexAny(field, ".["); i >= 0 {
			key, field = field[:i], field[i:]
		} else {
			key, field = field, ""
		}
		if field = strings.TrimPrefix(field, "."); key != "" {
			path = append(path, key)
		}
	}
	return path
}

// Explanation is where a field of the CSV comes from.
type Explanation struct {
	Field string // as spec.install.strategy
	Value any    // nil: the field is not set
	From  string
}

// Explain says where a field of the CSV comes from: spec.displayName,
// metadata.annotations.alm-examples, spec.customresourcedefinitions.owned[0].
// Fields below it with an origin of their own are listed too. A field that is
// not there and cannot be is a usage error.
func (r *Result) Explain(field string) ([]Explanation, error) {
	// The spec is what people mostly ask about, so it need not be typed.
	path := SplitField(field)
	if len(path) == 0 {
		return nil, clierr.Usagef("name one such as spec.displayName", "%q is not a field", field)
	}
	if path[0] != "spec" && path[0] != "metadata" {
		path = append([]string{"spec"}, path...)
	}
	value := step(r.csv.Object, path)
	own := join(path)
	from, ok := r.from.nearest(path)
	if !ok {
		from = r.base
	}
	if value == nil {
		if err := knownField(field, path); err != nil {
			return nil, err
		}
		return []Explanation{{Field: own, From: "nowhere, it is not set; " + from + " may set it"}}, nil
	}
	list := []Explanation{{Field: own, Value: value, From: from}}
	for _, key := range sortedKeys(r.from) {
		if rest, below := strings.CutPrefix(key, own); below && rest != "" && strings.ContainsAny(rest[:1], ".[") && r.from[key] != from {
			if v := step(r.csv.Object, SplitField(key)); v != nil {
				list = append(list, Explanation{Field: key, Value: v, From: r.from[key]})
			}
		}
	}
	return list, nil
}

// nearest is the origin of the path or of what it lies in.
func (o origins) nearest(path []string) (string, bool) {
	for n := len(path); n > 0; n-- {
		if from, ok := o[join(path[:n])]; ok {
			return from, true
		}
	}
	return "", false
}

func step(v any, path []string) any {
	for _, key := range path {
		switch x := v.(type) {
		case object:
			v = x[key]
		case []any:
			var i int
			if _, err := fmt.Sscanf(key, "%d", &i); err != nil || i < 0 || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

// knownField refuses a field of the spec that the format does not have.
func knownField(field string, path []string) error {
	if len(path) < 2 || path[0] != "spec" {
		return nil
	}
	names := fields.Names(reflect.TypeFor[v1alpha1.ClusterServiceVersionSpec]())
	if slices.Contains(names, path[1]) {
		return nil
	}
	hint := "the fields of the spec are " + strings.Join(names, ", ")
	if near := clierr.Closest(path[1], names); near != "" {
		hint = "did you mean spec." + near + "?"
	}
	return clierr.Usagef(hint, "a ClusterServiceVersion has no field %s", field)
}

// Text is the value for people: a scalar as it is, anything else as YAML.
func (e Explanation) Text() string {
	switch v := e.Value.(type) {
	case nil:
		return ""
	case string:
		return v
	case object, []any:
		if data, err := marshal(v); err == nil {
			return "\n" + strings.TrimRight(string(data), "\n")
		}
	}
	return fmt.Sprint(e.Value)
}
