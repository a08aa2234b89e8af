package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/cmd"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

// transactions are commands that write project files, each with the commands
// that come before it.
var transactions = map[string]struct {
	before  []string
	command string
	slow    bool // loads Go packages at every run
}{
	"init":       {nil, "init --domain example.com", false},
	"create api": {[]string{"init --domain example.com"}, "create api --group cache --kind Memcached --make=false", false},
	"create webhook": {
		[]string{"init --domain example.com", "create api --group cache --kind Memcached --make=false"},
		"create webhook --group cache --kind Memcached --defaulting --make=false", false,
	},
	"edit":       {[]string{"init --domain example.com"}, "edit --namespaced", false},
	"delete api": {[]string{"init --domain example.com", "create api --group cache --kind Memcached --pattern blank"}, "delete api --group cache --kind Memcached", true},
	"generate":   {[]string{"init --domain example.com", "create api --group cache --kind Memcached --make=false"}, "generate", true},
	"bundle generate": {
		[]string{"init --domain example.com", "create api --group cache --kind Memcached", "generate kustomize manifests"},
		"bundle generate --version 0.0.1", true,
	},
}

// TestTransactions breaks off each command at every write, by an error as of a
// full disk and by a kill. An error must leave the old tree at once or, past
// the point of no return, a tree that the same command completes; a kill must
// leave one that the same command brings to its end.
func TestTransactions(t *testing.T) {
	for name, c := range transactions {
		t.Run(name, func(t *testing.T) {
			if c.slow && testing.Short() {
				t.Skip("compiles the project's types at every run")
			}
			base := projectBy(t, c.before)
			want, calls := measure(t, base, c.command)
			step := 1
			if testing.Short() {
				step = 4
			}
			for at := 1; at <= calls; at += step {
				for _, killed := range []bool{false, true} {
					t.Run(fmt.Sprintf("write %d killed %v", at, killed), func(t *testing.T) {
						breakOff(t, base, c.command, &hosttest.Faults{Files: host.OSFiles{}, At: at, Killed: killed}, want)
					})
				}
			}
		})
	}
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
		if code := cmd.Main(t.Context(), w.Host, strings.Fields(c)); code != 0 {
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

// measure runs the command once undisturbed.
func measure(t *testing.T, base *hosttest.World, command string) (want map[string]string, calls int) {
	t.Helper()
	w := another(t, base)
	count := &hosttest.Faults{Files: host.OSFiles{}}
	w.Files = count
	if code := cmd.Main(t.Context(), w.Host, strings.Fields(command)); code != 0 {
		t.Fatalf("exit code %d\n%s", code, w.Err)
	}
	if count.Calls < 6 {
		t.Fatalf("only %d writing calls: does the command write through the host?", count.Calls)
	}
	return hosttest.Snapshot(t, w.Dir), count.Calls
}

func breakOff(t *testing.T, base *hosttest.World, command string, faults *hosttest.Faults, want map[string]string) {
	w := another(t, base)
	w.Files = faults
	code := cmd.Main(t.Context(), w.Host, strings.Fields(command))
	if code == 0 && faults.Killed {
		t.Fatalf("exit code 0 although the process was killed\n%s", w.Err)
	}
	_, err := os.Stat(filepath.Join(w.Dir, ".mysdk-commit"))
	if unfinished := err == nil; code != 0 && !unfinished && !faults.Killed {
		if d := cmp.Diff(hosttest.Snapshot(t, base.Dir), hosttest.Snapshot(t, w.Dir)); d != "" {
			t.Fatalf("the failed command left (-old +now):\n%s", d)
		}
	}
	w.Files = host.OSFiles{}
	if code != 0 {
		if code := cmd.Main(t.Context(), w.Host, strings.Fields(command)); code != 0 {
			t.Fatalf("second run: exit code %d\n%s", code, w.Err)
		}
	}
	if d := cmp.Diff(want, hosttest.Snapshot(t, w.Dir)); d != "" {
		t.Fatalf("tree at the end (-want +got):\n%s", d)
	}
}
