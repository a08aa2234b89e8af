package generate

import (
	"errors"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/fileset"
)

// TestTree lays an overlay over a directory.
func TestTree(t *testing.T) {
	root := t.TempDir()
	p := &project{t: t, dir: root}
	p.write("a.go", "disk")
	p.write("b.go", "disk")
	p.write("sub/c.go", "disk")
	if err := os.Symlink(filepath.Join(root, "sub"), filepath.Join(root, "link")); err != nil {
		t.Skip("no symbolic links here")
	}
	if err := os.Symlink(filepath.Join(root, "a.go"), filepath.Join(root, "link.go")); err != nil {
		t.Fatal(err)
	}
	tr := newTree(root, overlay(t, map[string]string{"b.go": "new", "sub/c.go": "", "new/deep/d.go": "new", "go.mod": "new"}))

	lists := map[string][]entry{
		".":        {{name: "a.go"}, {name: "b.go"}, {name: "go.mod"}, {name: "link", link: true}, {name: "link.go"}, {name: "new", dir: true}, {name: "sub", dir: true}},
		"sub":      {},
		"new":      {{name: "deep", dir: true}},
		"new/deep": {{name: "d.go"}},
	}
	for dir, want := range lists {
		got, err := tr.list(dir)
		if err != nil {
			t.Errorf("list %s: %v", dir, err)
		}
		if diff := cmp.Diff(append([]entry{}, want...), append([]entry{}, got...), cmp.AllowUnexported(entry{})); diff != "" {
			t.Errorf("list %s:\n%s", dir, diff)
		}
	}
	if _, err := tr.list("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("list of a missing directory: %v", err)
	}
	for name, want := range map[string]string{"a.go": "disk", "b.go": "new", "./b.go": "new", "sub/c.go": "", "new/deep/d.go": "new", "x.go": ""} {
		data, err := tr.read(name)
		if got := string(data); got != want || (want == "") != errors.Is(err, fs.ErrNotExist) {
			t.Errorf("read %s: %q, %v", name, got, err)
		}
		if tr.exists(name) != (want != "") {
			t.Errorf("exists %s: %t", name, tr.exists(name))
		}
	}
	want := map[string][]byte{
		filepath.Join(root, "b.go"): []byte("new"), filepath.Join(root, "new/deep/d.go"): []byte("new"),
		filepath.Join(root, "go.mod"): []byte("new"), filepath.Join(root, "sub/c.go"): []byte(removedSource),
	}
	if diff := cmp.Diff(want, tr.goOverlay()); diff != "" {
		t.Errorf("overlay for the go command:\n%s", diff)
	}
}

// TestTyped selects the packages that need types.
func TestTyped(t *testing.T) {
	const metas = "import metav1 \"" + metav1Path + "\"\n\ntype Stray struct {\n\tmetav1.TypeMeta\n\tmetav1.ObjectMeta\n}\n"
	tests := map[string]struct {
		text string
		want bool
	}{
		"a group":                     {"// +groupName=x\npackage p\n", true},
		"deepcopy for the package":    {"//+kubebuilder:object:generate=true\npackage p\n", true},
		"deepcopy for a type":         {"package p\n\n// +kubebuilder:object:root=true\ntype T struct{}\n", true},
		"deepcopy as it was":          {"// +k8s:deepcopy-gen=package\npackage p\n", true},
		"a kind":                      {"package p\n\n" + metas, true},
		"a name of a kind":            {"package p\n\ntype Stray struct{}\n", true},
		"a list is no kind":           {"package p\n\nimport metav1 \"" + metav1Path + "\"\n\ntype L struct {\n\tmetav1.TypeMeta\n\tmetav1.ListMeta\n}\n", false},
		"fields with names":           {"package p\n\nimport metav1 \"" + metav1Path + "\"\n\ntype L struct {\n\tA metav1.TypeMeta\n\tB metav1.ObjectMeta\n}\n", false},
		"other packages' names":       {"package p\n\ntype L struct {\n\tTypeMeta\n\tObjectMeta\n}\n", false},
		"dot import":                  {"package p\n\nimport . \"" + metav1Path + "\"\n\ntype L struct {\n\tTypeMeta\n\tObjectMeta\n}\n", true},
		"markers that need no types":  {"package p\n\n// +kubebuilder:rbac:groups=a,verbs=get\n", false},
		"a marker's name in the text": {"package p\n\n// Use +groupName=x for a group.\nvar x int\n", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var pkgs []*sourcePackage
			for dir, text := range map[string]string{"loose": "package loose\n\n" + metas, "p": tt.text} {
				f, err := parseFile(token.NewFileSet(), "/"+dir+"/a.go", []byte(text))
				if err != nil {
					t.Fatal(err)
				}
				pkgs = append(pkgs, &sourcePackage{dir: dir, files: []*sourceFile{{ast: f}}})
			}
			got := false
			for _, p := range typed(pkgs) {
				got = got || p.dir == "p"
			}
			if got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}

func TestIgnores(t *testing.T) {
	m := &module{dir: "/m", ignore: []string{"./tools", "third/party", "gen"}}
	for dir, want := range map[string]bool{
		"/m/tools": true, "/m/a/tools": false, "/m/third/party": true, "/m/a/third/party": true, "/m/party": false, "/m/gen": true, "/m/agen": false,
	} {
		if got := m.ignores(filepath.FromSlash(dir)); got != want {
			t.Errorf("%s: %t, want %t", dir, got, want)
		}
	}
}

func TestOpenOutside(t *testing.T) {
	dir := t.TempDir()
	(&project{t: t, dir: dir}).write("x.txt", "outside")
	r, err := newTree(t.TempDir(), fileset.Set{}).OpenForRead(filepath.Join(dir, "x.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
