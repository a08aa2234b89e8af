package olm

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/kube"
)

const olmModule = "github.com/operator-framework/operator-lifecycle-manager"

// goList asks the go command for one field of a module of go.mod.
func goList(t *testing.T, format, module string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", format, module).Output()
	if err != nil {
		t.Fatalf("find the module %s: %v", module, err)
	}
	return strings.TrimSpace(string(out))
}

// chartObjects renders the chart in OLM's own module with the values of its
// releases: what a release calls olm.yaml.
func chartObjects(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	deploy := filepath.Join(goList(t, "{{.Dir}}", olmModule), "deploy")
	values := merge(readYAML(t, filepath.Join(deploy, "chart", "values.yaml")), readYAML(t, filepath.Join(deploy, "upstream", "values.yaml")))
	for _, part := range []string{"olm", "catalog", "package"} {
		values[part].(map[string]any)["image"].(map[string]any)["ref"] = "quay.io/operator-framework/olm:v" + Version
	}
	data := map[string]any{"Values": values, "Chart": map[string]any{"Version": "v" + Version}}
	all := template.New("chart")
	all.Funcs(chartFuncs(all))
	files, err := filepath.Glob(filepath.Join(deploy, "chart", "templates", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the chart has no templates: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := all.New(filepath.Base(name)).Parse(string(text)); err != nil {
			t.Fatal(err)
		}
	}
	var list []*unstructured.Unstructured
	for _, name := range files {
		name = filepath.Base(name)
		if strings.HasPrefix(name, "_") {
			continue
		}
		var out bytes.Buffer
		if err := all.ExecuteTemplate(&out, name, data); err != nil {
			t.Fatal(err)
		}
		objects, err := kube.ParseManifests(bytes.ReplaceAll(out.Bytes(), []byte("<no value>"), nil), name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, objects...)
	}
	return list
}

// chartFuncs are the functions of helm's templates that the chart calls.
func chartFuncs(all *template.Template) template.FuncMap {
	indent := func(n int, s string) string {
		pad := strings.Repeat(" ", n)
		return pad + strings.ReplaceAll(s, "\n", "\n"+pad)
	}
	return template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var out strings.Builder
			err := all.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
		"toYaml": func(v any) (string, error) {
			data, err := yaml.Marshal(v)
			return strings.TrimSuffix(string(data), "\n"), err
		},
		"indent": indent, "nindent": func(n int, s string) string { return "\n" + indent(n, s) },
		"trimSuffix": func(suffix, s string) string { return strings.TrimSuffix(s, suffix) },
		"quote":      func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
		"default": func(fallback, v any) any {
			if v == nil || v == "" {
				return fallback
			}
			return v
		},
		"trunc": func(n int, s string) string { return s[:min(n, len(s))] },
	}
}

func readYAML(t *testing.T, name string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]any{}
	if err := yaml.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// merge lays b over a, as helm does with files of values.
func merge(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	for key, value := range b {
		inner, ok := value.(map[string]any)
		below, both := out[key].(map[string]any)
		if ok && both {
			value = merge(below, inner)
		}
		out[key] = value
	}
	return out
}

func byRef(t *testing.T, list []*unstructured.Unstructured) map[string]map[string]any {
	t.Helper()
	m := map[string]map[string]any{}
	for _, u := range list {
		ref := kube.RefOf(u).String()
		if m[ref] != nil {
			t.Errorf("%s is there twice", ref)
		}
		m[ref] = u.Object
	}
	return m
}

// normal drops fields that are empty, which the chart leaves out, and writes
// the version as Go's type does.
func normal(objects map[string]map[string]any) {
	for _, o := range objects {
		maps.DeleteFunc(o, func(_ string, field any) bool {
			m, ok := field.(map[string]any)
			return ok && len(m) == 0
		})
		spec, _ := o["spec"].(map[string]any)
		if version, ok := spec["version"].(string); ok {
			spec["version"] = strings.TrimPrefix(version, "v")
		}
	}
}

func TestObjectsAreThoseOfTheChart(t *testing.T) {
	want, have := byRef(t, chartObjects(t)), byRef(t, builtIn(t, DefaultNamespace).Objects)
	normal(want)
	normal(have)
	if d := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(have))); d != "" {
		t.Errorf("objects (-chart +ours):\n%s", d)
	}
	for ref := range want {
		if d := cmp.Diff(want[ref], have[ref], cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s (-chart +ours):\n%s", ref, d)
		}
	}
}

func TestCRDsAreThoseOfTheChart(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(goList(t, "{{.Dir}}", olmModule), "deploy", "chart", "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the chart has no CRDs: %v", err)
	}
	var chart []*unstructured.Unstructured
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := kube.ParseManifests(data, name)
		if err != nil {
			t.Fatal(err)
		}
		chart = append(chart, objects...)
	}
	if d := cmp.Diff(byRef(t, chart), byRef(t, builtIn(t, DefaultNamespace).CRDs)); d != "" {
		t.Errorf("CRDs (-chart +ours):\n%s", d)
	}
}

func TestVersionIsThatOfTheModule(t *testing.T) {
	if got := goList(t, "{{.Version}}", olmModule); got != "v"+Version {
		t.Errorf("go.mod has OLM %s, and Version is %s", got, Version)
	}
}
