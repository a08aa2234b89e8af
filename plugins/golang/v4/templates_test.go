package v4_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	v4 "github.com/example/mysdk/plugins/golang/v4"
)

func newProject(change ...func(*v4.Data)) v4.Data {
	data := v4.Data{
		Domain:      "example.com",
		Repo:        "example.com/shop",
		ProjectName: "shop",
		CLIVersion:  "v1.2.3",
		Versions:    v4.CurrentVersions(),
	}
	for _, f := range change {
		f(&data)
	}
	return data
}

func newResource(group, kind, plural string) *resource.Resource {
	return &resource.Resource{
		GVK:    resource.GVK{Group: group, Domain: "example.com", Version: "v1alpha1", Kind: kind},
		Plural: plural,
		API:    &resource.API{CRDVersion: "v1", Namespaced: true},
	}
}

// layouts are the four shapes of a project.
func layouts() map[string]v4.Data {
	out := map[string]v4.Data{}
	for _, multi := range []bool{false, true} {
		for _, namespaced := range []bool{false, true} {
			name := fmt.Sprintf("multigroup=%t namespaced=%t", multi, namespaced)
			out[name] = newProject(func(d *v4.Data) { d.MultiGroup, d.Namespaced = multi, namespaced })
		}
	}
	return out
}

// ofOthers matches the templates that have tests of their own beside the Go code.
var ofOthers = regexp.MustCompile(`\.go\.tmpl$|/go\.(mod|sum)\.tmpl$|/hack/`)

// render executes the templates below templates/<tree> and returns output path -> content.
func render(t *testing.T, tree string, data v4.Data) map[string]string {
	t.Helper()
	out := map[string]string{}
	root := os.DirFS(path.Join("templates", tree))
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || ofOthers.MatchString("/"+name) {
			return err
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		tmpl, err := template.New(name).Option("missingkey=error").Funcs(v4.Functions()).Parse(string(text))
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := tmpl.Execute(&b, data); err != nil {
			return err
		}
		out[outputPath(strings.TrimSuffix(name, ".tmpl"), data)] = b.String()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func outputPath(name string, data v4.Data) string {
	if data.Resource == nil {
		return name
	}
	prefix := ""
	if data.MultiGroup && data.Resource.Group != "" {
		prefix = data.Resource.Group + "_"
	}
	return strings.NewReplacer("{group_}", prefix, "{kind}", strings.ToLower(data.Resource.Kind)).Replace(name)
}

// createAPI adds to the files of a project what create api adds: the rendered files, the wiring in
// those that exist, and stand-ins for what other templates and generators write.
func createAPI(t *testing.T, files map[string]string, data v4.Data, res *resource.Resource) {
	t.Helper()
	data.Resource = res
	for name, text := range render(t, "api", data) {
		if _, exists := files[name]; !exists {
			files[name] = text
		}
	}
	replace(t, files, "config/default/kustomization.yaml", "#- ../crd", "- ../crd")
	replace(t, files, "config/manifests/kustomization.yaml", "#- ../samples", "- ../samples")

	crd := fmt.Sprintf("bases/%s_%s.yaml", res.QualifiedGroup(), res.Plural)
	sample := fmt.Sprintf("%s_%s_%s.yaml", res.Group, res.Version, strings.ToLower(res.Kind))
	const marker = "# +kubebuilder:scaffold:"
	replace(t, files, "config/crd/kustomization.yaml", marker+"crdkustomizeresource", "- "+crd+"\n"+marker+"crdkustomizeresource")
	replace(t, files, "config/samples/kustomization.yaml", marker+"manifestskustomizesamples", "- "+sample+"\n"+marker+"manifestskustomizesamples")
	files["config/crd/"+crd] = fmt.Sprintf(
		"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: %s.%s\nspec: {}\n", res.Plural, res.QualifiedGroup())
	files["config/samples/"+sample] = fmt.Sprintf(
		"apiVersion: %s/%s\nkind: %s\nmetadata:\n  name: %s-sample\nspec: {}\n", res.QualifiedGroup(), res.Version, res.Kind, strings.ToLower(res.Kind))
	for _, role := range []string{"admin", "editor", "viewer"} {
		files["config/rbac/kustomization.yaml"] += outputPath("- {group_}{kind}_"+role+"_role.yaml\n", data)
	}
}

// replace changes the first occurrence of old, and fails the test when there is none and the new text is missing too.
func replace(t *testing.T, files map[string]string, name, old, text string) {
	t.Helper()
	changed := strings.Replace(files[name], old, text, 1)
	if changed == files[name] && !strings.Contains(changed, "\n"+text+"\n") {
		t.Fatalf("%s has no %q", name, old)
	}
	files[name] = changed
}

// build runs kustomize on one directory, in memory.
func build(files map[string]string, dir string) (resmap.ResMap, error) {
	disk := filesys.MakeFsInMemory()
	for name, text := range files {
		if err := disk.WriteFile(path.Join("/", name), []byte(text)); err != nil {
			return nil, err
		}
	}
	return krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, path.Join("/", dir))
}

func mustBuild(t *testing.T, files map[string]string, dir string) resmap.ResMap {
	t.Helper()
	objects, err := build(files, dir)
	if err != nil {
		t.Fatalf("kustomize build %s: %v", dir, err)
	}
	return objects
}

// names lists objects as Kind/name, with the namespace in front where there is one.
func names(objects resmap.ResMap) []string {
	var out []string
	for _, object := range objects.Resources() {
		name := object.GetKind() + "/" + object.GetName()
		if object.GetNamespace() != "" {
			name = object.GetNamespace() + ": " + name
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// everyStage calls check after init, after the first API and after the second, in every layout.
func everyStage(t *testing.T, check func(t *testing.T, files map[string]string)) {
	t.Helper()
	for name, data := range layouts() {
		t.Run(name, func(t *testing.T) {
			files := render(t, "init", data)
			t.Run("init", func(t *testing.T) { check(t, files) })
			createAPI(t, files, data, newResource("cache", "Memcached", "memcacheds"))
			t.Run("first API", func(t *testing.T) { check(t, files) })
			createAPI(t, files, data, newResource("store", "Shelf", "shelves"))
			t.Run("second API", func(t *testing.T) { check(t, files) })
		})
	}
}

func TestEveryFileIsCleanText(t *testing.T) {
	everyStage(t, func(t *testing.T, files map[string]string) {
		for name, text := range files {
			if !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n") || strings.HasPrefix(text, "\n") {
				t.Errorf("%s does not begin and end with a line of text", name)
			}
			for i, line := range strings.Split(text, "\n") {
				switch {
				case strings.TrimRight(line, " \t") != line:
					t.Errorf("%s:%d: trailing space", name, i+1)
				case strings.Contains(line, "<no value>"), strings.Contains(line, "{{"), strings.Contains(line, "map["):
					t.Errorf("%s:%d: not rendered: %s", name, i+1, line)
				}
			}
		}
	})
}

func TestStructuredFilesParse(t *testing.T) {
	everyStage(t, func(t *testing.T, files map[string]string) {
		for name, text := range files {
			switch path.Ext(name) {
			case ".json":
				if !json.Valid([]byte(text)) {
					t.Errorf("%s is not JSON", name)
				}
			case ".yaml", ".yml":
				if err := parseYAML(text); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	})
}

// parseYAML reads every document of text; a key that is there twice is an error.
func parseYAML(text string) error {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var document any
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestKustomizationsBuild(t *testing.T) {
	everyStage(t, func(t *testing.T, files map[string]string) {
		built := 0
		for name := range files {
			if path.Base(name) != "kustomization.yaml" {
				continue
			}
			built++
			mustBuild(t, files, path.Dir(name))
			var k types.Kustomization
			if err := k.Unmarshal([]byte(files[name])); err != nil {
				t.Errorf("%s: %v", name, err)
			} else if deprecated := *k.CheckDeprecatedFields(); len(deprecated) > 0 {
				t.Errorf("%s: %s", name, deprecated)
			}
		}
		if built < 7 {
			t.Errorf("%d kustomizations: want the seven of init at least", built)
		}
	})
}

func TestWhatIsDeployed(t *testing.T) {
	common := []string{
		"ClusterRole/shop-metrics-auth-role",
		"ClusterRole/shop-metrics-reader",
		"ClusterRoleBinding/shop-metrics-auth-rolebinding",
		"CustomResourceDefinition/memcacheds.cache.example.com",
		"Namespace/shop-system",
		"shop-system: Deployment/shop-controller-manager",
		"shop-system: Role/shop-leader-election-role",
		"shop-system: RoleBinding/shop-leader-election-rolebinding",
		"shop-system: Service/shop-controller-manager-metrics-service",
		"shop-system: ServiceAccount/shop-controller-manager",
	}
	roles := map[string][]string{
		"multigroup=false namespaced=false": {
			"ClusterRole/shop-manager-role", "ClusterRoleBinding/shop-manager-rolebinding", "ClusterRole/shop-memcached-admin-role",
			"ClusterRole/shop-memcached-editor-role", "ClusterRole/shop-memcached-viewer-role",
		},
		"multigroup=true namespaced=false": {
			"ClusterRole/shop-manager-role", "ClusterRoleBinding/shop-manager-rolebinding", "ClusterRole/shop-cache-memcached-admin-role",
			"ClusterRole/shop-cache-memcached-editor-role", "ClusterRole/shop-cache-memcached-viewer-role",
		},
		"multigroup=false namespaced=true": {
			"shop-system: Role/shop-manager-role", "shop-system: RoleBinding/shop-manager-rolebinding", "shop-system: Role/shop-memcached-admin-role",
			"shop-system: Role/shop-memcached-editor-role", "shop-system: Role/shop-memcached-viewer-role",
		},
		"multigroup=true namespaced=true": {
			"shop-system: Role/shop-manager-role", "shop-system: RoleBinding/shop-manager-rolebinding", "shop-system: Role/shop-cache-memcached-admin-role",
			"shop-system: Role/shop-cache-memcached-editor-role", "shop-system: Role/shop-cache-memcached-viewer-role",
		},
	}
	for name, data := range layouts() {
		t.Run(name, func(t *testing.T) {
			files := render(t, "init", data)
			createAPI(t, files, data, newResource("cache", "Memcached", "memcacheds"))
			want := append(slices.Clone(common), roles[name]...)
			slices.Sort(want)
			if diff := cmp.Diff(want, names(mustBuild(t, files, "config/default"))); diff != "" {
				t.Errorf("config/default (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSameKindInTwoGroups(t *testing.T) {
	data := newProject(func(d *v4.Data) { d.MultiGroup = true })
	files := render(t, "init", data)
	createAPI(t, files, data, newResource("cache", "Memcached", "memcacheds"))
	before := len(files)
	createAPI(t, files, data, newResource("foo.policy", "Memcached", "memcacheds"))
	// A CRD, a sample and three roles: nothing of the first kind is overwritten.
	if got := len(files) - before; got != 5 {
		t.Errorf("the second group added %d files, want 5: %v", got, slices.Sorted(maps.Keys(files)))
	}
	mustBuild(t, files, "config/default")
	mustBuild(t, files, "config/manifests")
}

func TestRoleOfClusterScopedKindIsClusterRole(t *testing.T) {
	res := newResource("cache", "Memcached", "memcacheds")
	res.API.Namespaced = false
	data := newProject(func(d *v4.Data) { d.Namespaced = true; d.Resource = res })
	for name, text := range render(t, "api", data) {
		if strings.HasSuffix(name, "_role.yaml") && !strings.Contains(text, "\nkind: ClusterRole\n") {
			t.Errorf("%s: a Role cannot grant access to a cluster-scoped kind", name)
		}
	}
}

// A project may be called 123: its label must reach the API server as a string all the same.
func TestAwkwardProjectNames(t *testing.T) {
	for _, name := range []string{"123", "0x1f", "1e3", "null", "true", "no", "y", "a", "web-shop-2"} {
		t.Run(name, func(t *testing.T) {
			data := newProject(func(d *v4.Data) { d.ProjectName = name })
			files := render(t, "init", data)
			createAPI(t, files, data, newResource("cache", "Memcached", "memcacheds"))
			for _, dir := range []string{"config/default", "config/prometheus", "config/network-policy", "config/manifests"} {
				for _, object := range mustBuild(t, files, dir).Resources() {
					got, labeled := object.GetLabels()["app.kubernetes.io/name"]
					if labeled && got != name {
						t.Errorf("%s in %s: label %q, want %q", object.GetName(), dir, got, name)
					}
				}
			}
		})
	}
}
