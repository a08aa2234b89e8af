package kustomize

import (
	"bytes"
	"context"
	"errors"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: NAME\n"

// source writes files into a new project; those whose name begins with "+" go
// into the overlay, those with "-" are removed by it.
func source(t testing.TB, files map[string]string) Source {
	t.Helper()
	src := Source{Dir: t.TempDir(), Files: host.OSFiles{}}
	for name, text := range files {
		if over, ok := strings.CutPrefix(name, "+"); ok {
			put(t, &src.Overlay, over, fileset.File{Data: []byte(text)})
			continue
		}
		if gone, ok := strings.CutPrefix(name, "-"); ok {
			put(t, &src.Overlay, gone, fileset.File{Removed: true})
			continue
		}
		full := filepath.Join(src.Dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return src
}

func put(t testing.TB, s *fileset.Set, name string, f fileset.File) {
	t.Helper()
	if err := s.Put(name, f); err != nil {
		t.Fatal(err)
	}
}

func named(name string) string { return strings.Replace(configMap, "NAME", name, 1) }

func TestBuild(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		path  string
		want  string
	}{
		"from disk": {
			files: map[string]string{"k/kustomization.yaml": "resources: [a.yaml]\nnamePrefix: x-\n", "k/a.yaml": named("a")},
			path:  "k", want: named("x-a"),
		},
		"a file outside, where the Makefile allows it": {
			files: map[string]string{
				"Makefile":             "\tkustomize build --load-restrictor LoadRestrictionsNone k\n",
				"k/kustomization.yaml": "resources: [../docs/a.yaml]\n", "docs/a.yaml": named("a"),
			},
			path: "k", want: named("a"),
		},
		"base beside it": {
			files: map[string]string{
				"config/default/kustomization.yaml": "resources: [../crd]\nnamespace: shop\n",
				"config/crd/kustomization.yaml":     "resources: [a.yaml]\n", "config/crd/a.yaml": named("a"),
			},
			path: "config/default", want: named("a") + "  namespace: shop\n",
		},
		"overlay alone": {
			files: map[string]string{"+k/kustomization.yaml": "resources: [a.yaml, ../l]\n", "+k/a.yaml": named("a"), "+l/Kustomization": "resources: [b.yaml]\n", "+l/b.yaml": named("b")},
			path:  "k", want: named("a") + "---\n" + named("b"),
		},
		"overlay wins over the disk": {
			files: map[string]string{"k/kustomization.yaml": "resources: [a.yaml]\n", "k/a.yaml": named("old"), "+k/a.yaml": named("new")},
			path:  "k", want: named("new"),
		},
		"overlay removes": {
			files: map[string]string{"k/kustomization.yaml": "resources: [gone.yaml]\n", "-k/kustomization.yaml": "", "+k/kustomization.yml": "resources: [a.yaml]\n", "k/a.yaml": named("a"), "Makefile": "LoadRestrictionsNone"},
			path:  "k", want: named("a"),
		},
		"in the order in which a fresh cluster takes them": {
			files: map[string]string{
				"kustomization.yaml": "resources: [a.yaml, namespace.yaml]\n", "a.yaml": named("a"),
				"namespace.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n",
			},
			path: ".", want: "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n---\n" + named("a"),
		},
		"in an order of the user's": {
			files: map[string]string{"kustomization.yaml": "resources: [b.yaml, a.yaml]\nsortOptions: {order: fifo}\n", "a.yaml": named("a"), "b.yaml": named("b")},
			path:  ".", want: named("b") + "---\n" + named("a"),
		},
		"patch and generator": {
			files: map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\npatches:\n- path: p.yaml\nconfigMapGenerator:\n- name: g\n  files: [key=data.txt]\n  options: {disableNameSuffixHash: true}\n",
				"a.yaml":             named("a"), "p.yaml": named("a") + "  labels: {p: q}\n", "data.txt": "hello",
			},
			path: ".", want: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels:\n    p: q\n  name: a\n---\napiVersion: v1\ndata:\n  key: hello\nkind: ConfigMap\nmetadata:\n  name: g\n",
		},
		"inline patch and component": {
			files: map[string]string{
				"kustomization.yaml":   "resources: [a.yaml]\ncomponents: [c]\n",
				"c/kustomization.yaml": "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\npatches:\n- patch: |-\n    - {op: add, path: /metadata/labels, value: {l: m}}\n  target: {kind: ConfigMap}\n",
				"a.yaml":               named("a"),
			},
			path: ".", want: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels:\n    l: m\n  name: a\n",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			log.SetOutput(&said)
			defer log.SetOutput(os.Stderr)
			got, err := Build(t.Context(), source(t, tc.files), tc.path)
			if err != nil {
				t.Fatal(err)
			}
			if said.Len() > 0 {
				t.Errorf("kustomize says: %s", &said)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBuildErrors(t *testing.T) {
	one := func(text string) map[string]string { return map[string]string{"k/kustomization.yaml": text} }
	tests := map[string]struct {
		files map[string]string
		err   string
		hint  string
	}{
		"no directory":           {map[string]string{}, "build k: no kustomization.yaml in k", "create it"},
		"no kustomization":       {map[string]string{"k/a.yaml": named("a")}, "no kustomization.yaml in k", "create it"},
		"two kustomizations":     {map[string]string{"k/kustomization.yaml": "", "k/Kustomization": ""}, "kustomization.yaml and Kustomization", "keep one"},
		"empty":                  {one(""), "kustomization.yaml is empty", "correct the files of k"},
		"broken YAML":            {one("resources:\n- a\n b: [\n"), "k/kustomization.yaml:3: ", "correct the line"},
		"wrong type":             {one("resources: x\n"), "k/kustomization.yaml: cannot unmarshal string", "correct the file"},
		"misspelt field":         {one("# resorces:\nnamespace: a\nresorces: []\n"), `k/kustomization.yaml:3: unknown field "resorces"`, `did you mean "resources"?`},
		"missing resource":       {one("resources:\n- a.yaml\n"), "k/kustomization.yaml:2: resources: there is no k/a.yaml", "create it"},
		"missing patch":          {one("patches:\n- path: p.yaml\n"), "k/kustomization.yaml:2: path: there is no k/p.yaml", "create it"},
		"missing generator file": {one("configMapGenerator:\n- name: g\n  files: [a=f.txt]\n"), "k/kustomization.yaml:3: configMapGenerator: there is no k/f.txt", "create it"},
		"resource is removed":    {map[string]string{"k/kustomization.yaml": "resources: [a.yaml]\n", "k/a.yaml": named("a"), "-k/a.yaml": ""}, "there is no k/a.yaml", "create it"},
		"broken resource":        {map[string]string{"k/kustomization.yaml": "resources: [a.yaml]\n", "k/a.yaml": "a: [\n"}, "a.yaml", "correct the files of k"},
		"broken base":            {map[string]string{"k/kustomization.yaml": "resources: [../l]\n", "l/kustomization.yaml": "x: y\n"}, `l/kustomization.yaml:1: unknown field "x"`, ""},
		"same object twice":      {map[string]string{"k/kustomization.yaml": "resources: [a.yaml, b.yaml]\n", "k/a.yaml": named("a"), "k/b.yaml": named("a")}, "ConfigMap", "correct the files of k"},
		"cycle":                  {map[string]string{"k/kustomization.yaml": "resources: [../l]\n", "l/kustomization.yaml": "resources: [../k]\n"}, "cycle", "correct the files of k"},
		"file outside its root":  {map[string]string{"k/kustomization.yaml": "resources: [../a.yaml]\n", "a.yaml": named("a")}, "a.yaml", "correct the files of k"},
		"no Makefile allows it any more": {map[string]string{"k/kustomization.yaml": "resources: [../a.yaml]\n", "a.yaml": named("a"), "Makefile": "LoadRestrictionsNone", "-Makefile": ""},
			"a.yaml", "correct the files of k"},
		"absolute path": {one("resources: [/etc]\n"), "/etc", "correct the files of k"},
		"helm chart":    {one("helmCharts:\n- name: x\n"), "k/kustomization.yaml:1: helm charts", "helm template"},
		"plugin": {map[string]string{"k/kustomization.yaml": "generators: [g.yaml]\n", "k/g.yaml": "apiVersion: example.com/v1\nkind: Gen\nmetadata: {name: g}\n"},
			"plugin", "correct the files of k"},
		"exec function": {map[string]string{"k/kustomization.yaml": "generators: [g.yaml]\n",
			"k/g.yaml": "apiVersion: example.com/v1\nkind: Gen\nmetadata:\n  name: g\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: /bin/true}\n"},
			"plugin", "correct the files of k"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			src := source(t, tc.files)
			out, err := Build(t.Context(), src, "k")
			if err == nil {
				t.Fatalf("no error; output:\n%s", out)
			}
			if !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %q lacks %q", err, tc.err)
			}
			if strings.Contains(err.Error(), src.Dir) {
				t.Errorf("error %q is full of the machine's paths", err)
			}
			if hint := clierr.HintOf(err); hint == "" || !strings.Contains(hint, tc.hint) {
				t.Errorf("hint %q lacks %q", hint, tc.hint)
			}
		})
	}
}

// TestRemote: none of the forms in which kustomize accepts a URL may get to it.
// Where the error comes from the check, nothing was fetched.
func TestRemote(t *testing.T) {
	urls := []string{
		"https://example.com/a.yaml", "http://example.com/a.yaml", "HTTPS://example.com/a.yaml",
		"https://github.com/org/repo//dir?ref=main", "ssh://git@example.com/org/repo", "file:///tmp/repo",
		"git@github.com:org/repo.git", "me@example.com:org/repo", "git::https://example.com/r", "git::github.com/o/r",
		"github.com/org/repo", "GitHub.com/org/repo/dir?ref=v1", "github.com:org/repo", "www.github.com/org/repo", "org-1@github.com/org/repo",
	}
	for _, field := range []string{
		"resources: [URL]", "bases: [URL]", "components: [URL]", "generators: [URL]", "transformers: [URL]", "validators: [URL]",
		"crds: [URL]", "configurations: [URL]", "openapi: {path: URL}", "patches: [{path: URL}]", "patchesJson6902: [{path: URL}]",
		"patchesStrategicMerge: [URL]", "replacements: [{path: URL}]", "configMapGenerator: [{name: a, files: [URL]}]",
		"configMapGenerator: [{name: a, files: [k=URL]}]", "secretGenerator: [{name: a, envs: [URL]}]",
	} {
		for _, url := range urls {
			text := strings.Replace(field, "URL", `"`+url+`"`, 1)
			if strings.Contains(field, "k=") {
				text = strings.Replace(field, "k=URL", `"k=`+url+`"`, 1)
			}
			_, err := Build(t.Context(), source(t, map[string]string{"kustomization.yaml": text + "\n"}), ".")
			if err == nil || !strings.Contains(err.Error(), "kustomization.yaml:1: ") || !strings.Contains(err.Error(), "is remote") {
				t.Errorf("%s: error %v", text, err)
			}
		}
	}
	for name, files := range map[string]map[string]string{
		"inline":         {"kustomization.yaml": "transformers:\n- |\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: p}\n  path: http://127.0.0.1:1/p\n"},
		"in a file":      {"kustomization.yaml": "generators: [g.yaml]\n", "g.yaml": "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: g}\nname: g\nbehavior: create\nfiles: [k=http://127.0.0.1:1/p]\n"},
		"in a directory": {"kustomization.yaml": "validators: [v]\n", "v/kustomization.yaml": "resources: [v.yaml]\n", "v/v.yaml": named("a") + "---\napiVersion: builtin\nkind: ReplacementTransformer\nreplacements: [{path: \"http://127.0.0.1:1/p\"}]\n"},
		"in a list":      {"kustomization.yaml": "transformers: [t.yaml]\n", "t.yaml": "apiVersion: v1\nkind: List\nitems:\n- apiVersion: builtin\n  kind: PatchStrategicMergeTransformer\n  metadata: {name: p}\n  paths: [\"http://127.0.0.1:1/p\"]\n"},
	} {
		_, err := Build(t.Context(), source(t, files), ".")
		if err == nil || !strings.Contains(err.Error(), " http://127.0.0.1:1/p is remote") && !strings.Contains(err.Error(), ":6: files k=http://127.0.0.1:1/p is remote") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for _, path := range []string{"a.yaml", "../crd", "github.commons/a", "mail@home/a.yaml", "a:b.yaml", "dir.git/a"} {
		if remote(path) {
			t.Errorf("%s was taken for a URL", path)
		}
	}
}

func TestBuildThroughSymlinks(t *testing.T) {
	src := source(t, map[string]string{"real/k/kustomization.yaml": "resources: [a.yaml]\n", "real/k/a.yaml": named("a")})
	link := filepath.Join(src.Dir, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	src.Dir = link
	put(t, &src.Overlay, "k/a.yaml", fileset.File{Data: []byte(named("over"))})
	got, err := Build(t.Context(), src, "k")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != named("over") {
		t.Errorf("output:\n%s", got)
	}
}

func TestBuildCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Build(ctx, source(t, nil), "."); !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
}

// TestBuildWritesNothing: a build is a reading of the tree.
func TestBuildWritesNothing(t *testing.T) {
	src := source(t, map[string]string{"kustomization.yaml": "resources: [a.yaml]\n", "+a.yaml": named("a")})
	before := hosttest.Snapshot(t, src.Dir)
	if _, err := Build(t.Context(), src, "."); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, hosttest.Snapshot(t, src.Dir)); diff != "" {
		t.Errorf("the tree changed:\n%s", diff)
	}
}

// FuzzBuild: whatever stands in a kustomization, a build ends with objects or
// an error, and never reaches the network: the check refuses all URLs.
func FuzzBuild(f *testing.F) {
	for _, s := range []string{
		"resources: [a.yaml]\n", "namePrefix: x\n", "patches: [{patch: '- {op: remove, path: /a}'}]\nresources: [a.yaml]\n",
		"resources: [.]\n", "vars: [{name: a}]\n", "replacements: [{source: {kind: a}}]\nresources: [a.yaml]\n",
		"images: [{name: a, newTag: b}]\nresources: [a.yaml]\n", "transformers: ['a: b']\n", "commonLabels: {a: b}\nresources: [a.yaml]\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := Build(t.Context(), source(t, map[string]string{"+kustomization.yaml": text, "+a.yaml": named("a")}), ".")
		if err != nil && clierr.HintOf(err) == "" {
			t.Errorf("no hint: %v", err)
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	src := source(b, map[string]string{"kustomization.yaml": "resources: [a.yaml]\nnamePrefix: x-\n", "a.yaml": named("a")})
	for b.Loop() {
		if _, err := Build(b.Context(), src, "."); err != nil {
			b.Fatal(err)
		}
	}
}
