package migrate

import (
	"io/fs"
	"testing"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

// vanishing are files of which an editor removes its temporary ones as soon as they
// are listed.
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

type vanished struct{ fs.DirEntry }

func (vanished) Info() (fs.FileInfo, error) { return nil, fs.ErrNotExist }

// TestVanished holds that a file which is gone before it is read is no part of the
// project.
func TestVanished(t *testing.T) {
	files := goV3()
	files[".main.go.swp"] = "x"
	p, err := Make(Options{Files: vanishing{hosttest.NewMemory(t, "/shop", files)}, Dir: "/shop", Scaffolder: testScaffolder})
	if err != nil {
		t.Fatal(err)
	}
	if _, there := p.entry(".main.go.swp"); there {
		t.Error("it is in the result")
	}
}
