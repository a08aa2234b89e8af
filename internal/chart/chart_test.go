package chart_test

import (
	"flag"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	chartutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/chart"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/kustomize"
)

var update = flag.Bool("update", false, "rewrite testdata/chart from what the code does")

// TestRender_Golden holds the chart of the project with the most parts to
// testdata/chart; -update rewrites it.
func TestRender_Golden(t *testing.T) {
	const want = "testdata/chart"
	files, _ := render(t, "../../testdata/golden/webhook-cert-manager/want")
	got := map[string]string{}
	for name, data := range files {
		for d := path.Dir(name); d != "."; d = path.Dir(d) {
			got[d] = "dir"
		}
		got[name] = string(data)
	}
	if *update {
		if err := os.RemoveAll(want); err != nil {
			t.Fatal(err)
		}
		write(t, want, files)
	}
	if d := cmp.Diff(hosttest.Snapshot(t, want), got); d != "" {
		t.Errorf("rewrite it with -update (-want +got):\n%s", d)
	}
}

// write puts files below dir.
func write(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// golden are the projects below testdata/golden.
func golden(t testing.TB) []string {
	t.Helper()
	dirs, err := filepath.Glob("../../testdata/golden/*/want")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no golden projects: %v", err)
	}
	return dirs
}

// render makes the chart of a project and returns what kustomize builds of it.
func render(t testing.TB, dir string) (files map[string][]byte, in chart.Input) {
	t.Helper()
	abs, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Name string `json:"projectName"`
	}
	data, err := os.ReadFile(filepath.Join(abs, "PROJECT"))
	if err == nil {
		err = yaml.Unmarshal(data, &p)
	}
	if err != nil {
		t.Fatal(err)
	}
	src := kustomize.Source{Dir: abs, Files: host.OSFiles{}}
	in.Name = p.Name
	if in.Objects, err = kustomize.Build(t.Context(), src, "config/default"); err != nil {
		t.Fatal(err)
	}
	if src, _, err = kustomize.AddResources(src, "config/default", "../prometheus", "../network-policy"); err != nil {
		t.Fatal(err)
	}
	if in.Optional, err = kustomize.Build(t.Context(), src, "config/default"); err != nil {
		t.Fatal(err)
	}
	if files, err = chart.Render(in); err != nil {
		t.Fatal(err)
	}
	return files, in
}

// load reads a chart as helm does.
func load(t testing.TB, files map[string][]byte) *v2.Chart {
	t.Helper()
	var list []*archive.BufferedFile
	for name, data := range files {
		list = append(list, &archive.BufferedFile{Name: name, Data: data})
	}
	c, err := loader.LoadFiles(list)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// objects are those of YAML documents, by kind, namespace and name.
type objects map[string]map[string]any

func (all objects) add(t testing.TB, from string, data string) {
	t.Helper()
	for doc := range strings.SplitSeq("\n"+data, "\n---\n") {
		var m map[string]any
		if err := yaml.UnmarshalStrict([]byte(doc), &m); err != nil {
			t.Fatalf("%s: %v\n%s", from, err, data)
		}
		if len(m) == 0 {
			continue
		}
		meta, _ := m["metadata"].(map[string]any)
		ns, _ := meta["namespace"].(string)
		key := m["kind"].(string) + " " + ns + "/" + meta["name"].(string)
		if all[key] != nil {
			t.Errorf("%s: %s is there twice", from, key)
		}
		all[key] = m
	}
}

// template is 'helm template NAME --namespace NAME-system' with values.
func template(t testing.TB, name string, c *v2.Chart, values map[string]any) objects {
	t.Helper()
	all, err := chartutil.ToRenderValues(c, values, common.ReleaseOptions{Name: name, Namespace: name + "-system", IsInstall: true, Revision: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := engine.Render(c, all)
	if err != nil {
		t.Fatal(err)
	}
	got := objects{}
	for _, file := range slices.Sorted(maps.Keys(out)) {
		if strings.HasSuffix(file, ".yaml") {
			got.add(t, file, out[file])
		}
	}
	return got
}

// expected is what kustomize built as a chart has it: without the namespace, with
// helm's labels, with CRDs that stay, without empty lists of volumes, and with
// the metrics Service in its certificate.
func expected(t testing.TB, in chart.Input) objects {
	t.Helper()
	want := objects{}
	want.add(t, "kustomize", string(in.Objects))
	delete(want, "Namespace /"+in.Name+"-system")
	service := ""
	for key := range want {
		if ns, name, ok := strings.Cut(strings.TrimPrefix(key, "Service "), "/"); ok && strings.HasSuffix(name, "-metrics-service") {
			service = name + "." + ns
		}
	}
	for key, o := range want {
		if strings.HasSuffix(key, "metrics-certs") {
			put(t, o, "spec/dnsNames", []any{service + ".svc", service + ".svc.cluster.local"})
		}
		meta := o["metadata"].(map[string]any)
		if labels, ok := meta["labels"].(map[string]any); ok && labels["app.kubernetes.io/managed-by"] != nil {
			labels["app.kubernetes.io/managed-by"] = "Helm"
			labels["app.kubernetes.io/instance"] = in.Name
			labels["helm.sh/chart"] = in.Name + "-0.1.0"
		}
		if o["kind"] == "CustomResourceDefinition" {
			put(t, o, "metadata/annotations/helm.sh~1resource-policy", "keep")
		}
		if o["kind"] == "Deployment" {
			spec, container := pod(o)
			drop(spec, "volumes")
			drop(container, "volumeMounts")
		}
	}
	return want
}

// pod returns the spec of a Deployment's pod and its first container.
func pod(deployment map[string]any) (spec, container map[string]any) {
	spec = deployment["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	return spec, spec["containers"].([]any)[0].(map[string]any)
}

// drop takes an empty list away.
func drop(m map[string]any, key string) {
	if list, ok := m[key].([]any); ok && len(list) == 0 {
		delete(m, key)
	}
}

// What helm makes of the chart with its own values is what kustomize builds.
func TestRender_Defaults(t *testing.T) {
	for _, dir := range golden(t) {
		t.Run(filepath.Base(filepath.Dir(dir)), func(t *testing.T) {
			files, in := render(t, dir)
			if d := cmp.Diff(expected(t, in), template(t, in.Name, load(t, files), nil)); d != "" {
				t.Errorf("(-kustomize +helm):\n%s", d)
			}
		})
	}
}

// 'helm lint --strict' has nothing to say.
func TestRender_Lint(t *testing.T) {
	for _, dir := range golden(t) {
		t.Run(filepath.Base(filepath.Dir(dir)), func(t *testing.T) {
			files, in := render(t, dir)
			at := filepath.Join(t.TempDir(), in.Name)
			write(t, at, files)
			for _, m := range lint.RunAll(at, nil, in.Name+"-system").Messages {
				if m.Severity > support.InfoSev {
					t.Errorf("%s: %v", m.Path, m.Err)
				}
			}
		})
	}
}
