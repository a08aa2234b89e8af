package v4

import (
	"go/ast"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

// added returns the paths that b has and a has not, and those that differ.
func added(a, b map[string]string) (fresh, changed map[string]bool) {
	fresh, changed = map[string]bool{}, map[string]bool{}
	for name, text := range b {
		if old, ok := a[name]; !ok {
			fresh[name] = true
		} else if old != text {
			changed[name] = true
		}
	}
	return fresh, changed
}

func set(names ...string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

func TestFilesOfAnAPI(t *testing.T) {
	wired := []string{
		"cmd/main.go", "config/default/kustomization.yaml", "config/manifests/kustomization.yaml", "config/rbac/kustomization.yaml",
	}
	shared := []string{"config/crd/kustomization.yaml", "config/crd/kustomizeconfig.yaml", "config/samples/kustomization.yaml"}
	for name, test := range map[string]struct {
		init, args     []string
		fresh, changed []string
	}{
		"both": {
			args: []string{"--group=cache", "--kind=Memcached"},
			fresh: append([]string{
				"api/v1alpha1/groupversion_info.go", "api/v1alpha1/memcached_types.go",
				"config/rbac/memcached_admin_role.yaml", "config/rbac/memcached_editor_role.yaml", "config/rbac/memcached_viewer_role.yaml",
				"config/samples/cache_v1alpha1_memcached.yaml",
				"internal/controller/memcached_controller.go", "internal/controller/memcached_controller_test.go", "internal/controller/suite_test.go",
			}, shared...),
			changed: wired,
		},
		"by group": {
			init: []string{"--multigroup"},
			args: []string{"--group=cache", "--kind=Memcached", "--pattern=blank"},
			fresh: append([]string{
				"api/cache/v1alpha1/groupversion_info.go", "api/cache/v1alpha1/memcached_types.go",
				"config/rbac/cache_memcached_admin_role.yaml", "config/rbac/cache_memcached_editor_role.yaml", "config/rbac/cache_memcached_viewer_role.yaml",
				"config/samples/cache_v1alpha1_memcached.yaml",
				"internal/controller/cache/memcached_controller.go", "internal/controller/cache/memcached_controller_test.go", "internal/controller/cache/suite_test.go",
			}, shared...),
			changed: wired,
		},
		"types alone": {
			args: []string{"--group=cache", "--kind=Memcached", "--controller=false"},
			fresh: append([]string{
				"api/v1alpha1/groupversion_info.go", "api/v1alpha1/memcached_types.go",
				"config/rbac/memcached_admin_role.yaml", "config/rbac/memcached_editor_role.yaml", "config/rbac/memcached_viewer_role.yaml",
				"config/samples/cache_v1alpha1_memcached.yaml",
			}, shared...),
			changed: wired,
		},
		"a controller of a built-in kind": {
			args: []string{"--group=apps", "--version=v1", "--kind=Deployment", "--resource=false"},
			fresh: []string{
				"internal/controller/deployment_controller.go", "internal/controller/deployment_controller_test.go", "internal/controller/suite_test.go",
			},
			changed: []string{"cmd/main.go"},
		},
		"a named controller": {
			args: []string{"--group=cache", "--kind=Memcached", "--controller-name=cache-backup"},
			fresh: append([]string{
				"api/v1alpha1/groupversion_info.go", "api/v1alpha1/memcached_types.go",
				"config/rbac/memcached_admin_role.yaml", "config/rbac/memcached_editor_role.yaml", "config/rbac/memcached_viewer_role.yaml",
				"config/samples/cache_v1alpha1_memcached.yaml",
				"internal/controller/cache_backup_controller.go", "internal/controller/cache_backup_controller_test.go", "internal/controller/suite_test.go",
			}, shared...),
			changed: wired,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestProject(t, test.init...)
			before := p.files(t)
			p.mustCreateAPI(t, test.args...)
			fresh, changed := added(before, p.files(t))
			if diff := cmp.Diff(set(test.fresh...), fresh); diff != "" {
				t.Errorf("new files (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(set(test.changed...), changed); diff != "" {
				t.Errorf("changed files (-want +got):\n%s", diff)
			}
			p.checkFiles(t)
		})
	}
}

func TestImages(t *testing.T) {
	for _, image := range []string{
		"memcached", "memcached:1.6", "docker.io/library/memcached:1.6.39-alpine", "localhost:5000/a/b_c/d__e/f--g", "REGISTRY.example.com/x",
		"ghcr.io/x/y:v1@sha256:" + strings.Repeat("0", 64),
	} {
		if !imagePattern.MatchString(image) {
			t.Errorf("%s is refused", image)
		}
	}
}

func TestContradictingFlags(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"nothing to write":             {[]string{"--resource=false", "--controller=false"}, "neither"},
		"unknown pattern":              {[]string{"--pattern=helm"}, `pattern "helm"`},
		"pattern without types":        {[]string{"--resource=false", "--pattern=deployment"}, "needs an API of its own"},
		"external with types":          {[]string{"--external-api-path=example.com/x/v1"}, "elsewhere"},
		"external without path":        {[]string{"--resource=false", "--external-api-domain=io"}, "is not given"},
		"external path with a scheme":  {[]string{"--resource=false", "--external-api-path=https://example.com/x"}, "not a Go import path"},
		"name of no controller":        {[]string{"--controller=false", "--controller-name=x"}, "not to be written"},
		"not built in":                 {[]string{"--resource=false"}, "neither in this project nor built into"},
		"port in words":                {[]string{"--image-container-port=http"}, "not a port"},
		"port too high":                {[]string{"--image-container-port=65536"}, "not a port"},
		"port zero":                    {[]string{"--image-container-port=0"}, "not a port"},
		"user root":                    {[]string{"--run-as-user=0"}, "not a user id"},
		"user by name":                 {[]string{"--run-as-user=memcache"}, "not a user id"},
		"image with a scheme":          {[]string{"--image=docker://memcached"}, "not an image"},
		"image with a space":           {[]string{"--image=mem cached"}, "not an image"},
		"user too high":                {[]string{"--run-as-user=2147483648"}, "not a user id"},
		"image in upper case":          {[]string{"--image=Memcached"}, "not an image"},
		"image with half a tag":        {[]string{"--image=memcached:"}, "not an image"},
		"image that is a flag":         {[]string{"--image=-x"}, "not an image"},
		"image that is a digest":       {[]string{"--image=@sha256:x"}, "not an image"},
		"no image":                     {[]string{"--image="}, "not an image"},
		"command without a program":    {[]string{"--image-container-command=,,"}, "names no program"},
		"module with a bad version":    {[]string{"--resource=false", "--external-api-path=x.io/a", "--external-api-module=x.io@@"}, "not the Go module"},
		"module of another package":    {[]string{"--resource=false", "--external-api-path=x.io/a", "--external-api-module=y.io@v1.0.0"}, "not the Go module"},
		"image without the deployment": {[]string{"--image=memcached", "--pattern=blank"}, "--image says"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newTestProject(t).createAPI(t, append(test.args, "--group=cache", "--kind=Memcached")...)
			refused(t, err, test.want)
		})
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no such kind":    {[]string{"--version=v1", "--kind=Memcached"}, `no kind "Memcached"`},
		"no such version": {[]string{"--version=v1beta1", "--kind=Deployment"}, "not a stable API"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newTestProject(t).createAPI(t, append(test.args, "--group=apps", "--resource=false")...)
			refused(t, err, test.want)
		})
	}
}

func TestFilesInTheWayAreAllNamed(t *testing.T) {
	p := newTestProject(t)
	p.write(t, "api/v1alpha1/memcached_types.go", "package mine\n")
	p.write(t, "internal/controller/memcached_controller.go", "package mine\n")
	_, err := p.createAPI(t, "--group=cache", "--kind=Memcached")
	refused(t, err, "api/v1alpha1/memcached_types.go, internal/controller/memcached_controller.go")

	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached", "--force")
	if text := p.files(t)["api/v1alpha1/memcached_types.go"]; !strings.Contains(text, "type Memcached struct") {
		t.Error("--force left the file that was in the way")
	}
}

func TestAKindHasOneController(t *testing.T) {
	p := newTestProject(t)
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
	before := p.files(t)
	sub := p.mustCreateAPI(t, "--group=cache", "--kind=Memcached", "--version=v1")
	fresh, _ := added(before, p.files(t))
	want := set("api/v1/groupversion_info.go", "api/v1/memcached_types.go", "config/samples/cache_v1_memcached.yaml")
	if diff := cmp.Diff(want, fresh); diff != "" {
		t.Errorf("files of the second version (-want +got):\n%s", diff)
	}
	if notes := strings.Join(sub.Notes(), "\n"); !strings.Contains(notes, "no second one") {
		t.Errorf("the notes are %q", notes)
	}
	if !strings.Contains(p.files(t)["cmd/main.go"], "cachev1.AddToScheme(scheme)") {
		t.Error("main.go does not know the second version")
	}
	_, err := p.createAPI(t, "--group=cache", "--kind=Memcached", "--version=v1", "--resource=false")
	refused(t, err, "which serves this one too")
}

func TestAVersionStaysWhereItIs(t *testing.T) {
	p := newTestProject(t)
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
	if err := p.config.SetMultiGroup(); err != nil {
		t.Fatal(err)
	}
	p.mustCreateAPI(t, "--group=cache", "--kind=Shelf")
	p.mustCreateAPI(t, "--group=shop", "--kind=Order")
	files := p.files(t)
	for _, name := range []string{"api/v1alpha1/shelf_types.go", "api/shop/v1alpha1/order_types.go"} {
		if files[name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
	p.checkFiles(t)
}

func TestExtras(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want map[string]any
	}{
		"own API":  {[]string{"--group=cache", "--kind=Memcached"}, map[string]any{}},
		"built in": {[]string{"--group=apps", "--version=v1", "--kind=Deployment", "--resource=false"}, map[string]any{"core": true}},
		"external": {
			[]string{"--group=cert-manager", "--version=v1", "--kind=Certificate", "--resource=false", "--external-api-domain=io",
				"--external-api-path=github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1",
				"--external-api-module=github.com/cert-manager/cert-manager@v1.20.2"},
			map[string]any{"external": true, "module": "github.com/cert-manager/cert-manager@v1.20.2"},
		},
		"named controller": {
			[]string{"--group=cache", "--kind=Memcached", "--controller-name=backup"},
			map[string]any{"controllers": []any{map[string]any{"name": "backup"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			sub := newTestProject(t).mustCreateAPI(t, test.args...)
			if diff := cmp.Diff(test.want, sub.ResourceExtras()); diff != "" {
				t.Errorf("extras (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExtrasOfASecondController(t *testing.T) {
	p := newTestProject(t)
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
	sub := p.mustCreateAPI(t, "--group=cache", "--kind=Memcached", "--resource=false", "--controller-name=backup")
	want := map[string]any{"controllers": []any{map[string]any{"name": "backup"}}}
	if diff := cmp.Diff(want, sub.ResourceExtras()); diff != "" {
		t.Errorf("extras (-want +got):\n%s", diff)
	}
}

func TestExternalModule(t *testing.T) {
	args := []string{"--group=cert-manager", "--version=v1", "--kind=Certificate", "--resource=false", "--external-api-domain=io",
		"--external-api-path=github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"}
	const module = "github.com/cert-manager/cert-manager"
	for name, test := range map[string]struct {
		module, before string
		want, note     string
	}{
		"with a version":  {module: module + "@v1.20.2", want: "\nrequire " + module + " v1.20.2\n", note: "go mod tidy"},
		"without version": {module: module, note: "go get " + module},
		"not given":       {note: "go get " + module + "/pkg/apis/certmanager/v1"},
		"there already":   {module: module + "@v1.20.2", before: "\nrequire " + module + " v1.21.0\n", want: module + " v1.21.0\n"},
		"an older one":    {module: module + "@v1.20.2", before: "\nrequire " + module + " v1.19.0\n", want: module + " v1.19.0\n", note: "go get " + module + "@v1.20.2"},
		"of any module":   {before: "\nrequire " + module + " v1.19.0\n", want: module + " v1.19.0\n"},
		"a module above":  {module: module + "/pkg/apis@v1.20.2", before: "\nrequire " + module + " v1.19.0\n", want: "\nrequire " + module + "/pkg/apis v1.20.2\n", note: "go mod tidy"},
		"only excluded":   {module: module + "@v1.20.2", before: "\nexclude (\n\t" + module + " v1.19.0\n)\n", want: "\nrequire " + module + " v1.20.2\n", note: "go mod tidy"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestProject(t)
			p.write(t, "go.mod", p.files(t)["go.mod"]+test.before)
			sub := p.mustCreateAPI(t, append(args, "--external-api-module="+test.module)...)
			text := p.files(t)["go.mod"]
			if !strings.Contains(text, test.want) || strings.Count(text, "require "+module+" ") > 1 {
				t.Errorf("go.mod ends with %q", text[max(0, len(text)-120):])
			}
			if got := strings.Join(sub.Notes(), "\n"); !strings.Contains(got, test.note) || (test.note == "") != (got == "") {
				t.Errorf("the notes are %q, want %q", got, test.note)
			}
			res, err := p.config.GetResources()
			if err != nil || len(res) != 1 || res[0].QualifiedGroup() != "cert-manager.io" || res[0].HasAPI() {
				t.Errorf("PROJECT has %+v, %v", res, err)
			}
			if main := p.files(t)["cmd/main.go"]; !strings.Contains(main, "certmanagerv1.AddToScheme(scheme)") {
				t.Error("main.go does not know the external kinds")
			}
		})
	}
}

func TestFilesOfOtherToolsAreKept(t *testing.T) {
	p := newTestProject(t)
	p.write(t, "api/v1alpha1/groupversion_info.go", `package v1alpha1

import "sigs.k8s.io/controller-runtime/pkg/scheme"

var SchemeBuilder = &scheme.Builder{GroupVersion: GroupVersion}
`)
	p.write(t, "internal/controller/suite_test.go", "package controller\n\nvar k8sClient client.Client\n")
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
	files := p.files(t)
	if !strings.Contains(files["api/v1alpha1/memcached_types.go"], "SchemeBuilder.Register(&Memcached{}, &MemcachedList{})") {
		t.Error("the types are not registered in the way of the package's SchemeBuilder")
	}
	if strings.Contains(files["internal/controller/memcached_controller_test.go"], "k8sClient") ||
		!strings.Contains(files["internal/controller/mysdk_suite_test.go"], "testClient ") {
		t.Error("the tests share a client with the suite of another tool")
	}
}

func TestOldLibrariesAreRefused(t *testing.T) {
	p := newTestProject(t)
	p.write(t, "go.mod", "module example.com/shop\n\nrequire sigs.k8s.io/controller-runtime v0.21.0\n")
	_, err := p.createAPI(t, "--group=cache", "--kind=Memcached")
	refused(t, err, "controller-runtime v0.21")
	p.write(t, "go.mod", "module example.com/shop\n\nrequire sigs.k8s.io/controller-runtime v0.23.0\n\nreplace sigs.k8s.io/controller-runtime => sigs.k8s.io/controller-runtime v0.19.0\n")
	_, err = p.createAPI(t, "--group=cache", "--kind=Memcached")
	refused(t, err, "controller-runtime v0.19")
	if want := "go mod edit -dropreplace=sigs.k8s.io/controller-runtime && go get "; !strings.Contains(clierr.HintOf(err), want) {
		t.Errorf("the hint is %q", clierr.HintOf(err))
	}
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached", "--pattern=blank")
}

func TestRestrictedManagerGetsRestrictedRules(t *testing.T) {
	p := newTestProject(t, "--namespaced", "--project-name=web")
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
	rules := 0
	for line := range strings.Lines(p.files(t)["internal/controller/memcached_controller.go"]) {
		if strings.HasPrefix(line, "// +kubebuilder:rbac:") {
			rules++
			if !strings.Contains(line, ",namespace=web-system,") {
				t.Errorf("not restricted to a namespace: %s", line)
			}
		}
	}
	if rules != 6 {
		t.Errorf("the controller has %d rules", rules)
	}
}

func TestOperandFlags(t *testing.T) {
	p := newTestProject(t)
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached", "--image=example.com/mem:1.6", "--image-container-port=11211",
		"--image-container-command=memcached,-m,64", "--run-as-user=999")
	text := p.files(t)["internal/controller/memcached_controller.go"]
	for _, want := range []string{
		`"example.com/mem:1.6"`, "WithContainerPort(cr.Spec.ContainerPort)", `WithCommand("memcached", "-m", "64")`, "WithRunAsUser(999)", `"MEMCACHED_IMAGE"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the controller lacks %s", want)
		}
	}
	for name, want := range map[string]string{
		"api/v1alpha1/memcached_types.go":              "// +kubebuilder:default=11211\n\t// +optional\n\tContainerPort int32 `json:\"containerPort,omitempty\"`\n",
		"config/samples/cache_v1alpha1_memcached.yaml": "  size: 3\n  containerPort: 11211\n",
	} {
		if !strings.Contains(p.files(t)[name], want) {
			t.Errorf("%s lacks %q", name, want)
		}
	}
	plain := newTestProject(t)
	plain.mustCreateAPI(t, "--group=cache", "--kind=Memcached", "--run-as-user=")
	text = plain.files(t)["internal/controller/memcached_controller.go"]
	for _, unwanted := range []string{"WithContainerPort", "WithCommand", "WithRunAsUser"} {
		if strings.Contains(text, unwanted) {
			t.Errorf("the controller has %s, which nobody asked for", unwanted)
		}
	}
	if strings.Contains(plain.files(t)["api/v1alpha1/memcached_types.go"], "Port") {
		t.Error("the API has a port, which nobody asked for")
	}
	plain.mustCreateAPI(t, "--group=cache", "--kind=Cart")
	for kind, want := range map[string]string{"memcached": "memcached:1.6", "cart": "cart:latest"} {
		if !strings.Contains(plain.files(t)["internal/controller/"+kind+"_controller.go"], `Image = "`+want+`"`) {
			t.Errorf("the image of %s is not %s", kind, want)
		}
	}
}

// A reconciler of a tutorial has the fields Client and Scheme, and no others.
func TestMainSetsTheFieldsOfEveryReconciler(t *testing.T) {
	p := newTestProject(t)
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
	p.mustCreateAPI(t, "--group=cache", "--kind=Zone", "--namespaced=false")
	text := p.files(t)[mainPath]
	for _, kind := range []string{"Memcached", "Zone"} {
		want := "(&controller." + kind + "Reconciler{\n\t\tClient: mgr.GetClient(),\n\t\tScheme: mgr.GetScheme(),\n\t}).SetupWithManager(mgr)"
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks\n%s", mainPath, want)
		}
	}
	// What the user adds to the fields does not wire it a second time.
	p.write(t, mainPath, strings.Replace(text, "Client: mgr.GetClient(),", "Client: mgr.GetClient(), // mine", 1))
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached", "--force")
	if n := strings.Count(p.files(t)[mainPath], "MemcachedReconciler{"); n != 1 {
		t.Errorf("Memcached is wired %d times", n)
	}
}

// The guides about Memcached read status.nodes.
func TestStatusFieldOfPods(t *testing.T) {
	p := newTestProject(t)
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
	p.mustCreateAPI(t, "--group=cache", "--kind=Redis")
	for kind, want := range map[string]string{
		"memcached": "\t// nodes are the names of the pods, sorted.\n\t// +listType=atomic\n\t// +optional\n\tNodes []string `json:\"nodes,omitempty\"`\n",
		"redis":     "\t// podNames are the names of the pods, sorted.\n\t// +listType=atomic\n\t// +optional\n\tPodNames []string `json:\"podNames,omitempty\"`\n",
	} {
		if !strings.Contains(p.files(t)["api/v1alpha1/"+kind+"_types.go"], want) {
			t.Errorf("the types of %s lack\n%s", kind, want)
		}
	}
	for name, text := range p.files(t) {
		if strings.Contains(name, "redis") && strings.Contains(strings.ToLower(text), "status.nodes") {
			t.Errorf("%s speaks of nodes", name)
		}
	}
}

// A comment above a name of the package is about that name.
func TestCommentsNameWhatIsBelowThem(t *testing.T) {
	p := newTestProject(t)
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached", "--image-container-port=11211")
	p.mustCreateWebhook(t, "--group=cache", "--kind=Memcached", "--defaulting", "--programmatic-validation")
	for name, text := range p.files(t) {
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		g, err := parseGo(name, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range g.Tree.Decls {
			doc, names := (*ast.CommentGroup)(nil), goedit.DeclaredNames(decl)
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				doc, names = decl.Doc, []string{decl.Name.Name}
			case *ast.GenDecl:
				doc = decl.Doc
			}
			if first, _, _ := strings.Cut(doc.Text(), " "); len(names) == 1 && doc != nil && first != names[0] {
				t.Errorf("%s: the comment above %s begins with %q", g.Fset.Position(decl.Pos()), names[0], first)
			}
		}
	}
}
