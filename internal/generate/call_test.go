package generate

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/genall"

	"github.com/example/mysdk/internal/fileset"
)

// calls are calls of controller-gen in the project's root.
func calls(lines ...string) []Call {
	var out []Call
	for _, line := range lines {
		out = append(out, Call{Args: strings.Fields(line)})
	}
	return out
}

// every is the default calls on other paths.
func every(paths ...string) []Call {
	out := defaultCalls(newTree("/none", fileset.Set{}))
	for i, c := range out {
		out[i].Args = slices.DeleteFunc(c.Args, func(a string) bool { return strings.HasPrefix(a, "paths=") })
		for _, p := range paths {
			out[i].Args = append(out[i].Args, "paths="+p)
		}
	}
	return out
}

// callFiles have something for every option of the generators.
func callFiles() map[string]string {
	files := small()
	files[kindPath] = strings.Replace(kindFile, "Size int32", `// Ratio is a number whose description is rather long. It goes on for a while.
	Ratio float64 `+"`json:\"ratio\"`"+`
	// Template has metadata of its own.
	Template Template `+"`json:\"template\"`"+`
	hidden string
	// Size counts.
	Size int32`, 1) + `
// Template is embedded.
type Template struct {
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `
}
`
	files["hack/crd.yaml.txt"] = "# Copyright YEAR Acme\n"
	files["hack/go.txt"] = "// Copyright YEAR Acme\n"
	files["internal/controller/cache.go"] = rbacFile
	return files
}

// TestCalls compares with what controller-tools' own runtime writes for the
// same arguments.
func TestCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("loads the types twice for each case")
	}
	const types = "crd:allowDangerousTypes=true,ignoreUnexportedFields=true"
	for name, tt := range map[string]struct{ dir, args string }{
		"schema options":    {"", types + ",maxDescLen=30,generateEmbeddedObjectMeta=true paths=./..."},
		"no descriptions":   {"", types + ",maxDescLen=0 paths=./api/... output:crd:dir=deploy/crds"},
		"everything in one": {"", types + ",headerFile=hack/crd.yaml.txt,year=2020 object:headerFile=hack/go.txt,year=2021 rbac:roleName=boss,fileName=roles.yaml webhook paths=./... output:dir=out"},
		"code elsewhere":    {"", "object rbac:roleName=boss paths=./... output:artifacts:config=deploy,code=gen"},
		"for one generator": {"", "object rbac:roleName=boss paths={./api/v1,./internal/...} output:rbac:artifacts:config=deploy"},
		"nothing for one":   {"", "object rbac:roleName=boss paths=./... output:rbac:none"},
		"in a directory":    {"api", types + " object paths=./... output:crd:dir=../crds"},
		"by import path":    {"", types + " object paths=example.com/apis/api/..."},
		"by path, below":    {"api/v1", "object paths=example.com/apis/api/v1"},
		"without paths":     {"api/v1", "object"},
		"repeated paths":    {"", "object rbac:roleName=x paths=./internal/... paths=./api/v1"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, callFiles())
			p.opts.Year = "2026"
			got := texts(p.render(func(o *Options) { o.Calls = []Call{{Dir: tt.dir, Args: strings.Fields(tt.args)}}; everything(o) }))
			if diff := cmp.Diff(p.controllerGen(tt.dir, strings.Fields(tt.args)), got); diff != "" || len(got) == 0 {
				t.Errorf("controller-tools (-) and Render (+) differ:\n%s", diff)
			}
		})
	}
}

// controllerGen runs controller-tools on the disk and returns what it adds.
func (p *project) controllerGen(dir string, args []string) map[string]string {
	p.t.Helper()
	before := readTree(p.t, p.dir)
	p.t.Chdir(newTree(p.dir, fileset.Set{}).abs(dir))
	options, err := optionsRegistry()
	if err != nil {
		p.t.Fatal(err)
	}
	rt, err := genall.FromOptionsWithConfig(&packages.Config{Env: p.opts.Host.Environ()}, options, args)
	if err != nil {
		p.t.Fatal(err)
	}
	if rt.Run() {
		p.t.Fatal("controller-tools reports errors")
	}
	after := readTree(p.t, p.dir)
	maps.DeleteFunc(after, func(name, text string) bool { return before[name] == text })
	for name, text := range after {
		after[name] = string(attribute([]byte(text)))
	}
	return after
}

// TestCallErrors: what cannot be done is said with the place of the call.
func TestCallErrors(t *testing.T) {
	p := newProject(t, small())
	for args, want := range map[string]string{
		"crd:maxDescLength=0 paths=./...":        `Makefile:7: argument crd: unknown argument "maxDescLength"; did you mean maxDescLen?`,
		"crds paths=./...":                       `Makefile:7: unknown argument "crds"`,
		"paths=./...":                            `Makefile:7: no generator in "paths=./..."`,
		"crd crd":                                "Makefile:7: generator crd is given twice",
		"object output:crd:dir=x":                "Makefile:7: output:crd is given, and the generator crd is not",
		"crd paths=./... output:dir=../x":        "Makefile:7: ../x does not lie below the project",
		"crd paths=../... output:dir=x":          `Makefile:7: path "../..." does not lie below the project`,
		"crd paths=./... output:stdout":          "Makefile:7: output:stdout is not a file",
		"object:headerFile=none.txt paths=./...": "Makefile:7: header file none.txt does not exist",
	} {
		_, err := p.tryRender(func(o *Options) { o.Calls = []Call{{Args: strings.Fields(args), From: "Makefile:7"}} })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// TestSelectedCalls: what is selected, and made by none of the calls, is not
// made; the later of two calls that write one file wins.
func TestSelectedCalls(t *testing.T) {
	p := newProject(t, callFiles())
	p.opts.CacheDir = t.TempDir()
	p.opts.Calls = calls("rbac:roleName=one paths=./...", "rbac:roleName=two paths=./...")
	res := p.render()
	if d := cmp.Diff([]string{rolePath}, res.Set.Paths()); d != "" || !strings.Contains(texts(res)[rolePath], "name: two") {
		t.Errorf("%s\n%v", d, texts(res))
	}
	p.accept(res)
	if res := p.render(); !res.Unchanged {
		t.Error("the record of the run was not found")
	}
	p.opts.Calls = calls("rbac:roleName=one paths=./...")
	if res := p.render(); res.Unchanged || res.Set.Len() != 1 {
		t.Error("the record of another call was found")
	}
}

// TestComplete: what the project's calls do in whatever way is not done again.
func TestComplete(t *testing.T) {
	for args, want := range map[string]string{
		"crd paths=./api/...":                          "rbac:roleName=manager-role webhook paths=./...",
		"schemapatch:manifests=deploy paths=./api/...": "rbac:roleName=manager-role webhook paths=./...",
		"object paths=./...":                           "rbac:roleName=manager-role crd webhook paths=./... output:crd:artifacts:config=config/crd/bases",
	} {
		o := Options{Dir: t.TempDir(), Calls: calls(args)}
		o.Complete()
		if len(o.Calls) < 2 || o.Calls[1].String() != want {
			t.Errorf("%s is completed by %v, want %s", args, o.Calls[1:], want)
		}
	}
}
