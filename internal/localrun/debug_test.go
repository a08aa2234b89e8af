package localrun

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
)

// TestDebug: how the operator is built and started under a debugger.
func TestDebug(t *testing.T) {
	for name, watch := range map[string]bool{"waits": false, "runs on under watch": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ctx := cancelWhen(t, w, "operator started")
			o := Options{Dir: w.Dir, Debug: 4000, Watch: watch, OperatorArgs: []string{"--zap-devel"}}
			if err := Run(ctx, o, w.deps()); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			goCmd, dlv := w.started[0], w.started[1]
			if dlv.Name != "/usr/bin/dlv" {
				t.Fatalf("started %s %q", dlv.Name, dlv.Args)
			}
			if !slices.Contains(goCmd.Args, "-gcflags=all=-N -l") {
				t.Errorf("built with %q", goCmd.Args)
			}
			own, err := filepath.Match(filepath.Join(filepath.Dir(goCmd.Args[2]), programPrefix+"*", "operator"), dlv.Args[1])
			if err != nil || !own {
				t.Errorf("debugged: %s, %v", dlv.Args[1], err)
			}
			want := []string{"exec", dlv.Args[1], "--headless", "--listen=127.0.0.1:4000", "--api-version=2", "--accept-multiclient"}
			if watch {
				want = append(want, "--continue")
			}
			want = append(want, "--", "--health-probe-bind-address=127.0.0.1:0", "--zap-devel")
			if diff := cmp.Diff(want, dlv.Args); diff != "" {
				t.Errorf("dlv (-want +got):\n%s", diff)
			}
			for _, line := range []string{`"mode": "remote", "host": "127.0.0.1", "port": 4000}`, "GoLand: ", "dlv connect 127.0.0.1:4000"} {
				if !strings.Contains(w.err.String(), line) {
					t.Errorf("stderr lacks %q:\n%s", line, w.err)
				}
			}
		})
	}
}

// TestDebugInstall: without a dlv in PATH the pinned one is built, once.
func TestDebugInstall(t *testing.T) {
	w := newWorld(t)
	w.Env["NO_dlv"] = "1"
	w.Env["GOFLAGS"] = "-mod=vendor"
	dlv := filepath.Join(w.Env["MYSDK_CACHE_DIR"], "dlv-"+delveVersion, "dlv")
	w.build = func(io.Writer) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if slices.Contains(w.started[len(w.started)-1].Args, "install") {
			return os.WriteFile(dlv, nil, 0o755)
		}
		return nil
	}
	for _, installs := range []int{1, 1} {
		ctx := cancelWhen(t, w, "operator started")
		if err := Run(ctx, Options{Dir: w.Dir, Debug: DebugPort}, w.deps()); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		n := 0
		for _, c := range w.started {
			if slices.Contains(c.Args, "install") {
				n++
				if diff := cmp.Diff([]string{"install", delvePackage + "@" + delveVersion}, c.Args); diff != "" ||
					!slices.Contains(c.Env, "GOBIN="+filepath.Dir(dlv)) || !slices.Contains(c.Env, "GOFLAGS=") {
					t.Errorf("(-want +got):\n%s\n%q", diff, c.Env)
				}
			}
		}
		if n != installs {
			t.Errorf("installed %d times, want %d", n, installs)
		}
		if last := w.started[len(w.started)-1]; last.Name != dlv {
			t.Errorf("started %q", last.Name)
		}
		w.err.after("operator started")
	}
	w.build = func(io.Writer) error { return exited(1) }
	remove(t, dlv)
	r := &run{Options: Options{Debug: 1}, Deps: w.deps(), screen: &screen{err: w.err}, plan: plan{goTool: "/usr/bin/go"}}
	if err := r.findDebugger(t.Context()); err == nil || !strings.Contains(clierr.HintOf(err), "go install "+delvePackage) {
		t.Errorf("a failed installation: %v", err)
	}
}

func TestCheckDebug(t *testing.T) {
	for port, ok := range map[int]bool{0: true, 1: true, 65535: true, -1: false, 65536: false} {
		if err := checkDebug(port); (err == nil) != ok {
			t.Errorf("%d: %v", port, err)
		}
	}
}
