package migrate

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/example/mysdk/internal/clierr"
)

const scaffoldMod = "module example.com/shop\n\ngo 1.26.0\n\nrequire (\n\tgithub.com/onsi/gomega v1.39.0\n\tk8s.io/client-go v0.36.0\n\tsigs.k8s.io/controller-runtime v0.24.1\n)\n\nrequire (\n\tgithub.com/google/uuid v1.6.0 // indirect\n\tk8s.io/klog/v2 v2.130.1 // indirect\n)\n"

// moduleLines are the requirements and replacements of a go.mod beyond those of
// the scaffold of the tests, a line each.
func moduleLines(t *testing.T, text string) []string {
	t.Helper()
	f, err := modfile.Parse("go.mod", []byte(text), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	base, err := modfile.Parse("go.mod", []byte(scaffoldMod), nil)
	if err != nil {
		t.Fatal(err)
	}
	requirement := func(r *modfile.Require) string {
		return strings.TrimSuffix(r.Mod.Path+" "+r.Mod.Version+map[bool]string{true: " indirect"}[r.Indirect], " ")
	}
	var have, out []string
	for _, r := range base.Require {
		have = append(have, requirement(r))
	}
	for _, r := range f.Require {
		if line := requirement(r); !slices.Contains(have, line) {
			out = append(out, line)
		}
	}
	for _, r := range f.Replace {
		out = append(out, strings.Join(strings.Fields(r.Old.Path+" "+r.Old.Version+" => "+r.New.Path+" "+r.New.Version), " "))
	}
	slices.Sort(out)
	return out
}

func TestModules(t *testing.T) {
	tests := map[string]struct {
		mod   string
		files map[string]string // Go code of the result
		want  []string
	}{
		"none of one's own": {"require k8s.io/client-go v12.0.0+incompatible\n", nil, nil},
		"one's own":         {"require github.com/acme/shelf v1.3.0\n", nil, []string{"github.com/acme/shelf v1.3.0"}},
		"kinds of versions": {"require (\n\tgithub.com/acme/a v2.1.0+incompatible\n\tgithub.com/acme/b v0.0.0-20190101000000-abcdefabcdef\n\tgithub.com/acme/c/v3 v3.0.1\n)\n", nil,
			[]string{"github.com/acme/a v2.1.0+incompatible", "github.com/acme/b v0.0.0-20190101000000-abcdefabcdef", "github.com/acme/c/v3 v3.0.1"}},
		"what others need":               {"require github.com/acme/shelf v1.3.0 // indirect\n", nil, nil},
		"older than the scaffold's":      {"require github.com/onsi/gomega v1.8.1\n", nil, nil},
		"newer than the scaffold's":      {"require github.com/onsi/gomega v1.99.0\n", nil, []string{"github.com/onsi/gomega v1.99.0"}},
		"the scaffold's, but direct now": {"require github.com/google/uuid v1.1.1\n", nil, []string{"github.com/google/uuid v1.6.0"}},
		"of the platform":                {"require (\n\tgithub.com/operator-framework/operator-sdk v0.19.0\n\tgithub.com/go-logr/logr v0.1.0\n\tgithub.com/go-openapi/spec v0.19.4\n\tk8s.io/kube-openapi v0.0.0-20200121204235-bf4fb3bd569c\n)\n", nil, nil},
		"replacements of the platform":   {"require k8s.io/client-go v12.0.0+incompatible\nreplace k8s.io/client-go => k8s.io/client-go v0.18.2\nreplace github.com/Azure/go-autorest => github.com/Azure/go-autorest v13.3.2+incompatible // for OLM\n", nil, nil},
		"replacements of one's own": {"require (\n\tgithub.com/acme/a v1.0.0\n\tgithub.com/acme/b v1.0.0\n)\nreplace (\n\tgithub.com/acme/a => github.com/fork/a v1.0.1\n\tgithub.com/acme/b v1.0.0 => ./third_party/b\n)\n", nil,
			[]string{"github.com/acme/a => github.com/fork/a v1.0.1", "github.com/acme/a v1.0.0", "github.com/acme/b v1.0.0", "github.com/acme/b v1.0.0 => ./third_party/b"}},
		"by a directory, though indirect": {"replace github.com/acme/a => ../a\n", nil, []string{"github.com/acme/a => ../a"}},
		"of what moved":                   {"require github.com/coreos/prometheus-operator v0.38.0\nreplace github.com/coreos/prometheus-operator => github.com/coreos/prometheus-operator v0.29.0\n", nil, nil},
		"the successor":                   {"require github.com/jetstack/cert-manager v0.15.0\n", map[string]string{"a.go": "package a\n\nimport _ \"github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1\"\n"}, []string{"github.com/cert-manager/cert-manager v1.18.2"}},
		"a newer one of the successor":    {"require github.com/cert-manager/cert-manager v1.99.0\n", map[string]string{"a.go": "package a\n\nimport _ \"github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1\"\n"}, []string{"github.com/cert-manager/cert-manager v1.99.0"}},
		"an older one of the successor":   {"require github.com/operator-framework/api v0.3.0\n", map[string]string{"a.go": "package a\n\nimport _ \"github.com/operator-framework/api/pkg/operators/v1\"\n"}, []string{"github.com/operator-framework/api v0.45.0"}},
		"operator-lib":                    {"", map[string]string{"a.go": "package a\n\nimport _ \"" + operatorLib + "/leader\"\n"}, []string{operatorLib + " " + libVersion}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMigration(map[string]string{"go.mod": "module example.com/shop\n\ngo 1.13\n\n" + test.mod})
			m.rendered = map[string][]byte{"go.mod": []byte(scaffoldMod)}
			for name, text := range test.files {
				m.out[name] = output{file: file{data: []byte(text)}, from: name}
			}
			if err := m.modules(); err != nil {
				t.Fatal(err)
			}
			text := string(m.out["go.mod"].data)
			if d := cmp.Diff(test.want, moduleLines(t, text)); d != "" {
				t.Errorf("(-want +got):\n%s\n%s", d, text)
			}
			if !strings.Contains(text, "\ngo 1.26.0\n") {
				t.Errorf("the version of Go is not the scaffold's:\n%s", text)
			}
		})
	}
}

func TestModulesRefused(t *testing.T) {
	tests := map[string]struct{ mod, want string }{
		"no version": {"module example.com/shop\n\nrequire github.com/acme/a\n", "go.mod:3"},
		"a branch":   {"module example.com/shop\n\nrequire github.com/acme/a main\n", "go.mod:3"},
		"no go.mod":  {"module example.com/shop\nrequire (\n", "go.mod:"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMigration(map[string]string{"go.mod": test.mod})
			m.rendered = map[string][]byte{"go.mod": []byte(scaffoldMod)}
			err := m.modules()
			if err == nil || !strings.Contains(err.Error(), test.want) || clierr.HintOf(err) == "" {
				t.Errorf("got %v, hint %q, want %q", err, clierr.HintOf(err), test.want)
			}
		})
	}
}

// TestPlatform holds which modules are the scaffold's business.
func TestPlatform(t *testing.T) {
	if !semver.IsValid(libVersion) {
		t.Errorf("%s is no version", libVersion)
	}
	tests := map[string]struct{ platform, moved bool }{
		"k8s.io/api":                                                             {true, false},
		"sigs.k8s.io/controller-runtime":                                         {true, false},
		"sigs.k8s.io/controller-tools":                                           {true, false},
		"sigs.k8s.io/gateway-api":                                                {false, false},
		"github.com/openshift/api":                                               {false, false},
		"github.com/operator-framework/operator-sdk":                             {true, false},
		"github.com/operator-framework/operator-lifecycle-manager":               {false, true},
		"github.com/coreos/prometheus-operator":                                  {false, true},
		"github.com/onsi/ginkgo":                                                 {false, true},
		"github.com/onsi/ginkgo/v2":                                              {false, false},
		"github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring": {false, false},
	}
	for name, test := range tests {
		if isPlatform(name) != test.platform || movedModule(name) != test.moved {
			t.Errorf("%s: of the platform %v, moved %v", name, isPlatform(name), movedModule(name))
		}
	}
}

// TestOwnLines holds what go.mod has besides requirements.
func TestOwnLines(t *testing.T) {
	files := goV3()
	files["go.mod"] = `module example.com/shop

go 1.24

toolchain go1.99.0

godebug default=go1.21

// Ours.
require example.com/ours v1.0.0

require example.com/tools v1.0.0 // indirect

tool example.com/tools/cmd/x

exclude (
	example.com/bad v1.0.0
	k8s.io/api v0.20.0
)

// It was broken.
retract v1.2.3
`
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{"go.mod": {"\ntoolchain go1.99.0\n", "\ngodebug default=go1.21\n", "// Ours.\n", "tool example.com/tools/cmd/x\n", "example.com/tools v1.0.0", "exclude example.com/bad v1.0.0\n", "// It was broken.\nretract v1.2.3\n", "!v0.20.0", "!go 1.24"}})
	files["go.mod"] = strings.Replace(files["go.mod"], "go1.99.0", "go1.24.1", 1)
	expect(t, content(mustPlan(t, files).Result), map[string][]string{"go.mod": {"!toolchain"}})
}

// TestSums holds that the sums of the user's modules are kept: not every one is known
// to the public database.
func TestSums(t *testing.T) {
	files := goV3()
	files["go.sum"] = "example.com/private v1.0.0 h1:abc=\n"
	expect(t, content(mustPlan(t, files).Result), map[string][]string{"go.sum": {"\nsigs.k8s.io/controller-runtime ", "\n" + files["go.sum"]}})
}

// TestReplacedModules holds that a replacement which is not taken over is not lost
// without a word, but for those of the platform by another version of it.
func TestReplacedModules(t *testing.T) {
	m := newMigration(map[string]string{"go.mod": "module example.com/shop\n\ngo 1.13\n\nreplace (\n\tk8s.io/client-go => github.com/fork/client-go v0.18.3\n\tgithub.com/acme/a => github.com/acme/a v1.2.0\n\tk8s.io/api => k8s.io/api v0.18.2\n\tk8s.io/kubectl => github.com/fork/kubectl v0.18.3\n\tgithub.com/jetstack/cert-manager => github.com/fork/cert-manager v1.0.0\n)\n\nrequire (\n\tk8s.io/kubectl v0.18.2\n\tgithub.com/jetstack/cert-manager v1.0.0\n)\n"})
	m.rendered = map[string][]byte{"go.mod": []byte(scaffoldMod)}
	if err := m.modules(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range m.general {
		got = append(got, strings.TrimSuffix(n.Text, ": see whether you need it."))
	}
	if d := cmp.Diff([]string{
		"go.mod had github.com/fork/client-go v0.18.3 in the place of k8s.io/client-go, whose version follows from the scaffold's now",
		"go.mod had github.com/acme/a v1.2.0 in the place of github.com/acme/a, which is not among your direct requirements",
		"go.mod had github.com/fork/kubectl v0.18.3 in the place of k8s.io/kubectl, whose old versions do not work with those of the scaffold",
		"go.mod had github.com/fork/cert-manager v1.0.0 in the place of github.com/jetstack/cert-manager, whose old versions do not work with those of the scaffold",
	}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestTidied holds that a requirement is kept which cannot be read for now.
func TestTidied(t *testing.T) {
	const tidied, mod = "module a\n\nrequire b v1.0.0\n", "module a\n\nrequire (\n\tb v1.0.0\n\texample.com/mine v1.2.0\n\texample.com/unused v1.0.0\n)\n"
	restored := strings.Replace(mod, "\texample.com/unused v1.0.0\n", "", 1)
	const imports = "go: a imports\n\texample.com/"
	for name, test := range map[string]struct{ said, want, problem string }{
		"a module that cannot be read": {imports + "mine/x: example.com/mine@v1.2.0: could not read Username\n", restored, "cannot read example.com/mine@v1.2.0 (required by go.mod): "},
		"one of an unknown host":       {imports + "mine/x: unrecognized import path \"example.com/mine\": no such host\n", restored, "cannot read example.com/mine@v1.2.0 (required by go.mod): "},
		"a package that is gone":       {imports + "mine/x: module example.com/mine@latest found (v1.3.0), but does not contain package example.com/mine/x\n", tidied, "no module has example.com/mine/x (imported by a): "},
		"one of another module":        {imports + "minexy/x: cannot find module\n", tidied, "no module has example.com/minexy/x (imported by a): "},
	} {
		got, problems, err := Tidied([]byte(mod), []byte(tidied), test.said)
		if d := cmp.Diff(test.want, string(got)); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, d)
		}
		if len(problems) != 1 || !strings.HasPrefix(problems[0].Text, test.problem) {
			t.Errorf("%s: got %v", name, problems)
		}
	}
}

func TestUnresolved(t *testing.T) {
	const output = `go: finding module for package sigs.k8s.io/controller-runtime/pkg/runtime/scheme
go: example.com/shop/pkg/x imports
	github.com/acme/grafana/pkg/apis imports
	sigs.k8s.io/controller-runtime/pkg/runtime/scheme: module sigs.k8s.io/controller-runtime@latest found (v0.24.1), but does not contain package
go: example.com/shop/cmd imports
	example.org/gone: cannot find module
	server response: not here
`
	const gone = ": its importer needs a newer version, or another module in its place"
	const unread = ": set GOPRIVATE if the module is private, or require another version of it"
	const broken = "go: example.com/a@v1.0.0 requires\n\texample.com/b@v1.0.0 requires\n\texample.org/gone@v0.1.0: invalid version\n"
	const own = "go: example.org/gone@v0.2.0: verifying go.mod: 404 Not Found\n"
	for name, test := range map[string]struct {
		output string
		want   []string
	}{
		"packages": {output, []string{
			"no module has sigs.k8s.io/controller-runtime/pkg/runtime/scheme (imported by github.com/acme/grafana/pkg/apis)" + gone,
			"no module has example.org/gone (imported by example.com/shop/cmd)" + gone,
		}},
		"a module that cannot be read":       {output + broken + output + strings.Replace(broken, "go: ", "\texample.com/c/d: ", 1), []string{"cannot read example.org/gone@v0.1.0 (required by example.com/a@v1.0.0)" + unread}},
		"a module that the project requires": {output + own + "go: example.com/shop imports\n\texample.com/c/d: " + strings.TrimPrefix(own, "go: "), []string{"cannot read example.org/gone@v0.2.0 (required by go.mod)" + unread}},
		"none":                               {"go: downloading example.com/x v1.0.0\n", nil},
	} {
		var got []string
		_, problems, err := Tidied([]byte("module a\n"), []byte("module a\n"), test.output)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			got = append(got, p.Text)
		}
		if d := cmp.Diff(test.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestReplaced holds that directories in go.mod get other names, and nothing
// else.
func TestReplaced(t *testing.T) {
	turn := func(dir string) string { return strings.Replace(dir, "../", "/home/x y/", 1) }
	for name, test := range map[string]struct{ text, want string }{
		"a directory":  {"module a\n\nreplace b => ../b\n", "module a\n\nreplace b => \"/home/x y/b\"\n"},
		"of a version": {"module a\n\nreplace (\n\tb v1.0.0 => ../b // ours\n\tb v1.1.0 => ./c\n)\n", "module a\n\nreplace (\n\tb v1.0.0 => \"/home/x y/b\" // ours\n\tb v1.1.0 => ./c\n)\n"},
		"a module":     {"module a\n\nreplace b => c.io/../b v1.0.0\n", "module a\n\nreplace b => c.io/../b v1.0.0\n"},
		"none":         {"module   a\n", "module   a\n"},
		"no go.mod":    {"modul", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Replaced([]byte(test.text), turn)
			if (err != nil) != (test.want == "") {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
