package adopt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/relayout"
)

// world is one with the files of a project in it.
func world(t *testing.T, files map[string]string) *hosttest.World {
	t.Helper()
	w := hosttest.New(t)
	for name, text := range files {
		p := filepath.Join(w.Dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func inspect(t *testing.T, ctx context.Context, w *hosttest.World, change func(*Options)) (*Report, []string, error) {
	t.Helper()
	before := hosttest.Snapshot(t, w.Dir)
	o := Options{
		Host: w.Host, Dir: w.Dir, Generate: generate.Options{Host: w.Host, Dir: w.Dir},
		CreateAPI: func(string) error { return nil }, CreateWebhook: func() error { return nil },
	}
	if change != nil {
		change(&o)
	}
	r, set, err := Inspect(ctx, o)
	if d := cmp.Diff(before, hosttest.Snapshot(t, w.Dir)); d != "" {
		t.Errorf("the project was changed:\n%s", d)
	}
	return r, set.Paths(), err
}

func (r *Report) command(name string) Command {
	for _, c := range r.Commands {
		if strings.HasPrefix(c.Name, name) {
			return c
		}
	}
	return Command{}
}

const v4 = "domain: example.com\nlayout:\n- go.kubebuilder.io/v4\nprojectName: op\nrepo: example.com/op\nversion: \"3\"\n"

// goProject is as small as one with Go code can be. A file "-" is not there.
func goProject(more map[string]string) map[string]string {
	files := map[string]string{"PROJECT": v4, "go.mod": "module example.com/op\n\ngo 1.24\n", "cmd/main.go": "package main\n\nfunc main() {}\n"}
	for name, text := range more {
		if files[name] = text; text == "-" {
			delete(files, name)
		}
	}
	return files
}

func TestInspectCommands(t *testing.T) {
	refused := clierr.Failedf("do that", "cmd/main.go:3: the marker \"+kubebuilder:scaffold:imports\" is missing")
	unreadable := map[string]string{"PROJECT": strings.Replace(v4, `"3"`, `"2"`, 1), "config/default/kustomization.yaml": "namePrefix: a-\n"}
	for name, c := range map[string]struct {
		files   map[string]string
		change  func(*Options)
		command string
		want    Status
		text    string // in the detail or what is to be done
	}{
		"create":            {command: "create api", want: Works, text: "are there"},
		"create is refused": {change: func(o *Options) { o.CreateAPI = func(string) error { return refused } }, command: "create api", want: Needs, text: "cmd/main.go:3: "},
		"with its hint":     {change: func(o *Options) { o.CreateAPI = func(string) error { return refused } }, command: "create api", want: Needs, text: "do that"},
		"the other pattern": {change: func(o *Options) {
			o.CreateAPI = func(p string) error {
				if p == "" {
					return refused
				}
				return nil
			}
		}, command: "create api --pattern blank", want: Works, text: "does not fit"},
		"neither pattern": {change: func(o *Options) {
			o.CreateAPI = func(p string) error {
				if p == "" {
					return refused
				}
				return errors.New("cmd/main.go:9: no marker")
			}
		}, command: "create api", want: Needs, text: "no marker"},
		"webhooks":          {command: "create webhook", want: Works, text: "as it expects"},
		"webhooks not":      {change: func(o *Options) { o.CreateWebhook = func() error { return refused } }, command: "create webhook", want: Needs, text: "do that"},
		"webhooks nowhere":  {change: func(o *Options) { o.CreateWebhook = func() error { return ErrNothingToTry } }, command: "create webhook", want: Works, text: "not tried"},
		"broken code":       {files: map[string]string{"api/v1/x.go": "package v1\nfunc {\n"}, command: "generate", want: Needs, text: "api/v1/x.go:2"},
		"create then":       {files: map[string]string{"api/v1/x.go": "package v1\nfunc {\n"}, command: "create api", want: Needs, text: "--make=false"},
		"same":              {command: "generate", want: Works, text: "same, byte for byte"},
		"no namespaces":     {command: "run local", want: Works, text: "./cmd: read WATCH_NAMESPACE"},
		"namespaces":        {files: map[string]string{"pkg/ns.go": "package pkg\n\nconst ns = \"WATCH_NAMESPACE\"\n"}, command: "run local", want: Works, text: "read at pkg/ns.go:3"},
		"no main":           {files: map[string]string{"cmd/main.go": "-"}, command: "run local", want: Needs, text: "no cmd/main.go"},
		"no main, no image": {files: map[string]string{"cmd/main.go": "-"}, command: "image", want: Needs, text: "no cmd/main.go"},
		"no kustomization":  {command: "deploy", want: Needs, text: "there is no config/default/kustomization.yaml"},
		"broken":            {files: map[string]string{"config/default/kustomization.yaml": "resources:\n- x.yaml\n"}, command: "deploy", want: Needs, text: "kustomization.yaml:2"},
		"builds":            {files: map[string]string{"config/default/kustomization.yaml": "namePrefix: a-\n"}, command: "install", want: Works, text: "config/default builds"},
		"generates":         {command: "install", want: Works, text: "the CRDs that 'mysdk generate' makes"},
		"generates nothing": {files: map[string]string{"api/v1/x.go": "package v1\nfunc {\n"}, command: "install", want: Needs, text: "there is no config/crd"},
		"tests":             {files: map[string]string{"a/a_test.go": "package a\n"}, command: "test", want: Works, text: "files with tests: 1"},
		"no tests":          {command: "test", want: Works, text: "no tests yet"},
		"bundle":            {command: "bundle", want: Needs, text: "config/manifests"},
		"no base yet":       {files: map[string]string{"config/manifests/kustomization.yaml": "resources:\n- bases/op.clusterserviceversion.yaml\n"}, command: "bundle", want: Works, text: "config/manifests builds"},
		"another layout":    {files: map[string]string{"PROJECT": strings.Replace(v4, "/v4", "/v3", 1), "cmd/main.go": "-", "main.go": "package main\n"}, command: "create api", want: Needs, text: "this is go.kubebuilder.io/v3:\n'mysdk migrate --output-dir DIR' writes"},
		"this layout early": {files: map[string]string{"PROJECT": strings.Replace(v4, "/v4", "/v4-alpha", 1)}, command: "create api", want: Needs, text: "this is go.kubebuilder.io/v4-alpha:\nPROJECT: change the layout to go.kubebuilder.io/v4"},
		"no layout":         {files: map[string]string{"PROJECT": strings.Replace(v4, "layout:\n- go.kubebuilder.io/v4\n", "", 1)}, command: "create api", want: Needs, text: "add 'layout:"},
		"unreadable":        {files: unreadable, command: "create webhook", want: Needs, text: "too old"},
		"unreadable, local": {files: unreadable, command: "run local", want: Needs, text: "too old"},
		"unreadable, image": {files: unreadable, command: "image build", want: Needs, text: "'mysdk migrate'"},
		"unreadable, CRDs":  {files: unreadable, command: "install", want: Needs, text: "too old"},
		"unreadable, whole": {files: unreadable, command: "deploy", want: Needs, text: "too old"},
		"unreadable, tests": {files: unreadable, command: "test", want: Works, text: "no tests yet"},
		"unreadable, types": {files: unreadable, command: "generate", want: Works, text: "byte for byte"},
	} {
		t.Run(name, func(t *testing.T) {
			r, _, err := inspect(t, t.Context(), world(t, goProject(c.files)), c.change)
			if err != nil {
				t.Fatal(err)
			}
			got := r.command(c.command)
			if text := got.Detail + "\n" + strings.Join(got.Do, "\n"); got.Status != c.want || !strings.Contains(text, c.text) {
				t.Errorf("%s %s: %s; want %s with %q", got.Status, got.Name, text, c.want, c.text)
			}
		})
	}
}

func TestInspectOrigin(t *testing.T) {
	for name, c := range map[string]struct {
		project, makefile string
		tool              string
		layout            []string
	}{
		"mysdk":             {v4, "MYSDK ?= mysdk\n", "mysdk", []string{"go.kubebuilder.io/v4"}},
		"operator-sdk":      {v4, "OPERATOR_SDK_VERSION ?= v1.38.0\n", "operator-sdk v1.38.0", []string{"go.kubebuilder.io/v4"}},
		"kubebuilder":       {v4 + "cliVersion: v4.15.0\n", "", "kubebuilder v4.15.0", []string{"go.kubebuilder.io/v4"}},
		"layout as a text":  {strings.Replace(v4, "\n- ", " ", 1), "", "kubebuilder", []string{"go.kubebuilder.io/v4"}},
		"before the layout": {"version: \"2\"\n", "", "kubebuilder", []string{"go.kubebuilder.io/v2"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, _, err := inspect(t, t.Context(), world(t, map[string]string{"PROJECT": c.project, "Makefile": c.makefile}), nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Tool != c.tool {
				t.Errorf("tool %q, want %q", r.Tool, c.tool)
			}
			if d := cmp.Diff(c.layout, []string(r.Layout)); d != "" {
				t.Errorf("layout (-want +got):\n%s", d)
			}
		})
	}
}

func TestInspectRefuses(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for name, c := range map[string]struct {
		files map[string]string
		ctx   context.Context
		want  string
		code  int
	}{
		"no project":      {nil, t.Context(), "no PROJECT file", 1},
		"not YAML":        {map[string]string{"PROJECT": "a: [\n"}, t.Context(), "PROJECT:1: ", 1},
		"an interruption": {goProject(nil), stopped, "canceled", 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := inspect(t, c.ctx, world(t, c.files), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || clierr.CodeOf(err) != c.code {
				t.Errorf("error %v, code %d; want %q, %d", err, clierr.CodeOf(err), c.want, c.code)
			}
			if c.ctx.Err() == nil && clierr.HintOf(err) == "" {
				t.Error("no hint")
			}
		})
	}
}

func TestScan(t *testing.T) {
	w := world(t, map[string]string{
		"cmd/main.go":     "package main\n\n// ctrl.NewManager( is below\nvar m, _ = ctrl.NewManager(c, o)\n",
		"cmd/deploy.go":   "package main\n\nfunc f() { data[\"WATCH_NAMESPACE\"] = ns }\n",
		"cmd/ns.go":       "package main\n\ntype c struct {\n\tNS string `env:\"WATCH_NAMESPACE\"`\n}\n",
		"c/suite_test.go": "package c\n\nvar e = &envtest.Environment{\n\tUseExistingCluster: &yes,\n}\n",
		"c/k_test.go":     "package c\n",
		"broken.go":       "package {\n",
	})
	f, err := scan(relayout.NewTree(w.Files, w.Dir))
	if err != nil {
		t.Fatal(err)
	}
	want := &facts{namespaces: "cmd/ns.go:4", manager: "cmd/main.go:4", envtest: []string{"c/suite_test.go:3"}, existing: "c/suite_test.go:4", tests: 2}
	if d := cmp.Diff(want, f, cmp.AllowUnexported(facts{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestExistingCluster holds which suites can do with the cluster of 'mysdk test'.
func TestExistingCluster(t *testing.T) {
	for suite, want := range map[string]string{
		"if os.Getenv(\"TEST_USE_EXISTING_CLUSTER\") == \"true\" {\n\te = &envtest.Environment{UseExistingCluster: &yes}\n} else {\n\te = &envtest.Environment{}\n}\n": "",
		"e = &envtest.Environment{UseExistingCluster: ptr.To(false)}\n":                  "",
		"e = &envtest.Environment{}\ne.UseExistingCluster = ptr.To(true) // not false\n": "a_test.go:2",
	} {
		w := world(t, map[string]string{"a_test.go": suite})
		if f, err := scan(relayout.NewTree(w.Files, w.Dir)); err != nil || f.existing != want || len(f.envtest) != 1 {
			t.Errorf("%s: got %+v, %v", suite, f, err)
		}
	}
}

func TestAdviceKeepsTheCause(t *testing.T) {
	got := advice(clierr.Failedf("one\ntwo", "%w", errors.New("a\nb")))
	if d := cmp.Diff([]string{"a", "b", "one", "two"}, got); d != "" {
		t.Error(d)
	}
}

// TestStrays holds which code of an old layout nothing builds.
func TestStrays(t *testing.T) {
	const controller = "package memcached\n\nimport _ \"sigs.k8s.io/controller-runtime\"\n"
	const types = "package v1\n\ntype T struct{ TypeMeta }\n"
	tests := map[string]struct {
		files map[string]string
		want  []string
	}{
		"today's":       {map[string]string{"cmd/main.go": "package main\n", "internal/controller/a.go": controller}, nil},
		"of old":        {map[string]string{"cmd/main.go": "package main\n", "pkg/controller/memcached/a.go": controller, "pkg/apis/a/v1/a.go": types}, []string{"pkg/controller", "pkg/apis"}},
		"used":          {map[string]string{"cmd/main.go": "package main\n\nimport _ \"example.com/shop/pkg/controller/memcached\"\n", "pkg/controller/memcached/a.go": controller}, nil},
		"by each other": {map[string]string{"pkg/controller/a/a.go": controller + "import _ \"example.com/shop/pkg/apis/a/v1\"\n", "pkg/apis/a/v1/a.go": types}, []string{"pkg/controller", "pkg/apis"}},
		"something":     {map[string]string{"pkg/controller/a.go": "package controller\n", "pkg/controller/vendor/a.go": controller, "pkg/controller/notes.txt": controller}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := world(t, test.files)
			got, err := Strays(w.Host.Files, w.Dir)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
