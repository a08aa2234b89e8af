package v4

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// update writes templates/init/go.mod.tmpl and go.sum.tmpl again, from the
// versions in mysdk's own go.mod. Modules that are not in the module cache are
// downloaded:
//
//	go test ./plugins/golang/v4 -run TestModuleTemplates -update
var update = flag.Bool("update", false, "renew the go.mod and go.sum of the scaffold")

const (
	goModTemplate = "templates/init/go.mod.tmpl"
	goSumTemplate = "templates/init/go.sum.tmpl"
	ownGoMod      = "../../../go.mod"
)

func parseMod(t *testing.T, name string, text []byte) *modfile.File {
	t.Helper()
	f, err := modfile.Parse(name, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// What the user's project and mysdk both use has the same version in both:
// then the user's build finds it compiled.
func TestModuleTemplates(t *testing.T) {
	if *update {
		updateModuleTemplates(t)
	}
	own := map[string]string{}
	for _, r := range parseMod(t, ownGoMod, read(t, ownGoMod)).Require {
		own[r.Mod.Path] = r.Mod.Version
	}
	p := newTestProject(t)
	scaffold := map[string]string{}
	shared := 0
	for _, r := range parseMod(t, "go.mod", []byte(p.files(t)["go.mod"])).Require {
		scaffold[r.Mod.Path] = r.Mod.Version
		switch v, ok := own[r.Mod.Path]; {
		case ok && v != r.Mod.Version:
			t.Errorf("%s is %s in the scaffold and %s in mysdk: run the test with -update", r.Mod.Path, r.Mod.Version, v)
		case ok:
			shared++
		}
	}
	if shared < 60 {
		t.Errorf("only %d modules are shared with mysdk", shared)
	}

	v := CurrentVersions()
	for module, want := range map[string]string{
		"sigs.k8s.io/controller-runtime": v.ControllerRuntime,
		"k8s.io/api":                     v.Kubernetes,
		"k8s.io/apimachinery":            v.Kubernetes,
		"k8s.io/client-go":               v.Kubernetes,
	} {
		if scaffold[module] != want {
			t.Errorf("%s is %q in go.mod and %q in the table of versions", module, scaffold[module], want)
		}
	}
	for module, want := range map[string]string{
		"sigs.k8s.io/controller-tools": v.ControllerTools,
	} {
		if own[module] != want {
			t.Errorf("%s is %q in mysdk's go.mod and %q in the table of versions", module, own[module], want)
		}
	}
}

// updateModuleTemplates lets 'go mod tidy' choose, among the versions of
// mysdk, what a scaffold with an API needs.
func updateModuleTemplates(t *testing.T) {
	t.Helper()
	p := newTestProject(t)
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
	dir := t.TempDir()
	p.export(t, dir)

	own := parseMod(t, ownGoMod, read(t, ownGoMod))
	wanted := newModule(t, own.Require)
	write(t, filepath.Join(dir, "go.mod"), wanted)
	write(t, filepath.Join(dir, "go.sum"), read(t, filepath.Join(filepath.Dir(ownGoMod), "go.sum")))
	tidy := exec.Command("go", "mod", "tidy")
	tidy.Dir = dir
	tidy.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := tidy.CombinedOutput(); err != nil {
		t.Fatalf("go mod tidy: %v\n%s", err, out)
	}

	tidied := parseMod(t, "go.mod", read(t, filepath.Join(dir, "go.mod")))
	text := newModule(t, tidied.Require)
	text = bytes.Replace(text, []byte("module example.com/shop\n"), []byte("module {{ .Repo }}\n"), 1)
	text = bytes.Replace(text, []byte("\ngo "+CurrentVersions().Go+"\n"), []byte("\ngo {{ .Versions.Go }}\n"), 1)
	write(t, goModTemplate, text)
	write(t, goSumTemplate, read(t, filepath.Join(dir, "go.sum")))
	t.Fatal("the templates are renewed: run the test again, without -update")
}

// newModule formats a go.mod with two blocks, of direct and of indirect
// requirements.
func newModule(t *testing.T, require []*modfile.Require) []byte {
	t.Helper()
	f := parseMod(t, "go.mod", []byte("module example.com/shop\n\ngo "+CurrentVersions().Go+"\n"))
	f.SetRequireSeparateIndirect(require)
	f.Cleanup()
	text, err := f.Format()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// export writes the project to a directory on the disk.
func (p *project) export(t *testing.T, dir string) {
	t.Helper()
	for name, text := range p.files(t) {
		if strings.HasPrefix(name, "..") {
			t.Fatalf("%s is outside of the project", name)
		}
		write(t, filepath.Join(dir, filepath.FromSlash(name)), []byte(text))
	}
}
