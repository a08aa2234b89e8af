package localrun

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kube/kubetest"
)

// program is an operator of the standard library alone: it says what it was
// started with, and ends when asked, or at once with -crash.
const program = `package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

var version = "none"

func main() {
	flag.String("health-probe-bind-address", ":8081", "")
	crash := flag.Bool("crash", false, "")
	deaf := flag.Bool("deaf", false, "")
	flag.Parse()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	fmt.Println("version", version, "watching", os.Getenv("WATCH_NAMESPACE"))
	if *crash {
		fmt.Fprintln(os.Stderr, "cannot go on")
		os.Exit(3)
	}
	<-stop
	fmt.Println("told to stop")
	if *deaf {
		select {}
	}
}
`

// realWorld builds and runs for real; only the cluster is a fake.
func realWorld(t *testing.T) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the go command")
	}
	w := newWorld(t)
	w.Exec, w.Now = host.OSExec{}, time.Now
	w.write(t, "go.mod", "module example.com/shop\n\ngo 1.24\n")
	w.write(t, "cmd/main.go", program)
	return w
}

// until ends a context when the operator has printed a text.
func until(t *testing.T, w *world, text string) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() {
		for !strings.Contains(w.out.String(), text) && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	return ctx
}

func TestRealRun(t *testing.T) {
	w := realWorld(t)
	o := Options{Dir: w.Dir, WatchNamespaces: []string{"default"}, GoLDFlags: "-X main.version=v9"}
	if err := Run(until(t, w, "watching"), o, w.deps()); !errors.Is(err, context.Canceled) {
		t.Fatalf("error: %v\n%s", err, w.err)
	}
	if got, want := w.out.String(), "operator | version v9 watching default\noperator | told to stop\n"; got != want {
		t.Errorf("stdout:\n%swant:\n%s", got, want)
	}
	entries, err := os.ReadDir(w.Dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the project holds %v, %v", entries, err)
	}
}

// TestRealRebuild: the program can be rebuilt while it runs.
func TestRealRebuild(t *testing.T) {
	w := realWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() { done <- Run(ctx, Options{Dir: w.Dir}, w.deps()) }()
	<-until(t, w, "watching").Done()
	w.write(t, "cmd/main.go", strings.Replace(program, `"none"`, `"two"`, 1))
	if err := Run(until(t, w, "version two"), Options{Dir: w.Dir}, w.deps()); !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v\n%s", err, w.err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the first run: %v", err)
	}
}

func TestRealFailures(t *testing.T) {
	w := realWorld(t)
	err := Run(t.Context(), Options{Dir: w.Dir, OperatorArgs: []string{"--crash"}}, w.deps())
	if err == nil || !strings.Contains(err.Error(), "exit code 3") || !strings.Contains(err.Error(), "\n  cannot go on") {
		t.Errorf("a crash: %v", err)
	}
	w.write(t, "cmd/main.go", "package main\n\nfunc main() { missing() }\n")
	err = Run(t.Context(), Options{Dir: w.Dir}, w.deps())
	if err == nil || !strings.Contains(err.Error(), "go build ./cmd: 1 error") || clierr.HintOf(err) == "" {
		t.Errorf("a compiler error: %v", err)
	}
	if !strings.Contains(w.err.String(), filepath.FromSlash("cmd/main.go")+":3:15: undefined: missing\n") {
		t.Errorf("the compiler's words are missing:\n%s", w.err)
	}
}

// patient gives a process an hour to stop after the interrupt.
type patient struct{ host.OSExec }

func (p patient) Start(ctx context.Context, c host.Cmd) (host.Process, error) {
	c.Grace = time.Hour
	return p.OSExec.Start(ctx, c)
}

// TestRealKill: an operator that is deaf to the interrupt goes at the second
// Ctrl-C, whatever is left of its grace.
func TestRealKill(t *testing.T) {
	w := realWorld(t)
	w.Exec = patient{}
	go func() {
		<-until(t, w, "told to stop").Done()
		close(w.kill)
	}()
	err := Run(until(t, w, "watching"), Options{Dir: w.Dir, OperatorArgs: []string{"--deaf"}, Keep: true}, w.deps())
	if !errors.Is(err, context.Canceled) || !strings.Contains(w.err.String(), "operator stopped after ") {
		t.Errorf("error: %v\n%s", err, w.err)
	}
}

// TestOnControlPlane runs against a real cluster, started and stopped by Run.
func TestOnControlPlane(t *testing.T) {
	w := realWorld(t)
	real := kubetest.World(t)
	real.IO, real.Dir, real.Now = w.IO, w.Dir, time.Now
	w.crds = objects(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: memcacheds.cache.example.com}
spec:
  group: cache.example.com
  scope: Namespaced
  names: {kind: Memcached, listKind: MemcachedList, plural: memcacheds, singular: memcached}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`)
	w.write(t, "sample.yaml", sample)
	deps := Deps{
		Host:   real,
		Render: func(context.Context) (Manifests, error) { return Manifests{CRDs: w.crds}, nil },
		StartCluster: func(ctx context.Context, fresh bool) (*Cluster, error) {
			info, err := cluster.Start(ctx, real, cluster.Options{Fresh: fresh, DieWithParent: true})
			if err != nil {
				return nil, err
			}
			return &Cluster{Name: info.Name, Kubeconfig: info.Kubeconfig, AlreadyRunning: info.AlreadyRunning, Stop: func(ctx context.Context) error {
				_, err := cluster.Stop(ctx, real, info.Name)
				return err
			}}, nil
		},
	}
	// The second run finds what the first one left.
	for _, want := range []string{"namespace shop created\n", "Memcached shop/sample unchanged"} {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			w.shows(ctx, want)
			w.shows(ctx, "applied sample.yaml")
			cancel()
		}()
		err := Run(ctx, Options{Dir: w.Dir, WatchNamespaces: []string{"shop"}, Apply: []string{"sample.yaml"}}, deps)
		cancel()
		if !errors.Is(err, context.Canceled) || !strings.Contains(w.err.String(), want) {
			t.Fatalf("error: %v\n%s", err, w.err)
		}
		status, err := cluster.Status(t.Context(), real, state.DefaultName)
		if err != nil || status.State != cluster.Stopped {
			t.Errorf("the cluster is %s, %v", status.State, err)
		}
	}
	t.Log("\n" + w.err.String())
}

// TestConnectByDefault: without a function of its own, a run uses package kube.
func TestConnectByDefault(t *testing.T) {
	w := newWorld(t)
	deps := w.deps()
	deps.Connect = nil
	err := Run(t.Context(), Options{Dir: w.Dir, Context: "nowhere"}, deps)
	if clierr.CodeOf(err) != clierr.CodeUsage || !strings.Contains(err.Error(), "kubeconfig") {
		t.Errorf("error: %v", err)
	}
	var _ Client = (*kube.Client)(nil)
}

// TestRealDebug runs the operator under a real Delve, which a client tells to
// go on. It is built by the go command where PATH has none.
func TestRealDebug(t *testing.T) {
	w := realWorld(t)
	port, err := freePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.LookPath("dlv"); err != nil && host.Run(t.Context(), w.Exec, host.Cmd{
		Name: "go", Args: []string{"mod", "download", "github.com/go-delve/delve@" + delveVersion}, Dir: t.TempDir()}) != nil {
		t.Skip("Delve can neither be found nor downloaded")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		w.shows(ctx, "operator started")
		for ctx.Err() == nil && !attach(ctx, "127.0.0.1:"+port) {
			pause()
		}
		<-until(t, w, "watching").Done()
		cancel()
	}()
	if err := Run(ctx, Options{Dir: w.Dir, Debug: n}, w.deps()); !errors.Is(err, context.Canceled) {
		t.Fatalf("error: %v\n%s", err, w.err)
	}
	if !strings.Contains(w.out.String(), "operator | version none watching") {
		t.Errorf("the operator did not run:\n%s\n%s", w.out, w.err)
	}
	if attach(t.Context(), "127.0.0.1:"+port) {
		t.Error("the debugger is still there")
	}
}

// attach tells a Delve to continue, by its JSON-RPC.
func attach(ctx context.Context, address string) bool {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	_, err = io.WriteString(conn, `{"method":"RPCServer.Command","params":[{"name":"continue"}],"id":1}`)
	go func() {
		<-ctx.Done()
		_ = conn.Close() // Delve would stop the operator with its client
	}()
	return err == nil
}
