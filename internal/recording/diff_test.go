package recording

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestDiff(t *testing.T) {
	tests := map[string]struct {
		before, after string
		want          []string
	}{
		"nothing":       {"a: 1", "a: 1", nil},
		"server's own":  {"metadata: {resourceVersion: '1', generation: 1, managedFields: [1]}", "metadata: {resourceVersion: '2', generation: 2, managedFields: [2]}", nil},
		"fields":        {"spec: {a: 1, b: x}", "spec: {a: 2, c: {d: true}}", []string{"spec.a: 1 → 2", "spec.b: x → <nil>", "spec.c: <nil> → map[d:true]"}},
		"by name":       {"c: [{name: a, v: 1}, {name: b, v: 2}]", "c: [{name: b, v: 3}, {name: d}]", []string{"c[b].v: 2 → 3", "c[d]: <nil> → map[name:d]", "c[a]: map[name:a v:1] → <nil>"}},
		"order":         {"c: [{name: a, v: 1}, {name: b, v: 2}]", "c: [{name: b, v: 2}, {name: a, v: 1}]", []string{"c: [a b] → [b a]"}},
		"by index":      {"c: [1, 2]", "c: [1, 3]", []string{"c[1]: 2 → 3"}},
		"other length":  {"c: [1, 2]", "c: [1]", []string{"c: [1 2] → [1]"}},
		"other type":    {"c: [1]", "c: {a: 1}", []string{"c: [1] → map[a:1]"}},
		"from nothing":  {"{}", "metadata: {labels: {a: b}}", []string{"metadata: <nil> → map[labels:map[a:b]]"}},
		"cut":           {"a: b", "a: " + strings.Repeat("x", 2*maxText), []string{"a: b → " + strings.Repeat("x", maxText) + "…"}},
		"cut in a rune": {"a: b", "a: x" + strings.Repeat("é", maxText), []string{"a: b → x" + strings.Repeat("é", maxText/2-1) + "…"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range Diff(object(t, tc.before), object(t, tc.after)) {
				got = append(got, fmt.Sprintf("%s: %v → %v", c.Path, c.Old, c.New))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestChange_Text(t *testing.T) {
	tests := map[string]struct {
		before, after any
		want          string
	}{
		"value":          {1, 2, "1 → 2"},
		"nothing before": {nil, []any{"a"}, `none → ["a"]`},
		"cut":            {"0123456789", nil, `"012345678… → none`},
		"one more":       {[]any{"a-long-name", "b"}, []any{"a-long-name", "b", "c"}, `added ["c"]`},
		"one less":       {[]any{"a-long-name", "b"}, []any{"b"}, `removed ["a-long-n…`},
		"one for two":    {[]any{"a", "b", "c"}, []any{"b", "d"}, `removed ["a","c"], added ["d"]`},
		"order":          {[]any{"a", "b"}, []any{"b", "a"}, `["a","b"] → ["b","a"]`},
		"one twice":      {[]any{"a"}, []any{"a", "a"}, `["a"] → ["a","a"]`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			const most = 10
			if got := (Change{Old: tc.before, New: tc.after}).Text(most); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestRedact: no value of a Secret is in what is kept, and that one has changed is.
func TestRedact(t *testing.T) {
	const secret = "data: {a: cGFzc3dvcmQ=, b: c2FtZQ==}\nstringData: {c: password}\nmetadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{\"data\":\"cGFzc3dvcmQ=\"}'}}"
	before := object(t, secret)
	after := object(t, strings.Replace(secret, "cGFzc3dvcmQ=, b", "bmV3, b", 1))
	salt := []byte("salt")
	changes := Diff(Redact("Secret", before, salt), Redact("Secret", after, salt))
	if len(changes) != 1 || changes[0].Path != "data.a" {
		t.Errorf("changes: %+v", changes)
	}
	for _, kept := range []any{changes, Redact("Secret", before, salt)} {
		for _, leak := range []string{"cGFzc3dvcmQ=", "bmV3", "password"} {
			if strings.Contains(fmt.Sprint(kept), leak) {
				t.Errorf("%s leaks in %v", leak, kept)
			}
		}
	}
	if fmt.Sprint(Redact("Secret", before, salt)) == fmt.Sprint(Redact("Secret", before, []byte("other"))) {
		t.Error("hashes do not depend on the salt")
	}
	if diff := cmp.Diff(object(t, secret), before); diff != "" {
		t.Errorf("the object itself was changed:\n%s", diff)
	}
	if other := Redact("ConfigMap", before, salt); fmt.Sprint(other) != fmt.Sprint(before) {
		t.Error("a ConfigMap was redacted")
	}
}
