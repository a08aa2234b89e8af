package quickstart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/example/mysdk/internal/host"
)

// user is somebody at a terminal, in an empty directory, with mysdk,
// mysdk-cluster and go in PATH and nothing else.
type user struct {
	host    host.Host
	dir     string
	path    string
	env     []string
	log     *buffer // what run local printed
	local   host.Process
	ended   chan error // receives once, when run local ends
	stopped bool
}

// newUser puts links to the three programs in a directory of their own and
// makes it the whole PATH; cache and state of mysdk are fresh.
func newUser(h host.Host, bin, top string) (*user, error) {
	gobin, err := h.LookPath("go")
	if err != nil {
		return nil, err
	}
	u := &user{host: h, dir: filepath.Join(top, "memcached-operator"), path: filepath.Join(top, "bin"), log: &buffer{}, ended: make(chan error, 1)}
	for _, d := range []string{u.dir, u.path} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return nil, err
		}
	}
	for name, target := range map[string]string{"mysdk": filepath.Join(bin, "mysdk"), "mysdk-cluster": filepath.Join(bin, "mysdk-cluster"), "go": gobin} {
		if err := os.Symlink(target, filepath.Join(u.path, name)); err != nil {
			return nil, err
		}
	}
	for _, kv := range h.Environ() {
		key, _, _ := strings.Cut(kv, "=")
		if key == "PATH" || key == "KUBECONFIG" || strings.HasPrefix(key, "MYSDK_") {
			continue
		}
		u.env = append(u.env, kv)
	}
	u.env = append(u.env, "PATH="+u.path, "MYSDK_STATE_DIR="+filepath.Join(top, "state"), "MYSDK_CACHE_DIR="+filepath.Join(top, "cache"))
	return u, nil
}

// do carries out a step and prints it with its time.
func (u *user) do(ctx context.Context, s step) error {
	start := u.host.Now()
	err := s.do(ctx, u)
	took := u.host.Now().Sub(start)
	if err != nil {
		fmt.Fprintf(u.host.IO.Out, "%8.2f s  %s   FAILED\n", took.Seconds(), s.what)
		return fmt.Errorf("%s: %w\n--- what 'mysdk run local' printed:\n%s", strings.TrimSpace(s.what), err, u.log.String())
	}
	fmt.Fprintf(u.host.IO.Out, "%8.2f s  %s\n", took.Seconds(), s.what)
	return nil
}

// mysdk runs one command in the project and returns what it printed on stdout.
func (u *user) mysdk(ctx context.Context, args ...string) (string, error) {
	var out, talk bytes.Buffer
	err := host.Run(ctx, u.host.Exec, host.Cmd{
		Name: filepath.Join(u.path, "mysdk"), Args: args, Dir: u.dir, Env: u.env, Stdout: &out, Stderr: &talk,
	})
	if err != nil {
		return "", fmt.Errorf("mysdk %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(talk.Bytes()))
	}
	return out.String(), nil
}

// runLocal starts `mysdk run local` in the background and waits until it says
// that the operator runs.
func (u *user) runLocal(ctx context.Context) error {
	p, err := u.host.Exec.Start(context.WithoutCancel(ctx), host.Cmd{
		Name: filepath.Join(u.path, "mysdk"), Args: []string{"run", "local", "--watch-namespace", "default"},
		Dir: u.dir, Env: u.env, Stdout: u.log, Stderr: u.log, Group: true,
	})
	if err != nil {
		return err
	}
	u.local = p
	go func() { u.ended <- p.Wait() }()
	// A cold build of the operator compiles client-go and controller-runtime.
	deadline := time.After(15 * time.Minute)
	for !strings.Contains(u.log.String(), "Starting workers") {
		select {
		case err := <-u.ended:
			u.local = nil
			return errors.Join(errors.New("it ended"), err)
		case <-deadline:
			return errors.New("the operator did not come up within 15 minutes")
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// stop presses Ctrl-C and waits for the end, once.
func (u *user) stop() error {
	if u.local == nil || u.stopped {
		return nil
	}
	u.stopped = true
	if err := u.local.Interrupt(); err != nil {
		return err
	}
	select {
	case <-u.ended: // it was interrupted
		return nil
	case <-time.After(30 * time.Second):
		return errors.Join(errors.New("'mysdk run local' did not stop within 30 seconds"), u.local.Kill())
	}
}

// readyPods returns the names of the sample's Ready pods, sorted.
func (u *user) readyPods(ctx context.Context) ([]string, error) {
	out, err := u.mysdk(ctx, "kubectl", "get", "pods", "-o",
		`jsonpath={range .items[*]}{.metadata.name}{" "}{.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}`)
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(out) {
		if pod, status, _ := strings.Cut(strings.TrimSpace(line), " "); status == "True" {
			names = append(names, pod)
		}
	}
	slices.Sort(names)
	return names, nil
}

// buffer is a bytes.Buffer for a writer and a reader at the same time.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
