package project_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/project"
)

// written is a PROJECT file of a newer tool, with comments and fields of the
// user's own, in an order of its own.
const written = `# our shop
version: "3"
domain: example.com # do not touch
layout:
- go.kubebuilder.io/v4
cliVersion: 4.15.0
namespaced: true
projectName: shop
repo: example.com/shop
ownedBy: # a field of ours
  team: blue
resources:
# the first
- api:
    crdVersion: v1
    namespaced: true
  controllers:
  - name: captain
  domain: example.com
  group: crew
  kind: Captain
  path: example.com/shop/api/v1
  version: v1
  webhooks:
    defaulting: true
    spoke:
    - v2
    webhookVersion: v1
- core: true
  group: apps
  kind: Deployment
  path: k8s.io/api/apps/v1
  version: v1
`

func TestFileKeepsWhatItDoesNotKnow(t *testing.T) {
	f, err := project.Parse([]byte(written))
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(written, string(got)); d != "" {
		t.Errorf("unchanged file (-want +got):\n%s", d)
	}
}

func TestFileTakesChanges(t *testing.T) {
	f, err := project.Parse([]byte(written))
	if err != nil {
		t.Fatal(err)
	}
	r := resource.Resource{
		GVK:    resource.GVK{Group: "crew", Domain: "example.com", Version: "v1", Kind: "Sailor"},
		Plural: "sailors", Path: "example.com/shop/api/v1", API: &resource.API{CRDVersion: "v1", Namespaced: true}, Controller: true,
	}
	if err := f.Config().AddResource(r); err != nil {
		t.Fatal(err)
	}
	if err := f.Config().SetMultiGroup(); err != nil {
		t.Fatal(err)
	}
	got, err := f.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(written, "namespaced: true\nproj", "multigroup: true\nnamespaced: true\nproj", 1) + `- api:
    crdVersion: v1
    namespaced: true
  controller: true
  domain: example.com
  group: crew
  kind: Sailor
  path: example.com/shop/api/v1
  version: v1
`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("changed file (-want +got):\n%s", d)
	}
}

// What a plugin removes from its record of two kinds is not in the file any more.
func TestFileForgetsAKind(t *testing.T) {
	const key, a, b = "x.example.com/v1", "    - kind: A\n      version: v1\n", "    - kind: B # mine\n      version: v1\n"
	const text = written + "plugins:\n  " + key + ":\n    resources:\n"
	f, err := project.Parse([]byte(text + a + b))
	if err != nil {
		t.Fatal(err)
	}
	record := map[string]any{"resources": []any{map[string]any{"kind": "B", "version": "v1"}}}
	if err := f.Config().EncodePluginConfig(key, record); err != nil {
		t.Fatal(err)
	}
	got, err := f.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(text+b, string(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestProjectView(t *testing.T) {
	f, err := project.Parse([]byte(written))
	if err != nil {
		t.Fatal(err)
	}
	got := f.Project()
	want := &project.Project{
		Name: "shop", Domain: "example.com", Repo: "example.com/shop", Layout: []string{"go.kubebuilder.io/v4"}, Namespaced: true,
		Resources: []project.Resource{
			{Group: "crew", Domain: "example.com", Version: "v1", Kind: "Captain", Plural: "captains", Path: "example.com/shop/api/v1", API: true, Namespaced: true, Controller: true},
			{Group: "apps", Version: "v1", Kind: "Deployment", Plural: "deployments", Path: "k8s.io/api/apps/v1"},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("view (-want +got):\n%s", d)
	}
}

func TestLoadRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want, hint string }{
		"empty":           {"", "the file is empty", "version control"},
		"only comments":   {"# nothing\n", "the file is empty", "version control"},
		"broken YAML":     {"version: \"3\"\n  domain: [", "PROJECT:1: ", "fix the file"},
		"a field twice":   {"version: \"3\"\nrepo: a\nrepo: b\n", "PROJECT:3: mapping key \"repo\"", "fix the file"},
		"two documents":   {"version: \"3\"\n---\na: b\n", "PROJECT:2: more than one", "leave one"},
		"a list":          {"- version\n", "PROJECT:1:1: not a mapping", "fix"},
		"no version":      {"domain: example.com\n", "no version field", "version: \"3\""},
		"version 1":       {"version: \"1\"\n", "too old", "the tool that wrote it"},
		"version 2":       {"version: \"2\"\n", "too old", "mysdk migrate"},
		"version 3-alpha": {"version: 3-alpha\n", "too old", "mysdk migrate"},
		"version 9":       {"version: \"9\"\n", "not known", "newer mysdk"},
		"unquoted number": {"version: 3\n", "PROJECT:1:10: version must be a text, and is a number", "put it in quotes: \"3\""},
		"bad field type":  {"version: \"3\"\nmultigroup: maybe\n", "PROJECT:2:13: multigroup must be true or false, and is a text", "project-config"},
		"list for a text": {"version: \"3\"\ndomain: [a]\n", "PROJECT:2:9: domain must be a text, and is a list", "project-config"},
		"bad resource":    {"version: \"3\"\nresources:\n- 7\n", "PROJECT:3:3: an entry of resources must be a mapping of fields, and is a number", "project-config"},
		"bad in resource": {"version: \"3\"\nresources:\n- kind: {}\n", "PROJECT:3:9: resources.kind must be a text", "project-config"},
		"bad in its api":  {"version: \"3\"\nresources:\n- api:\n    namespaced: 1\n", "PROJECT:4:17: resources.api.namespaced", "project-config"},
		"null":            {"null\n", "no version", "version"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, project.FileName), []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := project.Load(dir)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			if h := clierr.HintOf(err); !strings.Contains(h, c.hint) {
				t.Errorf("hint %q, want %q", h, c.hint)
			}
		})
	}
	t.Run("a directory", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, project.FileName), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := project.Load(dir); err == nil || clierr.HintOf(err) == "" {
			t.Errorf("error %v, hint %q", err, clierr.HintOf(err))
		}
	})
	t.Run("missing", func(t *testing.T) {
		_, err := project.Load(t.TempDir())
		if err == nil || !strings.Contains(clierr.HintOf(err), "mysdk init") {
			t.Errorf("error %v, hint %q", err, clierr.HintOf(err))
		}
	})
}

// FuzzParse: what is accepted can be written, and reads the same again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(written))
	f.Add([]byte("version: \"3\"\nresources:\n- 7\n"))
	f.Add([]byte("version: \"3\"\nresources: {}\n"))
	f.Add([]byte("version: 3\nlayout: go.kubebuilder.io/v4\nplugins:\n  a: {b: [1, 2]}\n"))
	f.Add([]byte("version: &v \"3\"\ndomain: *v\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := project.Parse(data)
		if err != nil {
			return
		}
		before := file.Project()
		out, err := file.Bytes()
		if err != nil {
			t.Fatalf("cannot write what was read: %v", err)
		}
		again, err := project.Parse(out)
		if err != nil {
			t.Fatalf("cannot read what was written: %v\n%s", err, out)
		}
		after := again.Project()
		if d := cmp.Diff(before, after); d != "" {
			t.Errorf("changed on the way (-before +after):\n%s", d)
		}
	})
}

// TestLoadWithout tells those who have no project yet of init, those who have one
// of operator-sdk v0.x of migrate, and those who are below one where it is.
func TestLoadWithout(t *testing.T) {
	for name, c := range map[string]struct{ file, hint string }{
		"nothing": {"main.go", "mysdk init"},
		"v0.x":    {"cmd/manager/main.go", "mysdk migrate"},
		"below":   {"../PROJECT", "in the project's root directory: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "sub")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, filepath.FromSlash(c.file))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := project.Load(dir)
			if clierr.CodeOf(err) != clierr.CodeFailed || !strings.Contains(clierr.HintOf(err), c.hint) {
				t.Errorf("%v, hint %q, want %q", err, clierr.HintOf(err), c.hint)
			}
		})
	}
}

// TestLoadUnnamed takes the name that PROJECT lacks from where kubebuilder did.
func TestLoadUnnamed(t *testing.T) {
	for name, c := range map[string]struct{ config, want string }{
		"prefix":       {"namePrefix: \"shop-\"\n", "shop"},
		"no prefix":    {"namespace: x\n", "sub-dir"},
		"not a prefix": {"namePrefix: Shop-\n", "sub-dir"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(fill(t, map[string]string{
				"Sub_dir/PROJECT": strings.Replace(plain, "projectName: op\n", "", 1),
				"Sub_dir/config/default/kustomization.yaml": c.config,
			}), "Sub_dir")
			f, err := project.Load(dir)
			if err != nil {
				t.Fatal(err)
			}
			if p := f.Project(); p.Name != c.want {
				t.Errorf("name %q, want %q", p.Name, c.want)
			}
			if data, err := f.Bytes(); err != nil || !strings.Contains(string(data), "\nprojectName: "+c.want+"\n") {
				t.Errorf("PROJECT is not completed: %v\n%s", err, data)
			}
		})
	}
}
