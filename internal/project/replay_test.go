package project_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/project"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// golden are whole projects as mysdk writes them, generated files included.
const golden = "../../testdata/golden"

// scaffolder is the real plugin, in the year of the golden projects.
func scaffolder(read func(string) ([]byte, error)) project.Scaffolder {
	return v4.Plugin{CLIVersion: "(devel)", Year: 2026, ReadFile: read}
}

// generated says whether a golden file is not the plugin's.
func generated(name string) bool {
	return strings.HasPrefix(filepath.Base(name), "zz_generated.") || strings.HasPrefix(name, "config/crd/bases/") ||
		name == "config/rbac/role.yaml" || name == "config/webhook/manifests.yaml" || name == project.FileName
}

// TestReplay renders each golden project from its PROJECT file and its license
// header alone.
func TestReplay(t *testing.T) {
	cases, err := filepath.Glob(golden + "/*/want")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no golden projects: %v", err)
	}
	for _, dir := range cases {
		t.Run(filepath.Base(filepath.Dir(dir)), func(t *testing.T) {
			f, err := project.Load(dir)
			if err != nil {
				t.Fatal(err)
			}
			read := func(name string) []byte {
				data, _ := os.ReadFile(filepath.Join(dir, name))
				return data
			}
			got, err := f.Replay(project.ReplayOptions{Scaffolder: scaffolder, Header: read("hack/boilerplate.go.txt")})
			if err != nil {
				t.Fatal(err)
			}
			for name, data := range got.Files {
				if !generated(name) {
					if d := cmp.Diff(string(read(name)), string(data)); d != "" {
						t.Errorf("%s (-golden +rendered):\n%s", name, d)
					}
				}
			}
			eachFile(t, dir, func(name string) {
				if _, ok := got.Files[name]; !ok && !generated(name) {
					t.Errorf("%s was not rendered", name)
				}
			})
		})
	}
}

func eachFile(t *testing.T, dir string, visit func(name string)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		visit(filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

const twoKinds = `# mine
domain: example.com
layout:
- go.kubebuilder.io/v4
plugins:
  deploy-image.go.kubebuilder.io/v1-alpha:
    resources:
    - domain: example.com
      group: cache
      kind: Memcached
      options:
        image: memcached:1.6
      version: v1
  scaffold.mysdk.dev/v1:
    resources:
    - domain: example.com
      group: cache
      kind: Redis
      pattern: deployment
      version: v1
    version: v1.0.0
projectName: op
repo: example.com/op
resources:
- api:
    crdVersion: v1
    namespaced: true
  controller: true
  domain: example.com
  group: cache
  kind: Memcached
  path: example.com/op/api/v1
  version: v1
- api:
    crdVersion: v1
    namespaced: true
  domain: example.com
  group: cache
  kind: Redis # the other one
  mine: too
  path: example.com/op/api/v1
  version: v1
version: "3"
`

func parse(t *testing.T, text string) *project.File {
	t.Helper()
	f, err := project.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestReshape(t *testing.T) {
	yes, no := true, false
	tests := map[string]struct {
		shape project.Shape
		want  func(string) string
	}{
		"nothing": {project.Shape{}, func(s string) string { return s }},
		"multigroup": {project.Shape{MultiGroup: &yes}, func(s string) string {
			return strings.ReplaceAll(strings.Replace(s, "plugins:", "multigroup: true\nplugins:", 1), "op/api/v1", "op/api/cache/v1")
		}},
		"namespaced": {project.Shape{Namespaced: &yes}, func(s string) string { return strings.Replace(s, "plugins:", "namespaced: true\nplugins:", 1) }},
		"back":       {project.Shape{MultiGroup: &no, Namespaced: &no}, func(s string) string { return s }},
		"remove one": {project.Shape{Remove: func(r project.Resource) bool { return r.Kind == "Memcached" }}, func(s string) string {
			i := strings.Index(s, "- api:")
			j := strings.LastIndex(s, "- api:")
			k := strings.Index(s, "  deploy-image")
			return s[:k] + s[strings.Index(s, "  scaffold."):i] + s[j:]
		}},
		"remove all": {project.Shape{Remove: func(project.Resource) bool { return true }}, func(s string) string {
			i, j := strings.Index(s, "plugins:"), strings.Index(s, "projectName")
			return s[:i] + "plugins:\n  scaffold.mysdk.dev/v1:\n    version: v1.0.0\n" + s[j:strings.Index(s, "\nresources:")+1] + "version: \"3\"\n"
		}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			f, err := parse(t, twoKinds).Reshape(c.shape)
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want(twoKinds), string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// Entries that are elsewhere in the file do not seem to be gone.
func TestAliasIsNotReshaped(t *testing.T) {
	twoVersions := strings.NewReplacer("\nresources:", "\nmine: &k", "Redis", "Memcached", "v1\nversion", "v2\nversion")
	f := parse(t, twoVersions.Replace(twoKinds)+"resources: *k\n")
	_, reshaped := f.Reshape(project.Shape{Namespaced: new(true)})
	_, handed := f.HandOver(f.Project().Resources[0], v4.DeployImageKey)
	for _, err := range []error{reshaped, handed} {
		if err == nil || !strings.Contains(err.Error(), "PROJECT:44: resources is an alias") {
			t.Errorf("error %v", err)
		}
	}
}

// One controller serves all versions, and goes with the last of them.
func TestHandOver(t *testing.T) {
	const head = "domain: example.com\nlayout:\n- go.kubebuilder.io/v4\nprojectName: op\nrepo: example.com/op\nresources:\n"
	entry := func(version, controller string) string {
		return "- api:\n    crdVersion: v1\n    namespaced: true\n" + controller + "  domain: example.com\n  group: cache\n  kind: Memcached\n  path: example.com/op/api/" + version + "\n  version: " + version + "\n"
	}
	const yes, named = "  controller: true\n", "  controllers:\n  - name: memcached\n  - name: backup\n"
	const image = "      options:\n        image: memcached:1.6\n"
	record := func(entries string) string {
		return "plugins:\n  deploy-image.go.kubebuilder.io/v1-alpha:\n    resources:\n" + entries
	}
	options := func(version, options string) string {
		return "    - domain: example.com\n      group: cache\n      kind: Memcached\n" + options + "      version: " + version + "\n"
	}
	for name, tt := range map[string]struct{ was, want string }{
		"what it runs": {
			entry("v1alpha1", yes) + entry("v1", "") + record(options("v1alpha1", image)),
			entry("v1alpha1", "") + entry("v1", yes) + record(options("v1alpha1", image)+options("v1", image)),
		},
		"unless it has that": {
			entry("v1alpha1", yes) + entry("v1", "") + record(options("v1alpha1", image)+options("v1", "")),
			entry("v1alpha1", "") + entry("v1", yes) + record(options("v1alpha1", image)+options("v1", "")),
		},
		"the last version":      {entry("v1alpha1", yes), entry("v1alpha1", yes)},
		"the last that stays":   {entry("v1alpha1", yes) + entry("v1beta1", "") + entry("v1", ""), entry("v1alpha1", "") + entry("v1beta1", "") + entry("v1", yes)},
		"by their names":        {entry("v1beta1", "") + entry("v1alpha1", named), entry("v1beta1", named) + entry("v1alpha1", "")},
		"it has one of its own": {entry("v1alpha1", yes) + entry("v1", named) + entry("v2", ""), entry("v1alpha1", yes) + entry("v1", named) + entry("v2", "")},
		"it has none":           {entry("v1alpha1", "") + entry("v1", ""), entry("v1alpha1", "") + entry("v1", "")},
		"another kind": {
			entry("v1alpha1", yes) + strings.Replace(entry("v1", ""), "Memcached", "Redis", 1), entry("v1alpha1", yes) + strings.Replace(entry("v1", ""), "Memcached", "Redis", 1),
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := parse(t, head+tt.was+"version: \"3\"\n")
			for _, r := range f.Project().Resources {
				if r.Version != "v1alpha1" {
					continue
				}
				var err error
				if f, err = f.HandOver(r, v4.DeployImageKey); err != nil {
					t.Fatal(err)
				}
			}
			got, err := f.Bytes()
			if d := cmp.Diff(head+tt.want+"version: \"3\"\n", string(got)); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
}

// TestMoves pairs the files of the two layouts, and each has its counterpart.
func TestMoves(t *testing.T) {
	for _, group := range []string{"cache", "memcached"} { // also one that is named like a kind
		t.Run(group, func(t *testing.T) { testMoves(t, group) })
	}
}

func testMoves(t *testing.T, group string) {
	f := parse(t, strings.ReplaceAll(twoKinds, "group: cache", "group: "+group))
	before, err := f.Replay(project.ReplayOptions{Scaffolder: scaffolder})
	if err != nil {
		t.Fatal(err)
	}
	other, err := f.Reshape(project.Shape{MultiGroup: new(true)})
	if err != nil {
		t.Fatal(err)
	}
	after, err := other.Replay(project.ReplayOptions{Scaffolder: scaffolder})
	if err != nil {
		t.Fatal(err)
	}
	moves := project.Moves(before, after)
	want := map[string]string{
		"api/v1/memcached_types.go":                   "api/" + group + "/v1/memcached_types.go",
		"api/v1/redis_types.go":                       "api/" + group + "/v1/redis_types.go",
		"internal/controller/suite_test.go":           "internal/controller/" + group + "/suite_test.go",
		"internal/controller/memcached_controller.go": "internal/controller/" + group + "/memcached_controller.go",
		"config/rbac/memcached_editor_role.yaml":      "config/rbac/" + group + "_memcached_editor_role.yaml",
		"config/rbac/redis_admin_role.yaml":           "config/rbac/" + group + "_redis_admin_role.yaml",
	}
	for from, to := range want {
		if moves[from] != to {
			t.Errorf("%s goes to %q, want %q", from, moves[from], to)
		}
	}
	back := project.Moves(after, before)
	for from, to := range moves {
		if back[to] != from {
			t.Errorf("%s goes to %s, and that back to %q", from, to, back[to])
		}
	}
	for name := range before.Files {
		_, stays := after.Files[name]
		if _, moved := moves[name]; !stays && !moved {
			t.Errorf("%s has no counterpart", name)
		}
	}
}

// The project of another tool may have a name and a domain that new ones are refused.
func TestReplay_OtherNames(t *testing.T) {
	text := strings.NewReplacer("projectName: op\n", "projectName: operator-of-a-project-with-a-long-name\n", "example.com\n", "x-sigs.k8s.io\n").Replace(twoKinds)
	if _, err := parse(t, text).Replay(project.ReplayOptions{Scaffolder: scaffolder}); err != nil || text == twoKinds {
		t.Errorf("%v:\n%s", err, text)
	}
}

// What an entry of an older layout was made in is known by its path, and can be
// left behind.
func TestReplay_Mixed(t *testing.T) {
	yes := true
	f := parse(t, "multigroup: true\n"+twoKinds)
	got, err := f.Replay(project.ReplayOptions{Scaffolder: scaffolder})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := got.Files["api/v1/memcached_types.go"]; !ok {
		t.Error("the types are not where PROJECT says")
	}
	if f, err = f.Reshape(project.Shape{MultiGroup: &yes}); err != nil {
		t.Fatal(err)
	}
	if got, err = f.Replay(project.ReplayOptions{Scaffolder: scaffolder}); err != nil {
		t.Fatal(err)
	}
	if _, ok := got.Files["api/cache/v1/memcached_types.go"]; !ok {
		t.Error("the types were not laid out by group")
	}
}

func TestHeader(t *testing.T) {
	f := parse(t, twoKinds)
	got, err := f.Header(scaffolder(nil), map[string]string{"license": "apache2", "owner": "Acme"})
	if err != nil || !bytes.Contains(got, []byte("\nCopyright 2026 Acme.\n")) {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := f.Header(scaffolder(nil), map[string]string{"license": "none"}); err != nil || len(got) > 0 {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := f.Header(scaffolder(nil), map[string]string{"license": "gpl"}); err == nil {
		t.Error("an unknown license was taken")
	}
}

func TestWebhooks(t *testing.T) {
	f := parse(t, strings.Replace(twoKinds, "  mine: too\n", "  webhooks:\n    validation: true\n    defaulting: false\n    webhookVersion: v1\n", 1))
	p := f.Project()
	for i, want := range [][]string{nil, {"validation"}} {
		if d := cmp.Diff(want, f.Webhooks(p.Resources[i])); d != "" {
			t.Errorf("%s (-want +got):\n%s", p.Resources[i].Kind, d)
		}
	}
}

// TestReplay_OwnNames holds that config/default keeps the user's namespace and prefix,
// even on a last line without an end.
func TestReplay_OwnNames(t *testing.T) {
	const name = "config/default/kustomization.yaml"
	own := func(file string) ([]byte, bool, error) {
		return []byte("namespace: store\nnamePrefix: acme-"), file == name, nil
	}
	got, err := parse(t, twoKinds).Replay(project.ReplayOptions{Scaffolder: scaffolder, Own: own})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(got.Files[name]); !strings.Contains(text, "\nnamespace: store\n") || !strings.Contains(text, "\nnamePrefix: acme-\n") {
		t.Errorf("%s:\n%s", name, text)
	}
}

// An entry that PROJECT cannot have is an error about PROJECT, not about the flags
// of create.
func TestReplay_Unfit(t *testing.T) {
	const head = "domain: example.com\nlayout:\n- go.kubebuilder.io/v4\nprojectName: shop\nrepo: example.com/shop\nresources:\n"
	entry := func(group string) string {
		return "- api:\n    crdVersion: v1\n    namespaced: true\n  domain: example.com\n  group: " + group + "\n  kind: Cart\n  path: example.com/shop/api/v1\n  version: v1\n"
	}
	for name, c := range map[string]struct{ resources, err, hint string }{
		"an entry twice": {entry("sale") + entry("sale"), "PROJECT has sale/v1 Cart twice", "remove one of them"},
		"two groups":     {entry("sale") + entry("shop"), "render shop/v1 Cart again: ", "add the line 'multigroup: true' to PROJECT"},
		"a name":         {entry("Sale"), "render Sale/v1 Cart again: group ", "correct the entry in PROJECT and run the command again"},
		"no API": {entry("sale") + "- controller: true\n  group: shop\n  kind: Till\n  version: v1\n",
			"render shop/v1 Till again: ", "correct the entry in PROJECT and run the command again"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := project.Parse([]byte(head + c.resources + "version: \"3\"\n"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.Replay(project.ReplayOptions{Scaffolder: scaffolder})
			if err == nil || !strings.HasPrefix(err.Error(), c.err) || clierr.HintOf(err) != c.hint || clierr.CodeOf(err) != clierr.CodeFailed {
				t.Errorf("got %v, hint %q", err, clierr.HintOf(err))
			}
		})
	}
}
