package v4

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// The kinds must be Go types of k8s.io/api in the version of the scaffold.
func TestBuiltinsAreInTheAPIModule(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	if err != nil {
		t.Fatalf("finding k8s.io/api: %v", err)
	}
	root := strings.TrimSpace(string(out))
	for _, b := range builtins() {
		dir := filepath.Join(root, filepath.FromSlash(strings.TrimPrefix(b.path(), "k8s.io/api/")))
		types, group := declarations(t, dir)
		want := resource.GVK{Group: b.group, Domain: b.domain}.QualifiedGroup()
		if want == "core" {
			want = ""
		}
		if group != want {
			t.Errorf("%s: the group is %q, want %q", b.path(), group, want)
		}
		for _, kind := range b.all() {
			cluster, ok := types[kind]
			if _, list := types[kind+"List"]; !ok || !list {
				t.Errorf("%s has no %s", b.path(), kind)
			}
			if got := ClusterScoped(b.group, b.domain, kind); got != cluster {
				t.Errorf("%s %s is cluster-scoped: %t, want %t", b.path(), kind, got, cluster)
			}
		}
	}
}

// declarations returns the types of a package, with whether the client's generator
// is told that objects are in no namespace, and its constant GroupName.
func declarations(t *testing.T, dir string) (types map[string]bool, group string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	types = map[string]bool{}
	for _, name := range names {
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for decl, spec := range goedit.Types(tree) {
			above := commentsAbove(&goedit.File{Fset: fset, Tree: tree}, decl)
			types[spec.Name.Name] = slices.ContainsFunc(above, func(c *ast.Comment) bool {
				return c.Text == "// +genclient:nonNamespaced"
			})
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && v.Names[0].Name == "GroupName" {
				group = strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`)
			}
			return true
		})
	}
	return types, group
}

func TestBuiltInGroup(t *testing.T) {
	for qualified, want := range map[string]string{
		"apps": "apps", "core": "core", "networking.k8s.io": "networking", "rbac.authorization.k8s.io": "rbac.authorization",
		"networking": "", "gateway.networking.k8s.io": "", "metrics.k8s.io": "", "apps.k8s.io": "", "k8s.io": "", "": "",
	} {
		if got, ok := BuiltInGroup(qualified); got != want || ok != (want != "") {
			t.Errorf("BuiltInGroup(%q) = %q, %t, want %q", qualified, got, ok, want)
		}
	}
}
