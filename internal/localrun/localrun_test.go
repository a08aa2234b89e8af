package localrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
)

const sample = "apiVersion: cache.example.com/v1\nkind: Memcached\nmetadata: {name: sample}\n"

// cancelOn returns a context that ends when an event happens, as by Ctrl-C.
func cancelOn(t *testing.T, w *world, event string) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	w.onEvent = func(e string) {
		if strings.HasPrefix(e, event) {
			cancel()
		}
	}
	return ctx
}

// shows waits until stderr has the text, or for the end of the test.
func (w *world) shows(ctx context.Context, text string) {
	for !strings.Contains(w.err.String(), text) && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
}

// TestRun is the whole order on the embedded cluster, and all that it prints.
// What would come in any order is made to wait for what is printed before it.
func TestRun(t *testing.T) {
	w := newWorld(t)
	w.write(t, "sample.yaml", sample)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.build = func(io.Writer) error { w.shows(ctx, "building the operator"); return nil }
	w.operator = func(ctx context.Context, p *process) {
		w.shows(ctx, "A='x y'")
		_, _ = io.WriteString(p.cmd.Stderr, "starting\n")
		_, _ = io.WriteString(p.cmd.Stdout, "to stdout\nhalf a line")
		w.shows(ctx, "applied sample.yaml")
		cancel()
		p.obey(ctx)
	}
	w.onEvent = func(e string) {
		if strings.HasPrefix(e, "apply Memcached") {
			w.shows(ctx, "operator | starting")
		}
	}
	o := Options{Dir: w.Dir, Name: "shop", WatchNamespaces: []string{"default", "b"}, Apply: []string{"sample.yaml"}, Env: []string{"A=x y", "B=$(KUBECONFIG) $(NONE) $(A)"}}
	if err := Run(ctx, o, w.deps()); !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
	w.ordered(t, "start cluster, fresh false", "connect /state/kubeconfig", "apply CustomResourceDefinition", "established",
		"ensure namespace default", "ensure namespace b", "run operator", `apply Memcached in "default"`, "operator interrupted", "stop cluster")
	w.ordered(t, "build", "built", "run operator")

	want := `starting the embedded cluster and building the operator: go build ./cmd
cluster ready (0.0s): embedded, started: context mysdk-test, server https://127.0.0.1:6443
  for a second terminal: export KUBECONFIG=/state/kubeconfig
CRDs applied (0.0s): memcacheds.cache.example.com created
namespace b created
operator built (0.0s)
operator started: operator --health-probe-bind-address=127.0.0.1:0
  WATCH_NAMESPACE=default,b
  OPERATOR_NAME=shop
  POD_NAMESPACE=default
  KUBECONFIG=/state/kubeconfig
  A='x y'
  B='/state/kubeconfig $(NONE) x y'
operator | starting
applied sample.yaml (0.0s): Memcached sample created
stopping the operator; a second Ctrl-C kills it
operator stopped after 0.0s
cluster stopped (0.0s)
`
	if diff := cmp.Diff(want, w.err.String()); diff != "" {
		t.Errorf("stderr (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("operator | to stdout\noperator | half a line\n", w.out.String()); diff != "" {
		t.Errorf("stdout (-want +got):\n%s", diff)
	}
}

// TestRunCommands: how the go command and the operator are called.
func TestRunCommands(t *testing.T) {
	w := newWorld(t)
	w.Env["WATCH_NAMESPACE"] = "from the shell"
	w.Env["KUBERNETES_SERVICE_HOST"], w.Env["KUBERNETES_MASTER"] = "10.0.0.1", "https://10.0.0.1" // mysdk runs in a pod
	ctx := cancelOn(t, w, "run operator")
	o := Options{Dir: w.Dir, GoLDFlags: "-X main.v=1", LeaderElect: true, OperatorArgs: []string{"--zap-devel"}, Env: []string{"OPERATOR_NAME=mine", "KUBERNETES_SERVICE_PORT=6443"}, Keep: true}
	if err := Run(ctx, o, w.deps()); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	goCmd, op := w.started[0], w.started[1]
	binary := goCmd.Args[2]
	if diff := cmp.Diff([]string{"build", "-o", binary, "-ldflags=-s -w -X main.v=1", "./cmd"}, goCmd.Args); diff != "" {
		t.Errorf("go command (-want +got):\n%s", diff)
	}
	if own, err := filepath.Match(filepath.Join(filepath.Dir(binary), programPrefix+"*", filepath.Base(binary)), op.Name); goCmd.Dir != w.Dir || op.Dir != w.Dir || !own || err != nil {
		t.Errorf("built in %s to %s, run %s in %s", goCmd.Dir, binary, op.Name, op.Dir)
	}
	if rel, err := filepath.Rel(w.Dir, binary); err != nil || !strings.HasPrefix(rel, "..") {
		t.Errorf("the operator was built into the project: %s", binary)
	}
	if diff := cmp.Diff([]string{"--health-probe-bind-address=127.0.0.1:0", "--leader-elect", "--zap-devel"}, op.Args); diff != "" {
		t.Errorf("operator's arguments (-want +got):\n%s", diff)
	}
	for _, c := range []host.Cmd{goCmd, op} {
		if !c.Group || !c.DieWithParent || c.Grace == 0 || c.Stdin != nil {
			t.Errorf("%s could outlive mysdk, or gets the terminal's Ctrl-C twice: %+v", c.Name, c)
		}
	}
	for _, want := range []string{"WATCH_NAMESPACE=", "OPERATOR_NAME=mine", "POD_NAMESPACE=default", "KUBECONFIG=/state/kubeconfig", "PATH=" + w.Env["PATH"], "KUBERNETES_SERVICE_PORT=6443"} {
		if n := len(slices.DeleteFunc(slices.Clone(op.Env), func(e string) bool { return e != want })); n != 1 {
			t.Errorf("the operator's environment has %q %d times", want, n)
		}
	}
	for _, name := range []string{"GOTMPDIR", "KUBERNETES_SERVICE_HOST", "KUBERNETES_MASTER"} {
		if sets(op.Env, name) {
			t.Errorf("%s got to the operator", name)
		}
	}
	if w.happened("stop cluster") || !strings.Contains(w.err.String(), "the cluster keeps running") {
		t.Error("the cluster was not kept")
	}
}

// TestLinkerFlags: those of GOFLAGS are not replaced by what only saves time.
func TestLinkerFlags(t *testing.T) {
	w := newWorld(t)
	for goflags, want := range map[string]string{"": "-s -w", "-mod=mod": "-s -w", "-mod=mod '-ldflags=-X main.v=1'": ""} {
		w.Env["GOFLAGS"] = goflags
		if got := newRun(Options{}, w.deps()).linkerFlags(); got != want {
			t.Errorf("GOFLAGS %s: %q, want %q", goflags, got, want)
		}
	}
}

// TestRunDeployed: the operator is started as its Deployment starts it, as far as
// that means something on this machine.
func TestRunDeployed(t *testing.T) {
	for args, want := range map[string]string{"-a=b start": "start", "-a start": "-a start", "-a=b": "-a=b", "": "", "start -a=b": "start -a=b"} {
		if got := strings.Join(withoutFlags(strings.Fields(args)), " "); got != want {
			t.Errorf("%q: got %q", args, got)
		}
	}
	deployed := Deployed{
		Args: []string{"--log-level=info", "manager", "--leader-elect", "--metrics-bind-address=:8443"},
		Env:  []string{"IMAGE=example.com/agent", "HOME_NAMESPACE=$(POD_NAMESPACE)", "MINE=theirs", "OPERATOR_NAME=theirs", "REFERS=$(IMAGE):$(MINE):$(LATER):$$(IMAGE)", "LATER=x"},
	}
	tests := map[string]struct {
		args []string
		want []string
	}{
		"its subcommand": {nil, []string{"manager", "--metrics-bind-address=0", "--health-probe-bind-address=127.0.0.1:0"}},
		"the user's":     {[]string{"agent", "-v"}, []string{"agent", "--metrics-bind-address=0", "--health-probe-bind-address=127.0.0.1:0", "-v"}},
		"the user's flag": {
			[]string{"--metrics-bind-address=:9"}, []string{"manager", "--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=:9"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Env["MINE"] = "mine"
			ctx := cancelOn(t, w, "run operator")
			if err := Run(ctx, Options{Dir: w.Dir, Name: "shop", Deployed: deployed, OperatorArgs: tc.args}, w.deps()); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			op := w.started[1]
			if diff := cmp.Diff(tc.want, op.Args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			for _, want := range []string{"IMAGE=example.com/agent", "HOME_NAMESPACE=default", "MINE=mine", "OPERATOR_NAME=shop", "REFERS=example.com/agent:mine:$(LATER):$(IMAGE)"} {
				key, _, _ := strings.Cut(want, "=")
				if got := slices.DeleteFunc(slices.Clone(op.Env), func(e string) bool { return !strings.HasPrefix(e, key+"=") }); !slices.Equal(got, []string{want}) {
					t.Errorf("environment: %q, want %s", got, want)
				}
			}
		})
	}
}

func TestRunNamed(t *testing.T) {
	tests := map[string]struct {
		options    Options
		connect    string
		kubeconfig string // with DIR for the project; empty: a private file
	}{
		"a file":              {Options{Kubeconfig: "my.kubeconfig"}, "connect my.kubeconfig ", "DIR/my.kubeconfig"},
		"a context":           {Options{Context: "kind-dev"}, "connect  kind-dev", ""},
		"a context in a file": {Options{Kubeconfig: "my.kubeconfig", Context: "kind-dev"}, "connect my.kubeconfig kind-dev", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.missing = []string{"b"}
			ctx := cancelOn(t, w, "run operator")
			tc.options.Dir, tc.options.WatchNamespaces = w.Dir, []string{"a", "b"}
			if err := Run(ctx, tc.options, w.deps()); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if w.happened("start cluster") || w.happened("ensure namespace") || w.happened("stop cluster") {
				t.Errorf("more was done to a named cluster than it should: %q", w.events)
			}
			w.ordered(t, tc.connect, "apply CustomResourceDefinition", "run operator")
			text := w.err.String()
			if !strings.Contains(text, "\ncluster reached (0.0s): context mysdk-test, server ") || !strings.Contains(text, "there is no namespace b") || strings.Contains(text, "no namespace a") {
				t.Errorf("stderr:\n%s", text)
			}
			_, after, _ := strings.Cut(text, "export KUBECONFIG=")
			file, _, _ := strings.Cut(after, "\n")
			if !slices.Contains(w.started[1].Env, "KUBECONFIG="+file) {
				t.Errorf("the operator has another kubeconfig than %s", file)
			}
			if tc.kubeconfig != "" {
				if want := strings.Replace(tc.kubeconfig, "DIR", w.Dir, 1); file != want {
					t.Errorf("kubeconfig %s, want %s", file, want)
				}
				return
			}
			if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the private kubeconfig was left behind: %v", err)
			}
		})
	}
}

// TestQuiet: errors and warnings, the cluster that is written to, and what the
// operator says.
func TestQuiet(t *testing.T) {
	w := newWorld(t)
	w.missing = []string{"a"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.operator = func(ctx context.Context, p *process) {
		fmt.Fprintln(p.cmd.Stderr, "a line")
		cancel()
		p.obey(ctx)
	}
	if err := Run(ctx, Options{Dir: w.Dir, Context: "kind-dev", WatchNamespaces: []string{"a"}, Quiet: true}, w.deps()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	want := "cluster reached (0.0s): context mysdk-test, server https://127.0.0.1:6443\nwarning: there is no namespace a in this cluster yet\noperator | a line\n"
	if diff := cmp.Diff(want, w.err.String()); diff != "" {
		t.Errorf("stderr (-want +got):\n%s", diff)
	}
}

// unread is a pipe without a reader.
type unread struct{}

func (unread) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// TestRunFailures: whatever fails, the error is the one that matters, with its
// code, and everything that was started is stopped.
func TestRunFailures(t *testing.T) {
	boom := errors.New("boom")
	exitsWith := func(err error) func(context.Context, *process) {
		return func(_ context.Context, p *process) {
			for i := range 9 {
				fmt.Fprintf(p.cmd.Stderr, "line %d\n\n", i)
			}
			p.ended <- err
		}
	}
	failedBuild := func(out io.Writer) error {
		fmt.Fprint(out, "# shop/cmd\ncmd/main.go:3:1: undefined: x\ncmd/main.go:4:1: undefined: y\n")
		return exited(1)
	}
	tests := map[string]struct {
		set         func(*world)
		options     Options
		err         []string
		code        int
		started     bool // the operator was
		stops       bool // the cluster is stopped
		wantsOutput string
	}{
		"cluster does not start": {set: func(w *world) { w.startErr = clierr.Unavailablef("h", "no cluster") }, err: []string{"no cluster"}, code: clierr.CodeUnavailable},
		"build fails first":      {set: func(w *world) { w.build, w.startHang = failedBuild, true }, err: []string{"build the operator: go build ./cmd: 2 errors"}, code: 1, wantsOutput: "cmd/main.go:3:1: undefined: x\ncmd/main.go:4:1: undefined: y\n"},
		"build fails":            {set: func(w *world) { w.build = failedBuild }, err: []string{"go build ./cmd: 2 errors"}, code: 1, wantsOutput: "cmd/main.go:4:1: undefined: y\n"},
		"CRDs do not render":     {set: func(w *world) { w.renderErr = boom }, err: []string{"render the CRDs: boom"}, code: 1, stops: true},
		"CRDs are refused":       {set: func(w *world) { w.applyErr["CustomResourceDefinition"] = boom }, err: []string{"boom"}, code: 1, stops: true},
		"unsafe cluster":         {set: func(w *world) { w.guardErr = clierr.Usagef("h", "refusing") }, options: Options{Kubeconfig: "prod"}, err: []string{"refusing"}, code: clierr.CodeUsage},
		"operator crashes": {set: func(w *world) { w.operator = exitsWith(exited(7)) }, started: true, stops: true, code: 1,
			err: []string{"ended after 0.0s with exit code 7; its last lines:\n  line 4\n  line 5\n  line 6\n  line 7\n  line 8"}},
		"operator has no such flag": {set: func(w *world) {
			w.operator = func(_ context.Context, p *process) {
				fmt.Fprint(p.cmd.Stderr, "flag provided but not defined: -nope\nUsage:\n"+strings.Repeat("  -x\n", 9))
				p.ended <- exited(2)
			}
		}, err: []string{"the operator does not define the flag -nope"}, code: clierr.CodeUsage, started: true, stops: true},
		"operator is killed":  {set: func(w *world) { w.operator = exitsWith(errors.New("signal: killed")) }, err: []string{"with signal: killed"}, code: 1, started: true, stops: true},
		"operator ends":       {set: func(w *world) { w.operator = exitsWith(nil) }, started: true, stops: true, wantsOutput: "operator ended by itself"},
		"manifest is refused": {set: func(w *world) { w.applyErr["Memcached"] = boom }, options: Options{Apply: []string{"sample.yaml"}}, err: []string{"--apply sample.yaml: boom"}, code: 1, started: true, stops: true},
		"cluster was running": {set: func(w *world) { w.already, w.operator = true, exitsWith(nil) }, started: true, wantsOutput: "the cluster keeps running"},
		"cluster of another":  {set: func(w *world) { w.already, w.startCommand, w.operator = true, "start it", exitsWith(nil) }, started: true, wantsOutput: "it stops with the mysdk that started it; to keep it, run 'start it' before both runs\n"},
		"nobody reads": {set: func(w *world) {
			w.IO.Out = unread{}
			w.operator = func(ctx context.Context, p *process) {
				fmt.Fprintln(p.cmd.Stdout, "a line")
				p.obey(ctx)
			}
		}, started: true, stops: true, wantsOutput: "stopping the operator"},
		"no CRDs in a project": {set: func(w *world) { w.crds, w.operator = nil, exitsWith(nil) }, started: true, stops: true, wantsOutput: "no CRDs"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write(t, "sample.yaml", sample)
			tc.set(w)
			tc.options.Dir = w.Dir
			err := Run(t.Context(), tc.options, w.deps())
			if got := clierr.CodeOf(err); got != tc.code {
				t.Errorf("code %d, want %d", got, tc.code)
			}
			for _, part := range tc.err {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error %v lacks %q", err, part)
				}
			}
			if w.happened("run operator") != tc.started {
				t.Errorf("events: %q", w.events)
			}
			// A failed build may come before or after the cluster is up.
			if w.happened("stop cluster") != tc.stops && w.build == nil {
				t.Errorf("events: %q", w.events)
			}
			if !strings.Contains(w.err.String(), tc.wantsOutput) {
				t.Errorf("stderr lacks %q:\n%s", tc.wantsOutput, w.err)
			}
			if w.happened("build") && !w.happened("built") {
				t.Error("the go command was left running")
			}
		})
	}
}

// TestRunHint: the hint is about what the operator said, where that is known.
func TestRunHint(t *testing.T) {
	for said, want := range map[string]string{
		"listen tcp :9443: bind: address already in use":                           "end the program that has the port",
		"unable to find leader election namespace: not running in-cluster, please": "set LeaderElectionNamespace in the options of the manager",
		"no Deployment called op":                                                  "correct the operator",
	} {
		w := newWorld(t)
		w.operator = func(_ context.Context, p *process) {
			fmt.Fprintln(p.cmd.Stderr, "Error: "+said)
			p.ended <- exited(1)
		}
		err := Run(t.Context(), Options{Dir: w.Dir}, w.deps())
		if hint := clierr.HintOf(err); !strings.Contains(hint, want) {
			t.Errorf("%v, hint: %s", err, hint)
		}
	}
}

// TestRunInterrupted: Ctrl-C at any step is a clean stop.
func TestRunInterrupted(t *testing.T) {
	for _, step := range []string{"start cluster", "build", "connect", "apply Custom", "established", "ensure namespace", "run operator", "apply Memcached"} {
		t.Run(step, func(t *testing.T) {
			w := newWorld(t)
			w.write(t, "sample.yaml", sample)
			err := Run(cancelOn(t, w, step), Options{Dir: w.Dir, WatchNamespaces: []string{"default"}, Apply: []string{"sample.yaml"}}, w.deps())
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error: %v", err)
			}
			if w.happened("connect") && !w.happened("stop cluster") {
				t.Errorf("the cluster was left running: %q", w.events)
			}
			if w.happened("run operator") && !w.happened("operator interrupted") {
				t.Errorf("the operator was left running: %q", w.events)
			}
		})
	}
}

// TestRunKilled: an operator that does not stop is killed by the second Ctrl-C.
func TestRunKilled(t *testing.T) {
	w := newWorld(t)
	w.operator = func(_ context.Context, p *process) { p.obey(context.WithoutCancel(t.Context())) }
	ctx := cancelOn(t, w, "run operator")
	go func() {
		<-ctx.Done()
		close(w.kill)
	}()
	if err := Run(ctx, Options{Dir: w.Dir}, w.deps()); !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
	w.ordered(t, "run operator", "operator killed", "stop cluster")
}

// TestRunRefuses: nothing is started for options that cannot work.
func TestRunRefuses(t *testing.T) {
	tests := map[string]struct {
		options Options
		set     func(*testing.T, *world)
		err     string
		code    int
	}{
		"fresh and a file":       {options: Options{Fresh: true, Kubeconfig: "x"}, err: "--fresh empties the embedded cluster", code: 2},
		"fresh and a context":    {options: Options{Fresh: true, Context: "x"}, err: "--fresh empties the embedded cluster", code: 2},
		"bad namespace":          {options: Options{WatchNamespaces: []string{"Shop"}}, err: `"Shop" is not a namespace's name`, code: 2},
		"bad variable":           {options: Options{Env: []string{"A"}}, err: `"A" is not a variable`, code: 2},
		"no such manifest":       {options: Options{Apply: []string{"none.yaml"}}, err: "no file or directory none.yaml", code: 2},
		"empty manifest":         {options: Options{Apply: []string{"empty.yaml"}}, set: func(t *testing.T, w *world) { w.write(t, "empty.yaml", "# nothing\n") }, err: "empty.yaml has no objects", code: 2},
		"broken manifest":        {options: Options{Apply: []string{"bad.yaml"}}, set: func(t *testing.T, w *world) { w.write(t, "bad.yaml", "a: [\n") }, err: "bad.yaml:", code: 1},
		"no main package":        {set: func(t *testing.T, w *world) { w.Dir = t.TempDir() }, err: "no cmd/main.go", code: 2},
		"no flag leader-elect":   {options: Options{LeaderElect: true}, set: func(t *testing.T, w *world) { w.write(t, "cmd/main.go", "package main\n") }, err: "defines no flag --leader-elect", code: 2},
		"no go":                  {set: func(_ *testing.T, w *world) { w.Env["PATH"] = "" }, err: "find the go command", code: 1},
		"no place for the cache": {set: func(_ *testing.T, w *world) { clear(w.Env); w.Env["PATH"] = "/bin" }, err: "find the cache directory", code: 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if tc.set != nil {
				tc.set(t, w)
			}
			tc.options.Dir = w.Dir
			err := Run(t.Context(), tc.options, w.deps())
			if err == nil || !strings.Contains(err.Error(), tc.err) || clierr.CodeOf(err) != tc.code {
				t.Errorf("code %d, error: %v", clierr.CodeOf(err), err)
			}
			if clierr.HintOf(err) == "" {
				t.Errorf("no hint for %v", err)
			}
			if len(w.events) > 0 || w.err.String() != "" {
				t.Errorf("something was done: %q\n%s", w.events, w.err)
			}
		})
	}
}

// TestRunWebhookSwitch: without certificates, a webhook server cannot start.
func TestRunWebhookSwitch(t *testing.T) {
	for name, tc := range map[string]struct {
		env  []string
		want string
	}{
		"off":        {nil, "ENABLE_WEBHOOKS=false"},
		"on by hand": {[]string{"ENABLE_WEBHOOKS=true"}, "ENABLE_WEBHOOKS=true"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write(t, "cmd/main.go", "package main\n\nimport \"os\"\n\nfunc main() { _ = os.Getenv(\"ENABLE_WEBHOOKS\") }\n")
			if err := Run(cancelOn(t, w, "run operator"), Options{Dir: w.Dir, Env: tc.env}, w.deps()); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if !slices.Contains(w.started[1].Env, tc.want) || !strings.Contains(w.err.String(), "  "+tc.want+"\n") {
				t.Errorf("%s is not set and printed:\n%s", tc.want, w.err)
			}
		})
	}
}

// TestFailureIsTold: what ends a run is on the screen before the operator has stopped,
// which may take long, and is not lost by Ctrl-C meanwhile.
func TestFailureIsTold(t *testing.T) {
	w := newWorld(t)
	w.write(t, "sample.yaml", sample)
	w.applyErr["Memcached"] = errors.New("boom")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	w.operator = func(ctx context.Context, p *process) {
		<-ctx.Done()
		if !strings.Contains(w.err.String(), "--apply sample.yaml: boom") {
			t.Errorf("printed:\n%s", w.err)
		}
		interrupt()
		p.ended <- nil
	}
	if err := Run(ctx, Options{Dir: w.Dir, Apply: []string{"sample.yaml"}}, w.deps()); !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
}
