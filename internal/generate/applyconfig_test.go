package generate

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/applyconfiguration"
	"sigs.k8s.io/controller-tools/pkg/genall"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host/hosttest"
)

const applyPath = "api/v1/applyconfiguration/"

// applied is the small project whose API package asks for apply
// configurations.
func applied() map[string]string {
	files := small()
	files["api/v1/group.go"] = strings.Replace(groupFile, "package v1\n", `// +kubebuilder:ac:generate=true
package v1

import "k8s.io/apimachinery/pkg/runtime/schema"

// SchemeGroupVersion is what the generated code refers to.
var SchemeGroupVersion = schema.GroupVersion{Group: "cache.example.com", Version: "v1"}
`, 1)
	files[kindPath] = strings.Replace(kindFile, "root=true\n", "root=true\n// +kubebuilder:resource:scope=Namespaced\n", 1)
	return files
}

// apply selects apply configurations alone, and everything everything.
func apply(o *Options) { o.ApplyConfigurations = true }

func everything(o *Options) {
	o.Deepcopy, o.CRDs, o.RBAC, o.Webhooks, o.ApplyConfigurations = true, true, true, true, true
}

// here makes the project's directory that of the process.
func (p *project) here(t *testing.T) *project {
	t.Helper()
	t.Chdir(p.dir)
	return p
}

// stock runs controller-tools' generator on the disk and returns what it adds.
func (p *project) stock(header string) map[string]string {
	p.t.Helper()
	before := readTree(p.t, p.dir)
	g := genall.Generator(applyconfiguration.Generator{HeaderFile: header})
	rt, err := genall.Generators{&g}.ForRootsWithConfig(&packages.Config{Dir: p.dir, Env: p.opts.Host.Environ()}, "./...")
	if err != nil {
		p.t.Fatal(err)
	}
	if rt.Run() {
		p.t.Fatal("controller-tools reports errors")
	}
	after := readTree(p.t, p.dir)
	maps.DeleteFunc(after, func(name, _ string) bool { _, old := before[name]; return old })
	own := filepath.Base(os.Args[0])
	for name, text := range after {
		p.remove(name)
		after[name] = strings.Replace(text, "by "+strings.TrimSuffix(own, filepath.Ext(own))+". DO", "by controller-gen. DO", 1)
	}
	return after
}

// TestApplyConfigurations compares with what controller-tools writes to the
// disk by itself; here nothing is written.
func TestApplyConfigurations(t *testing.T) {
	if testing.Short() {
		t.Skip("loads the types three times")
	}
	kind := applied()[kindPath]
	for name, tt := range map[string]struct {
		files   map[string]string
		want    string // a file that is there
		nightly bool
	}{
		"a kind": {want: applyPath + "api/v1/cache.go"},
		"cluster scope": {
			files: map[string]string{kindPath: strings.Replace(kind, "Namespaced", "Cluster", 1)}, want: applyPath + "api/v1/cachespec.go", nightly: true,
		},
		"a header": {files: map[string]string{DefaultHeader: "// Copyright 2026 Acme\n"}, want: applyPath + "utils.go", nightly: true},
		"elsewhere": {
			files: map[string]string{"api/v1/group.go": strings.Replace(applied()["api/v1/group.go"], "generate=true\npackage", "generate=true\n// +kubebuilder:ac:output:package=../../pkg/client\npackage", 1)},
			want:  "pkg/client/api/v1/cache.go", nightly: true,
		},
		"one type": {
			files: map[string]string{kindPath: strings.Replace(kind, "+kubebuilder:resource:scope=Namespaced", "+kubebuilder:ac:generate=true", 1)},
			want:  applyPath + "api/v1/cache.go", nightly: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.nightly {
				hosttest.LeaveToNightly(t, "loads the types twice, as other cases do")
			}
			files := applied()
			maps.Copy(files, tt.files)
			p := newProject(t, files).here(t)
			p.opts.Year = "2026"
			before := readTree(t, p.dir)
			res := p.render(apply)
			if d := cmp.Diff(before, readTree(t, p.dir)); d != "" {
				t.Fatalf("files were written (-before +after):\n%s", d)
			}
			header := ""
			if _, ok := files[DefaultHeader]; ok {
				header = DefaultHeader
			}
			got := texts(res)
			if d := cmp.Diff(p.stock(header), got); d != "" {
				t.Errorf("controller-tools (-) and Render (+) differ:\n%s", d)
			}
			if got[tt.want] == "" || !res.Applied || len(res.Warnings) > 0 {
				t.Errorf("no %s, or not applied (%t), or warnings %q", tt.want, res.Applied, res.Warnings)
			}
		})
	}
}

// TestApplyConfigurationsCompile builds what is generated, and generates again.
func TestApplyConfigurationsCompile(t *testing.T) {
	hosttest.LeaveToNightly(t, "compiles parts of client-go for what other cases compare")
	p := newProject(t, applied()).here(t)
	p.opts.CacheDir = t.TempDir()
	p.accept(p.render(everything))
	p.write("use.go", `package main

import (
	"fmt"

	v1 "example.com/apis/api/v1"
	apply "example.com/apis/api/v1/applyconfiguration/api/v1"
)

func main() {
	c := apply.Cache("a", "default").WithSpec(apply.CacheSpec().WithSize(3))
	was, err := apply.ExtractCache(&v1.Cache{}, "me")
	fmt.Println(*c.Spec.Size, was != nil, err)
}
`)
	p.goTool("vet", "./...")
	p.remove("use.go")
	// The generated code is an output, and no reason to generate again.
	if res := p.render(everything); !res.Unchanged || !res.Applied {
		t.Errorf("a second run gives %+v", res)
	}
	p.write(applyPath+"api/v1/cache.go", "package v1\n")
	if res := p.render(everything); res.Unchanged || res.Set.Len() != 1 {
		t.Errorf("a changed output is not put back: %v", res.Set.Paths())
	}
}

// TestApplyConfigurationsUnasked: projects that do not ask for them get none,
// pay nothing, and share their records with runs that left them out.
func TestApplyConfigurationsUnasked(t *testing.T) {
	leaveToLong(t)
	p := newProject(t, small()) // whatever the directory of the process
	p.opts.CacheDir = t.TempDir()
	first := p.render()
	p.accept(first)
	if res := p.render(everything); !res.Unchanged || res.Applied {
		t.Errorf("after a run for all others: %+v", res)
	}
	if res := p.render(apply); res.Set.Len() > 0 || res.Applied {
		t.Errorf("rendered %v", res.Set.Paths())
	}
	p.write("api/v1/group.go", applied()["api/v1/group.go"])
	if res := p.render(); res.Set.Len() > 0 || !res.Applied {
		t.Errorf("not selected, and rendered %v; applied %t", res.Set.Paths(), res.Applied)
	}
	if res, err := p.tryRender(everything); err == nil {
		t.Errorf("the record of a run without them served: %+v", res)
	}
}

func TestApplyConfigurationsErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("loads the types for most cases")
	}
	for name, tt := range map[string]struct {
		files  map[string]string
		change func(*Options)
		away   bool // from the project's directory
		want   string
	}{
		"another directory": {away: true, want: "only by a command that is run there"},
		"an overlay": {
			change: func(o *Options) { o.Overlay = overlay(t, map[string]string{"a.txt": "a"}) }, want: "there is an overlay",
		},
		"a place outside": {
			files: map[string]string{"api/v1/group.go": strings.Replace(applied()["api/v1/group.go"], "generate=true\npackage", "generate=true\n// +kubebuilder:ac:output:package=../../../out\npackage", 1)},
			want:  "+kubebuilder:ac:output:package=../../../out does not lie in the project",
		},
		"types that do not compile": {
			files: map[string]string{kindPath: strings.Replace(applied()[kindPath], "int32", "int33", 1)}, want: kindPath + ":18:7",
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := applied()
			maps.Copy(files, tt.files)
			p := newProject(t, files)
			if !tt.away {
				p.here(t)
			}
			_, err := p.tryRender(apply, func(o *Options) {
				if tt.change != nil {
					tt.change(o)
				}
			})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			if tt.change == nil && clierr.HintOf(err) == "" {
				t.Error("no hint")
			}
		})
	}
}

// TestApplyConfigurationsOfNothing warns of a package whose kinds the generator
// does not find.
func TestApplyConfigurationsOfNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("loads the types once more")
	}
	files := applied()
	files[kindPath] = kindFile
	p := newProject(t, files).here(t)
	res := p.render(apply)
	want := []string{"api/v1/group.go:3:1: marker +kubebuilder:ac:generate has no effect: none of the package's kinds has +kubebuilder:resource, by which they are found"}
	if d := cmp.Diff(want, res.Warnings); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
}

// TestWarningsOfApplyConfigurations are those of a run that makes them,
// whatever was recorded before it.
func TestWarningsOfApplyConfigurations(t *testing.T) {
	if testing.Short() {
		t.Skip("loads the types several times")
	}
	files := applied()
	files[kindPath] = kindFile
	plain := func(o *Options) {
		everything(o)
		o.ApplyConfigurations = false
	}
	for name, runs := range map[string][]func(*Options){
		"first without": {plain, everything, plain, everything},
		"first with":    {everything, plain, everything, plain},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "first with" {
				hosttest.LeaveToNightly(t, "loads the types as often as the other case")
			}
			p := newProject(t, files).here(t)
			p.opts.CacheDir = t.TempDir()
			for i, change := range runs {
				res := p.render(change)
				p.accept(res)
				o := Options{}
				change(&o)
				if got := len(res.Warnings); (got == 1) != o.ApplyConfigurations || got > 1 {
					t.Errorf("run %d has the warnings %q", i+1, res.Warnings)
				}
				if i > 1 && !res.Unchanged {
					t.Errorf("run %d does not use the record", i+1)
				}
			}
		})
	}
}
