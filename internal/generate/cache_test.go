package generate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

// TestUnchanged finds that nothing has changed, without loading anything.
func TestUnchanged(t *testing.T) {
	p := newProject(t, small())
	p.opts.CacheDir = filepath.Join(t.TempDir(), "deep", "cache")
	p.accept(p.render())
	res := p.render()
	if !res.Unchanged || res.Set.Len() > 0 {
		t.Errorf("Unchanged is %t, files %v", res.Unchanged, res.Set.Paths())
	}
	if res := p.render(func(o *Options) { o.CacheDir = "" }); res.Unchanged || res.Set.Len() > 0 {
		t.Errorf("without a cache Unchanged is %t, files %v", res.Unchanged, res.Set.Paths())
	}
}

// TestChanged makes one change after another and looks whether the record of
// the run before it is found. Only changes that cannot matter may find it.
func TestChanged(t *testing.T) {
	p := newProject(t, small())
	p.opts.CacheDir = t.TempDir()
	p.write("local/go.mod", "module example.com/local\n")
	p.write("local/local.go", "package local\n")
	mod := readFile(t, filepath.Join(p.dir, "go.mod"))
	replaced := mod + "\nreplace example.com/local => ./.local\n"
	p.write(".local/go.mod", "module example.com/local\n")
	p.write(".local/local.go", "package local\n")
	write := func(name, text string) func(*Options) { return func(*Options) { p.write(name, text) } }

	remember(t, p)
	tests := []struct {
		name   string
		change func(*Options)
		found  bool
	}{
		{"a type", write(kindPath, strings.Replace(kindFile, "int32", "int64", 1)), false},
		{"another file", write("api/v1/more.go", "package v1\n"), false},
		{"the file is gone", func(*Options) { p.remove("api/v1/more.go") }, false},
		{"a file of another package", write("pkg/x/x.go", "package x\n"), false},
		{"a test", write("pkg/x/x_test.go", "package x\n"), true},
		{"a text", write("README.md", "# Hello\n"), true},
		{"a file that is hidden", write(".cache/x.go", "package x\n"), true},
		{"a file by the generated tag", write("pkg/x/zz.go", generatedHeader+"\npackage x\n"), true},
		{"a nested module", write("local/more.go", "package local\n"), false},
		{"go.sum", write("go.sum", readFile(t, "../../go.sum")+"\n"), false},
		{"a replacement", write("go.mod", replaced), false},
		{"what it points to", write(".local/local.go", "package local\n\nvar X int\n"), false},
		{"a replacement that is missing", write("go.mod", mod+"\nreplace example.com/gone => ../gone\n"), false},
		{"go.mod as it was", write("go.mod", mod), false},
		{"an output", write(codePath, generatedHeader+"\npackage v2\n"), false},
		{"an output that is no longer one", write(codePath, "package v1\n"), false},
		{"an output that is gone", func(*Options) { p.remove(rolePath) }, false},
		{"the header", write(DefaultHeader, "// Copyright\n"), false},
		{"the header's text", write(DefaultHeader, "// Copyright two\n"), false},
		{"the year", func(o *Options) { o.Year = "2027" }, false},
		{"the calls", func(o *Options) { o.Calls = calls("rbac:roleName=boss paths=./...") }, false},
		{"lax", func(o *Options) { o.Lax = true }, false},
		{"a part of the outputs", func(o *Options) { o.CRDs = true }, true},
		{"the tool", func(o *Options) { o.ToolVersion = "v9" }, false},
		{"the executable", func(o *Options) { o.Host.Executable = filepath.Join(p.dir, "go.mod") }, false},
		{"the overlay", func(o *Options) { o.Overlay = overlay(t, map[string]string{"api/v1/o.go": "package v1\n"}) }, false},
		{"the overlay with what is there", func(o *Options) {
			o.Overlay = overlay(t, map[string]string{"internal/controller/cache.go": rbacFile})
		}, true},
		{"the system", func(o *Options) { o.Host = withEnv(o.Host, "GOARCH=arm64") }, false},
		{"flags that name files", func(o *Options) { o.Host = withEnv(o.Host, "GOFLAGS=-modfile=go.mod") }, false},
	}
	for _, tt := range tests {
		o := p.opts
		tt.change(&o)
		if got := lookup(t, o); got != tt.found {
			t.Errorf("%s: the record is found: %t, want %t", tt.name, got, tt.found)
		}
		remember(t, p)
	}
}

// withEnv is h with a variable more in the environment of its programs.
func withEnv(h host.Host, v string) host.Host {
	environ := h.Environ
	h.Environ = func() []string { return append(environ(), v) }
	return h
}

// lookup reports whether a run with these options would find a record.
func lookup(t *testing.T, o Options) bool {
	t.Helper()
	c, inputs := openCache(t, o)
	_, ok := c.lookup(inputs)
	return ok
}

func openCache(t *testing.T, o Options) (*cache, string) {
	t.Helper()
	w, err := open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	c := newCache(w)
	inputs, err := c.inputs()
	if err != nil {
		t.Fatal(err)
	}
	return c, inputs
}

// remember records the project as it is, with two outputs that it writes.
func remember(t *testing.T, p *project) {
	t.Helper()
	files := map[string][]byte{codePath: []byte(generatedHeader + "\npackage v1\n"), rolePath: []byte("kind: ClusterRole\n")}
	for name, data := range files {
		p.write(name, string(data))
	}
	c, inputs := openCache(t, p.opts)
	c.store(inputs, files, findings{})
	if !lookup(t, p.opts) {
		t.Fatal("a record is not found again")
	}
}

// TestPartOfOutputs does not take a run for some outputs for one for all.
func TestPartOfOutputs(t *testing.T) {
	p := newProject(t, map[string]string{"internal/controller/cache.go": rbacFile})
	p.opts.CacheDir = t.TempDir()
	rbac := func(o *Options) { o.RBAC = true }
	p.accept(p.render(rbac))
	if !p.render(rbac).Unchanged {
		t.Error("the record of the same selection is not found")
	}
	if p.render().Unchanged {
		t.Error("roles were rendered, and all is taken for unchanged")
	}
	if !p.render(func(o *Options) { o.Webhooks = true }).Unchanged {
		t.Error("all was rendered, and the webhooks are not taken for unchanged")
	}
}

// TestWorkspace hashes the modules of a workspace around the project.
func TestWorkspace(t *testing.T) {
	w := hosttest.New(t)
	outer := &project{t: t, dir: w.Dir}
	outer.write("go.work", "go 1.24\n\nuse (\n\t./op\n\t./lib\n)\n")
	outer.write("op/go.mod", "module example.com/op\n\ngo 1.24\n")
	outer.write("op/op.go", "package op\n")
	outer.write("lib/go.mod", "module example.com/lib\n\ngo 1.24\n")
	outer.write("lib/lib.go", "package lib\n")
	o := Options{Host: w.Host, Dir: filepath.Join(w.Dir, "op"), CacheDir: t.TempDir()}

	c, before := openCache(t, o)
	c.store(before, nil, findings{})
	if !lookup(t, o) {
		t.Fatal("a record is not found again")
	}
	outer.write("lib/lib.go", "package lib\n\nvar X int\n")
	if lookup(t, o) {
		t.Error("a change in a module of the workspace is not seen")
	}
}

// TestSubdirectory hashes the module that the project is a part of.
func TestSubdirectory(t *testing.T) {
	w := hosttest.New(t)
	outer := &project{t: t, dir: w.Dir}
	outer.write("go.mod", "module example.com/all\n\ngo 1.24\n")
	outer.write("lib/lib.go", "package lib\n")
	outer.write("op/op.go", "package op\n")
	o := Options{Host: w.Host, Dir: filepath.Join(w.Dir, "op"), CacheDir: t.TempDir()}

	c, before := openCache(t, o)
	c.store(before, nil, findings{})
	if !lookup(t, o) {
		t.Fatal("a record is not found again")
	}
	outer.write("lib/lib.go", "package lib\n\nvar X int\n")
	if lookup(t, o) {
		t.Error("a change elsewhere in the module is not seen")
	}
}

// TestLinkedDirectory: what can be imported through a link is not hashed, so no
// record serves.
func TestLinkedDirectory(t *testing.T) {
	p := newProject(t, map[string]string{"pkg/x.go": "package pkg\n"})
	p.opts.CacheDir = t.TempDir()
	for name, hashed := range map[string]bool{".link": true, "link.go": false} {
		if err := os.Symlink(t.TempDir(), filepath.Join(p.dir, name)); err != nil {
			t.Skip("no symbolic links here")
		}
		if _, inputs := openCache(t, p.opts); (inputs != "") != hashed {
			t.Errorf("with %s the inputs are %q", name, inputs)
		}
		if res := p.render(); res.Unchanged || res.Set.Len() > 0 {
			t.Errorf("with %s: Unchanged is %t, files %v", name, res.Unchanged, res.Set.Paths())
		}
		p.remove(name)
	}
}

// TestCacheFailures lets every writing call of a run fail: the cache may then
// be missing, never wrong, and the run succeeds.
func TestCacheFailures(t *testing.T) {
	for at := 1; at <= 6; at++ {
		p := newProject(t, map[string]string{"internal/controller/cache.go": rbacFile})
		p.opts.CacheDir = filepath.Join(t.TempDir(), "a", "b")
		files := p.opts.Host.Files
		p.opts.Host.Files = &hosttest.Faults{Files: files, At: at}
		first := p.render()
		if diff := cmp.Diff([]string{rolePath}, first.Set.Paths()); diff != "" {
			t.Fatalf("call %d:\n%s", at, diff)
		}
		p.opts.Host.Files = files
		if res := p.render(); res.Unchanged {
			t.Errorf("call %d: nothing is written and yet unchanged", at)
		}
		p.accept(first)
		if res := p.render(); res.Set.Len() > 0 {
			t.Errorf("call %d: changes %v", at, res.Set.Paths())
		}
	}
}

// TestBrokenRecord does without a record that cannot be read.
func TestBrokenRecord(t *testing.T) {
	p := newProject(t, map[string]string{"internal/controller/cache.go": rbacFile})
	p.opts.CacheDir = t.TempDir()
	p.accept(p.render())
	records, err := filepath.Glob(filepath.Join(p.opts.CacheDir, "generate", "*.json"))
	if err != nil || len(records) != 1 {
		t.Fatalf("records %v, %v", records, err)
	}
	if err := os.WriteFile(records[0], []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if res := p.render(); res.Unchanged || res.Set.Len() > 0 {
		t.Errorf("Unchanged is %t, files %v", res.Unchanged, res.Set.Paths())
	}
	if res := p.render(); !res.Unchanged {
		t.Error("the record is not replaced")
	}
}

// TestWarningsAreKept repeats the warnings of the run that is not repeated.
func TestWarningsAreKept(t *testing.T) {
	p := newProject(t, map[string]string{"internal/controller/cache.go": rbacFile +
		"\n// F is.\n// +kubebuilder:rbac:groups=apps,resources=pods,verbs=get\nfunc F() {}\n"})
	p.opts.CacheDir = t.TempDir()
	p.write(crdPath, "metadata:\n  annotations:\n    controller-gen.kubebuilder.io/version: v0.1.0\n")
	first := p.render()
	p.accept(first)
	again := p.render()
	if !again.Unchanged || len(again.Warnings) != 2 {
		t.Errorf("Unchanged is %t, warnings %v", again.Unchanged, again.Warnings)
	}
	if diff := cmp.Diff(first.Warnings, again.Warnings); diff != "" {
		t.Error(diff)
	}
}
