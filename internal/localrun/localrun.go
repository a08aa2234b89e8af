// Package localrun is the order in which `mysdk run local` starts and stops
// things: a cluster, the project's CRDs, the operator from source, and the
// manifests to try it with. It knows nothing of how a project is laid out beyond
// its main package, of flags, or of what starts a cluster and renders CRDs: those
// come as functions.
package localrun

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
)

const (
	// operatorGrace is what an operator has to stop after the interrupt.
	operatorGrace = 10 * time.Second
	// stopTimeout bounds the stop of what is left when the operator has ended.
	stopTimeout = 20 * time.Second
)

// Options say what to run and where.
type Options struct {
	Dir             string   // project directory, absolute
	Name            string   // OPERATOR_NAME; empty: the directory's name
	Package         string   // main package, e.g. ./cmd; empty: looked for
	WatchNamespaces []string // WATCH_NAMESPACE; none: all namespaces
	Kubeconfig      string   // with or instead of Context: a cluster to use instead of the embedded one
	Context         string
	Allow           []string // contexts that may be written to without being named
	OperatorArgs    []string // appended to the operator's arguments
	Env             []string // KEY=VALUE for the operator, over everything else
	GoLDFlags       string   // -ldflags of the build
	Apply           []string // manifests, or directories of them, to apply once the operator runs
	Keep            bool     // leave the embedded cluster running
	Fresh           bool     // begin with an empty embedded cluster
	LeaderElect     bool     // turn leader election on
	Color           bool     // colour the prefix of the operator's lines
}

// Cluster is a started embedded cluster.
type Cluster struct {
	Kubeconfig     string                      // path
	AlreadyRunning bool                        // it ran before, and is left running
	StopCommand    string                      // what ends it when it is left running; empty: mysdk cluster stop
	Stop           func(context.Context) error // called once the operator has ended
}

// Client is what a run needs of *kube.Client.
type Client interface {
	Name() string
	Guard(allow []string) error
	Kubeconfig() ([]byte, error)
	Apply(ctx context.Context, objs []*unstructured.Unstructured, o kube.ApplyOptions) ([]kube.Result, error)
	WaitEstablished(ctx context.Context, crds []*unstructured.Unstructured) error
	EnsureNamespace(ctx context.Context, name string) (bool, error)
	HasNamespace(ctx context.Context, name string) (bool, error)
}

// Deps are what a run stands on. All but Connect and Kill are required.
type Deps struct {
	Host         host.Host
	StartCluster func(ctx context.Context, fresh bool) (*Cluster, error)         // the embedded one
	RenderCRDs   func(ctx context.Context) ([]*unstructured.Unstructured, error) // the project's
	Connect      func(ctx context.Context, o kube.Options) (Client, error)       // nil: kube.Connect
	Kill         <-chan struct{}                                                 // closed by the second Ctrl-C; may be nil
}

// Run runs the operator of the project at o.Dir until it ends or ctx does, and
// then stops what it started, in reverse order. What it does is told on
// Host.IO.Err, the cluster that it writes to before anything else; the
// operator's own lines go to the stream that it wrote them to, with a prefix.
//
// Everything that can be wrong with the options is a usage error before anything
// is started. When ctx ends, its error is returned after a clean stop; an
// operator that fails is an error with its exit code and last lines.
func Run(ctx context.Context, o Options, d Deps) error {
	if d.Connect == nil {
		d.Connect = func(ctx context.Context, o kube.Options) (Client, error) { return kube.Connect(ctx, o) }
	}
	r, err := prepare(ctx, o, d)
	if err != nil {
		return err
	}
	work, cancel := context.WithCancelCause(ctx)
	err = r.start(work, cancel)
	if err == nil {
		err = r.follow(work, cancel)
	}
	cancel(nil)
	r.build.announce() // a build's output never gets lost
	if ctx.Err() != nil {
		err = ctx.Err() // what failed, failed because of that
	}
	if stopErr := r.stopAll(ctx); stopErr != nil && err == nil {
		err = stopErr
	}
	return err
}

// run is one Run call.
type run struct {
	Options
	Deps
	screen     *screen
	plan       plan
	manifests  []manifest
	build      *build
	client     Client
	embedded   bool   // the cluster is the embedded one
	kubeconfig string // path of the operator's
	operator   *operator
	cleanup    []func(context.Context) error // in the order of starting
}

// start brings everything up. The operator is built, and the CRDs are rendered,
// while the cluster starts: a fresh CRD needs two seconds before the API server
// takes its first object, which the build hides.
func (r *run) start(ctx context.Context, cancel context.CancelCauseFunc) error {
	r.build.start(ctx, cancel)
	crds := r.render(ctx)
	if err := r.startCluster(ctx); err != nil {
		return firstCause(ctx, err)
	}
	r.build.announce()
	if err := r.applyCRDs(ctx, crds); err != nil {
		return firstCause(ctx, err)
	}
	if err := r.namespaces(ctx); err != nil {
		return firstCause(ctx, err)
	}
	if err := r.build.wait(ctx); err != nil {
		return firstCause(ctx, err)
	}
	return r.startOperator(ctx)
}

// firstCause prefers the error that made the others fail: a failed build
// cancels the cluster's start.
func firstCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// rendered is the result of RenderCRDs.
type rendered struct {
	crds []*unstructured.Unstructured
	err  error
}

func (r *run) render(ctx context.Context) <-chan rendered {
	c := make(chan rendered, 1)
	go func() {
		crds, err := r.RenderCRDs(ctx)
		c <- rendered{crds, err}
	}()
	return c
}

// applyCRDs applies what render made and waits until it is served.
func (r *run) applyCRDs(ctx context.Context, c <-chan rendered) error {
	from := r.Host.Now()
	made := <-c
	if made.err != nil {
		return fmt.Errorf("render the CRDs: %w", made.err)
	}
	if len(made.crds) == 0 {
		r.screen.say("no CRDs in this project")
		return nil
	}
	results, err := r.client.Apply(ctx, made.crds, kube.ApplyOptions{Force: true})
	if err == nil {
		err = r.client.WaitEstablished(ctx, made.crds)
	}
	if err != nil {
		return err
	}
	r.screen.say("CRDs applied (%s): %s", r.since(from), summary(results))
	return nil
}

// since is the time that a step took, for its line.
func (r *run) since(from time.Time) string {
	return fmt.Sprintf("%.1fs", r.Host.Now().Sub(from).Seconds())
}

// stopAll undoes the start in reverse order. It goes on when ctx has ended, for
// a bounded time, unless the second Ctrl-C comes.
func (r *run) stopAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-r.Kill:
			cancel()
		case <-done:
		}
	}()
	r.build.finish()
	var first error
	for i := len(r.cleanup) - 1; i >= 0; i-- {
		if err := r.cleanup[i](ctx); err != nil && first == nil {
			first = err
		}
	}
	return first
}
