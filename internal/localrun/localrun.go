// Package localrun is the order in which `mysdk run local` starts and stops
// things: a cluster, the project's CRDs and webhooks, the operator from source,
// and the manifests to try it with; and what it does when a file of the project
// changes meanwhile. It knows nothing of how a project is laid out beyond its
// main package and what to watch, of flags, or of what starts a cluster and
// renders manifests: those come as functions.
package localrun

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/recording"
)

const (
	operatorGrace = 10 * time.Second // what an operator has to stop after the interrupt
	stopTimeout   = 20 * time.Second // bounds the stop of what is left when the operator has ended
)

// Options say what to run and where.
type Options struct {
	Dir             string   // project directory, absolute
	Name            string   // OPERATOR_NAME; empty: the directory's name
	WatchNamespaces []string // WATCH_NAMESPACE; none: all namespaces
	Kubeconfig      string   // with or instead of Context: a cluster to use instead of the embedded one
	Context         string
	Allow           []string          // contexts that may be written to without being named
	OperatorArgs    []string          // appended to the operator's arguments
	Env             []string          // KEY=VALUE for the operator, over everything else
	GoLDFlags       string            // -ldflags of the build
	Apply           []string          // manifests, or directories of them, to apply once the operator runs
	Keep            bool              // leave the embedded cluster running
	Fresh           bool              // begin with an empty embedded cluster
	LeaderElect     bool              // turn leader election on
	NoWebhooks      bool              // leave the project's webhooks out, and the operator's webhook server off
	WebhookListen   string            // IP address, with or without a port, to listen on for webhooks; empty: loopback, or all addresses for a named cluster
	WebhookHost     string            // by which a named cluster reaches this machine; empty: known for local ones
	Watch           bool              // rebuild and restart on changes; needs Deps.Regenerate
	Debug           int               // port of a debugger to run the operator under; 0: none
	Deployment      string            // name of the one that runs the operator where it is deployed; empty: not known
	Deployed        Deployed          // how it starts it
	Color           bool              // color the prefix of the operator's lines
	Quiet           bool              // print only errors, warnings, the cluster, and what the operator prints
	Groups          map[string]string // API groups of the project's kinds, by the import path of their types; for Trace
	Trace           bool              // build the operator so that it reports which line made a request, and what Reconcile is called for
	RoleNamespace   string            // of the markers that grant a missing right; empty: all namespaces
	Rights          string            // RightsRole or RightsAdmin on the embedded cluster; empty: RightsRole
}

// Deployed is how a container starts the operator.
type Deployed struct {
	Args []string // behind the program's name
	Env  []string // KEY=VALUE; $(NAME) is a variable of the run
}

// Cluster is a started embedded cluster.
type Cluster struct {
	Name           string                      // of the cluster
	Kubeconfig     string                      // path
	AlreadyRunning bool                        // it ran before, and is left running
	StopCommand    string                      // what ends it when it is left running; empty: mysdk cluster stop
	StartCommand   string                      // what starts one that is left running, where this one stops with whoever started it
	Stop           func(context.Context) error // called once the operator has ended
	Control        ControlPlane                // nil: the operator is the cluster's administrator, and nothing is recorded
	Socket         string                      // of Control, for the operator's reports
}

// Client is what a run needs of *kube.Client.
type Client interface {
	Name() string
	ContextName() string
	EmbeddedName() string
	Kubectl() string // how to call it for this cluster
	Kubeconfig() ([]byte, error)
	Apply(ctx context.Context, objs []*unstructured.Unstructured, o kube.ApplyOptions) ([]kube.Result, error)
	WaitEstablished(ctx context.Context, crds []*unstructured.Unstructured) error
	WorkingConversions(ctx context.Context, crds []*unstructured.Unstructured) (list, off []*unstructured.Unstructured, err error)
	Invalid(ctx context.Context, crd *unstructured.Unstructured) ([]string, error)
	EnsureNamespace(ctx context.Context, name string) (bool, error)
	Allowed(ctx context.Context, a kube.Access) (bool, error)
	List(ctx context.Context, gvk schema.GroupVersionKind, o kube.ListOptions) ([]*unstructured.Unstructured, error)
	ID(ctx context.Context) (string, error)
	Read(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error)
	Edit(ctx context.Context, u *unstructured.Unstructured, change func(live *unstructured.Unstructured) (*unstructured.Unstructured, error)) error
	Disown(ctx context.Context, u *unstructured.Unstructured) error
	Delete(ctx context.Context, objs []*unstructured.Unstructured, o kube.DeleteOptions) ([]kube.Result, error)
}

// Deps are what a run stands on. Host, StartCluster and Render are required.
type Deps struct {
	Host         host.Host
	StartCluster func(ctx context.Context, fresh bool) (*Cluster, error)   // the embedded one
	Render       func(ctx context.Context) (Manifests, error)              // the project's, as it is now; writes nothing
	Regenerate   func(ctx context.Context) ([]string, error)               // brings generated files up to date; returns those written
	Connect      func(ctx context.Context, o kube.Options) (Client, error) // nil: kube.Connect
	Kill         <-chan struct{}                                           // closed by the second Ctrl-C; may be nil
	Restart      <-chan struct{}                                           // asks to build and start the operator again; nil: nobody does
	Crash        <-chan struct{}                                           // asks to kill the operator and to start it again as it is; nil: nobody does
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
	r, err := prepare(ctx, o, d)
	if err != nil {
		return err
	}
	work, cancel := context.WithCancelCause(ctx)
	r.screen.unread = cancel
	if r.watcher != nil {
		go r.watcher.listen(work) // it closes its files with work
	}
	err = r.start(work, cancel)
	if err == nil {
		err = r.follow(work, cancel)
	}
	cancel(nil)
	return r.finish(ctx, err)
}

// Restore puts back what a run that was killed has left in the cluster, and
// nothing else. It is no error if there is nothing.
func Restore(ctx context.Context, o Options, d Deps) error {
	r := newRun(o, d)
	if err := r.plan.place(d.Host, o.Dir); err != nil {
		return err
	}
	err := r.removeLeft()
	if err == nil {
		err = r.startCluster(ctx)
	}
	restored := false
	if err == nil {
		restored, err = r.restoreLeft(ctx)
	}
	var removed []kube.Result
	if err == nil {
		removed, err = r.removeRoles(ctx, nil)
	}
	if len(removed) > 0 {
		r.screen.say("removed what an interrupted run brought for the operator: %s", summary(removed))
	}
	if err == nil && !restored && len(removed) == 0 {
		r.screen.say("nothing to restore")
	}
	return r.finish(ctx, err)
}

// finish stops everything and picks the error that tells most.
func (r *run) finish(ctx context.Context, err error) error {
	if r.build != nil {
		r.build.out.release() // a build's output never gets lost
	}
	if ctx.Err() != nil {
		err = ctx.Err() // what failed, failed because of that
	}
	stopErr := r.stopAll(ctx)
	if stopErr != nil && ctx.Err() != nil {
		return stopErr // what stays behind is worse news than a Ctrl-C
	}
	return errors.Join(err, stopErr)
}

// run is one Run call.
type run struct {
	Options
	Deps
	screen     *screen
	plan       plan
	client     Client
	embedded   bool   // the cluster is an embedded one, however it was named
	kubeconfig string // path, for people

	control        ControlPlane      // nil where there is none
	socket         string            // of control
	operatorConfig string            // path of the operator's kubeconfig
	user           string            // of the operator, once it has a kubeconfig of its own
	limited        bool              // to the rights of its roles, as long as the run lasts: the kubeconfig is made once
	salt           []byte            // of hashes in place of Secrets' values that webhooks see
	roles          map[string]string // digest of what was applied of the operator's roles, by kind and name

	driven    bool // by a program, in place of the user
	watcher   *watcher
	announced string                        // what was printed of the operator's start
	stale     bool                          // the operator was not built from the newest code
	cleanup   []func(context.Context) error // in the order of starting

	exits      chan *operator // operators that ended
	failures   chan error     // of settling
	over       chan struct{}  // closed when nobody listens to those any more
	settling   sync.WaitGroup
	installing sync.Mutex            // held by applyCRDs
	hooks      atomic.Pointer[hooks] // nil while the project has no webhooks
	everywhere atomic.Bool           // the operator watches all namespaces, whatever WatchNamespaces are

	mu        sync.Mutex
	operator  *operator
	build     *build                // the latest
	log       chan<- recording.Line // of the operator; nil: nothing is recorded
	logged    uint64                // lines that it has printed
	manifest  Manifests
	dying     []string          // CRDs that the cluster is deleting
	inCluster map[string]string // digest of what was applied, as changedSince has it; read and written under installing
	unwatched map[kube.Ref]bool // objects that were warned of
	missing   map[string]bool   // kinds that were warned of

	applying  sync.Mutex        // one --apply at a time
	manifests []manifest        // what --apply named
	applied   map[string]string // digest of what was applied of it, by kind and name
}

// newRun is a run that has nothing to it yet but what it was given.
func newRun(o Options, d Deps) *run {
	if d.Connect == nil {
		d.Connect = func(ctx context.Context, o kube.Options) (Client, error) { return kube.Connect(ctx, o) }
	}
	return &run{
		Options: o, Deps: d, screen: &screen{out: d.Host.IO.Out, err: d.Host.IO.Err, quiet: o.Quiet},
		exits: make(chan *operator), failures: make(chan error), over: make(chan struct{}), inCluster: map[string]string{}, applied: map[string]string{}, unwatched: map[kube.Ref]bool{}, missing: map[string]bool{}, salt: []byte(rand.Text()),
	}
}

// start brings everything up. The operator is built, and the manifests are
// rendered, while the cluster starts: a fresh CRD needs two seconds before the
// API server takes its first object, which the build hides.
func (r *run) start(ctx context.Context, cancel context.CancelCauseFunc) error {
	if err := errors.Join(r.removeLeft(), r.ownProgram()); err != nil {
		return err
	}
	b := r.build
	b.start(ctx)
	if !r.Watch { // else the next change may fix it
		go func() {
			if <-b.done; b.err != nil {
				cancel(b.err)
			}
		}()
	}
	r.announceStart()
	made := sync.OnceValues(func() (Manifests, error) { return r.Render(ctx) })
	go func() { _, _ = made() }() // it needs no cluster
	if err := r.startCluster(ctx); err != nil {
		return firstCause(ctx, err)
	}
	b.out.release()
	if err := r.prepareCluster(ctx, made); err != nil {
		return firstCause(ctx, err)
	}
	if err := b.wait(ctx); err != nil {
		if err = firstCause(ctx, err); r.Watch && ctx.Err() == nil {
			r.stale = true
			r.tell(err)
			if err := r.withoutOperator(ctx); err != nil {
				r.tell(err)
			}
			r.screen.say("waiting for the next change")
			return nil
		}
		return err
	}
	if err := r.findDebugger(ctx); err != nil {
		return err
	}
	if err := r.startOperator(ctx); err != nil {
		return err
	}
	if r.Restart != nil {
		r.screen.say("type r and Enter to build and start the operator again")
	}
	r.settle(ctx)
	return nil
}

// announceStart says what the first lines will take so long for.
func (r *run) announceStart() {
	what := "starting the embedded cluster"
	if r.Options.Kubeconfig != "" || r.Context != "" {
		what = "connecting to the cluster"
	}
	note := ""
	if r.Debug > 0 {
		note = " (without optimizations, for the debugger: the first time all of its modules are compiled)"
	}
	r.screen.say("%s and building the operator: go build %s%s", what, r.plan.mainPkg, note)
}

// prepareCluster gives the cluster what the operator expects to find.
func (r *run) prepareCluster(ctx context.Context, render func() (Manifests, error)) error {
	m, renderErr := render() // before what was left is restored: conversions are off until they are this run's
	if _, err := r.restoreLeft(ctx); err != nil {
		return err
	}
	from := r.Host.Now()
	if renderErr != nil {
		return fmt.Errorf("render the CRDs: %w", renderErr)
	}
	if err := r.want(ctx, m); err != nil {
		return err
	}
	if len(m.CRDs) == 0 {
		r.screen.say("no CRDs in this project")
	}
	if _, err := r.applyCRDs(ctx, from); err != nil {
		return err
	}
	if err := r.warnOfCopies(ctx); err != nil {
		return err
	}
	return r.namespaces(ctx)
}

// restoreLeft puts back what runs that were killed have left in this cluster.
func (r *run) restoreLeft(ctx context.Context) (bool, error) {
	from := r.Host.Now()
	dir, err := r.journals(ctx)
	if err != nil {
		return false, err
	}
	var done []string
	err = eachLeft(r.Host, dir, func(file string, rec record) error {
		did, err := rec.restore(ctx, r.client)
		done = append(done, did...)
		if err == nil {
			err = r.Host.Files.Remove(file)
		}
		return err
	})
	if len(done) > 0 {
		r.screen.say("restored webhooks left behind by an interrupted run (%s): %s", r.since(from), strings.Join(done, ", "))
	}
	return len(done) > 0, err
}

// wanted is what the project wants of the cluster.
func (r *run) wanted() Manifests {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.manifest
}

// firstCause prefers the error that made the others fail: a failed build
// cancels the cluster's start.
func firstCause(ctx context.Context, err error) error { return cmp.Or(context.Cause(ctx), err) }

// applyCRDs applies those CRDs that are not in the cluster as they are now, and
// waits until they are served. It reports whether there were any.
func (r *run) applyCRDs(ctx context.Context, from time.Time) (bool, error) {
	r.installing.Lock()
	defer r.installing.Unlock()
	present, err := r.withoutDying(ctx, r.wanted().CRDs)
	if err != nil {
		return false, err
	}
	// Before they are applied: a new version that is served without its conversion
	// would have objects stored as if all versions were alike.
	if h := r.hooks.Load(); h != nil {
		if err := h.convert(ctx, r.wanted().CRDs); err != nil {
			return false, err
		}
	}
	changed, sums := changedSince(r.inCluster, present, digestKey)
	if len(changed) == 0 {
		return false, nil
	}
	crds, err := r.withConversion(ctx, changed)
	if err != nil {
		return false, err
	}
	results, err := r.client.Apply(ctx, crds, kube.ApplyOptions{Force: true})
	if err == nil {
		err = r.client.WaitEstablished(ctx, crds)
	}
	if err != nil {
		return false, err
	}
	// Only now: CRDs that were refused are tried again with the next change.
	maps.Copy(r.inCluster, sums)
	r.screen.say("CRDs applied (%s): %s", r.since(from), summary(results))
	r.settling.Go(func() { r.tellInvalid(ctx, crds, results) })
	return true, nil
}

// since is the time that a step took, for its line.
func (r *run) since(from time.Time) string {
	return fmt.Sprintf("%.1fs", r.Host.Now().Sub(from).Seconds())
}

// stopping is ctx for what undoes the start: it goes on when ctx has ended, for
// a bounded time, unless the second Ctrl-C comes.
func (r *run) stopping(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	go func() {
		select {
		case <-r.Kill:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// stopAll undoes the start in reverse order.
func (r *run) stopAll(ctx context.Context) error {
	ctx, cancel := r.stopping(ctx)
	defer cancel()
	if r.build != nil {
		r.build.drop()
	}
	var errs []error
	for _, undo := range slices.Backward(r.cleanup) {
		// What the second Ctrl-C broke off would hide what else went wrong.
		if err := undo(ctx); !errors.Is(err, context.Canceled) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
