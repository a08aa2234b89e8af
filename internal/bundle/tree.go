package bundle

import (
	"fmt"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// object is a mapping of YAML or JSON: map[string]any, []any and scalars.
type object = map[string]any

// at returns what stands at the path, or nil.
func at(m object, path ...string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(m, path...) // below what is no mapping there is nothing
	return v
}

// mapAt is at for a mapping; anything else is like nothing, here and in the next
// two: what is wrong with an object is for the API server and the validators to
// say.
func mapAt(m object, path ...string) object {
	v, _ := at(m, path...).(object)
	return v
}

// listAt is at for a sequence.
func listAt(m object, path ...string) []any {
	v, _ := at(m, path...).([]any)
	return v
}

// textAt is at for a text.
func textAt(m object, path ...string) string {
	v, _ := at(m, path...).(string)
	return v
}

// objectsAt are the mappings of the sequence at the path.
func objectsAt(m object, path ...string) []object {
	var out []object
	for _, item := range listAt(m, path...) {
		if o, ok := item.(object); ok {
			out = append(out, o)
		}
	}
	return out
}

// put sets what stands at the path and makes the mappings above it.
func put(m object, value any, path ...string) {
	for _, key := range path[:len(path)-1] {
		next, ok := m[key].(object)
		if !ok {
			next = object{}
			m[key] = next
		}
		m = next
	}
	m[path[len(path)-1]] = value
}

func anys[T any](list []T) []any {
	out := make([]any, 0, len(list))
	for _, v := range list {
		out = append(out, v)
	}
	return out
}

// number reads what YAML and JSON make of a whole number.
func number(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case int:
		return int64(n), true
	case float64:
		return int64(n), n == float64(int64(n))
	}
	return 0, false
}

// empty reports whether v says nothing.
func empty(v any) bool {
	switch x := v.(type) {
	case nil:
		return true
	case string:
		return x == ""
	case []any:
		return len(x) == 0
	case object:
		return len(x) == 0
	}
	return false
}

// marshal writes v as every Kubernetes tool does: keys sorted, long texts folded.
func marshal(v any) ([]byte, error) {
	data, err := yaml.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return data, nil
}

// fileName is the name of an object's file in manifests/, as operator-sdk
// names it: <plural>.<group> for a CRD, else name_group_version_kind.
func fileName(u *unstructured.Unstructured) string {
	if IsCRD(u) {
		group, plural := textAt(u.Object, "spec", "group"), textAt(u.Object, "spec", "names", "plural")
		if group != "" && plural != "" {
			return group + "_" + plural + ".yaml"
		}
	}
	gvk := u.GroupVersionKind()
	parts := []string{notInNames.ReplaceAllString(u.GetName(), "-"), gvk.Group, gvk.Version, strings.ToLower(gvk.Kind)}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "_") + ".yaml"
}

// notInNames is what a name such as system:x, which RBAC permits, has and a file's has not.
var notInNames = lazy.Delayed(`[:/\\*?"<>|]`)
