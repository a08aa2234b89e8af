package migrate

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

// vanishing are files of which an editor removes its temporary ones as soon as they
// are listed, or as soon as they were looked at.
type vanishing struct{ host.Files }

func (v vanishing) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := v.Files.ReadDir(name)
	for i, e := range entries {
		if e.Name() == ".main.go.swp" {
			entries[i] = vanished{e}
		}
	}
	return entries, err
}

func (v vanishing) ReadFile(name string) ([]byte, error) {
	if path.Base(name) == ".main.go.swx" {
		return nil, fs.ErrNotExist
	}
	return v.Files.ReadFile(name)
}

type vanished struct{ fs.DirEntry }

func (vanished) Info() (fs.FileInfo, error) { return nil, fs.ErrNotExist }

// TestVanished holds that a file which is gone before it is read is no part of the
// project.
func TestVanished(t *testing.T) {
	files := goV3()
	files[".main.go.swp"], files[".main.go.swx"] = "x", "x"
	memory := vanishing{hosttest.NewMemory(t, "/shop", files)}
	p, err := Make(Options{Files: memory, Dir: "/shop", Scaffolder: testScaffolder})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".main.go.swp", ".main.go.swx"} {
		if _, there := p.entry(name); there {
			t.Errorf("%s is in the result", name)
		}
	}
}

// TestSkipped holds that what tools have put into a checkout is not carried along: a
// worktree's .git would have git write to that one.
func TestSkipped(t *testing.T) {
	files := goV3()
	for _, name := range []string{".git", "bin/controller-gen", "testbin/bin/etcd", "build/_output/x"} {
		files[name] = "x"
	}
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{ReportName: {"- bin has programs", "- testbin has programs", "!build/_output"}})
	for name := range got {
		if name == ".git" || strings.HasPrefix(name, "bin/") || strings.HasPrefix(name, "testbin/") || strings.HasPrefix(name, "build/") {
			t.Errorf("%s is carried over", name)
		}
	}
}

// TestSyntaxErrorIsTheSame holds that of several errors the same is told every
// time.
func TestSyntaxErrorIsTheSame(t *testing.T) {
	files := memcached(t)
	files["pkg/apis/cache/v1alpha1/memcached_types.go"] += "\ntype X struct{}\n"
	files["pkg/apis/apis.go"], files["pkg/controller/controller.go"] = "package {", "package ("
	for range 20 {
		if _, err := makePlan(t, files); err == nil || !strings.Contains(err.Error(), "pkg/apis/apis.go:1:9") {
			t.Fatalf("got %v", err)
		}
	}
}
