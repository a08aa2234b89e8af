package migrate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestObjectFuncs holds which parameters are found to be the client's.
func TestObjectFuncs(t *testing.T) {
	const head = "package a\n\nimport (\n\t\"context\"\n\n\t\"k8s.io/apimachinery/pkg/runtime\"\n)\n\n"
	tests := map[string]struct {
		code string
		want map[string]objectFunc
	}{
		"none":            {"func f(o runtime.Object) { use(o) }\n", map[string]objectFunc{}},
		"created":         {"func f(c Client, o runtime.Object) { c.Create(context.TODO(), o) }\n", map[string]objectFunc{"f": {1: "Object"}}},
		"read":            {"func f(c Client, k Key, o runtime.Object) { c.Get(context.TODO(), k, o) }\n", map[string]objectFunc{"f": {2: "Object"}}},
		"listed":          {"func f(o runtime.Object) { c.List(context.TODO(), o) }\n", map[string]objectFunc{"f": {0: "ObjectList"}}},
		"through another": {"func f(o runtime.Object) { g(1, o) }\n\nfunc g(n int, o runtime.Object) { c.Update(context.TODO(), o) }\n", map[string]objectFunc{"f": {0: "Object"}, "g": {1: "Object"}}},
		"without context": {"func f(o runtime.Object) { store.Create(1, o) }\n", map[string]objectFunc{}},
		"another type":    {"func f(o *Pod) { c.Create(context.TODO(), o) }\n", map[string]objectFunc{}},
		"not a parameter": {"func f(o runtime.Object) { p := New(); c.Create(context.TODO(), p); use(o) }\n", map[string]objectFunc{"New": {resultIndex: "Object"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMigration(map[string]string{"a/a.go": head + test.code, "a/broken.go": "package", "a/notes.txt": "x", "b/b.go": head + "func other(o runtime.Object) { c.Create(context.TODO(), o) }\n"})
			if d := cmp.Diff(test.want, m.objectFuncs("a")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
