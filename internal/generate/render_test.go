package generate

import (
	"context"
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host/hosttest"
)

const (
	groupFile = "// +kubebuilder:object:generate=true\n// +groupName=cache.example.com\npackage v1\n"
	kindFile  = `package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:object:root=true

// Cache is a kind.
type Cache struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `

	Spec CacheSpec ` + "`json:\"spec\"`" + `
}

// CacheSpec is what is wanted.
type CacheSpec struct {
	Size int32 ` + "`json:\"size\"`" + `
}
`
	rbacFile = "package controller\n\n// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get\n"

	kindPath = "api/v1/cache_types.go"
	crdPath  = "config/crd/bases/cache.example.com_caches.yaml"
	codePath = "api/v1/zz_generated.deepcopy.go"
	rolePath = "config/rbac/role.yaml"
)

// small is a project with one kind and one RBAC marker.
func small() map[string]string {
	return map[string]string{"api/v1/group.go": groupFile, kindPath: kindFile, "internal/controller/cache.go": rbacFile}
}

func overlay(t testing.TB, files map[string]string) fileset.Set {
	t.Helper()
	var s fileset.Set
	for name, text := range files {
		if err := s.Put(name, fileset.File{Data: []byte(text), Removed: text == ""}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestOverlay renders a project that is not on disk yet, as create api does.
func TestOverlay(t *testing.T) {
	onDisk := newProject(t, small())
	want := texts(onDisk.render())
	if len(want) != 3 {
		t.Fatalf("rendered %v", want)
	}

	p := newProject(t, nil)
	got := texts(p.render(func(o *Options) { o.Overlay = overlay(t, small()) }))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("from disk (-) and from the overlay (+):\n%s", diff)
	}
}

// TestOverlayOverDisk has the overlay replace one file, remove another and
// bring an output.
func TestOverlayOverDisk(t *testing.T) {
	leaveToLong(t)
	p := newProject(t, small())
	p.write("api/v1/gone.go", strings.ReplaceAll(kindFile, "Cache", "Gone"))
	p.accept(p.render())

	changed := strings.Replace(kindFile, "Size int32", "Size int64", 1)
	res := p.render(func(o *Options) {
		o.Overlay = overlay(t, map[string]string{kindPath: changed, "api/v1/gone.go": "", rolePath: "old"})
	})
	if diff := cmp.Diff([]string{codePath, crdPath, rolePath}, res.Set.Paths()); diff != "" {
		t.Fatalf("changed files:\n%s", diff)
	}
	got := texts(res)
	if !strings.Contains(got[crdPath], "int64") || strings.Contains(got[crdPath], "int32") {
		t.Errorf("the CRD is not that of the overlay:\n%s", got[crdPath])
	}
	if strings.Contains(got[codePath], "Gone") {
		t.Errorf("the removed file is still in the deepcopy code:\n%s", got[codePath])
	}
	want := []string{"config/crd/bases/cache.example.com_gones.yaml: no type in the project generates this CRD; " +
		"remove it and its line in config/crd/kustomization.yaml"}
	if diff := cmp.Diff(want, res.Warnings); diff != "" {
		t.Errorf("warnings:\n%s", diff)
	}
}

func TestUnlistedCRDs(t *testing.T) {
	const name = "config/crd/bases/cache.example.com_caches.yaml"
	for what, tt := range map[string]struct {
		files map[string]string
		want  int
	}{
		"listed":             {map[string]string{"config/crd/kustomization.yaml": "resources:\n- bases/cache.example.com_caches.yaml\n"}, 0},
		"another one":        {map[string]string{"config/crd/kustomization.yaml": "resources:\n- bases/cache.example.com_memcacheds.yaml\n"}, 1},
		"no kustomization":   {nil, 0},
		"one of all of them": {map[string]string{"config/crd/kustomization.yaml": "resources:\n- bases\n", "config/crd/bases/kustomization.yaml": "resources: []\n"}, 0},
	} {
		t.Run(what, func(t *testing.T) {
			got := unlistedCRDs(newTree(t.TempDir(), overlay(t, tt.files)), crdDir, []string{"config/rbac/role.yaml", name})
			if len(got) != tt.want || tt.want > 0 && !strings.HasPrefix(got[0], name+": config/crd/kustomization.yaml does not list this CRD") {
				t.Errorf("got %q, want %d", got, tt.want)
			}
		})
	}
}

func TestSelection(t *testing.T) {
	leaveToLong(t)
	p := newProject(t, small())
	tests := map[string]struct {
		change func(*Options)
		want   []string
	}{
		"deepcopy": {func(o *Options) { o.Deepcopy = true }, []string{codePath}},
		"crds":     {func(o *Options) { o.CRDs = true }, []string{crdPath}},
		"rbac":     {func(o *Options) { o.RBAC = true }, []string{rolePath}},
		"webhooks": {func(o *Options) { o.Webhooks = true }, nil},
		"nothing selected is all, in one directory": {
			func(o *Options) { o.Calls = every("./internal/controller") }, []string{rolePath}},
		"a tree":                   {func(o *Options) { o.Calls = every("./api/...") }, []string{codePath, crdPath}},
		"a directory, not a tree":  {func(o *Options) { o.Calls = every("api") }, nil},
		"a directory and its tree": {func(o *Options) { o.Calls = every("api", "./api/...") }, []string{codePath, crdPath}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			res := p.render(tt.change)
			if diff := cmp.Diff(tt.want, res.Set.Paths()); diff != "" {
				t.Errorf("outputs:\n%s", diff)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	if testing.Short() {
		t.Skip("type-checks an API for each option")
	}
	p := newProject(t, small())
	p.write("hack/boilerplate.go.txt", "// Copyright YEAR The Authors.")
	p.write("other.txt", "// Other.")
	tests := map[string]struct {
		change   func(*Options)
		file     string
		has, not string
	}{
		"the default header with its year": {func(o *Options) { o.Year = "2026" }, codePath, "// Copyright 2026 The Authors.", "YEAR"},
		"the year of a call": {func(o *Options) {
			o.Year = "2026"
			o.Calls = calls("object:year=YEAR,headerFile=hack/boilerplate.go.txt paths=./...")
		}, codePath, "// Copyright 2026 The Authors.", "YEAR"},
		"a header":        {func(o *Options) { o.Calls = calls("object:headerFile=other.txt paths=./...") }, codePath, "// Other.", "Copyright"},
		"a role name":     {func(o *Options) { o.Calls = calls("rbac:roleName=boss paths=./...") }, rolePath, "name: boss", DefaultRoleName},
		"no descriptions": {func(o *Options) { o.Calls = calls("crd:maxDescLen=0 paths=./... output:dir=config/crd/bases") }, crdPath, "type: integer", "description:"},
		"descriptions":    {func(*Options) {}, crdPath, "description: CacheSpec is what is wanted.", "(devel)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := texts(p.render(tt.change))[tt.file]
			if !strings.Contains(got, tt.has) || strings.Contains(got, tt.not) {
				t.Errorf("want %q and not %q in:\n%s", tt.has, tt.not, got)
			}
		})
	}
}

// TestBadOptions are refused before anything is loaded.
func TestBadOptions(t *testing.T) {
	tests := map[string]struct {
		change func(*Options)
		want   string
		code   int
	}{
		"relative directory": {func(o *Options) { o.Dir = "here" }, `project directory "here" is not absolute`, clierr.CodeUsage},
		"no header":          {func(o *Options) { o.Calls = calls("object:headerFile=none.txt paths=./...") }, "header file none.txt does not exist", clierr.CodeUsage},
		"outside":            {func(o *Options) { o.Calls = every("../other/...") }, "does not lie below the project", clierr.CodeUsage},
		"absolute":           {func(o *Options) { o.Calls = every("/etc") }, "does not lie below the project", clierr.CodeUsage},
		"no such directory":  {func(o *Options) { o.Calls = every("./apis/...") }, "no directory apis in", clierr.CodeUsage},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := newProject(t, nil).tryRender(tt.change)
			if err == nil || !strings.Contains(err.Error(), tt.want) || clierr.CodeOf(err) != tt.code {
				t.Errorf("got %v (code %d), want %q (code %d)", err, clierr.CodeOf(err), tt.want, tt.code)
			}
		})
	}
}

func TestNoGo(t *testing.T) {
	p := newProject(t, small())
	p.opts.Host.Exec = noPrograms{p.opts.Host.Exec}
	_, err := p.tryRender()
	if err == nil || !strings.Contains(err.Error(), "the go command is not in PATH") {
		t.Fatalf("got %v", err)
	}
	if hint := clierr.HintOf(err); !strings.Contains(hint, "https://go.dev/dl/") {
		t.Errorf("hint %q", hint)
	}
}

func TestNoModule(t *testing.T) {
	w := hosttest.New(t)
	_, err := Render(t.Context(), Options{Host: w.Host, Dir: w.Dir})
	if err == nil || !strings.Contains(err.Error(), "no go.mod in") || clierr.HintOf(err) == "" {
		t.Errorf("got %v, hint %q", err, clierr.HintOf(err))
	}
}

func TestInterrupted(t *testing.T) {
	p := newProject(t, small())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Render(ctx, p.opts)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestStale looks at outputs that nothing accounts for any more.
func TestStale(t *testing.T) {
	leaveToLong(t)
	p := newProject(t, small())
	p.accept(p.render())
	p.write("config/webhook/manifests.yaml", "kind: MutatingWebhookConfiguration\n")
	p.write("config/crd/bases/external.yaml", "kind: CustomResourceDefinition\n")
	p.write(kindPath, "package v1\n")
	p.write("internal/controller/cache.go", "package controller\n")

	res := p.render()
	if res.Set.Len() != 0 {
		t.Errorf("files are written: %v", res.Set.Paths())
	}
	var got []string
	for _, w := range res.Warnings {
		file, _, _ := strings.Cut(w, ":")
		got = append(got, file)
	}
	if diff := cmp.Diff([]string{crdPath, "config/webhook/manifests.yaml"}, got); diff != "" {
		t.Errorf("stale outputs:\n%s", diff)
	}
	p.write("internal/controller/cache.go", "package controller\n\n// +kubebuilder:webhook:path=/x,mutating=true,failurePolicy=fail,sideEffects=None,groups=x,resources=y,verbs=create,versions=v1,name=x.x.x,admissionReviewVersions=v1\nvar hook int\n")
	if w := p.render().Warnings; len(w) != 3 || !strings.HasSuffix(w[2], "manifests.yaml: stays as it is, because of the +kubebuilder:webhook markers above that have no effect") {
		t.Errorf("with a marker that has no effect: %q", w)
	}
	if res := p.render(func(o *Options) { o.Calls = every("./api/...") }); len(res.Warnings) > 0 {
		t.Errorf("a part of the project cannot tell what is stale: %v", res.Warnings)
	}
}

// TestEmptyCRD warns about the file that controller-gen writes for a kind
// without versions.
func TestEmptyCRD(t *testing.T) {
	opts := Options{jobs: []job{{name: crdName, config: "crds"}}}
	w := workspace{Options: opts, tree: newTree(t.TempDir(), fileset.Set{})}
	got, _, err := w.staleOutputs([]string{"crds/_.yaml"}, nil)
	if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "crds/_.yaml: no CRD") {
		t.Errorf("warnings %q, %v", got, err)
	}
}

// TestOtherSystems keeps out what is not built here, and packages that ./...
// leaves out.
func TestOtherSystems(t *testing.T) {
	p := newProject(t, nil)
	mod := readFile(t, path.Join(p.dir, "go.mod"))
	p.write("go.mod", mod+"\nignore (\n\t./tools\n\tthirdparty\n)\n")
	for _, name := range []string{
		"a/x_plan9.go", "a/x_test.go", "testdata/x.go", "a/testdata/x.go", "_old/x.go", ".hidden/x.go", "vendor/x/x.go",
		"tools/x.go", "a/thirdparty/x.go",
	} {
		p.write(name, rbacFile)
	}
	p.write("a/tag.go", "//go:build special\n\n"+rbacFile)
	p.write("a/generated.go", "//go:build !ignore_autogenerated\n\n"+rbacFile)
	if res := p.render(func(o *Options) { o.RBAC = true }); res.Set.Len() > 0 {
		t.Errorf("rendered %v", texts(res))
	}
	p.write("a/tools/x.go", rbacFile) // ignored at the module's root only
	if res := p.render(func(o *Options) { o.RBAC = true }); res.Set.Len() != 1 {
		t.Errorf("rendered %v, want one role", res.Set.Paths())
	}
}
