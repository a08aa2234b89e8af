// Package controlplane runs a Kubernetes control plane in one process: etcd,
// kube-apiserver, the controllers, the scheduler and KWOK in place of kubelets.
// It listens on loopback and on unix sockets in private directories only.
//
// It knows what these components need and in which order; it does not know how
// a user names, finds or starts a cluster, which is internal/cluster, and
// shares with it nothing but the contract in internal/cluster/state.
//
// The components keep state in package variables of their own, so a process
// can call Run once.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"go.etcd.io/etcd/server/v3/etcdserver"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/controlplane/faults"
	"github.com/example/mysdk/internal/controlplane/hostpods"
	"github.com/example/mysdk/internal/controlplane/olm"
	"github.com/example/mysdk/internal/controlplane/recorder"
	"github.com/example/mysdk/internal/controlplane/supervise"
)

// Options say what Run is to run.
type Options struct {
	Dir         string        // the cluster's private directory, absolute; its base is the cluster's name
	Nodes       int           // simulated nodes to have
	FSync       bool          // let etcd wait for the disk: survives a power cut, and is slower
	History     time.Duration // for how long etcd keeps old states at least
	RemovedAPIs bool          // answer versions of built-in APIs that were removed
	Kubernetes  string        // minor version to behave as, such as 1.34; empty: its own
	Tied        bool          // ends with the process that started it, for the status
	Verbosity   int           // 0 logs errors; n > 0 logs what klog has at verbosity n
	Log         io.Writer     // the server's log
	Build       string        // version of mysdk, for the status
	Started     time.Time     // start of the process, from which stages count
}

// server is one run of the control plane.
type server struct {
	Options
	layout   state.Layout
	log      *log.Logger
	parts    *supervise.Supervisor
	tracker  *tracker
	now      state.State
	listener net.Listener // of the API server
	keys     pki
	etcdURL  string
	store    *etcdserver.EtcdServer
	kubelet  *hostpods.Kubelet
	client   kubernetes.Interface
	local    *localServices

	processes *hostpods.Pods
	recorder  *recorder.Recorder
	faults    *faults.Injector
}

// Run starts the control plane in o.Dir and runs it until ctx ends or the
// control socket is told to stop, which is no error. It returns state.ErrLocked
// where another process owns the directory, and the reason where a component
// fails or ends by itself. After Run the process is to exit: the components
// are not stopped one by one, as all they acknowledged is in etcd's log.
func Run(ctx context.Context, o Options) error {
	s := &server{Options: o, layout: state.Layout{Dir: o.Dir}, log: log.New(o.Log, "", log.LstdFlags|log.Lmicroseconds), local: &localServices{}, recorder: recorder.New(), faults: &faults.Injector{Wrote: recorder.Wrote}}
	if err := quiet(o.Log, o.Verbosity); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return fmt.Errorf("make the cluster's directory: %w", err)
	}
	lock, err := s.layout.Lock(ctx)
	if err != nil {
		return err
	}
	// The operating system gives it back, when the process has gone and the API
	// server's port is free: the next start is to have the same one.
	defer runtime.KeepAlive(lock)
	return s.run(ctx)
}

// run is Run with the directory owned.
func (s *server) run(ctx context.Context) error {
	was, err := s.layout.Read()
	if err != nil {
		return err
	}
	if was.PID != 0 {
		s.log.Printf("the last server, process %d, was killed: clearing up after it", was.PID)
	}
	if err := s.layout.RemoveRuntimeDir(was); err != nil {
		return err
	}
	if err := s.open(was); err != nil {
		return err
	}
	if s.processes, err = hostpods.New(s.layout, filepath.Join(s.now.RuntimeDir, hostpods.Dir), s.log); err != nil {
		return err
	}
	s.parts = supervise.New(s.processes.Outlast(ctx))
	s.tracker = newTracker(s.now, s.log, s.processes.List)
	err = s.serveControl()
	if err == nil {
		err = s.start(s.parts.Ctx, was)
	}
	if err == nil {
		<-s.parts.Ctx.Done()
	}
	// A step that failed because the whole was ending is not the reason.
	if s.parts.Ctx.Err() != nil {
		err = s.parts.Reason()
	}
	if err != nil {
		s.log.Printf("failed: %v", err)
		s.tracker.fail(err)
	}
	s.log.Printf("stopped")
	_, cleared := s.layout.Clear(s.now) // what the next start needs stays
	return errors.Join(err, cleared)
}

// open makes the listener, the directory of the sockets and the state file.
func (s *server) open(was state.State) error {
	runtimeDir, err := s.layout.RuntimeDir(hostpods.TypicalSocket)
	if err != nil { // operators may well do without sockets, but not etcd
		runtimeDir, err = s.layout.RuntimeDir(longestSocket)
	}
	if err != nil {
		return err
	}
	var port int
	if s.listener, port, err = listen(was.Port); err != nil {
		return err
	}
	if was.Port != 0 && port != was.Port {
		s.log.Printf("port %d of the last start is taken: using %d", was.Port, port)
	}
	start, err := state.ProcessStart(os.Getpid())
	if err != nil {
		return err
	}
	s.now = state.State{
		Name: s.name(), PID: os.Getpid(), ProcessStart: start, StartedAt: s.Started.UTC(),
		Port: port, Server: fmt.Sprintf("https://127.0.0.1:%d", port), UID: was.UID,
		Kubernetes: was.Kubernetes, Build: s.Build, Nodes: s.Nodes, FSync: s.FSync, Verbosity: s.Verbosity, Tied: s.Tied,
		RuntimeDir: runtimeDir, Socket: filepath.Join(runtimeDir, controlSocket),
	}
	return nil
}

func (s *server) name() string { return filepath.Base(s.layout.Dir) }

// start brings the components up, each as soon as what it needs is there, and
// returns when a Deployment would become Ready.
func (s *server) start(ctx context.Context, was state.State) error {
	defer relaxGC()()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	upgraded := was.Kubernetes != "" && was.Kubernetes != behavedAs(s.Kubernetes)
	s.parts.Run("kube-apiserver", func(ctx context.Context) error { return s.runAPIServer(ctx, upgraded) })
	if err := waitServing(ctx, s.client); err != nil {
		return err
	}
	var work errgroup.Group
	if !upgraded {
		work.Go(func() error {
			err := createDefaults(ctx, s.client)
			if err == nil {
				s.tracker.stage("rbac")
			}
			return err
		})
	}
	work.Go(func() error { return s.startNodes(ctx) })
	work.Go(func() error { return s.registerMetrics(ctx) })
	work.Go(func() error {
		// Informers that start earlier fail at first and wait for a second
		// before they try again.
		err := supervise.Poll(ctx, func() bool {
			return s.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil
		})
		if err != nil {
			return err
		}
		s.tracker.stage("kube-apiserver")
		return s.startControllers(ctx)
	})
	if err := work.Wait(); err != nil {
		return err
	}
	if err := s.recordUID(ctx); err != nil {
		return err
	}
	s.parts.Run("OLM", s.runOLM)
	s.parts.Run("the memory trimmer", s.trimMemory)
	s.tracker.ready()
	return nil
}

// runOLM runs OLM for as long as its CRDs are there.
func (s *server) runOLM(ctx context.Context) error {
	return olm.Run(ctx, olm.Options{
		Kubeconfig: s.layout.OwnKubeconfig(), Config: adminConfig(s.now.Server, s.keys), Client: s.client, Out: s.Log, Log: s.log,
		Verbosity: s.Verbosity, Dir: filepath.Join(s.layout.Dir, "catalogs"), Serve: s.local.set,
		// <state directory>/clusters/<name> is the cluster's, <state directory>/images the store.
		Images: filepath.Join(filepath.Dir(filepath.Dir(s.layout.Dir)), "images"),
	})
}

// recordUID notes in the state file by what clients know this cluster from any
// other that may be at its address one day, and, as the start is complete, to which
// version of Kubernetes its data are brought up.
func (s *server) recordUID(ctx context.Context) error {
	err := ensure(ctx, func() error {
		ns, err := s.client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		if err == nil {
			s.now.UID = string(ns.UID)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read the cluster's UID: %w", err)
	}
	s.now.Kubernetes = behavedAs(s.Kubernetes)
	s.tracker.change(func(t *state.Status) { t.UID, t.Kubernetes = s.now.UID, s.now.Kubernetes })
	return s.layout.Write(s.now)
}

// prepare makes what the API server starts from: keys, credentials and etcd.
func (s *server) prepare(ctx context.Context) error {
	var work errgroup.Group
	work.Go(func() error { return s.startEtcd(ctx) })
	work.Go(func() (err error) {
		if s.keys, err = ensurePKI(s.layout.PKI(), time.Now()); err != nil {
			return fmt.Errorf("make the cluster's keys: %w", err)
		}
		for _, file := range []string{s.layout.OwnKubeconfig(), s.layout.Kubeconfig()} {
			if err := writeKubeconfig(file, s.now, s.keys); err != nil {
				return err
			}
		}
		s.client, err = connect(s.now.Server, s.keys)
		s.processes.Reach(s.client, s.now.Server, s.keys.ca.cert)
		return err
	})
	return work.Wait()
}

// serverPercent is how much the heap grows before it is collected, where the
// environment variable GOGC is not set. What CRDs, bundles and OLM leave behind as
// they come and go is many times what stays, and the more of it there is at one
// time, the more holes stay between what does, which cannot be given back.
const serverPercent = 50

// relaxGC turns garbage collection off while the components fill the heap,
// unless it grows beyond all measure. The function returned turns it on again.
func relaxGC() func() {
	const startHeap = 1 << 30 // bytes
	percent := debug.SetGCPercent(-1)
	debug.SetMemoryLimit(startHeap)
	return func() {
		if os.Getenv("GOGC") == "" {
			percent = serverPercent
		}
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(math.MaxInt64)
		debug.FreeOSMemory()
	}
}
