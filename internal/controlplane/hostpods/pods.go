// Package hostpods runs the containers of marked pods as processes of this
// machine, and answers for every pod what the API server asks a kubelet: logs,
// exec, what it uses. Pods that are not marked are KWOK's; how one of them fails
// is simulated here. It knows no other part of the control plane.
package hostpods

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
)

// stopGrace is what programs have to end when the whole cluster does.
const stopGrace = 3 * time.Second

// TypicalSocket is where below the runtime directory an operator makes a socket of
// its own, in its TMPDIR: the names on the way are short, as sockets' paths must be.
const TypicalSocket = Dir + "/01234567/r/manager/tmp/op.sock"

// Dir is the directory of the pods below the runtime directory.
const Dir = "pods"

// Pods serve pods by programs of this machine, as a kubelet does by
// containers: those whose image has a program. All other pods are KWOK's.
type Pods struct {
	client   kubernetes.Interface
	access   apiAccess
	Programs *programs
	getenv   func(string) string
	untie    func() // never called, but kept: what it would close ends programs when it is collected
	log      *log.Logger
	events   record.EventRecorder
	timeouts timeouts
	claims   claims
	simulate *simulations
	library  library
	left     state.Orphans
	dir      string // private, gone when the cluster stops
	logs     string // private, kept

	mu       sync.Mutex
	pods     map[types.UID]*hostedPod
	seen     int                // pods so far
	stopping context.CancelFunc // ends all programs; nil before run
	stopped  bool
}

// New is what the control plane has of programs before it is up.
func New(l state.Layout, dir string, logger *log.Logger) (*Pods, error) {
	known, err := openPrograms(l)
	if err != nil {
		return nil, err
	}
	return &Pods{
		Programs: known, log: logger, timeouts: defaultTimeouts(),
		dir: dir, logs: l.PodLogs(), left: l.Orphans(), pods: map[types.UID]*hostedPod{},
	}, nil
}

// Reach gives the pods their way to the API server.
func (m *Pods) Reach(client kubernetes.Interface, server string, ca []byte) {
	m.client, m.access = client, apiAccess{server, ca}
}

// Run serves pods until ctx ends.
func (m *Pods) Run(ctx context.Context) error {
	world, err := host.System()
	if err != nil {
		return err
	}
	// The children of programs are not to outlive this process, however it ends: it stays
	// tied until it does.
	if world, m.untie, err = world.Tied(ctx); err != nil {
		return err
	}
	m.getenv = world.Getenv
	if err := m.left.End(); err != nil {
		m.log.Printf("end what the last server left behind: %v", err)
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: m.client.CoreV1().Events("")})
	defer broadcaster.Shutdown()
	m.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "mysdk"})

	alive, stop := context.WithCancel(ctx)
	defer stop()
	m.simulate = &simulations{m, workqueue.NewTypedDelayingQueue[types.NamespacedName]()}
	go m.simulate.run(alive)
	m.mu.Lock()
	m.stopping = stop
	m.mu.Unlock()
	factory := informers.NewSharedInformerFactory(m.client, 0)
	pods := factory.Core().V1().Pods()
	see := func(o any) {
		if pod, ok := o.(*corev1.Pod); ok {
			m.see(alive, pod)
		}
	}
	_, err = pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: see, UpdateFunc: func(_, o any) { see(o) }, DeleteFunc: m.gone,
	})
	if err != nil {
		return err
	}
	lister := pods.Lister()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	m.dropOrphanLogs(lister)
	for {
		changed := m.Programs.watch()
		list, err := lister.List(labels.Everything())
		if err != nil {
			return err
		}
		for _, pod := range list {
			m.seeListed(alive, lister, pod)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// seeListed is see for a pod of a list, which may have changed since: one that is
// served already is seen as it changes, and one that went while it was taken on
// is told so now, as nobody knew it when that was said.
func (m *Pods) seeListed(ctx context.Context, pods corelisters.PodLister, pod *corev1.Pod) {
	if m.byUID(pod.UID) != nil {
		return
	}
	m.see(ctx, pod)
	if m.byUID(pod.UID) == nil {
		return
	}
	now, err := pods.Pods(pod.Namespace).Get(pod.Name)
	switch {
	case err != nil || now.UID != pod.UID:
		m.gone(pod)
	case now.DeletionTimestamp != nil:
		m.see(ctx, now)
	}
}

// byUID returns a pod that is served; nil for any other.
func (m *Pods) byUID(uid types.UID) *hostedPod {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pods[uid]
}

// see does what a pod needs that came, changed, or is there while a program
// did.
func (m *Pods) see(ctx context.Context, pod *corev1.Pod) {
	p, marked := m.byUID(pod.UID), pod.Annotations[ProcessAnnotation] == ProcessMarked
	switch {
	case p != nil:
		p.see(pod)
	case ctx.Err() != nil, pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil:
	case marked && pod.DeletionTimestamp != nil:
		go m.remove(ctx, pod.Namespace, pod.Name, pod.UID)
	case over(pod), pod.DeletionTimestamp != nil:
	case marked:
		m.host(ctx, pod)
	case m.served(pod):
		m.mark(ctx, pod)
	case m.simulate.concerns(pod):
		m.simulate.see(pod)
	}
}

// over reports whether all that a pod had to do is done.
func over(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// served reports whether a program serves one of the pod's containers.
func (m *Pods) served(pod *corev1.Pod) bool {
	whose := ownerOf(pod).name
	return slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool {
		_, found := m.Programs.find(c.Image, whose)
		return found
	})
}

// mark takes a pod over that was there before its program. KWOK leaves it
// alone from then on; the change brings it back to see.
func (m *Pods) mark(ctx context.Context, pod *corev1.Pod) {
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":{%q:%q}}}`, pod.UID, ProcessAnnotation, ProcessMarked)
	_, err := m.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
		m.log.Printf("take over pod %s/%s: %v", pod.Namespace, pod.Name, err)
	}
}

func (m *Pods) newHosted(pod *corev1.Pod) *hostedPod {
	short, _, _ := strings.Cut(string(pod.UID), "-")
	p := &hostedPod{
		Pods: m, namespace: pod.Namespace, name: pod.Name, uid: pod.UID, pod: pod,
		dir: filepath.Join(m.dir, short), logs: filepath.Join(m.logs, string(pod.UID)),
		poked: make(chan struct{}, 1), done: make(chan struct{}),
	}
	p.volumes = &volumes{sources: sources{m.client, pod}, dir: p.dir}
	p.prepareContainers()
	return p
}

func (m *Pods) host(ctx context.Context, pod *corev1.Pod) {
	p := m.newHosted(pod)
	m.mu.Lock()
	if _, taken := m.pods[pod.UID]; taken || m.stopped {
		m.mu.Unlock()
		return
	}
	if p.address = m.freeAddress(pod); p.address == "" {
		m.mu.Unlock()
		p.event(corev1.EventTypeWarning, "NoAddress", "every address of %s.0.0/16 is taken", processNetwork)
		return
	}
	m.seen++
	p.seen = m.seen
	m.pods[pod.UID] = p
	m.mu.Unlock()
	if names := unreal(pod); len(names) > 0 {
		p.event(corev1.EventTypeNormal, "EmptyVolume", "volumes %v are empty directories here", names)
	}
	go p.serve(ctx)
}

// freeAddress keeps the address of a pod that had one, and gives out one that
// no other pod has, with mu held; none if all are taken.
func (m *Pods) freeAddress(pod *corev1.Pod) string {
	taken := map[string]bool{}
	for _, p := range m.pods {
		taken[p.address] = true
	}
	if ip := pod.Status.PodIP; ip != "" && !taken[ip] {
		return ip
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(pod.UID)) // never fails
	for i := range uint32(1 << 16) {
		n := hash.Sum32() + i
		address := fmt.Sprintf("%s.%d.%d", processNetwork, n>>8&0xff, n&0xff)
		if n&0xff != 0 && n&0xff != 0xff && !taken[address] {
			return address
		}
	}
	return ""
}

// gone ends a pod that is no longer in the cluster, without asking anybody.
func (m *Pods) gone(o any) {
	if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = last.Obj
	}
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	if p := m.byUID(pod.UID); p != nil {
		now := pod.DeepCopy()
		now.DeletionTimestamp, now.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now()}, new(int64)
		p.see(now)
	} else if pod.Annotations[ProcessAnnotation] == ProcessMarked {
		m.dropLogs(string(pod.UID)) // of one that was over when the cluster started
	}
}

func (m *Pods) dropLogs(uid string) {
	if err := os.RemoveAll(filepath.Join(m.logs, uid)); err != nil {
		m.log.Printf("remove the logs of pod %s: %v", uid, err)
	}
}

func (m *Pods) forget(p *hostedPod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.pods, p.uid)
}

// all are the pods that are served now, by namespace and name.
func (m *Pods) all() []*hostedPod {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.pods), func(a, b *hostedPod) int {
		return slices.Compare([]string{a.namespace, a.name}, []string{b.namespace, b.name})
	})
}

// List describes the containers that programs serve.
func (m *Pods) List() []state.Process {
	var list []state.Process
	for _, p := range m.all() {
		for _, c := range p.containers {
			list = append(list, c.describe())
		}
	}
	return list
}

// Shutdown ends all programs, while the API server still answers them: they
// may have a lease to give back. Those that take too long are killed with the
// control plane.
func (m *Pods) Shutdown() {
	m.mu.Lock()
	stop := m.stopping
	m.stopped = true
	m.mu.Unlock()
	if stop == nil {
		return
	}
	pods := m.all()
	stop()
	late := time.NewTimer(stopGrace)
	defer late.Stop()
	for _, p := range pods {
		select {
		case <-p.done:
		case <-late.C:
			for _, p := range pods {
				p.kill()
			}
			return
		}
	}
}

// Outlast returns a context that ends like ctx, but after all programs.
func (m *Pods) Outlast(ctx context.Context) context.Context {
	after, end := context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		m.Shutdown()
		end(context.Cause(ctx))
	})
	return after
}

// dropOrphanLogs removes the logs of pods that went while the cluster stood.
func (m *Pods) dropOrphanLogs(pods corelisters.PodLister) {
	entries, err := os.ReadDir(m.logs)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			m.log.Printf("look for old logs: %v", err)
		}
		return
	}
	list, err := pods.List(labels.Everything())
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.Name() == state.OrphansDir {
			continue
		}
		if !slices.ContainsFunc(list, func(p *corev1.Pod) bool { return string(p.UID) == e.Name() }) {
			m.dropLogs(e.Name())
		}
	}
}
