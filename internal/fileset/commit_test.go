package fileset_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

// before is a tree with a file that changes, one that goes, one that stays.
func before(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string]string{"PROJECT": "old", "cmd/main.go": "package main", "gone/deep/gone.txt": "x", "kept/gone.txt": "x", "kept/kept.txt": "k"} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func change(t testing.TB) fileset.Set {
	t.Helper()
	var s fileset.Set
	put := func(name string, f fileset.File) {
		if err := s.Put(name, f); err != nil {
			t.Fatal(err)
		}
	}
	put("PROJECT", fileset.File{Data: []byte("new and longer")})
	put("api/v1/types.go", fileset.File{Data: []byte("package v1"), New: true})
	put("api/v1/doc.go", fileset.File{Data: []byte("package v1 // doc"), New: true})
	put("hack/run.sh", fileset.File{Data: []byte("#!/bin/sh"), Mode: 0o755})
	put("gone/deep/gone.txt", fileset.File{Removed: true})
	put("kept/gone.txt", fileset.File{Removed: true})
	put("kept/kept.txt", fileset.File{Data: []byte("k")})
	return s
}

var after = map[string]string{
	"PROJECT": "new and longer", "cmd": "dir", "cmd/main.go": "package main", "kept": "dir", "kept/kept.txt": "k",
	"api": "dir", "api/v1": "dir", "api/v1/types.go": "package v1", "api/v1/doc.go": "package v1 // doc",
	"hack": "dir", "hack/run.sh": "#!/bin/sh",
}

// TestCheck: a set that was checked is not written over what changed since.
func TestCheck(t *testing.T) {
	dir := before(t)
	at := tree(host.OSFiles{}, dir)
	checked, err := at.Check(change(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "PROJECT"), []byte("of an editor"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := at.Commit(t.Context(), checked, "create"); err == nil || !strings.Contains(err.Error(), "PROJECT was changed by another program") {
		t.Fatalf("committed over what an editor has saved: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "api")); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("a part of the change was written: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "PROJECT"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := at.Commit(t.Context(), checked, "create"); err != nil {
		t.Fatal(err)
	}
}

func tree(fs fileset.FS, dir string) fileset.Tree { return fileset.Tree{FS: fs, Root: dir} }

func TestCommit(t *testing.T) {
	dir := before(t)
	fs := &hosttest.Faults{Files: host.OSFiles{}}
	if err := tree(fs, dir).Commit(t.Context(), change(t), "create api"); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(after, hosttest.Snapshot(t, dir)); d != "" {
		t.Errorf("tree after the commit (-want +got):\n%s", d)
	}
	if info, err := os.Stat(filepath.Join(dir, "hack/run.sh")); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("hack/run.sh is not executable: %v %v", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Join(dir, "PROJECT")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("PROJECT lost its permissions: %v %v", info.Mode(), err)
	}
	calls := fs.Calls
	if err := tree(fs, dir).Commit(t.Context(), fileset.Set{}, "again"); err != nil || fs.Calls > calls+1 {
		t.Errorf("an empty commit wrote: %d calls, %v", fs.Calls-calls, err)
	}
}

// TestCommitFaults breaks off the commit at every single write, once by an
// error and once as kill -9 does, and demands the old tree or, after the next
// run, the new one.
func TestCommitFaults(t *testing.T) {
	count := &hosttest.Faults{Files: host.OSFiles{}}
	if err := tree(count, before(t)).Commit(t.Context(), change(t), "x"); err != nil {
		t.Fatal(err)
	}
	if count.Calls < 10 {
		t.Fatalf("only %d writing calls: the test would prove little", count.Calls)
	}
	for at := 1; at <= count.Calls; at++ {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d killed %v", at, killed), func(t *testing.T) { breakOff(t, at, killed) })
		}
	}
}

func breakOff(t *testing.T, at int, killed bool) {
	dir := before(t)
	old := hosttest.Snapshot(t, dir)
	fs := &hosttest.Faults{Files: host.OSFiles{}, At: at, Killed: killed}
	err := tree(fs, dir).Commit(t.Context(), change(t), "create api")
	if err != nil && !errors.Is(err, hosttest.ErrFault) {
		t.Fatalf("commit: %v", err)
	}
	if err == nil && killed {
		t.Fatal("a killed commit returned no error")
	}
	rec, err2 := tree(host.OSFiles{}, dir).Recover(t.Context())
	if err2 != nil {
		t.Fatalf("recover: %v", err2)
	}
	want := old
	if rec.Finished || err == nil {
		want = after
	}
	if rec.Finished && rec.Command != "create api" {
		t.Errorf("recovered command %q", rec.Command)
	}
	if d := cmp.Diff(want, hosttest.Snapshot(t, dir)); d != "" {
		t.Fatalf("tree after recovery (-want +got):\n%s", d)
	}
	if err := tree(host.OSFiles{}, dir).Commit(t.Context(), redo(t, rec), "create api"); err != nil {
		t.Fatalf("second run: %v", err)
	}
	if d := cmp.Diff(after, hosttest.Snapshot(t, dir)); err != nil && d != "" {
		t.Errorf("tree after the second run (-want +got):\n%s", d)
	}
}

// redo is the change as a second run renders it: what is finished is not new.
func redo(t *testing.T, rec fileset.Recovery) fileset.Set {
	if rec.Finished {
		return fileset.Set{}
	}
	s := change(t)
	for _, name := range s.Paths() {
		f, _ := s.Get(name)
		f.New = false
		if err := s.Put(name, f); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// sparing does not count removals, which only a kill prevents.
type sparing struct{ *hosttest.Faults }

func (s sparing) Remove(name string) error { return s.Files.Remove(name) }

func TestCommitErrorLeavesOldTree(t *testing.T) {
	// An error at any write before the commit point must be undone at once,
	// without a second run.
	for at := 1; ; at++ {
		dir := before(t)
		old := hosttest.Snapshot(t, dir)
		fs := sparing{&hosttest.Faults{Files: host.OSFiles{}, At: at}}
		err := tree(fs, dir).Commit(t.Context(), change(t), "x")
		if _, past := errors.AsType[*fileset.UnfinishedError](err); past {
			break
		}
		if !errors.Is(err, hosttest.ErrFault) {
			t.Fatalf("write %d: %v", at, err)
		}
		if d := cmp.Diff(old, hosttest.Snapshot(t, dir)); d != "" {
			t.Fatalf("write %d: tree (-want +got):\n%s", at, d)
		}
	}
}

// TestCommitFollowsNoLinks has what a checkout may bring: a link in the place of a
// draft, and a journal that leads through one.
func TestCommitFollowsNoLinks(t *testing.T) {
	dir, outside := before(t), filepath.Join(t.TempDir(), "mine")
	if err := os.MkdirAll(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(outside, "f")
	if err := os.WriteFile(file, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, filepath.Join(dir, ".mysdk-PROJECT")); err != nil {
		t.Fatal(err)
	}
	var s fileset.Set
	if err := s.Put("PROJECT", fileset.File{Data: []byte("new")}); err != nil {
		t.Fatal(err)
	}
	if err := tree(host.OSFiles{}, dir).Commit(t.Context(), s, "x"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "led")); err != nil {
		t.Fatal(err)
	}
	journal := `{"command": "x", "committed": true, "remove": [{"path": "led/f"}]}`
	if err := os.WriteFile(filepath.Join(dir, ".mysdk-commit"), []byte(journal), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := tree(host.OSFiles{}, dir).Recover(t.Context()); err == nil || !strings.Contains(err.Error(), "led is a symbolic link") {
		t.Errorf("Recover() = %v", err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "mine" {
		t.Errorf("the file outside: %q, %v", data, err)
	}
}

func TestCommitRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		file fileset.File
		want string
	}{
		"existing file":      {"PROJECT", fileset.File{New: true}, "PROJECT already exists"},
		"directory":          {"cmd", fileset.File{}, "cmd is a directory"},
		"file as directory":  {"PROJECT/x", fileset.File{}, "PROJECT is a file"},
		"link as target":     {"link", fileset.File{}, "not a regular file"},
		"link as directory":  {"linked/x", fileset.File{}, "symbolic link"},
		"second bad of pair": {"zzz/../x", fileset.File{}, "not a clean path"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := before(t)
			for _, l := range []string{"link", "linked"} {
				if err := os.Symlink(t.TempDir(), filepath.Join(dir, l)); err != nil {
					t.Fatal(err)
				}
			}
			s := change(t)
			err := s.Put(c.path, c.file)
			if err == nil {
				err = tree(host.OSFiles{}, dir).Commit(t.Context(), s, "x")
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "api")); err == nil {
				t.Error("something was written before the refusal")
			}
		})
	}
}

func TestCommitCancelled(t *testing.T) {
	dir := before(t)
	old := hosttest.Snapshot(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tree(host.OSFiles{}, dir).Commit(ctx, change(t), "x"); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if d := cmp.Diff(old, hosttest.Snapshot(t, dir)); d != "" {
		t.Errorf("tree (-want +got):\n%s", d)
	}
}

// TestCommitsAtOnce: commands in the same project wait for each other, and
// none loses a file of its own or of another's.
func TestCommitsAtOnce(t *testing.T) {
	dir := before(t)
	errs := make(chan error)
	const writers = 8
	for i := range writers {
		go func() {
			var s fileset.Set
			err := s.Put(fmt.Sprintf("out/%d.txt", i), fileset.File{Data: []byte("mine"), New: true})
			if err == nil {
				err = s.Put("PROJECT", fileset.File{Data: fmt.Appendf(nil, "by %d", i)})
			}
			if err == nil {
				err = tree(host.OSFiles{}, dir).Commit(t.Context(), s, "generate")
			}
			errs <- err
		}()
	}
	for range writers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	got := hosttest.Snapshot(t, dir)
	for i := range writers {
		if got[fmt.Sprintf("out/%d.txt", i)] != "mine" {
			t.Errorf("the file of writer %d is lost", i)
		}
	}
	if len(got) != len(hosttest.Snapshot(t, before(t)))+1+writers {
		t.Errorf("something is left over: %v", got)
	}
}

func TestRecoverRefusesForeignJournal(t *testing.T) {
	for _, j := range []string{`{"committed":true,"write":["../../etc/passwd"]}`, `{"remove":["/etc/passwd"],"committed":true}`, `not json`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ".mysdk-commit"), []byte(j), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := tree(host.OSFiles{}, dir).Recover(t.Context()); err == nil {
			t.Errorf("journal %s was accepted", j)
		}
	}
}

func TestDiff(t *testing.T) {
	dir := before(t)
	got, err := tree(host.OSFiles{}, dir).Diff(change(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"--- a/PROJECT\n+++ b/PROJECT\n@@ -1,1 +1,1 @@\n-old\n", "+new and longer\n",
		"--- /dev/null\n+++ b/api/v1/types.go\n@@ -0,0 +1,1 @@\n+package v1\n", "--- a/gone/deep/gone.txt\n+++ /dev/null\n",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("diff lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(string(got), "kept/kept.txt") {
		t.Errorf("diff names an unchanged file:\n%s", got)
	}
	var s fileset.Set
	if err := s.Put("PROJECT", fileset.File{Data: []byte("PK\x03\x04\x00")}); err != nil {
		t.Fatal(err)
	}
	if got, err := tree(host.OSFiles{}, dir).Diff(s); err != nil || string(got) != "Binary files a/PROJECT and b/PROJECT differ\n" {
		t.Errorf("diff of a binary file: %v\n%s", err, got)
	}
}

func FuzzPut(f *testing.F) {
	for _, s := range []string{"a/b.go", "../x", "/etc/passwd", "a//b", ".", "a/./b", `a\..\b`, "a/\x00", ".mysdk-commit"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		var s fileset.Set
		if s.Put(name, fileset.File{}) != nil {
			return
		}
		root := filepath.FromSlash("/root/of/tree")
		if p := filepath.Join(root, filepath.FromSlash(name)); !strings.HasPrefix(p, root+string(filepath.Separator)) {
			t.Errorf("%q leaves the root: %s", name, p)
		}
	})
}
