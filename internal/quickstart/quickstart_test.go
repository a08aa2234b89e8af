package quickstart

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/mysdk/internal/host"
)

// keepDir and binDir are what the test is told after -args; without binDir it is
// skipped.
var (
	keepDir = flag.Bool("keep", false, "leave the project and the cluster's state where they are")
	binDir  = flag.String("bin", "", "directory with mysdk and mysdk-cluster")
)

// TestQuickstart builds the binaries by the command that it is given, if any,
// and does the session with them.
func TestQuickstart(t *testing.T) {
	if *binDir == "" {
		t.Skip("make quickstart runs it")
	}
	t.Chdir("../..")
	h, err := host.System()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if build := flag.Args(); len(build) > 0 {
		err = compile(ctx, h, build)
	}
	if err == nil {
		err = quickstart(ctx, h, h.Path(*binDir), *keepDir)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func quickstart(ctx context.Context, h host.Host, bin string, keep bool) (err error) {
	top, err := os.MkdirTemp("", "mysdk-quickstart-")
	if err != nil {
		return err
	}
	u, err := newUser(h, bin, top)
	if err != nil {
		return err
	}
	defer func() {
		if keep || err != nil {
			fmt.Fprintf(h.IO.Out, "the project is in %s\n", u.dir)
			return
		}
		err = os.RemoveAll(top)
	}()
	defer func() { err = errors.Join(err, u.stop()) }()
	fmt.Fprintf(h.IO.Out, "In the empty directory %s, with PATH=%s\n\n", u.dir, u.path)
	start := h.Now()
	for _, s := range steps() {
		if err := u.do(ctx, s); err != nil {
			return err
		}
	}
	fmt.Fprintf(h.IO.Out, "\nAll of it happened, in %.1f s.\n", h.Now().Sub(start).Seconds())
	return nil
}

// step is one line of the report: what the user does, or sees happen.
type step struct {
	what string
	do   func(ctx context.Context, u *user) error
}

func steps() []step {
	return []step{
		typed("init", "--domain", "example.com"),
		typed("create", "api", "--group", "cache", "--kind", "Memcached"),
		{"mysdk run local --watch-namespace default   (in the background)", func(ctx context.Context, u *user) error { return u.runLocal(ctx) }},
		{"mysdk kubectl apply -k config/samples   (its size is 3)", sample},
		sees("3 Ready pods", readyPods(3)),
		sees("their 3 names in status.nodes", nodesInStatus(3)),
		typed("kubectl", "get", "memcacheds,deployments,pods"),
		typed("kubectl", "scale", "memcached", name, "--replicas", "4"),
		sees("4 Ready pods", readyPods(4)),
		sees("4 names in status.nodes", nodesInStatus(4)),
		{"mysdk kubectl delete deployment " + name + "   (and see another one in its place)", healed},
		sees("4 Ready pods again", readyPods(4)),
		typed("why", "memcached/"+name),
		typed("kubectl", "delete", "memcached", name),
		sees("everything gone", everythingGone),
		{"Ctrl-C", func(_ context.Context, u *user) error { return u.stop() }},
	}
}

// name is the sample's object name.
const name = "memcached-sample"

// typed is a command that must succeed.
func typed(args ...string) step {
	return step{"mysdk " + strings.Join(args, " "), func(ctx context.Context, u *user) error {
		_, err := u.mysdk(ctx, args...)
		return err
	}}
}

// sees waits for a condition to hold.
func sees(what string, holds func(context.Context, *user) error) step {
	return step{"  → " + what, func(ctx context.Context, u *user) error { return eventually(ctx, u, holds) }}
}

// eventually asks again until holds, for a minute at the most.
func eventually(ctx context.Context, u *user, holds func(context.Context, *user) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := holds(ctx, u)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("did not happen within a minute: %w", err)
		case err := <-u.ended:
			return fmt.Errorf("'mysdk run local' ended: %w", errors.Join(err, errors.New("it should run until Ctrl-C")))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// sample applies the scaffolded sample, whose size must be 3.
func sample(ctx context.Context, u *user) error {
	data, err := os.ReadFile(filepath.Join(u.dir, "config/samples/cache_v1alpha1_memcached.yaml"))
	if err != nil {
		return err
	}
	if !strings.Contains(string(data), "\n  size: 3\n") {
		return fmt.Errorf("the sample's size is not 3:\n%s", data)
	}
	_, err = u.mysdk(ctx, "kubectl", "apply", "-k", "config/samples")
	return err
}

func readyPods(n int) func(context.Context, *user) error {
	return func(ctx context.Context, u *user) error {
		names, err := u.readyPods(ctx)
		if err == nil && len(names) != n {
			err = fmt.Errorf("%d Ready pods: %v", len(names), names)
		}
		return err
	}
}

func nodesInStatus(n int) func(context.Context, *user) error {
	return func(ctx context.Context, u *user) error {
		pods, err := u.readyPods(ctx)
		if err != nil {
			return err
		}
		out, err := u.mysdk(ctx, "kubectl", "get", "memcached/"+name, "-o", "jsonpath={.status.nodes[*]}")
		if err != nil {
			return err
		}
		nodes := strings.Fields(out)
		if len(nodes) != n || strings.Join(nodes, " ") != strings.Join(pods, " ") {
			return fmt.Errorf("status.nodes is %v, the pods are %v", nodes, pods)
		}
		return nil
	}
}

// healed deletes the Deployment and waits for another one in its place.
func healed(ctx context.Context, u *user) error {
	uid := func(ctx context.Context) (string, error) {
		return u.mysdk(ctx, "kubectl", "get", "deployment/"+name, "-o", "jsonpath={.metadata.uid}")
	}
	old, err := uid(ctx)
	if err != nil {
		return err
	}
	if _, err := u.mysdk(ctx, "kubectl", "delete", "deployment", name); err != nil {
		return err
	}
	return eventually(ctx, u, func(ctx context.Context, _ *user) error {
		now, err := uid(ctx)
		if err == nil && now == old {
			err = errors.New("the old Deployment is still there")
		}
		return err
	})
}

func everythingGone(ctx context.Context, u *user) error {
	out, err := u.mysdk(ctx, "kubectl", "get", "memcacheds,deployments,replicasets,pods", "-o", "name")
	if err == nil && strings.TrimSpace(out) != "" {
		err = fmt.Errorf("still there: %s", strings.Fields(out))
	}
	return err
}
