package upgrade

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/host"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// unreadable is a file system in which one file cannot be read.
type unreadable struct {
	host.Files
	file string
}

var errUnreadable = errors.New("input/output error")

// ReadFile implements host.Files.
func (u unreadable) ReadFile(name string) ([]byte, error) {
	if name == u.file {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errUnreadable}
	}
	return u.Files.ReadFile(name)
}

// ReadDir implements host.Files.
func (u unreadable) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == u.file {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errUnreadable}
	}
	return u.Files.ReadDir(name)
}

// A file that cannot be read ends the upgrade: taken for missing, it would be
// written over.
func TestUpgrade_Unreadable(t *testing.T) {
	s := newShop(t)
	for _, name := range []string{
		"PROJECT", "hack/boilerplate.go.txt", "go.mod", "Makefile", "Dockerfile", "Makefile.rej", "cmd/main.go",
		"config/rbac/kustomization.yaml", "api/v1/memcached_types.go", v4.WorkflowPath,
	} {
		t.Run(name, func(t *testing.T) {
			opts := s.opts
			opts.Files = unreadable{s.disk, filepath.Join(s.dir, filepath.FromSlash(name))}
			if p, err := opts.New(); !errors.Is(err, errUnreadable) {
				t.Errorf("got %v, %v", p, err)
			}
		})
	}
	s.edit("PROJECT", "    version: ", "    pending: "+nowVersion+"\n    version: ")
	for _, name := range []string{"PROJECT", "Makefile.rej"} {
		opts := s.opts
		opts.Files = unreadable{s.disk, filepath.Join(s.dir, name)}
		if p, err := opts.Finish(); !errors.Is(err, errUnreadable) {
			t.Errorf("finished without %s: %v, %v", name, p, err)
		}
	}
}

// The same goes for the code that is looked through for calls.
func TestForeign_Unreadable(t *testing.T) {
	s, table := otherTool(t, foreignProject)
	for _, name := range []string{"api", "internal/controller/memcached_controller.go", "config/rbac/kustomization.yaml"} {
		t.Run(name, func(t *testing.T) {
			opts := s.opts
			opts.peers = table
			opts.Files = unreadable{s.disk, filepath.Join(s.dir, filepath.FromSlash(name))}
			if p, err := opts.New(); !errors.Is(err, errUnreadable) {
				t.Errorf("got %v, %v", p, err)
			}
		})
	}
}

// A baseline that is damaged is named, and not passed over: the upgrade would
// begin from another version.
func TestUpgrade_BrokenBaselines(t *testing.T) {
	good, err := older(t)[1].Archive()
	if err != nil {
		t.Fatal(err)
	}
	bad := templateTree(t)
	bad["init/Makefile.tmpl"] = &fstest.MapFile{Data: []byte("{{ .Nothing")}
	wrong, err := Baseline{midVersion, bad, v4.CurrentVersions()}.Archive()
	if err != nil {
		t.Fatal(err)
	}
	empty, err := Baseline{midVersion, fstest.MapFS{}, v4.CurrentVersions()}.Archive()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		archive []byte
		want    string // in the error, empty for none
	}{
		"whole":                   {good, ""},
		"cut off":                 {good[:len(good)-100], midVersion},
		"empty":                   {nil, midVersion},
		"a template that is none": {wrong, "unclosed action"},
		"no templates":            {empty, ""},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			before := s.files()
			s.opts.Further = mapOf(midVersion, c.archive)
			_, err := s.opts.New()
			if c.want == "" && name == "whole" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if d := cmp.Diff(before, s.files()); d != "" {
				t.Errorf("planning wrote (-before +after):\n%s", d)
			}
		})
	}
}

// What lies in a directory of baselines and is none is passed over.
func TestOpenAll(t *testing.T) {
	all := older(t)
	dir := fstest.MapFS{"README.md": {Data: []byte("x")}, "v9.9.9.zip/README.md": {Data: []byte("x")}}
	for _, b := range all {
		data, err := b.Archive()
		if err != nil {
			t.Fatal(err)
		}
		dir[b.Version+archiveExt] = &fstest.MapFile{Data: data}
	}
	got, err := openAll(dir)
	if err != nil {
		t.Fatal(err)
	}
	var versions []string
	for _, b := range got {
		versions = append(versions, b.Version)
	}
	if d := cmp.Diff([]string{oldVersion, midVersion}, versions); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if _, err := openAll(fstest.MapFS{".": {Mode: fs.ModeDir}, "v1.zip": {Data: []byte("x")}}); err == nil {
		t.Error("a broken baseline was opened")
	}
}
