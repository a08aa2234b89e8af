package localrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/kube"
)

// world stands in for everything a run touches, and notes what happened in
// which order.
type world struct {
	*hosttest.World
	out, err *buffer
	mu       sync.Mutex
	events   []string

	already      bool // the cluster runs before
	startCommand string
	startErr     error                                 // of StartCluster
	startHang    bool                                  // StartCluster waits for its ctx
	deleteHang   bool                                  // deletions in the cluster do
	applyErr     map[string]error                      // by kind
	crds         []*unstructured.Unstructured          // of RenderCRDs
	webhooks     []*unstructured.Unstructured          // of Render
	renderErr    error                                 //
	roleErr      error                                 // of Render's Manifests
	context      string                                // of the cluster
	store        map[string]*unstructured.Unstructured // what is in the cluster besides, by kind and name
	editErr      map[string]error                      // by kind
	generated    func() ([]string, error)              // Regenerate; nil writes nothing
	embedded     string                                // its name, if it is an embedded one
	guardErr     error                                 // of Connect
	invalid      []string                              // objects that CRDs no longer allow; with any, CRDs are configured
	missing      []string                              // namespaces that a named cluster lacks
	build        func(io.Writer) error                 // the go command; nil succeeds
	builds       atomic.Int32                          // so far
	reads        string                                // the variable that the operator reads
	operator     func(context.Context, *process)       // the operator; nil waits to be stopped
	started      []host.Cmd
	answers      map[string]string // output of other programs, by name
	kill         chan struct{}
	onEvent      func(string)
	writes       int  // to webhooks and conversions so far
	dieAt        int  // the write at which the cluster is lost, counted from 1; 0: never
	dieAfter     bool // that write still happens
}

// embeddedConfig is the kubeconfig of the embedded cluster.
const embeddedConfig = "/state/kubeconfig"

// errDead is what a client gets of a cluster that is lost.
var errDead = clierr.Unavailablef("start it", "the cluster does not answer")

// lossy counts a write, and says whether it happens and what the client gets.
func (w *world) lossy() (happens bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes++
	if w.dieAt == 0 || w.writes < w.dieAt {
		return true, nil
	}
	return w.dieAfter && w.writes == w.dieAt, errDead
}

// newWorld makes a project with a main package and an environment without
// surprises.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: hosttest.New(t), out: &buffer{}, err: &buffer{}, applyErr: map[string]error{}, editErr: map[string]error{}, store: map[string]*unstructured.Unstructured{}, context: "mysdk-test", reads: "WATCH_NAMESPACE", kill: make(chan struct{})}
	w.IO = host.Streams{In: strings.NewReader(""), Out: w.out, Err: w.err}
	w.Exec = execFake{w}
	w.write(t, "cmd/main.go", "package main\n\nimport \"flag\"\n\nfunc main() {\n\tflag.String(\"health-probe-bind-address\", \":8081\", \"\")\n\tflag.Bool(\"leader-elect\", false, \"\")\n}\n")
	w.crds = objects(t, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: memcacheds.cache.example.com}\n")
	return w
}

func objects(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	objs, err := kube.ParseManifests([]byte(text), "test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

func (w *world) write(t *testing.T, name, text string) {
	t.Helper()
	full := filepath.Join(w.Dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	// At once, as editors do: a file seen empty is a change of its own.
	if err := os.WriteFile(full+".tmp", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(full+".tmp", full); err != nil {
		t.Fatal(err)
	}
}

func (w *world) event(format string, args ...any) {
	e := fmt.Sprintf(format, args...)
	w.mu.Lock()
	w.events = append(w.events, e)
	f := w.onEvent
	w.mu.Unlock()
	if f != nil {
		f(e)
	}
}

func (w *world) happened(prefix string) bool { return w.index(prefix) >= 0 }

func (w *world) index(prefix string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.IndexFunc(w.events, func(e string) bool { return strings.HasPrefix(e, prefix) })
}

// ordered wants the events to have happened, one after the other.
func (w *world) ordered(t *testing.T, events ...string) {
	t.Helper()
	last := -1
	for _, e := range events {
		i := w.index(e)
		if i < 0 {
			t.Errorf("%q did not happen; events: %q", e, w.events)
			return
		}
		if i < last {
			t.Errorf("%q came too early; events: %q", e, w.events)
		}
		last = i
	}
}

func (w *world) deps() Deps {
	return Deps{
		Host: w.Host, Kill: w.kill,
		StartCluster: func(ctx context.Context, fresh bool) (*Cluster, error) {
			w.event("start cluster, fresh %v", fresh)
			if w.startHang {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			if w.startErr != nil {
				return nil, w.startErr
			}
			return &Cluster{Kubeconfig: embeddedConfig, AlreadyRunning: w.already, StartCommand: w.startCommand, Stop: func(ctx context.Context) error {
				w.event("stop cluster")
				return ctx.Err()
			}}, nil
		},
		Render: func(context.Context) (Manifests, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return Manifests{CRDs: w.crds, Webhooks: w.webhooks, RoleErr: w.roleErr}, w.renderErr
		},
		Regenerate: func(context.Context) ([]string, error) {
			w.event("regenerate")
			w.mu.Lock()
			generated := w.generated
			w.mu.Unlock()
			if generated == nil {
				return nil, nil
			}
			return generated()
		},
		Connect: func(_ context.Context, o kube.Options) (Client, error) {
			w.event("connect %s %s", o.Kubeconfig, o.Context)
			if o.Kubeconfig == embeddedConfig {
				w.embedded = "test"
			}
			return clientFake{w}, w.guardErr
		},
	}
}

// filesFake notes what is read.
type filesFake struct {
	host.Files
	w *world
}

func (f filesFake) ReadFile(name string) ([]byte, error) {
	data, err := f.Files.ReadFile(name)
	f.w.event("read %s", data)
	return data, err
}

// put brings an object to the cluster behind everybody's back.
func (w *world) put(u *unstructured.Unstructured) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.store[u.GetKind()+" "+u.GetName()] = u.DeepCopy()
}

type clientFake struct{ w *world }

func (c clientFake) Name() string         { return "context mysdk-test, server https://127.0.0.1:6443" }
func (c clientFake) EmbeddedName() string { return c.w.embedded }
func (c clientFake) Kubectl() string {
	if c.w.embedded == "dev" {
		return "mysdk kubectl --cluster dev"
	}
	return "mysdk kubectl"
}
func (c clientFake) Kubeconfig() ([]byte, error) { return []byte("private"), nil }
func (c clientFake) Apply(ctx context.Context, objs []*unstructured.Unstructured, o kube.ApplyOptions) ([]kube.Result, error) {
	var results []kube.Result
	for _, u := range objs {
		c.w.event("apply %s in %q", u.GetKind(), o.Namespace)
		c.w.mu.Lock()
		err := c.w.applyErr[u.GetKind()]
		c.w.mu.Unlock()
		if err != nil {
			return results, err
		}
		if u.GetKind() == crdKind && c.w.object(u.GetKind()+" "+u.GetName()) == nil {
			c.w.put(u)
		}
		if o.OnCreate != nil {
			live := u.DeepCopy()
			live.SetAnnotations(o.OnCreate)
			c.w.put(live)
		}
		action := kube.Created
		if u.GetKind() == crdKind && len(c.w.invalid) > 0 {
			action = kube.Configured
		}
		results = append(results, kube.Result{Ref: kube.RefOf(u), Action: action})
	}
	return results, ctx.Err()
}
func (c clientFake) Invalid(context.Context, *unstructured.Unstructured) ([]string, error) {
	return c.w.invalid, nil
}
func (c clientFake) WaitEstablished(context.Context, []*unstructured.Unstructured) error {
	c.w.event("established")
	return nil
}
func (c clientFake) WorkingConversions(_ context.Context, crds []*unstructured.Unstructured) (list, off []*unstructured.Unstructured, err error) {
	return crds, slices.DeleteFunc(slices.Clone(crds), func(u *unstructured.Unstructured) bool { return !kube.Converts(u) }), nil
}
func (c clientFake) EnsureNamespace(_ context.Context, name string) (bool, error) {
	c.w.event("ensure namespace %s", name)
	return name != "default", nil
}
func (c clientFake) Allowed(context.Context, kube.Access) (bool, error) { return true, nil }
func (c clientFake) ContextName() string                                { return c.w.context }
func (c clientFake) ID(context.Context) (string, error)                 { return "cluster-id", nil }
func (c clientFake) Read(_ context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if live := c.w.store[u.GetKind()+" "+u.GetName()]; live != nil {
		return live.DeepCopy(), nil
	}
	if u.GetKind() == "Namespace" && !slices.Contains(c.w.missing, u.GetName()) {
		return u, nil
	}
	return nil, nil
}
func (c clientFake) Edit(ctx context.Context, u *unstructured.Unstructured, change func(*unstructured.Unstructured) (*unstructured.Unstructured, error)) error {
	live, _ := c.Read(ctx, u)
	next, err := change(live)
	if err != nil || next == nil {
		return err
	}
	c.w.event("edit %s %s", u.GetKind(), u.GetName())
	c.w.mu.Lock()
	err = c.w.editErr[u.GetKind()]
	c.w.mu.Unlock()
	if err != nil {
		return err
	}
	happens, err := c.w.lossy()
	if happens {
		c.w.put(next)
	}
	return errors.Join(err, ctx.Err())
}
func (c clientFake) Disown(_ context.Context, u *unstructured.Unstructured) error {
	c.w.event("disown %s %s", u.GetKind(), u.GetName())
	return nil
}
func (c clientFake) Delete(ctx context.Context, objs []*unstructured.Unstructured, _ kube.DeleteOptions) ([]kube.Result, error) {
	var results []kube.Result
	for _, u := range objs {
		c.w.event("delete %s %s", u.GetKind(), u.GetName())
		if c.w.deleteHang {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		happens, err := c.w.lossy()
		c.w.mu.Lock()
		if happens {
			delete(c.w.store, u.GetKind()+" "+u.GetName())
		}
		c.w.mu.Unlock()
		if err != nil {
			return results, err
		}
		results = append(results, kube.Result{Ref: kube.RefOf(u), Action: kube.Deleted})
	}
	return results, ctx.Err()
}
func (c clientFake) List(_ context.Context, gvk schema.GroupVersionKind, _ kube.ListOptions) ([]*unstructured.Unstructured, error) {
	var list []*unstructured.Unstructured
	for _, u := range c.w.contents() {
		if u.GroupVersionKind() == gvk {
			list = append(list, u)
		}
	}
	return list, nil
}

// execFake runs the go command and the operator as functions.
type execFake struct{ w *world }

func (x execFake) LookPath(name string) (string, error) {
	if x.w.Env["PATH"] == "" || x.w.Env["NO_"+name] != "" {
		return "", errors.New("executable file not found in $PATH")
	}
	return "/usr/bin/" + name, nil
}

func (x execFake) Start(ctx context.Context, c host.Cmd) (host.Process, error) {
	x.w.mu.Lock()
	x.w.started = append(x.w.started, c)
	x.w.mu.Unlock()
	p := &process{w: x.w, cmd: c, ctx: ctx, ended: make(chan error, 1), killed: make(chan struct{})}
	if filepath.Base(c.Name) == "go" {
		x.w.event("build")
		go func() {
			x.w.mu.Lock()
			build := x.w.build
			x.w.mu.Unlock()
			var err error
			if build != nil {
				err = build(c.Stdout)
			}
			if err == nil && c.Args[0] == "build" {
				// The one of before is not written to: it may run.
				err = host.ReplaceData(x.w.Files, c.Args[2], fmt.Appendf(nil, "build %d%s", x.w.builds.Add(1), x.w.reads), 0o700)
			}
			x.w.event("built")
			p.ended <- err
		}()
		return p, nil
	}
	if text, ok := x.w.answers[filepath.Base(c.Name)]; ok {
		_, err := io.WriteString(c.Stdout, text)
		p.ended <- err
		return p, nil
	}
	x.w.event("run operator")
	x.w.mu.Lock()
	operator := x.w.operator
	x.w.mu.Unlock()
	go func() {
		if operator != nil {
			operator(ctx, p)
			return
		}
		p.obey(ctx)
	}()
	return p, nil
}

// process is a fake process.
type process struct {
	w      *world
	cmd    host.Cmd
	ctx    context.Context
	ended  chan error
	killed chan struct{}
}

// obey waits for the interrupt or the kill, as an operator does.
func (p *process) obey(ctx context.Context) {
	select {
	case <-ctx.Done():
		p.w.event("operator interrupted")
	case <-p.killed:
		p.w.event("operator killed")
	}
	p.ended <- nil
}

func (p *process) Pid() int         { return 4711 }
func (p *process) Wait() error      { return <-p.ended }
func (p *process) Interrupt() error { return nil }
func (p *process) Kill() error      { close(p.killed); return nil }

// exited is how a process ended.
type exited int

func (e exited) Error() string { return fmt.Sprintf("exit status %d", int(e)) }
func (e exited) ExitCode() int { return int(e) }

// buffer is a stream that several goroutines write to.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(data)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// after forgets everything up to the text.
func (b *buffer) after(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := bytes.Index(b.b.Bytes(), []byte(text)); i >= 0 {
		b.b.Next(i + len(text))
	}
}

// pause lets other goroutines go on.
func pause() { time.Sleep(time.Millisecond) }
