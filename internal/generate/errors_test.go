package generate

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
)

// noPrograms is an Exec without any program in PATH.
type noPrograms struct{ host.Exec }

func (noPrograms) LookPath(name string) (string, error) {
	return "", fmt.Errorf("%q: executable file not found", name)
}

// problemsOf returns what a SourceError lists.
func problemsOf(t *testing.T, err error) []string {
	t.Helper()
	var source *SourceError
	if !errors.As(err, &source) {
		t.Fatalf("%v is no SourceError", err)
	}
	var out []string
	for _, p := range source.problems {
		out = append(out, p.String())
	}
	return out
}

// TestSourceErrors checks that whatever is wrong with the Go code comes once,
// with its place, and without what follows from it.
func TestSourceErrors(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		want  []string
	}{
		"syntax, in every package": {
			files: map[string]string{
				kindPath:                       kindFile + "\ntype Broken struct {\n\tA int B }\n",
				"internal/controller/cache.go": "package controller\n\nfunc (\n",
			},
			want: []string{
				kindPath + ":21:8: expected ';', found B",
				"internal/controller/cache.go:3:8: expected '(', found 'EOF'",
			},
		},
		"undefined type": {
			files: map[string]string{kindPath: strings.Replace(kindFile, "Size int32", "Size Sise", 1)},
			want:  []string{kindPath + ":17:7: undefined: Sise"},
		},
		"undefined name of a package": {
			files: map[string]string{kindPath: strings.Replace(kindFile, "Size int32", "Size metav1.Sise", 1)},
			want:  []string{kindPath + ":17:14: undefined: metav1.Sise"},
		},
		"type declared twice": {
			files: map[string]string{"api/v1/again.go": "package v1\n\ntype CacheSpec struct{}\n"},
			want:  []string{kindPath + ":16:6: CacheSpec redeclared in this block"},
		},
		"no json tag": {
			files: map[string]string{kindPath: strings.Replace(kindFile, "`json:\"size\"`", "", 1)},
			want:  []string{kindPath + `:17:2: encountered struct field "Size" without JSON tag in type "CacheSpec"`},
		},
		"generic instance": {
			files: map[string]string{kindPath: strings.Replace(kindFile, "Size int32", "Size Of[int32]", 1) +
				"\n// Of is generic.\n// +kubebuilder:object:generate=false\ntype Of[T any] struct {\n\tV T `json:\"v\"`\n}\n"},
			want: []string{kindPath + ":17:7: a CRD cannot describe an instance of a generic type; declare a type of its own"},
		},
		"float": {
			files: map[string]string{kindPath: strings.Replace(kindFile, "Size int32", "Size float64", 1)},
			want: []string{kindPath + ":17:7: found float, the usage of which is highly discouraged, as support for them varies " +
				"across languages. Please consider serializing your float as string instead. If you are really sure you want to " +
				"use them, re-run with crd:allowDangerousTypes=true"},
		},
		"no storage version": {
			files: map[string]string{
				"api/v2/group.go":       strings.Replace(groupFile, "package v1", "package v2", 1),
				"api/v2/cache_types.go": strings.Replace(kindFile, "package v1", "package v2", 1),
			},
			want: []string{kindPath + ":8:6: CRD for Cache.cache.example.com has no storage version; mark the type of one with +kubebuilder:storageversion"},
		},
		"missing module": {
			files: map[string]string{kindPath: strings.Replace(kindFile, "import ", "import _ \"example.org/missing\"\nimport ", 1)},
			want:  []string{kindPath + ":3:8: no required module provides package example.org/missing; to add it:\n\tgo get example.org/missing"},
		},
		"webhook without what it needs": {
			files: map[string]string{"internal/webhook.go": "package internal\n\n// +kubebuilder:webhook:path=/x,mutating=true," +
				"failurePolicy=fail,groups=apps,resources=deployments,verbs=create,versions=v1,name=x.example.com,admissionReviewVersions=v1\n"},
			want: nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && !strings.HasPrefix(name, "syntax") && !strings.HasPrefix(name, "undefined") {
				t.Skip("type-checks an API")
			}
			p := newProject(t, small())
			for file, text := range tt.files {
				p.write(file, text)
			}
			res, err := p.tryRender()
			if err == nil || res.Set.Len() > 0 {
				t.Fatalf("no error, rendered %v", res.Set.Paths())
			}
			if tt.want == nil {
				if want := "generate webhook: SideEffects is required"; !strings.HasPrefix(err.Error(), want) {
					t.Errorf("got %v, want %s", err, want)
				}
				return
			}
			if diff := cmp.Diff(tt.want, problemsOf(t, err)); diff != "" {
				t.Errorf("errors:\n%s", diff)
			}
			if clierr.HintOf(err) == "" {
				t.Error("no hint")
			}
		})
	}
}

// TestLoadError holds that what the go command downloads is not taken for its error.
func TestLoadError(t *testing.T) {
	err := &loadError{errors.New("err: exit status 1: stderr: go: downloading example.com/x v1.0.0\ngo: downloading example.com/y v1.0.0\ngo: updates to go.mod needed\n")}
	if got, want := err.Error(), "generate: load packages: updates to go.mod needed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestModuleErrors has go.mod and go.sum in states that the go command refuses.
func TestModuleErrors(t *testing.T) {
	p := newProject(t, small())
	mod := readFile(t, filepath.Join(p.dir, "go.mod"))
	sum := readFile(t, filepath.Join(p.dir, "go.sum"))
	p.write("go.work", "go 1.24\n")
	tests := map[string]struct {
		mod, sum, want, hint string
		env                  []string
	}{
		"no module":    {"", "", "generate: go.mod has no module line", "", nil},
		"not a go.mod": {"module \"x", "", "generate: go.mod:1:", "", nil},
		"unknown directive": {"module x\n\nfoo bar\n", "",
			"generate: load packages: errors parsing go.mod:\ngo.mod:3: unknown directive: foo", "go list", nil},
		"no requirements": {"module example.com/apis\n\ngo 1.24\n", "",
			"generate: " + kindPath + ":3:8: no required module provides package " + metav1Path, "go mod tidy", nil},
		"no checksums": {mod, "", "generate: " + kindPath + ":3:8: missing go.sum entry for module providing package " + metav1Path, "go mod tidy", nil},
		"workspace":    {mod, sum, "generate: no required module provides package", "go work use", []string{"GOWORK=" + filepath.Join(p.dir, "go.work")}},
		"no downloads": {mod, sum, "generate: " + kindPath + ":3:8: module lookup disabled", "go mod download", []string{"GOPROXY=off", "GOMODCACHE=" + t.TempDir()}},
		"not vendored": {mod, sum, "generate: load packages: inconsistent vendoring", "go mod vendor", []string{"GOFLAGS=-mod=vendor"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p.write("go.mod", tt.mod)
			p.write("go.sum", tt.sum)
			_, err := p.tryRender(func(o *Options) {
				env := append(append(o.Host.Environ(), "GOWORK=off"), tt.env...)
				o.Host.Environ = func() []string { return env }
			})
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Count(err.Error(), "\n") > 20 {
				t.Fatalf("got %v, want %s", err, tt.want)
			}
			if hint := clierr.HintOf(err); !strings.Contains(hint, tt.hint) {
				t.Errorf("hint %q lacks %q", hint, tt.hint)
			}
		})
	}
}

// TestNoFalseErrors has code that compiles once the deepcopy code is there,
// and that the partial type check sees errors in.
func TestNoFalseErrors(t *testing.T) {
	leaveToLong(t)
	p := newProject(t, small())
	p.write("api/v1/more.go", `package v1

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

var (
	_ runtime.Object = &Cache{}
	// SchemeBuilder adds the types to a scheme.
	SchemeBuilder = &scheme.Builder{}
	printed       = fmt.Sprint("a")
)

// Handler serves.
// +kubebuilder:object:generate=false
type Handler interface {
	Serve(w http.ResponseWriter, r *http.Request)
}

// Copier is made of what is generated.
// +kubebuilder:object:generate=false
type Copier interface {
	runtime.Object
	DeepCopy() *Cache
}

// Of needs generated methods of its argument.
// +kubebuilder:object:generate=false
type Of[T runtime.Object] struct{ v T }

// OfCache has one.
// +kubebuilder:object:generate=false
type OfCache = Of[*Cache]
`)
	// Checked before what its interface needs, which is loaded for another type.
	p.write("store/store.go", `// +kubebuilder:object:generate=true
package store

import "time"

// Store keeps an item.
// +kubebuilder:object:generate=false
type Store interface {
	Keep(d time.Duration) error
}

// Item is kept.
type Item struct{ Name string }
`)
	p.write("api/v1/late.go", `package v1

import "time"

// Late has a field of a package that few others need.
type Late struct {
	Every time.Duration
}
`)
	p.render()
}

// TestDotImports has a file with several, each of which names come from.
func TestDotImports(t *testing.T) {
	leaveToLong(t)
	newProject(t, map[string]string{"api/v1/group.go": groupFile, "api/v1/shop.go": `package v1

import (
	. "k8s.io/api/core/v1"
	. "k8s.io/apimachinery/pkg/util/intstr"
)

// ShopSpec is a pod with a port.
type ShopSpec struct {
	Pod  PodSpec
	Port IntOrString
}
`}).render()
}

func TestSourceErrorText(t *testing.T) {
	tests := map[string]struct {
		problems []problem
		want     string
	}{
		"one":           {[]problem{{"a.go", 1, 2, "bad"}}, "generate: a.go:1:2: bad"},
		"no column":     {[]problem{{"a.go", 1, 0, "bad"}}, "generate: a.go:1: bad"},
		"no place":      {[]problem{{msg: "bad"}}, "generate: bad"},
		"several lines": {[]problem{{"a.go", 1, 2, "bad"}, {"b.go", 3, 4, "worse\nmore"}}, "generate: 2 errors\n  a.go:1:2: bad\n  b.go:3:4: worse\n  more"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := (&SourceError{tt.problems}).Error(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTidy(t *testing.T) {
	got := tidy([]problem{{"b.go", 1, 1, "x"}, {"a.go", 9, 1, "y"}, {"b.go", 1, 1, "x"}, {"a.go", 2, 1, "z"}})
	want := []problem{{"a.go", 2, 1, "z"}, {"a.go", 9, 1, "y"}, {"b.go", 1, 1, "x"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(problem{})); diff != "" {
		t.Error(diff)
	}
}

func TestPosition(t *testing.T) {
	tests := map[string]struct {
		in   string
		want string
	}{
		"full":       {"/a/b.go:3:4", "/a/b.go:3:4"},
		"no column":  {"/a/b.go:3", "/a/b.go:3"},
		"file only":  {"/a/b.go", "/a/b.go"},
		"package":    {"example.com/x:-", "example.com/x"},
		"windows":    {`C:\a\b.go:3:4`, `C:\a\b.go:3:4`},
		"no place":   {"-", "-"},
		"no text":    {"", "-"},
		"only colon": {":", ":"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := position(tt.in).String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
