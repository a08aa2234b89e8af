package migrate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
)

func TestDetect(t *testing.T) {
	with := func(project string) map[string]string { return map[string]string{"PROJECT": project} }
	sdk0 := func(more ...string) map[string]string {
		out := map[string]string{"cmd/manager/main.go": "", "pkg/apis/apis.go": ""}
		for _, name := range more {
			out[name] = ""
		}
		return out
	}
	tests := map[string]struct {
		files map[string]string
		want  Layout
		err   string
	}{
		"v0.x":                         {sdk0(), LayoutSDK0, ""},
		"v0.x with roles of its own":   {sdk0("roles/a/b.yml"), LayoutSDK0, ""},
		"v0.x with charts of its own":  {sdk0("helm-charts/a/Chart.yaml"), LayoutSDK0, ""},
		"v0.x with watches":            {sdk0("watches.yaml"), "", "Ansible operator"},
		"watches of a Helm operator":   {map[string]string{"watches.yml": "", "helm-charts/a/Chart.yaml": ""}, "", "Helm operator"},
		"roles and nothing else":       {map[string]string{"roles/a/b.yml": ""}, "", "Ansible operator"},
		"2":                            {with("version: \"2\"\n"), LayoutGo2, ""},
		"2, a number":                  {with("version: 2\n"), LayoutGo2, ""},
		"3-alpha":                      {with("layout: go.kubebuilder.io/v2\nversion: 3-alpha\n"), LayoutGo2, ""},
		"3-alpha without layout":       {with("version: 3-alpha\n"), LayoutGo2, ""},
		"3-alpha of go/v3":             {with("layout: go.kubebuilder.io/v3\nversion: 3-alpha\n"), LayoutGo3, ""},
		"3-alpha of go/v3-alpha":       {with("layout: go.kubebuilder.io/v3-alpha\nversion: 3-alpha\n"), LayoutGo3, ""},
		"3 of go/v2":                   {with("layout: [go.kubebuilder.io/v2]\nversion: \"3\"\n"), LayoutGo2, ""},
		"3 of go/v3":                   {with("layout:\n- go.kubebuilder.io/v3\nversion: \"3\"\n"), LayoutGo3, ""},
		"3 without layout":             {with("version: \"3\"\n"), LayoutGo3, ""},
		"several in a text":            {with("layout: go.kubebuilder.io/v3,declarative.go.kubebuilder.io/v1\nversion: \"3\"\n"), LayoutGo3, ""},
		"today's":                      {with("layout: [go.kubebuilder.io/v4]\nversion: \"3\"\n"), LayoutCurrent, ""},
		"today's, with its base":       {with("layout: [base.go.kubebuilder.io/v4]\nversion: \"3\"\n"), LayoutCurrent, ""},
		"today's, with a chart":        {with("layout: [go.kubebuilder.io/v4, helm.kubebuilder.io/v1-alpha]\nversion: \"3\"\n"), LayoutCurrent, ""},
		"a Helm operator":              {with("layout: [helm.sdk.operatorframework.io/v1]\nversion: \"3\"\n"), "", "Helm operator"},
		"an Ansible operator":          {with("layout: [ansible.sdk.operatorframework.io/v1]\nversion: \"3\"\n"), "", "Ansible operator"},
		"another language":             {with("layout: [quarkus.javaoperatorsdk.io/v1-alpha]\nversion: \"3\"\n"), "", `unsupported project layout "quarkus.javaoperatorsdk.io/v1-alpha"`},
		"a layout that is no text":     {with("layout: [{a: b}]\nversion: \"9\"\n"), "", "unsupported project layout"},
		"a PROJECT that is not valid":  {with("version: \"3\"\nlayout: [\n"), "", "PROJECT: yaml: line 2"},
		"kubebuilder 1":                {map[string]string{"PROJECT": "version: \"1\"\n", "cmd/manager/main.go": ""}, "", "kubebuilder 1"},
		"a stub":                       {map[string]string{"pkg/apis/a.go": "", "pkg/stub/a.go": ""}, "", "0.0.x"},
		"a program that is no manager": {map[string]string{"cmd/manager/main.go": ""}, "", "no project here"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := detect(newMigration(test.files).files)
			switch {
			case test.err == "" && (err != nil || got != test.want):
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err) || clierr.HintOf(err) == ""):
				t.Errorf("got %v with hint %q, want %q", err, clierr.HintOf(err), test.err)
			}
		})
	}
}

func TestModulePath(t *testing.T) {
	const mainText = "package main\n\nimport \"example.com/old/pkg/apis\"\n"
	tests := map[string]struct {
		files     map[string]string
		want, err string
	}{
		"of go.mod":          {map[string]string{"go.mod": "// mine\nmodule \"example.com/shop\"\n"}, "example.com/shop", ""},
		"go.mod comes first": {map[string]string{"go.mod": "module example.com/shop\n", "cmd/manager/main.go": mainText}, "example.com/shop", ""},
		"of the program":     {map[string]string{"cmd/manager/main.go": mainText}, "example.com/old", ""},
		"an empty go.mod":    {map[string]string{"go.mod": "", "cmd/manager/main.go": mainText}, "", "no module line"},
		"of nothing":         {map[string]string{"cmd/manager/main.go": "package main\n"}, "", "no go.mod"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := modulePath(newMigration(test.files).files)
			if got != test.want || (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	_, err := modulePath(newMigration(map[string]string{"cmd/manager/main.go": "package main\n\nfunc {\n"}).files)
	if err == nil || !strings.Contains(err.Error(), "cmd/manager/main.go:3:6") {
		t.Errorf("got %v, want the position", err)
	}
}

func TestReadAPIs(t *testing.T) {
	const schemaImport = "import \"k8s.io/apimachinery/pkg/runtime/schema\"\n\n"
	const metaImport = "import metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\n"
	const types = "package v1\n\n" + metaImport + "type Shop struct {\n\tmetav1.TypeMeta\n\tmetav1.ObjectMeta\n}\n\ntype ShopList struct {\n\tmetav1.TypeMeta\n\tmetav1.ListMeta\n}\n\ntype ShopSpec struct{}\n"
	tests := map[string]struct {
		files     map[string]string
		group     string
		clustered bool
	}{
		"a text":             {map[string]string{"register.go": "package v1\n\n" + schemaImport + "var G = schema.GroupVersion{Group: \"a.io\", Version: \"v1\"}\n"}, "a.io", false},
		"a constant":         {map[string]string{"register.go": "package v1\n\n" + schemaImport + "const name = \"a.io\"\n\nvar G = schema.GroupVersion{Group: name, Version: \"v1\"}\n"}, "a.io", false},
		"of the parent":      {map[string]string{"../register.go": "package shop\n\nconst GroupName = `a.io`\n", "register.go": "package v1\n\n" + schemaImport + "var G = schema.GroupVersion{Group: shop.GroupName}\n"}, "a.io", false},
		"a marker":           {map[string]string{"doc.go": "// Package v1 is mine.\n// +groupName=a.io\npackage v1\n"}, "a.io", false},
		"code over a marker": {map[string]string{"doc.go": "// +groupName=b.io\npackage v1\n", "register.go": "package v1\n\n" + schemaImport + "var G = schema.GroupVersion{Group: \"a.io\"}\n"}, "a.io", false},
		"none":               {nil, "", false},
		"not of tests":       {map[string]string{"a_test.go": "// +groupName=a.io\npackage v1\n"}, "", false},
		"outside of namespaces": {map[string]string{"doc.go": "// +groupName=a.io\npackage v1\n",
			"types.go": strings.Replace(types, "type Shop ", "// +kubebuilder:resource:path=shops,scope=Cluster\ntype Shop ", 1)}, "a.io", true},
		"by the client's marker": {map[string]string{"doc.go": "// +groupName=a.io\npackage v1\n",
			"types.go": strings.Replace(types, "type Shop ", "// +genclient:nonNamespaced\n\n// Shop is mine.\n// +genclient:nonNamespaced\ntype Shop ", 1)}, "a.io", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"pkg/apis/shop/v1/types.go": types, "pkg/apis/shop/v1/zz_generated.deepcopy.go": "package v1\n"}
			for name, text := range test.files {
				if rest, up := strings.CutPrefix(name, "../"); up {
					files["pkg/apis/shop/"+rest] = text
				} else {
					files["pkg/apis/shop/v1/"+name] = text
				}
			}
			got, err := readAPIs(newMigration(files).files)
			if err != nil {
				t.Fatal(err)
			}
			if test.group == "" {
				if len(got) > 0 {
					t.Errorf("got %+v", got[0])
				}
				return
			}
			if len(got) != 1 {
				t.Fatalf("%d versions", len(got))
			}
			a := got[0]
			if d := cmp.Diff([]kind{{name: "Shop", clustered: test.clustered}}, a.kinds, cmp.AllowUnexported(kind{})); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if a.group != test.group || a.version != "v1" || a.dir != "pkg/apis/shop/v1" {
				t.Errorf("got %+v", a)
			}
		})
	}
}

func TestReadAPIsBroken(t *testing.T) {
	_, err := readAPIs(newMigration(map[string]string{"pkg/apis/shop/v1/types.go": "package v1\n\ntype Shop struct {\n"}).files)
	if err == nil || !strings.Contains(err.Error(), "pkg/apis/shop/v1/types.go:4:1") && !strings.Contains(err.Error(), "pkg/apis/shop/v1/types.go:3:") {
		t.Errorf("got %v, want the position", err)
	}
}

// TestWithoutModule holds what is said of projects without go.mod.
func TestWithoutModule(t *testing.T) {
	files := goV3()
	delete(files, "go.mod")
	_, err := makePlan(t, files)
	if err == nil || strings.Contains(err.Error(), "cmd/manager") || !strings.Contains(err.Error(), "there is no go.mod") || !strings.Contains(clierr.HintOf(err), "go mod init") {
		t.Errorf("got %v, %s", err, clierr.HintOf(err))
	}
}
