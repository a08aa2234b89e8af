// Package hosttest makes worlds for tests: buffers for streams, a directory
// that goes with the test, an environment of its own, and file systems that
// fail or stop answering at a chosen write.
package hosttest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/example/mysdk/internal/host"
)

// World is a Host together with what it printed.
type World struct {
	host.Host
	Out, Err *bytes.Buffer
	Env      map[string]string
}

// New returns a world in a new temporary directory. It inherits PATH, HOME
// and the go command's own variables, so that go can be run, and keeps mysdk's
// cache and state below the temporary directory.
func New(t testing.TB) *World {
	t.Helper()
	w := &World{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Env: map[string]string{
		"MYSDK_CACHE_DIR": t.TempDir(), "MYSDK_STATE_DIR": t.TempDir(),
	}}
	for _, k := range []string{"PATH", "HOME", "GOGC", "GOPATH", "GOMODCACHE", "GOCACHE", "GOPROXY", "GOFLAGS", "GOSUMDB", "GOTOOLCHAIN", "TMPDIR"} {
		if v, ok := os.LookupEnv(k); ok {
			w.Env[k] = v
		}
	}
	// Or a test that moves HOME compiles the standard library.
	if cache, err := os.UserCacheDir(); err == nil && w.Env["GOCACHE"] == "" {
		w.Env["GOCACHE"] = filepath.Join(cache, "go-build")
	}
	w.Host = host.Host{
		IO:  host.Streams{In: &bytes.Buffer{}, Out: w.Out, Err: w.Err},
		Dir: t.TempDir(), Executable: "/nonexistent/mysdk",
		Getenv: func(k string) string { return w.Env[k] },
		Environ: func() []string {
			var e []string
			for k, v := range w.Env {
				e = append(e, k+"="+v)
			}
			slices.Sort(e)
			return e
		},
		Now:   func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		Files: Unsynced{}, Exec: host.OSExec{},
	}
	return w
}

// ErrFault is what a Faults returns from the call that fails.
var ErrFault = errors.New("no space left on device (simulated)")

// Faults is a file system whose Nth writing call fails.
type Faults struct {
	host.Files
	At     int  // the writing call that fails, counted from 1; 0 for never
	Killed bool // the process died at that call: it may be half done, and nothing is written any more
	Calls  int  // writing calls so far
}

// hit counts a writing call and reports whether it is to fail, and whether it
// is the one at which the fault begins.
func (f *Faults) hit() (fails, first bool) {
	f.Calls++
	first = f.Calls == f.At
	return first || f.Killed && f.At > 0 && f.Calls > f.At, first
}

// WriteFile implements host.Files. The failing call leaves half of the data.
func (f *Faults) WriteFile(name string, data []byte, mode fs.FileMode) error {
	fails, first := f.hit()
	if !fails {
		return f.Files.WriteFile(name, data, mode)
	}
	if first {
		return errors.Join(ErrFault, f.Files.WriteFile(name, data[:len(data)/2], mode))
	}
	return ErrFault
}

// try does what does not fail.
func (f *Faults) try(do func() error) error {
	if fails, _ := f.hit(); fails {
		return ErrFault
	}
	return do()
}

// Mkdir implements host.Files.
func (f *Faults) Mkdir(name string, mode fs.FileMode) error {
	return f.try(func() error { return f.Files.Mkdir(name, mode) })
}

// Rename implements host.Files.
func (f *Faults) Rename(from, to string) error {
	return f.try(func() error { return f.Files.Rename(from, to) })
}

// Remove implements host.Files. Only a kill makes it fail: a full disk does
// not keep files from being removed.
func (f *Faults) Remove(name string) error {
	if fails, _ := f.hit(); fails && f.Killed {
		return ErrFault
	}
	return f.Files.Remove(name)
}

// Chmod implements host.Files.
func (f *Faults) Chmod(name string, mode fs.FileMode) error {
	return f.try(func() error { return f.Files.Chmod(name, mode) })
}

// Sync implements host.Files.
func (f *Faults) Sync(names ...string) error {
	return f.try(func() error { return f.Files.Sync(names...) })
}

// Unsynced are the system's files without Sync, which only costs time where no
// power is cut.
type Unsynced struct{ host.OSFiles }

// Sync implements host.Files.
func (Unsynced) Sync(...string) error { return nil }

// Snapshot maps the files below dir, slash-separated, to their contents; a
// directory maps to "dir".
func Snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == "." {
			return err
		}
		if d.IsDir() {
			out[p] = "dir"
			return nil
		}
		data, err := fs.ReadFile(root, p)
		out[p] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// KillRounds is how often a kill test kills its command: MYSDK_KILL_ROUNDS,
// which `make nightly` sets, else few. Names of kill tests begin with TestKill.
func KillRounds(t testing.TB, few int) int {
	t.Helper()
	text, ok := os.LookupEnv("MYSDK_KILL_ROUNDS")
	if !ok {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("MYSDK_KILL_ROUNDS=%q is not a number of rounds", text)
	}
	return n
}

// Nightly reports whether tests do everything, whatever it takes: MYSDK_NIGHTLY
// is set, as `make nightly` does.
func Nightly() bool { return os.Getenv("MYSDK_NIGHTLY") != "" }

// LeaveToNightly skips a test in the other lanes, for the reason given: what has
// the test's place there.
func LeaveToNightly(t testing.TB, why string) {
	t.Helper()
	if !Nightly() {
		t.Skip(why + "; runs where MYSDK_NIGHTLY is set")
	}
}

// Rounds is how often a test of random inputs repeats itself: all times if
// Nightly, else a quarter of them, and an eighth under -short.
func Rounds(all int) int {
	switch {
	case Nightly():
		return all
	case testing.Short():
		return max(1, all/8)
	}
	return max(1, all/4)
}

// KillMoment spreads the kills of all rounds, counted from 0, evenly over whole.
func KillMoment(round, rounds int, whole time.Duration) time.Duration {
	return whole * time.Duration(2*round+1) / time.Duration(2*rounds)
}

// KillProcess ends a process of that number as an out-of-memory killer does.
func KillProcess(t testing.TB, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
}
