package fileset_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

// watched calls before with each writing call before it is made; an error is
// that of the call.
type watched struct {
	host.OSFiles
	before func(call string, names ...string) error
}

func (w watched) WriteFile(name string, data []byte, mode fs.FileMode) error {
	if err := w.before("write", name); err != nil {
		return err
	}
	return w.OSFiles.WriteFile(name, data, mode)
}

func (w watched) Rename(from, to string) error {
	if err := w.before("rename", to); err != nil {
		return err
	}
	return w.OSFiles.Rename(from, to)
}

func (w watched) Remove(name string) error {
	if err := w.before("remove", name); err != nil {
		return err
	}
	return w.OSFiles.Remove(name)
}

func (w watched) Sync(names ...string) error {
	if err := w.before("sync", names...); err != nil {
		return err
	}
	return w.OSFiles.Sync(names...)
}

// killedAt is a tree whose commit was killed when it was about to rename the
// file to, with everything staged.
func killedAt(t *testing.T, to string) string {
	t.Helper()
	dir := before(t)
	var dead bool
	err := tree(watched{before: func(call string, names ...string) error {
		dead = dead || call == "rename" && names[0] == filepath.Join(dir, to)
		if dead {
			return hosttest.ErrFault
		}
		return nil
	}}, dir).Commit(t.Context(), change(t), "create api")
	var unfinished *fileset.UnfinishedError
	if !errors.As(err, &unfinished) || !errors.Is(err, hosttest.ErrFault) {
		t.Fatalf("commit: %v", err)
	}
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// TestCommitMissesADraft: a commit whose file has vanished is no success.
func TestCommitMissesADraft(t *testing.T) {
	dir := before(t)
	err := tree(watched{before: func(call string, names ...string) error {
		if call == "rename" && names[0] == filepath.Join(dir, "api/v1/types.go") {
			remove(t, dir, "api/v1/.mysdk-types.go")
		}
		return nil
	}}, dir).Commit(t.Context(), change(t), "create api")
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "api/v1/types.go") {
		t.Errorf("commit: %v", err)
	}
}

// TestRecoverLosesNothing: what somebody wrote after the kill is not written
// over, and what is gone is not taken for finished.
func TestRecoverLosesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		spoil   func(t *testing.T, dir string)
		want    *fileset.StuckError // nil: the commit is finished
		cure    func(t *testing.T, dir string)
		differs string // from after, once it is finished
	}{
		"nothing happened": {spoil: func(*testing.T, string) {}},
		"edited since":     {func(t *testing.T, dir string) { write(t, dir, "PROJECT", "mine") }, &fileset.StuckError{Path: "PROJECT"}, func(t *testing.T, dir string) { remove(t, dir, "PROJECT") }, ""},
		"made since":       {func(t *testing.T, dir string) { write(t, dir, "hack/run.sh", "mine") }, &fileset.StuckError{Path: "hack/run.sh"}, func(t *testing.T, dir string) { remove(t, dir, "hack/run.sh") }, ""},
		"edited, to go":    {func(t *testing.T, dir string) { write(t, dir, "kept/gone.txt", "mine") }, &fileset.StuckError{Path: "kept/gone.txt"}, func(t *testing.T, dir string) { remove(t, dir, "kept/gone.txt") }, ""},
		"removed since":    {spoil: func(t *testing.T, dir string) { remove(t, dir, "PROJECT") }},
		"draft gone":       {func(t *testing.T, dir string) { remove(t, dir, ".mysdk-PROJECT") }, &fileset.StuckError{Path: "PROJECT", Lost: true}, func(t *testing.T, dir string) { write(t, dir, "PROJECT", after["PROJECT"]) }, ""},
		"draft cut short":  {func(t *testing.T, dir string) { write(t, dir, ".mysdk-PROJECT", "ne") }, &fileset.StuckError{Path: "PROJECT", Lost: true}, nil, ""},
		"finished by hand": {spoil: func(t *testing.T, dir string) {
			remove(t, dir, ".mysdk-PROJECT")
			write(t, dir, "PROJECT", after["PROJECT"])
		}},
		"half was reverted": {func(t *testing.T, dir string) { remove(t, dir, "api/v1/types.go") }, &fileset.StuckError{Path: "api/v1/types.go", Lost: true}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			at := "PROJECT"
			if name == "half was reverted" {
				at = "hack/run.sh"
			}
			dir := killedAt(t, at)
			c.spoil(t, dir)
			spoilt := hosttest.Snapshot(t, dir)
			if c.want != nil {
				_, err := tree(host.OSFiles{}, dir).Recover(t.Context())
				var stuck *fileset.StuckError
				if !errors.As(err, &stuck) || stuck.Path != c.want.Path || stuck.Lost != c.want.Lost || stuck.Command != "create api" {
					t.Fatalf("recover: %#v", err)
				}
				if d := cmp.Diff(spoilt, hosttest.Snapshot(t, dir)); d != "" {
					t.Fatalf("the refusal changed the tree (-before +after):\n%s", d)
				}
				if c.cure == nil {
					return
				}
				c.cure(t, dir)
			}
			rec, err := tree(host.OSFiles{}, dir).Recover(t.Context())
			if err != nil || !rec.Finished {
				t.Fatalf("recover: %+v, %v", rec, err)
			}
			if d := cmp.Diff(after, hosttest.Snapshot(t, dir)); d != "" {
				t.Errorf("tree (-want +got):\n%s", d)
			}
		})
	}
}

// TestPendingWritesNothing: whoever may not write only learns of a commit that
// was killed.
func TestPendingWritesNothing(t *testing.T) {
	dir := killedAt(t, "PROJECT")
	left := hosttest.Snapshot(t, dir)
	got, err := tree(host.OSFiles{}, dir).Pending(t.Context())
	if got != "create api" || err != nil {
		t.Errorf("Pending() = %q, %v", got, err)
	}
	if d := cmp.Diff(left, hosttest.Snapshot(t, dir)); d != "" {
		t.Errorf("tree (-before +after):\n%s", d)
	}
	if got, err := tree(host.OSFiles{}, before(t)).Pending(t.Context()); got != "" || err != nil {
		t.Errorf("Pending() = %q, %v where nothing is pending", got, err)
	}
}

// TestLiveCommitIsLeftAlone: neither Recover nor Pending takes the commit of a
// process that is still at it for one that was killed.
func TestLiveCommitIsLeftAlone(t *testing.T) {
	for name, look := range map[string]func(fileset.Tree) (string, error){
		"recover": func(tr fileset.Tree) (string, error) {
			rec, err := tr.Recover(t.Context())
			return rec.Command, err
		},
		"pending": func(tr fileset.Tree) (string, error) { return tr.Pending(t.Context()) },
	} {
		for _, at := range []string{"write .mysdk-PROJECT", "rename PROJECT"} {
			t.Run(name+" at "+at, func(t *testing.T) {
				dir := before(t)
				reached, goOn := make(chan struct{}), make(chan struct{})
				slow := watched{before: func(call string, names ...string) error {
					if call+" "+filepath.Base(names[0]) == at {
						close(reached)
						<-goOn
					}
					return nil
				}}
				committed, looked := make(chan error, 1), make(chan error, 1)
				go func() { committed <- tree(slow, dir).Commit(t.Context(), change(t), "create api") }()
				<-reached
				go func() {
					found, err := look(tree(host.OSFiles{}, dir))
					if found != "" {
						err = errors.Join(err, errors.New("found "+found))
					}
					looked <- err
				}()
				select {
				case err := <-looked:
					t.Errorf("it did not wait: %v", err)
					looked <- err
				case <-time.After(50 * time.Millisecond):
				}
				close(goOn)
				if err := <-committed; err != nil {
					t.Error(err)
				}
				if err := <-looked; err != nil {
					t.Error(err)
				}
				if d := cmp.Diff(after, hosttest.Snapshot(t, dir)); d != "" {
					t.Errorf("tree (-want +got):\n%s", d)
				}
			})
		}
	}
}

// TestCommitSeesAnotherWriter: what an editor saves while a commit is staged
// is not written over.
func TestCommitSeesAnotherWriter(t *testing.T) {
	dir := before(t)
	err := tree(watched{before: func(call string, names ...string) error {
		if call == "write" && filepath.Base(names[0]) == ".mysdk-run.sh" {
			write(t, dir, "PROJECT", "mine")
		}
		return nil
	}}, dir).Commit(t.Context(), change(t), "create api")
	if err == nil || !strings.Contains(err.Error(), "PROJECT was changed") {
		t.Errorf("commit: %v", err)
	}
	want := hosttest.Snapshot(t, before(t))
	want["PROJECT"] = "mine"
	if d := cmp.Diff(want, hosttest.Snapshot(t, dir)); d != "" {
		t.Errorf("tree (-want +got):\n%s", d)
	}
}

// TestCommitSyncs: every file is on the disk before the journal says that the
// commit is complete, and every directory before the journal goes.
func TestCommitSyncs(t *testing.T) {
	dir := before(t)
	var calls []string
	err := tree(watched{before: func(call string, names ...string) error {
		for _, n := range names {
			rel, err := filepath.Rel(dir, n)
			if err != nil {
				return err
			}
			calls = append(calls, call+" "+filepath.ToSlash(rel))
		}
		return nil
	}}, dir).Commit(t.Context(), change(t), "create api")
	if err != nil {
		t.Fatal(err)
	}
	last := func(call string) int {
		for i, c := range slices.Backward(calls) {
			if c == call {
				return i
			}
		}
		t.Fatalf("no call %q in:\n%s", call, strings.Join(calls, "\n"))
		return 0
	}
	committed, gone := last("rename .mysdk-commit"), last("remove .mysdk-commit")
	for _, name := range []string{".mysdk-PROJECT", "api/v1/.mysdk-types.go", "hack/.mysdk-run.sh", "api", ".mysdk-commit.new"} {
		if at := slices.Index(calls, "sync "+name); at < 0 || at > committed {
			t.Errorf("%s is synced after the commit", name)
		}
	}
	for _, name := range []string{".", "api/v1", "hack", "kept"} {
		if at := last("sync " + name); at < last("rename hack/run.sh") || at > gone {
			t.Errorf("%s is not synced between the renames and the end of the journal", name)
		}
	}
}

func TestCommitModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such permissions there")
	}
	for name, c := range map[string]struct {
		before fs.FileMode
		data   string
		file   fileset.File
		want   fs.FileMode
		diff   string
	}{
		"beyond the umask":         {0o664, "old", fileset.File{Data: []byte("new")}, 0o664, "-old"},
		"narrower":                 {0o600, "old", fileset.File{Data: []byte("new")}, 0o600, "-old"},
		"made executable":          {0o640, "old", fileset.File{Data: []byte("new"), Mode: 0o755}, 0o750, "old mode 100644\nnew mode 100755\n--- a/f"},
		"only made executable":     {0o644, "old", fileset.File{Data: []byte("old"), Mode: 0o755}, 0o755, "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"},
		"executable for its owner": {0o700, "old", fileset.File{Data: []byte("old"), Mode: 0o755}, 0o700, ""},
		"executable by the user":   {0o755, "old", fileset.File{Data: []byte("new")}, 0o755, "-old"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "f", c.data)
			if err := os.Chmod(filepath.Join(dir, "f"), c.before); err != nil {
				t.Fatal(err)
			}
			var s fileset.Set
			if err := s.Put("f", c.file); err != nil {
				t.Fatal(err)
			}
			tr := tree(host.OSFiles{}, dir)
			diff, err := tr.Diff(s)
			if err != nil || !strings.Contains(string(diff), c.diff) || (c.diff == "") != (len(diff) == 0) {
				t.Errorf("diff %q, %v", diff, err)
			}
			changed, err := tr.Changed(s)
			if err != nil || changed.Len() == 0 != (c.diff == "") {
				t.Errorf("%d changes, %v", changed.Len(), err)
			}
			if err := tr.Commit(t.Context(), s, "generate"); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(filepath.Join(dir, "f"))
			if err != nil || info.Mode().Perm() != c.want {
				t.Errorf("mode %v, want %v (%v)", info.Mode().Perm(), c.want, err)
			}
		})
	}
}
