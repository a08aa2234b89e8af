package cmd_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kube/kubetest"
)

// writeOldProject writes a project in the shape of operator-sdk v0.19.
func writeOldProject(t *testing.T, dir string) {
	t.Helper()
	a, err := txtar.ParseFile("../internal/migrate/testdata/memcached.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if err := txtar.Write(a, dir); err != nil {
		t.Fatal(err)
	}
}

// TestMigrateTransaction breaks migrate off: what is there afterwards is the old
// project, or one that the same command completes.
func TestMigrateTransaction(t *testing.T) {
	base, command := migrateBase(t)
	newTransaction(t, base, command).breakOff(t)
}

// migrateBase is a project of operator-sdk v0.19 and the command that migrates
// it.
func migrateBase(t *testing.T) (base *hosttest.World, command string) {
	base = hosttest.New(t)
	base.Dir = filepath.Join(base.Dir, "memcached-operator")
	writeOldProject(t, base.Dir)
	return base, "migrate --apply --force --offline"
}

// TestMigrateEndToEnd migrates a project of operator-sdk v0.19, builds it, runs
// its own tests, and runs it on the embedded cluster.
func TestMigrateEndToEnd(t *testing.T) {
	t.Parallel()
	hosttest.LeaveToNightly(t, "what migrate writes is type-checked, and such operators run, in other tests")
	h, errs := kubetest.World(t), &output{}
	kubeconfig := kubetest.StartIn(t, h)
	h.IO = host.Streams{In: strings.NewReader(""), Out: &output{}, Err: errs}
	h.Now = time.Now
	writeOldProject(t, h.Dir)
	const manifest = "deploy/operator.yaml"
	text, err := os.ReadFile(filepath.Join(h.Dir, manifest))
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("          - --delay=1s\n"), nil) // for a flag that is left to its owner
	if err := os.WriteFile(filepath.Join(h.Dir, manifest), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := root.Main(t.Context(), h, []string{"migrate", "--apply", "--force"}); code != 0 {
		t.Fatalf("migrate: exit code %d\n%s", code, errs)
	}
	said := errs.String()
	kept := strings.Count(said, "manual step: cmd/main.go.old:") + strings.Count(said, "manual step: Dockerfile.before-migrate:")
	if strings.Contains(said, "Warning") || strings.Count(said, "manual step: ") != kept {
		t.Errorf("not everything else was automatic:\n%s", said)
	}
	w := &hosttest.World{Host: h}
	run(t, w, "go", "build", "./...")
	run(t, w, "go", "vet", "./...")
	run(t, w, "go", "test", "./internal/...", "./cmd/...")
	run(t, w, "go", "mod", "tidy", "-diff")
	if out := run(t, w, "gofmt", "-l", "."); out != "" {
		t.Errorf("not formatted: %s", out)
	}
	buildKustomizations(t, w)
	if code := root.Main(t.Context(), h, []string{"generate", "--check"}); code != 0 {
		t.Errorf("generate --check: exit code %d\n%s", code, errs)
	}
	runMigrated(t, h, kubeconfig, errs)
	before := errs.String()
	if code := root.Main(t.Context(), h, []string{"migrate", "--apply", "--force"}); code != 0 {
		t.Errorf("a second time: exit code %d\n%s", code, errs)
	}
	if said := strings.TrimPrefix(errs.String(), before); !strings.Contains(said, "nothing to migrate") {
		t.Errorf("a second time it said:\n%s", said)
	}
}

// runMigrated runs the operator until it has reconciled an object: three pods,
// their names in the status, and the condition.
func runMigrated(t *testing.T, h host.Host, kubeconfig string, errs *output) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- root.Main(ctx, h, []string{"run", "local", "--kubeconfig", kubeconfig, "--watch-namespace", "default", "--apply", "config/samples"})
	}()
	defer func() {
		cancel()
		if code := <-ended; code != clierr.CodeInterrupted {
			t.Errorf("run local: exit code %d\n%s", code, errs)
		}
	}()
	client, err := kube.Connect(t.Context(), kube.Options{Kubeconfig: kubeconfig, Host: h})
	if err != nil {
		t.Fatal(err)
	}
	objs, err := kube.ParseManifests([]byte("apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: example-memcached, namespace: default}\n"), "sample")
	if err != nil {
		t.Fatal(err)
	}
	for {
		// There is nothing to read before the CRD is there.
		live, err := client.Read(t.Context(), objs[0])
		if err == nil && live != nil {
			status := fmt.Sprint(live.Object["status"])
			if strings.Count(status, "example-memcached-") == 3 && strings.Contains(status, "AllThere") {
				return
			}
		}
		select {
		case code := <-ended:
			ended <- code
			t.Fatalf("run local ended with %d\n%s", code, errs)
		case <-t.Context().Done():
			t.Fatalf("it was never reconciled: %v, %v\n%s", live, err, errs)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// TestMigrateNeedsCleanTree refuses to write over what is not in git.
func TestMigrateNeedsCleanTree(t *testing.T) {
	w := hosttest.New(t)
	w.Env["GIT_CONFIG_GLOBAL"], w.Env["GIT_CONFIG_SYSTEM"] = os.DevNull, os.DevNull
	writeOldProject(t, w.Dir)
	before := hosttest.Snapshot(t, w.Dir)
	if code := root.Main(t.Context(), w.Host, []string{"migrate", "--apply", "--offline"}); code != 1 {
		t.Fatalf("exit code %d, want 1\n%s", code, w.Err)
	}
	if got := w.Err.String(); !strings.Contains(got, "git") || !strings.Contains(got, "--output-dir DIR") {
		t.Errorf("it said %q", got)
	}
	if after := hosttest.Snapshot(t, w.Dir); len(after) != len(before) {
		t.Errorf("%d files, %d before", len(after), len(before))
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-qm", "old"}} {
		run(t, w, "git", args...)
	}
	if err := os.WriteFile(filepath.Join(w.Dir, "new.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := root.Main(t.Context(), w.Host, []string{"migrate", "--apply", "--offline"}); code != 1 || !strings.Contains(w.Err.String(), "new.txt") {
		t.Fatalf("exit code %d, want 1\n%s", code, w.Err)
	}
	run(t, w, "git", "add", "-A")
	run(t, w, "git", "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-qm", "more")
	if code := root.Main(t.Context(), w.Host, []string{"migrate", "--apply", "--offline"}); code != 0 {
		t.Fatalf("exit code %d\n%s", code, w.Err)
	}
}
