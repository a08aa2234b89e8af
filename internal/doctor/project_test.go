package doctor_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/example/mysdk/internal/doctor"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

// memcached is a project as mysdk scaffolds it.
const memcached = "../../testdata/golden/memcached/want"

// scaffolded is a world with such a project. Its module cache is empty, so that
// the generators are not run, unless generating is called.
func scaffolded(t testing.TB) *patient {
	t.Helper()
	p := healthy(t)
	for name, text := range hosttest.Snapshot(t, memcached) {
		if text != "dir" {
			p.write(name, text)
		}
	}
	p.o.Plugin.CLIVersion = "(devel)"
	return p
}

// generating gives p the real go command, for what the generators ask of it.
func (p *patient) generating() { p.Exec = realGo{programs{p}} }

// realGo runs the go command, and nothing else.
type realGo struct{ programs }

func (x realGo) LookPath(name string) (string, error) {
	if name == "go" {
		return host.OSExec{}.LookPath(name)
	}
	return x.programs.LookPath(name)
}

func (x realGo) Start(ctx context.Context, c host.Cmd) (host.Process, error) {
	return host.OSExec{}.Start(ctx, c)
}

func TestInterruptedCommand(t *testing.T) {
	const name = "interrupted command"
	// Every point at which a commit can be killed: afterwards fileset has
	// something to end exactly where the doctor says so.
	seen := map[string]bool{}
	for at := 1; at <= 12; at++ {
		p := healthy(t)
		var set fileset.Set
		for _, name := range []string{"a/one", "two"} {
			if err := set.Put(name, fileset.File{Data: []byte(name)}); err != nil {
				t.Fatal(err)
			}
		}
		err := fileset.Tree{FS: &hosttest.Faults{Files: host.OSFiles{}, At: at, Killed: true}, Root: p.Dir}.Commit(t.Context(), set, "create api")
		found := ""
		for _, c := range p.examine().Checks {
			if c.Name == name {
				found = c.Found
			}
		}
		rec, recoverErr := fileset.Tree{FS: host.OSFiles{}, Root: p.Dir}.Recover(t.Context())
		if recoverErr != nil {
			t.Fatal(recoverErr)
		}
		want := ""
		if rec.Command != "" {
			want = "'mysdk create api' was killed while it wrote files"
		}
		if found != want {
			t.Errorf("killed at %d (%v): found %q, want %q", at, err, found, want)
		}
		seen[want] = true
	}
	if len(seen) != 2 {
		t.Errorf("the kills led to %v only", slices.Collect(maps.Keys(seen)))
	}
	p := healthy(t)
	p.write(".mysdk-commit", "{")
	p.expect(want{name, doctor.Problem, ".mysdk-commit: ", "remove it"})
}

func TestNoProject(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  want
	}{
		"nothing":     {nil, want{"project", doctor.OK, "none in ", ""}},
		"a module":    {map[string]string{"go.mod": "module x\n"}, want{"project", doctor.OK, "no PROJECT file beside go.mod", ""}},
		"an old one":  {map[string]string{"pkg/apis/a.go": "package apis\n", "cmd/manager/main.go": "package main\n"}, want{"project", doctor.Warning, "operator-sdk v0.x", "mysdk migrate"}},
		"broken":      {map[string]string{"PROJECT": "version: [\n", "go.mod": "module x\n", "config/crd/kustomization.yaml": "{}\n"}, want{"PROJECT", doctor.Problem, "PROJECT", ""}},
		"a broken go": {map[string]string{"PROJECT": "version: [\n"}, want{"go.mod", doctor.Problem, "missing: a Go project needs one", "go mod init"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := healthy(t)
			for file, text := range tt.files {
				p.write(file, text)
			}
			if strings.HasPrefix(name, "a broken") || name == "broken" {
				p.contains(tt.want)
				return
			}
			p.expect(tt.want)
		})
	}
}

// A project of another language has no modules and nothing to upgrade.
func TestNoGo(t *testing.T) {
	p := healthy(t)
	p.write("PROJECT", "domain: example.com\nlayout:\n- ansible.sdk.operatorframework.io/v1\nprojectName: play\nversion: \"3\"\n")
	for _, c := range p.examine().Checks {
		if c.Name == "go.mod" || c.Name == "scaffold" {
			t.Errorf("found %+v", c)
		}
	}
}

func TestUntypedKinds(t *testing.T) {
	const types = "api/v1alpha1/memcached_types.go"
	p := scaffolded(t)
	p.write(types, strings.ReplaceAll(p.read(types), "type Memcached ", "type Cache "))
	p.contains(want{"PROJECT", doctor.Warning, "there is no Go type Memcached in api/v1alpha1 for the kind cache.example.com/v1alpha1 Memcached", "change the kind in PROJECT"})
}

// contains is expect for worlds in which more than one thing is wrong.
func (p *patient) contains(w want) {
	p.t.Helper()
	r := p.examine()
	if !slices.ContainsFunc(r.Checks, func(c doctor.Check) bool {
		return c.Name == w.check && c.Status == w.status && strings.Contains(c.Found, w.found) && strings.Contains(c.Hint, w.hint)
	}) {
		p.t.Errorf("no %+v in %+v", w, r.Checks)
	}
}

// modules makes the module cache hold what go.mod requires.
func (p *patient) modules() {
	p.t.Helper()
	mod, err := modfile.Parse("go.mod", []byte(p.read("go.mod")), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, r := range mod.Require {
		if err := os.MkdirAll(filepath.Join(p.goEnv["GOMODCACHE"], strings.ToLower(r.Mod.Path)+"@"+r.Mod.Version), 0o755); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *patient) read(name string) string {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.Dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

func TestModules(t *testing.T) {
	const project = "layout:\n- go.kubebuilder.io/v4\nprojectName: op\nrepo: example.com/op\nversion: \"3\"\n"
	const head = "module example.com/op\n\ngo 1.26.0\n\n"
	const old = head + "require sigs.k8s.io/controller-runtime v0.20.0\n"
	for name, tt := range map[string]struct {
		goMod  string
		change func(*patient)
		want   want
	}{
		"no go.sum":     {old, func(p *patient) { p.remove("go.sum") }, want{"go.mod", doctor.Problem, "no go.sum", "go mod tidy"}},
		"not a go.mod":  {"modul x\n", nil, want{"go.mod", doctor.Problem, "go.mod:1: unknown directive: modul", "correct"}},
		"an old module": {old, nil, want{"go.mod", doctor.Warning, "sigs.k8s.io/controller-runtime v0.20.0 (v0.25.2)", "mysdk upgrade --plan"}},
		"an old module in whose place is another": {
			old + "replace sigs.k8s.io/controller-runtime => ../fork\n", nil, want{"go.mod", doctor.OK, "none older", ""},
		},
		"to be fetched":     {old, nil, want{"module cache", doctor.Warning, "1 module would be fetched from GOPROXY=https://proxy.example.com: sigs.k8s.io/controller-runtime@v0.20.0", "go mod download"}},
		"not to be fetched": {old, func(p *patient) { p.goEnv["GOPROXY"] = "off" }, want{"module cache", doctor.Problem, "GOPROXY=off, and 1 module is not downloaded", "go env -u GOPROXY"}},
		"not needed":        {old, func(p *patient) { p.write("vendor/modules.txt", "") }, want{"module cache", doctor.OK, "vendor directory", ""}},
		"there":             {old, (*patient).modules, want{"module cache", doctor.OK, "nothing has to be fetched", ""}},
		"there, packed":     {head + "require github.com/Azure/x v1.0.0\n", (*patient).pack, want{"module cache", doctor.OK, "nothing has to be fetched", ""}},
		"indirect ones":     {head + "require example.com/x v1.0.0 // indirect\n", nil, want{"module cache", doctor.OK, "1 indirect module is not downloaded", ""}},
		"indirect ones, more": {
			head + "require (\n\texample.com/x v1.0.0 // indirect\n\texample.com/y v1.0.0 // indirect\n)\n", nil,
			want{"module cache", doctor.OK, "2 indirect modules are not downloaded", ""},
		},
		"many old ones": {
			head + "require (\n\tk8s.io/api v0.30.0\n\tk8s.io/apimachinery v0.30.0\n\tk8s.io/client-go v0.30.0\n\tsigs.k8s.io/controller-runtime v0.18.0\n)\n", nil,
			want{"go.mod", doctor.Warning, "k8s.io/apimachinery v0.30.0 (v0.37.2) and 1 more", "mysdk upgrade --plan"},
		},
		"a module of the tree": {old + "replace sigs.k8s.io/controller-runtime v0.20.0 => ../fork\n", nil, want{"module cache", doctor.OK, "nothing has to be fetched", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			p := healthy(t)
			p.write("PROJECT", project)
			p.write("go.mod", tt.goMod)
			p.write("go.sum", "")
			if tt.change != nil {
				tt.change(p)
			}
			p.contains(tt.want)
		})
	}
}

func (p *patient) remove(name string) {
	p.t.Helper()
	if err := os.Remove(filepath.Join(p.Dir, name)); err != nil {
		p.t.Fatal(err)
	}
}

// pack puts the zip of a module with capitals in its name where go puts it.
func (p *patient) pack() {
	dir := filepath.Join(p.goEnv["GOMODCACHE"], "cache", "download", "github.com", "!azure", "x", "@v")
	err := os.MkdirAll(dir, 0o755)
	if err = errors.Join(err, os.WriteFile(filepath.Join(dir, "v1.0.0.zip"), nil, 0o644)); err != nil {
		p.t.Fatal(err)
	}
}

// TestProject makes one thing wrong at a time in a project that is all right.
func TestProject(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*patient)
		want   want
	}{
		"nothing": {func(p *patient) { p.modules() }, want{"manifests", doctor.OK, "config/crd and config/default build", ""}},
		"a plugin that is not there": {
			func(p *patient) {
				p.replace("PROJECT", "- go.kubebuilder.io/v4", "- go.kubebuilder.io/v4\n- smaple.example.com/v1")
			},
			want{"plugins", doctor.Problem, `"smaple.example.com/v1" is not known`, "install it"},
		},
		"a layout of others": {
			func(p *patient) { p.replace("PROJECT", "- go.kubebuilder.io/v4", "- helm.sdk.operatorframework.io/v1") },
			want{"plugins", doctor.Problem, "no plugin of this layout: helm.sdk.operatorframework.io/v1", "mysdk adopt"},
		},
		"a kustomization that does not build": {
			func(p *patient) { p.replace("config/default/kustomization.yaml", "- ../manager", "- ../manger") },
			want{"manifests", doctor.Problem, "config/default", ""},
		},
		"CRDs without a kustomization": {
			func(p *patient) {
				p.modules()
				p.remove("config/crd/kustomization.yaml")
				p.replace("config/default/kustomization.yaml", "- ../crd\n", "")
			},
			want{"manifests", doctor.OK, "config/default builds", ""},
		},
		"CRDs in a kustomization of another name": {
			func(p *patient) {
				p.write("config/crd/Kustomization", p.read("config/crd/kustomization.yaml"))
				p.remove("config/crd/kustomization.yaml")
			},
			want{"manifests", doctor.OK, "config/crd and config/default build", ""},
		},
		"no kustomization to deploy": {
			func(p *patient) { p.remove("config/default/kustomization.yaml") },
			want{"manifests", doctor.Problem, "no kustomization.yaml in config/default", ""},
		},
		"certificates for webhooks that are not deployed": {
			func(p *patient) {
				p.write("internal/certs/targets.go", "package certs\n\nconst (\n\tserviceName = \"shop-webhook-service\"\n)\n")
			},
			want{"webhooks", doctor.Warning, "config/default does not deploy the webhooks", "put ../webhook among the resources"},
		},
		"certificates for a Service of another name": {
			func(p *patient) {
				p.write("config/default/svc.yaml", "apiVersion: v1\nkind: Service\nmetadata:\n  name: webhook-service\n  namespace: system\n")
				p.replace("config/default/kustomization.yaml", "- ../manager", "- ../manager\n- svc.yaml")
				p.write("internal/certs/targets.go", "package certs\n\nconst (\n\tserviceName = \"shop-webhook-service\"\n)\n")
			},
			want{"webhooks", doctor.Problem, "config/default deploys no Service shop-webhook-service", "internal/certs"},
		},
		"an upgrade that stopped": {
			func(p *patient) { p.write("Makefile.rej", "--- a\n+++ b\n") }, want{"scaffold", doctor.Warning, "an upgrade is not finished: Makefile", "--continue"},
		},
		"a scaffold of a later version": {
			func(p *patient) {
				p.o.Plugin.CLIVersion = "v1.2.3"
				p.recorded("v99.0.0")
			}, want{"scaffold", doctor.Warning, "v99.0.0", ""},
		},
		"a scaffold of an unknown version": {
			func(p *patient) { p.recorded("devel-0") }, want{"scaffold", doctor.Warning, `no baseline of version "devel-0" is known`, "'mysdk upgrade --from'"},
		},
		"an upgrade that only is not recorded": {
			func(p *patient) {
				p.o.Plugin.CLIVersion = "v1.2.3"
				p.replace("PROJECT", "plugins:\n", "plugins:\n  scaffold.mysdk.dev/v1:\n    pending: v1.2.3\n")
			}, want{"scaffold", doctor.Warning, "would write PROJECT", "mysdk upgrade --plan"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := scaffolded(t)
			tt.change(p)
			p.contains(tt.want)
		})
	}
}

// TestGenerated runs the generators, as far as the module cache has what they
// need.
func TestGenerated(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*patient)
		want   want
	}{
		"nothing": {func(*patient) {}, want{"generated files", doctor.OK, "up to date", ""}},
		"modules that are listed and not there": {
			func(p *patient) {
				p.modules()
				p.Env["GOMODCACHE"] = p.goEnv["GOMODCACHE"]
			}, want{"generated files", doctor.Warning, "not looked at", "go mod download"},
		},
		"types that have changed": {
			func(p *patient) { p.replace("api/v1alpha1/memcached_types.go", "Size int32", "Size int64") },
			want{"generated files", doctor.Warning, "out of date: config/crd/bases/cache.example.com_memcacheds.yaml", "mysdk generate"},
		},
		"CRDs that are not generated yet": {
			func(p *patient) { p.remove("config/crd/bases/cache.example.com_memcacheds.yaml") },
			want{"manifests", doctor.OK, "config/crd and config/default build", ""},
		},
		"types that do not compile": {
			func(p *patient) { p.replace("api/v1alpha1/memcached_types.go", "Size int32", "Size int33") },
			want{"generated files", doctor.Problem, "memcached_types.go:", ""},
		},
		"a marker of no use": {
			func(p *patient) {
				p.replace("api/v1alpha1/memcached_types.go", "// +kubebuilder:object:root=true\n", "// +kubebuilder:object:root=true\n// +kubebuilder:object:generate=true\n")
				p.replace("cmd/main.go", "func main() {", "// +kubebuilder:validation:Minimum=1\nvar _ = 1\n\nfunc main() {")
			},
			want{"generated files", doctor.Warning, "up to date, with 1 warning, the first cmd/main.go:", "mysdk generate --check"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "types that have changed" {
				t.Skip("type-checks an API; the everyday lane does so once")
			}
			p := scaffolded(t)
			p.generating()
			tt.change(p)
			p.contains(tt.want)
		})
	}
}

// recorded notes the version of the scaffold, as init does.
func (p *patient) recorded(version string) {
	p.replace("PROJECT", "plugins:\n", "plugins:\n  scaffold.mysdk.dev/v1:\n    version: "+version+"\n")
}

func (p *patient) replace(name, old, new string) {
	p.t.Helper()
	text := p.read(name)
	if !strings.Contains(text, old) {
		p.t.Fatalf("no %q in %s:\n%s", old, name, text)
	}
	p.write(name, strings.Replace(text, old, new, 1))
}

func BenchmarkExamine(b *testing.B) {
	p := scaffolded(b)
	p.generating()
	p.o.Host = p.Host
	p.o.Generate = generate.Options{Host: p.Host, Dir: p.Dir, Year: "2026", CacheDir: p.Env["MYSDK_CACHE_DIR"]}
	for b.Loop() {
		if _, err := doctor.Examine(b.Context(), p.o); err != nil {
			b.Fatal(err)
		}
	}
}
