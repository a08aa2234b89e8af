package localrun

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/host"
)

// project writes files into a new directory.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		save(t, filepath.Join(dir, name), text)
	}
	return dir
}

func save(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestScan(t *testing.T) {
	start := map[string]string{
		"go.mod": "module x\n", "cmd/main.go": "package main\n", "api/v1/types.go": "package v1\n",
		"assets/assets.go": "package assets\n\n//go:embed all:files\nvar files embed.FS\n", "assets/files/a.txt": "a",
		"config/crd/kustomization.yaml": "resources: []\n", "PROJECT": "domain: x\n", "docs/readme.md": "x",
	}
	tests := map[string]struct {
		change func(t *testing.T, dir string)
		want   []string
	}{
		"nothing":            {func(*testing.T, string) {}, nil},
		"Go file":            {func(t *testing.T, d string) { save(t, d+"/cmd/main.go", "package main // x\n") }, []string{"cmd/main.go"}},
		"same content":       {func(t *testing.T, d string) { save(t, d+"/cmd/main.go", "package main\n") }, nil},
		"new file":           {func(t *testing.T, d string) { save(t, d+"/cmd/other.go", "package main\n") }, []string{"cmd/other.go"}},
		"new package":        {func(t *testing.T, d string) { save(t, d+"/a/b/c/x.go", "package c\n") }, []string{"a/b/c/x.go"}},
		"removed file":       {func(t *testing.T, d string) { remove(t, d+"/api/v1/types.go") }, []string{"api/v1/types.go"}},
		"removed directory":  {func(t *testing.T, d string) { remove(t, d+"/api") }, []string{"api/v1/types.go"}},
		"renamed":            {func(t *testing.T, d string) { rename(t, d+"/api/v1", d+"/api/v2") }, []string{"api/v1/types.go", "api/v2/types.go"}},
		"requirements":       {func(t *testing.T, d string) { save(t, d+"/go.mod", "module other\n"); save(t, d+"/go.sum", "") }, []string{"go.mod", "go.sum"}},
		"workspace":          {func(t *testing.T, d string) { save(t, d+"/go.work", "go 1.26\n") }, []string{"go.work"}},
		"manifest":           {func(t *testing.T, d string) { save(t, d+"/config/crd/kustomization.yaml", "a: b\n") }, []string{"config/crd/kustomization.yaml"}},
		"embedded":           {func(t *testing.T, d string) { save(t, d+"/assets/files/a.txt", "bb") }, []string{"assets/files/a.txt"}},
		"embedded, new":      {func(t *testing.T, d string) { save(t, d+"/assets/files/b.txt", "b") }, []string{"assets/files/b.txt"}},
		"PROJECT":            {func(t *testing.T, d string) { save(t, d+"/PROJECT", "x") }, []string{"PROJECT"}},
		"tests do not count": {func(t *testing.T, d string) { save(t, d+"/cmd/main_test.go", "package main\n") }, nil},
		"nor documents":      {func(t *testing.T, d string) { save(t, d+"/docs/readme.md", "y") }, nil},
		"nor what is built":  {func(t *testing.T, d string) { save(t, d+"/bin/x.go", "y"); save(t, d+"/dist/install.yaml", "y") }, nil},
		"nor dependencies":   {func(t *testing.T, d string) { save(t, d+"/vendor/x/x.go", "package x\n") }, nil},
		"nor what is hidden": {func(t *testing.T, d string) { save(t, d+"/.git/x.go", "y"); save(t, d+"/.vscode/launch.json", "y") }, nil},
		"nor test data":      {func(t *testing.T, d string) { save(t, d+"/api/testdata/x.go", "y") }, nil},
		"nor what links lead to": {func(t *testing.T, d string) {
			link(t, "../docs", d+"/config/docs")
			link(t, "..", d+"/assets/files/up")
		}, nil},
		"but linked files do": {func(t *testing.T, d string) { link(t, "../docs/readme.md", d+"/config/readme.md") }, []string{"config/readme.md"}},
		"nor what go skips":   {func(t *testing.T, d string) { save(t, d+"/cmd/_x.go", "y"); save(t, d+"/_old/x.go", "y") }, nil},
		"nor editors' files": {func(t *testing.T, d string) {
			for _, name := range []string{".main.go.swp", "main.go~", "4913", "#main.go#", ".#main.go", "main.go.tmp", "main.go___jb_tmp___"} {
				save(t, d+"/cmd/"+name, "y")
				save(t, d+"/config/crd/"+name, "y")
			}
		}, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir := project(t, start)
			tr := tree{files: host.OSFiles{}, root: dir}
			first, err := tr.scan(nil)
			if err != nil {
				t.Fatal(err)
			}
			all := []string{"PROJECT", "api/v1/types.go", "assets/assets.go", "assets/files/a.txt", "cmd/main.go", "config/crd/kustomization.yaml", "go.mod"}
			if diff := cmp.Diff(all, first); diff != "" {
				t.Fatalf("what counts (-want +got):\n%s", diff)
			}
			tc.change(t, dir)
			got, err := tr.scan(nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("changed (-want +got):\n%s", diff)
			}
		})
	}
}

// TestIsCode: what asks for a build, and what is only applied.
func TestIsCode(t *testing.T) {
	dir := project(t, map[string]string{
		"cmd/main.go": "package main\n", "config/config.go": "package config\n", "config/config_test.go": "package config\n",
		"config/crd/embed.go":       "package crd\n\n//go:embed bases/*.yaml \"a b.txt\"\nvar (\n\t//go:embed `all:more`\n\tfiles embed.FS\n)\n",
		"config/crd/bases/new.yaml": "", "config/crd/a b.txt": "", "config/crd/more/x/y": "", "config/crd/kustomization.yaml": "",
		"config/rbac/role.yaml": "", "PROJECT": "", "go.mod": "module x\n", "demo/a.yaml": "",
	})
	r := &run{Options: Options{Dir: dir, Apply: []string{filepath.Join(dir, "demo")}}}
	w, err := newWatcher(host.Host{Files: host.OSFiles{}}, dir, r.samples()...)
	if err != nil {
		t.Fatal(err)
	}
	defer w.events.Close()
	r.watcher = w
	var code []string
	for name := range w.tree.seen {
		if r.isCode(name) {
			code = append(code, name)
		}
	}
	slices.Sort(code)
	want := []string{"cmd/main.go", "config/config.go", "config/crd/a b.txt", "config/crd/bases/new.yaml", "config/crd/embed.go", "config/crd/more/x/y", "go.mod"}
	if diff := cmp.Diff(want, code); diff != "" {
		t.Errorf("code (-want +got):\n%s", diff)
	}
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Skip(err)
	}
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// TestScanTouched: two writes of one size within a tick of the file system's
// clock look the same from outside.
func TestScanTouched(t *testing.T) {
	dir := project(t, map[string]string{"main.go": "package a\n"})
	file := filepath.Join(dir, "main.go")
	at := time.Now().Add(-time.Hour)
	set := func(text string) {
		save(t, file, text)
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	set("package a\n")
	tr := tree{files: host.OSFiles{}, root: dir}
	if _, err := tr.scan(nil); err != nil {
		t.Fatal(err)
	}
	set("package b\n")
	if got, err := tr.scan(nil); err != nil || len(got) > 0 {
		t.Fatalf("the file was read: %q, %v", got, err)
	}
	if got, err := tr.scan(map[string]bool{"main.go": true}); err != nil || len(got) != 1 {
		t.Errorf("%q, %v", got, err)
	}
}

// watched is a watcher of a project, and a function that waits for changes.
func watched(t *testing.T, files map[string]string) (dir string, w *watcher, next func() []string) {
	t.Helper()
	dir = project(t, files)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	w, err := newWatcher(host.Host{Files: host.OSFiles{}}, dir)
	if err != nil {
		t.Fatal(err)
	}
	go w.listen(ctx)
	return dir, w, func() []string {
		t.Helper()
		for {
			select {
			case <-w.wake:
			case <-t.Context().Done():
				t.Fatal("no change was seen")
			}
			changed, err := w.take()
			if err != nil {
				t.Fatal(err)
			}
			if len(changed) > 0 {
				slices.Sort(changed)
				return changed
			}
		}
	}
}

// TestWatcher goes through what editors, branches and generators do.
func TestWatcher(t *testing.T) {
	dir, w, next := watched(t, map[string]string{"cmd/main.go": "package main\n", "config/a.yaml": "a: 1\n"})
	wants := func(what string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, next()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	if _, err := w.take(); err != nil || w.waiting() {
		t.Errorf("changes at the start: %v", err)
	}
	save(t, dir+"/cmd/main.go", "package main // 1\n")
	wants("written in place", "cmd/main.go")

	save(t, dir+"/cmd/main.go.tmp", "package main // 2\n")
	rename(t, dir+"/cmd/main.go.tmp", dir+"/cmd/main.go")
	wants("renamed over", "cmd/main.go")

	save(t, dir+"/cmd/.main.go.swp", "x")
	save(t, dir+"/cmd/notes.txt", "x")
	save(t, dir+"/config/a.yaml", "a: 2\n")
	wants("among what does not count", "config/a.yaml")

	save(t, dir+"/internal/deep/down/x.go", "package down\n")
	wants("a new directory", "internal/deep/down/x.go")
	save(t, dir+"/internal/deep/down/x.go", "package down // 2\n")
	wants("in a directory that was new", "internal/deep/down/x.go")

	remove(t, dir+"/internal")
	wants("a directory is removed", "internal/deep/down/x.go")
	save(t, dir+"/internal/deep/down/x.go", "package down\n")
	wants("and comes back", "internal/deep/down/x.go")
	save(t, dir+"/internal/deep/down/x.go", "package down // 3\n")
	wants("and is watched again", "internal/deep/down/x.go")
}

// TestWatcherBurst: a hundred files at once are few changes, and none is lost.
func TestWatcherBurst(t *testing.T) {
	dir, _, next := watched(t, nil)
	want := map[string]bool{}
	for i := range 100 {
		name := fmt.Sprintf("p%d/x.go", i)
		want[name] = true
		save(t, filepath.Join(dir, name), "package p\n")
	}
	rounds := 0
	for len(want) > 0 {
		rounds++
		for _, name := range next() {
			delete(want, name)
		}
	}
	if rounds > 50 {
		t.Errorf("%d changes for one burst", rounds)
	}
}

// TestWatcherDuring: what a generator writes is no change; what the user saves
// beside it is.
func TestWatcherDuring(t *testing.T) {
	dir, w, next := watched(t, map[string]string{"a.go": "package a\n", "gen.go": "package a\n"})
	wrote, err := w.during(func() ([]string, error) {
		save(t, dir+"/gen.go", "package a // generated\n")
		save(t, dir+"/a.go", "package a // by the user\n")
		return []string{"gen.go"}, nil
	})
	if err != nil || !slices.Equal(wrote, []string{"gen.go"}) {
		t.Fatalf("%q, %v", wrote, err)
	}
	if diff := cmp.Diff([]string{"a.go"}, next()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	save(t, dir+"/gen.go", "package a // by hand\n")
	if diff := cmp.Diff([]string{"gen.go"}, next()); diff != "" {
		t.Errorf("changed by hand (-want +got):\n%s", diff)
	}
}

func TestWatcherFails(t *testing.T) {
	if _, err := newWatcher(host.Host{Files: host.OSFiles{}}, filepath.Join(t.TempDir(), "none")); err != nil {
		t.Errorf("a directory that is gone is as good as empty: %v", err)
	}
}

func FuzzTemporary(f *testing.F) {
	for _, name := range []string{"main.go", "4913", ".x", "a~", "config/x.yaml"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		// A file that the go command compiles is one that counts.
		if filepath.Ext(name) == ".go" && !temporary.MatchString(filepath.Base(name)) && !counts(filepath.ToSlash(name)) &&
			filepath.Base(name)[0] != '_' && !isTest(name) {
			t.Errorf("%q does not count", name)
		}
	})
}

func isTest(name string) bool {
	ok, err := filepath.Match("*_test.go", filepath.Base(name))
	return ok && err == nil
}

func BenchmarkScan(b *testing.B) {
	dir := b.TempDir()
	for i := range 200 {
		sub := filepath.Join(dir, fmt.Sprintf("p%d", i))
		if err := os.Mkdir(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range 5 {
			if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%d.go", j)), []byte("package p\n"), 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	tr := tree{files: host.OSFiles{}, root: dir}
	for b.Loop() {
		if _, err := tr.scan(nil); err != nil {
			b.Fatal(err)
		}
	}
}
