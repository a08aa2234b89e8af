package hostpods

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/ptr"

	"github.com/example/mysdk/internal/host"
)

// hostedPod is a pod of which programs serve at least one container.
type hostedPod struct {
	*Pods
	namespace, name string
	uid             types.UID
	seen            int    // index of the pod in arrival order
	address         string // in the pods' network, which is there in name only
	dir             string // volumes, roots and kubeconfigs
	logs            string // what its containers wrote
	volumes         *volumes
	containers      []*container

	mu    sync.Mutex
	pod   *corev1.Pod // as last seen
	fate  string      // why nothing of it runs any more; empty while something may
	poked chan struct{}
	done  chan struct{} // closed when nothing of it is left on this machine
}

func (p *hostedPod) latest() *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pod
}

func (p *hostedPod) see(pod *corev1.Pod) {
	p.mu.Lock()
	p.pod = pod
	p.mu.Unlock()
	p.poke()
}

// conclude says that nothing of the pod runs any more, and why: the first reason
// counts.
func (p *hostedPod) conclude(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fate = cmp.Or(p.fate, why)
}

// concluded is why nothing of the pod runs any more; empty while something may.
func (p *hostedPod) concluded() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fate
}

// poke has the pod looked at again.
func (p *hostedPod) poke() {
	select {
	case p.poked <- struct{}{}:
	default: // it is going to be anyway
	}
}

func (p *hostedPod) event(kind, reason, format string, args ...any) {
	p.events.Eventf(p.latest(), kind, reason, format, args...)
}

// prepareContainers finds out which containers programs serve: those whose
// image has one; where the pod was marked and none has, all of them, so that it
// shows what is missing.
func (p *hostedPod) prepareContainers() {
	pod := p.latest()
	whose, all := ownerOf(pod).name, !p.served(pod)
	prepare := func(list []corev1.Container, old []corev1.ContainerStatus, init, done bool) (made []*container) {
		for _, spec := range list {
			if _, found := p.Programs.find(spec.Image, whose); !found && (!all || init) {
				continue
			}
			sidecar := init && podutil.IsRestartableInitContainer(&spec)
			c := &container{pod: p, spec: spec, init: init && !sidecar, sidecar: sidecar}
			c.begin(podutil.GetExistingContainerStatus(old, spec.Name), done)
			if len(pod.Spec.InitContainers) > 0 && c.now.State.Waiting != nil {
				c.now.State.Waiting.Reason = "PodInitializing"
			}
			made = append(made, c)
		}
		return made
	}
	p.containers = prepare(pod.Spec.Containers, pod.Status.ContainerStatuses, false, over(pod))
	done := len(p.containers) == len(pod.Spec.Containers) && !p.unfinished()
	p.containers = append(prepare(pod.Spec.InitContainers, pod.Status.InitContainerStatuses, true, done), p.containers...)
}

// unfinished reports whether a container may run yet, or run again.
func (p *hostedPod) unfinished() bool {
	return slices.ContainsFunc(p.containers, func(c *container) bool {
		over, _ := c.ended()
		return !over && !c.sidecar
	})
}

// serve runs the pod until it is deleted or ctx ends, and leaves nothing of it
// on this machine but, where ctx has ended, its logs.
func (p *hostedPod) serve(ctx context.Context) {
	defer close(p.done)
	alive, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := p.runContainers(alive)
	var timeout time.Duration
	for {
		pod := p.latest()
		if g := grace(pod); pod.DeletionTimestamp != nil && (alive.Err() == nil || g < timeout) {
			cancel()
			timeout = g
			defer time.AfterFunc(g, p.kill).Stop() // at most a few: only ever shorter ones
		}
		if ctx.Err() == nil {
			p.publish(ctx)
		}
		select {
		case <-p.poked:
			continue
		case <-ended:
		}
		break
	}
	if ctx.Err() == nil {
		p.conclude("deleted") // for those whose finalizers it waits for
		p.publish(ctx)
	}
	p.leave(ctx)
}

// deadlineExceeded is the reason of a pod that has had its time, as in a kubelet.
const deadlineExceeded = "DeadlineExceeded"

// runContainers runs all of them for as long as the pod may. The channel is closed
// when none runs any more and none will.
func (p *hostedPod) runContainers(ctx context.Context) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		limited, cancel := ctx, func() {}
		if pod := p.latest(); pod.Spec.ActiveDeadlineSeconds != nil {
			since := ptr.Deref(pod.Status.StartTime, metav1.Now())
			limited, cancel = context.WithDeadline(ctx, since.Add(time.Duration(*pod.Spec.ActiveDeadlineSeconds)*time.Second))
		}
		defer cancel()
		p.work(limited)
		if errors.Is(limited.Err(), context.DeadlineExceeded) {
			p.conclude(deadlineExceeded)
			p.poke()
		}
		<-ctx.Done() // a pod whose containers are all over stays as it is
	}()
	return ended
}

// work runs the init containers one after the other, then all others side by side;
// sidecars from their turn on, until those have ended.
func (p *hostedPod) work(ctx context.Context) {
	if p.volumes.changing() {
		refreshing, cancel := context.WithCancel(ctx)
		var beside sync.WaitGroup
		defer beside.Wait()
		defer cancel()
		beside.Go(func() { p.refresh(refreshing) })
	}
	sidecars := &sidecars{ctx: context.WithoutCancel(ctx)}
	defer sidecars.stop()
	if !p.unfinished() || !p.initialize(ctx, sidecars) {
		return
	}
	var work sync.WaitGroup
	simulated := len(p.latest().Spec.Containers)
	for _, c := range p.containers {
		if !c.init && !c.sidecar {
			simulated--
			work.Go(func() { c.serve(ctx) })
		}
	}
	work.Wait()
	if simulated > 0 {
		<-ctx.Done()
	}
}

// initialize runs the init containers and reports whether all others may start.
func (p *hostedPod) initialize(ctx context.Context, s *sidecars) bool {
	for _, c := range p.containers {
		switch {
		case c.sidecar:
			s.start(c)
			for !c.started() {
				if !host.Pause(ctx, p.timeouts.eager) {
					return false
				}
			}
		case c.init:
			c.serve(ctx)
			if _, success := c.ended(); !success {
				return false
			}
		}
	}
	return true
}

// sidecars are those of a pod that run, in the order of their start.
type sidecars struct {
	ctx  context.Context // outlives the pod's deletion
	ends []func()
}

func (s *sidecars) start(c *container) {
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.serve(ctx)
	}()
	s.ends = append(s.ends, func() { cancel(); <-done })
}

// stop ends the last one first.
func (s *sidecars) stop() {
	for _, end := range slices.Backward(s.ends) {
		end()
	}
}

// refresh keeps the volumes as the objects that they are made of.
func (p *hostedPod) refresh(ctx context.Context) {
	for host.Pause(ctx, p.timeouts.refresh) {
		if err := p.volumes.fill(ctx, p.latest()); err != nil && ctx.Err() == nil {
			p.log.Printf("refresh the volumes of pod %s/%s: %v", p.namespace, p.name, err)
		}
	}
}

// leave ends the pod on this machine, and in the cluster where it is being
// deleted.
func (p *hostedPod) leave(ctx context.Context) {
	if err := os.RemoveAll(p.dir); err != nil {
		p.log.Printf("remove the volumes of pod %s/%s: %v", p.namespace, p.name, err)
	}
	if ctx.Err() != nil {
		return // the control plane ends; the pod comes back with it
	}
	p.dropLogs(string(p.uid))
	p.Pods.forget(p)
	p.Pods.remove(ctx, p.namespace, p.name, p.uid)
}

// kill ends all of its processes at once.
func (p *hostedPod) kill() {
	for _, c := range p.containers {
		c.mu.Lock()
		if c.process != nil {
			_ = c.process.Kill() // it may have ended by itself
		}
		c.mu.Unlock()
	}
}

// remove deletes a pod of which nothing runs any more. It is tried until it is
// done: nobody else will.
func (m *Pods) remove(ctx context.Context, namespace, name string, uid types.UID) {
	for {
		err := m.client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{
			GracePeriodSeconds: ptr.To(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(uid)),
		})
		// A conflict says that another pod has the name by now.
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) || ctx.Err() != nil {
			return
		}
		m.log.Printf("delete pod %s/%s: %v", namespace, name, err)
		if !host.Pause(ctx, m.timeouts.retry) {
			return
		}
	}
}

// find returns the container of that name; an error where it is simulated.
func (p *hostedPod) find(name string) (*container, error) {
	for _, c := range p.containers {
		if c.spec.Name == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("container %s of pod %s/%s is simulated: nothing runs in it", name, p.namespace, p.name)
}
