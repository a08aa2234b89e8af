package cmd_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

// transactions are commands that write project files, each with the commands
// that come before it.
var transactions = map[string]struct {
	before  []string
	command string
}{
	"init":       {nil, "init --domain example.com"},
	"create api": {[]string{"init --domain example.com"}, "create api --group cache --kind Memcached --make=false"},
	"create webhook": {
		[]string{"init --domain example.com", "create api --group cache --kind Memcached --make=false"},
		"create webhook --group cache --kind Memcached --defaulting --make=false",
	},
	"edit":       {[]string{"init --domain example.com"}, "edit --namespaced"},
	"delete api": {[]string{"init --domain example.com", "create api --group cache --kind Memcached --pattern blank"}, "delete api --group cache --kind Memcached"},
	"generate":   {[]string{"init --domain example.com", "create api --group cache --kind Memcached --make=false"}, "generate"},
	"bundle generate": {
		[]string{"init --domain example.com", "create api --group cache --kind Memcached", "generate kustomize manifests"},
		"bundle generate --version 0.0.1",
	},
	"bundle catalog": {
		[]string{"init --domain example.com", "create api --group cache --kind Memcached --make=false", "generate kustomize manifests", "bundle generate --version 0.0.1"},
		"bundle catalog ./bundle=example.com/memcached-bundle:v0.0.1 --output-dir catalog",
	},
}

// TestTransactions breaks off the commit of each command, by an error as of a
// full disk and by a kill. An error must leave the old tree at once or, past
// the point of no return, a tree that the same command completes; a kill must
// leave one that the same command brings to its end.
func TestTransactions(t *testing.T) {
	for name, c := range transactions {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "create api" {
				t.Skip("one command is enough there")
			}
			newTransaction(t, projectBy(t, c.before), c.command).breakOff(t)
		})
	}
}

// TestPkgmanTransaction does the same with the command that works on no project. It
// also builds the images of bundles that its first run did not come to.
func TestPkgmanTransaction(t *testing.T) {
	if testing.Short() {
		t.Skip("TestTransactions is enough there")
	}
	base, command := pkgmanBase(t)
	tr := newTransaction(t, base, command)
	tr.breakOff(t)
	for at := 1; ; at++ {
		w := tr.again(t, at)
		if !strings.Contains(w.Out.String(), "example.com/memcached-bundle:0.3.0 ") {
			t.Fatalf("killed at write %d, the second run built:\n%s", at, w.Out)
		}
		if strings.Contains(w.Err.String(), "Finished") {
			break
		}
	}
}

func pkgmanBase(t *testing.T) (base *hosttest.World, command string) {
	t.Helper()
	a, err := txtar.ParseFile("../testdata/script/bundle/pkgman.txtar")
	if err != nil {
		t.Fatal(err)
	}
	a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return !strings.HasPrefix(f.Name, "packagemanifests/") })
	base = projectBy(t, nil)
	if err := txtar.Write(a, base.Dir); err != nil {
		t.Fatal(err)
	}
	return base, "pkgman-to-bundle packagemanifests --image-tag-base example.com/memcached-bundle"
}

// projectBy makes a project by the commands and returns its world.
func projectBy(t *testing.T, commands []string) *hosttest.World {
	t.Helper()
	w := hosttest.New(t)
	w.Dir = filepath.Join(w.Dir, "memcached-operator")
	if err := os.Mkdir(w.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range commands {
		if code := root.Main(t.Context(), w.Host, strings.Fields(c)); code != 0 {
			t.Fatalf("mysdk %s: exit code %d\n%s", c, code, w.Err)
		}
	}
	return w
}

// another returns a new world with a copy of base's project.
func another(t *testing.T, base *hosttest.World) *hosttest.World {
	t.Helper()
	w := hosttest.New(t)
	w.Dir = filepath.Join(w.Dir, filepath.Base(base.Dir))
	if err := os.CopyFS(w.Dir, os.DirFS(base.Dir)); err != nil {
		t.Fatal(err)
	}
	return w
}

// transaction is a command, and what it makes of a project when nothing
// disturbs it.
type transaction struct {
	base    *hosttest.World
	command string
	want    map[string]string
	set     fileset.Set
}

// newTransaction runs the command once. It must not write to the project but
// by one commit.
func newTransaction(t *testing.T, base *hosttest.World, command string) transaction {
	t.Helper()
	w := another(t, base)
	guard := &guarded{Files: w.Files, dir: w.Dir}
	w.Files = guard
	if code := root.Main(t.Context(), w.Host, strings.Fields(command)); code != 0 {
		t.Fatalf("exit code %d\n%s", code, w.Err)
	}
	if len(guard.outside) > 0 || guard.calls == 0 {
		t.Fatalf("the command wrote %d times to the project, these outside of its commit: %v", guard.calls, guard.outside)
	}
	return transaction{base, command, hosttest.Snapshot(t, w.Dir), difference(t, base.Dir, w.Dir)}
}

// guarded notes writing calls in dir that no commit makes.
type guarded struct {
	host.Files
	dir     string
	calls   int
	outside []string
}

func (g *guarded) note(name string) {
	if !strings.HasPrefix(name, g.dir+string(filepath.Separator)) {
		return
	}
	g.calls++
	if _, err := os.Lstat(filepath.Join(g.dir, ".mysdk-lock")); err != nil {
		g.outside = append(g.outside, name)
	}
}

func (g *guarded) WriteFile(name string, data []byte, mode fs.FileMode) error {
	g.note(name)
	return g.Files.WriteFile(name, data, mode)
}

func (g *guarded) Rename(from, to string) error {
	g.note(to)
	return g.Files.Rename(from, to)
}

func (g *guarded) Remove(name string) error {
	g.note(name)
	return g.Files.Remove(name)
}

// difference is the change that makes one tree the other.
func difference(t *testing.T, from, to string) fileset.Set {
	t.Helper()
	old, now := hosttest.Snapshot(t, from), hosttest.Snapshot(t, to)
	var set fileset.Set
	put := func(name string, f fileset.File) {
		if err := set.Put(name, f); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range now {
		was, there := old[name]
		info, err := os.Lstat(filepath.Join(to, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().IsRegular() && (!there || was != text) {
			put(name, fileset.File{Data: []byte(text), Mode: info.Mode().Perm(), New: !there})
		}
	}
	for name := range old {
		info, err := os.Lstat(filepath.Join(from, name))
		if _, there := now[name]; !there && err == nil && info.Mode().IsRegular() {
			put(name, fileset.File{Removed: true})
		}
	}
	return set
}

// points is how many writes of a commit are tried as its last one. Every
// single one is the matter of fileset's own test.
func points() int {
	if testing.Short() {
		return 3
	}
	return 12
}

// breakOff breaks the command's commit off at writes spread over all of it,
// and has the command itself go on after one in each half of it.
func (tr transaction) breakOff(t *testing.T) {
	t.Helper()
	count := &hosttest.Faults{Files: hosttest.Unsynced{}}
	if err := tr.commit(t, another(t, tr.base), count); err != nil {
		t.Fatal(err)
	}
	for at := 1; at <= count.Calls; at += max(1, count.Calls/points()) {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d killed %v", at, killed), func(t *testing.T) { tr.fail(t, at, killed) })
		}
	}
	for says, from := range map[string]int{"Rolled back the interrupted": count.Calls / 4, "Finished": count.Calls * 3 / 4} {
		t.Run(says, func(t *testing.T) {
			// A commit of one file may not be there yet, after its quarter.
			for at := max(1, from); !strings.Contains(tr.again(t, at).Err.String(), says); at++ {
				if at == count.Calls {
					t.Fatalf("no second run says %q", says)
				}
			}
		})
	}
}

// again kills the commit at that write, and has the command go on, in the world that
// it returns.
func (tr transaction) again(t *testing.T, at int) *hosttest.World {
	t.Helper()
	w := another(t, tr.base)
	if err := tr.commit(t, w, &hosttest.Faults{Files: w.Files, At: at, Killed: true}); err == nil {
		t.Fatal("the commit went on after it was killed")
	}
	if code := root.Main(t.Context(), w.Host, strings.Fields(tr.command)); code != 0 {
		t.Fatalf("second run: exit code %d\n%s", code, w.Err)
	}
	if d := cmp.Diff(tr.want, hosttest.Snapshot(t, w.Dir)); d != "" {
		t.Fatalf("tree at the end (-want +got):\n%s", d)
	}
	return w
}

func (tr transaction) commit(t *testing.T, w *hosttest.World, files fileset.FS) error {
	return fileset.Tree{FS: files, Root: w.Dir}.Commit(t.Context(), tr.set, tr.command)
}

// fail commits with a fault, and demands the old tree or the new one after
// what the next command begins with.
func (tr transaction) fail(t *testing.T, at int, killed bool) {
	w := another(t, tr.base)
	err := tr.commit(t, w, &hosttest.Faults{Files: w.Files, At: at, Killed: killed})
	if err == nil && killed {
		t.Fatal("the commit went on after it was killed")
	}
	old, want := hosttest.Snapshot(t, tr.base.Dir), tr.want
	var unfinished *fileset.UnfinishedError
	if err != nil && !killed && !errors.As(err, &unfinished) {
		if d := cmp.Diff(old, hosttest.Snapshot(t, w.Dir)); d != "" {
			t.Fatalf("the failed commit left (-old +now):\n%s", d)
		}
	}
	rec, recErr := fileset.Tree{FS: w.Files, Root: w.Dir}.Recover(t.Context())
	if recErr != nil {
		t.Fatal(recErr)
	}
	if err != nil && !rec.Finished {
		want = old
	}
	if d := cmp.Diff(want, hosttest.Snapshot(t, w.Dir)); d != "" {
		t.Fatalf("tree after the recovery (-want +got):\n%s", d)
	}
}
