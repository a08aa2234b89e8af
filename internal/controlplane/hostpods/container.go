package hostpods

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/ptr"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
)

// timeouts are the times by which containers are started again and watched.
// They are a kubelet's, but for the back-off: here somebody waits in front of
// the screen.
type timeouts struct {
	retry        time.Duration // what hinders a start is looked at again
	firstBackOff time.Duration // after the first failure; doubled with each further one
	lastBackOff  time.Duration
	refresh      time.Duration // volumes are compared with their objects
	eager        time.Duration // between two probes before the first success
}

func defaultTimeouts() timeouts {
	return timeouts{
		retry: 500 * time.Millisecond, firstBackOff: time.Second, lastBackOff: time.Minute,
		refresh: 5 * time.Second, eager: 100 * time.Millisecond,
	}
}

// Reasons for which a running program is stopped although its pod is not.
var (
	errProgramChanged = errors.New("another program serves its image now")
	errReplaced       = errors.New("a newer version of its owner takes over")
)

// unhealthy is the failure of a probe, with a grace of its own where it has one.
type unhealthy struct {
	probe string
	grace *int64 // in seconds
}

// Error implements error.
func (u unhealthy) Error() string { return fmt.Sprintf("its %s probe failed", u.probe) }

// container is one container of a pod that is served by a program.
type container struct {
	pod  *hostedPod
	spec corev1.Container
	init bool // it is to end before the next one starts
	// sidecar is an init container that runs beside those after it, and ends
	// after them.
	sidecar bool

	mu      sync.Mutex
	now     corev1.ContainerStatus
	pid     int
	process host.Process // nil while none runs
	run     int32        // number of its log
	meter   reading      // of that process
	log     *containerLog
	ports   *ports                  // of the process that runs; nil while none does
	halt    context.CancelCauseFunc // ends the process that runs
	stopped chan struct{}           // closed when that process has gone
	over    bool                    // it will not be started any more
	success bool                    // it ended well; valid when over

	failed   state.Program // ended by itself when it ran last; only serve uses it
	failures int           // in a row; a long run has the count begin again
}

// serve runs the container until it is over or ctx ends, which stops its
// program with the pod's grace.
func (c *container) serve(ctx context.Context) {
	if over, _ := c.ended(); over {
		return
	}
	defer c.pod.claims.drop(c) // it may still be the next one to have something
	delay := c.pod.timeouts.firstBackOff
	for again := false; ctx.Err() == nil; {
		l, ok := c.prepare(ctx)
		if !ok {
			return
		}
		if again {
			c.change(func() { c.now.RestartCount++; c.run++ })
			again = false
		}
		end := c.execute(ctx, l)
		c.pod.claims.drop(c)
		if ctx.Err() != nil {
			return
		}
		if end.cause == nil && end.code != 0 && l.flagProbe.learn(c.words(), l.added) {
			continue
		}
		if c.isOver(end) {
			return
		}
		if end.ran() > 2*c.pod.timeouts.lastBackOff || !end.isNone() && !c.sameAsFailed(l.program) {
			delay, c.failures = c.pod.timeouts.firstBackOff, 0
		}
		if !end.isNone() {
			c.failed = l.program
			c.failures++
			c.backOff(ctx, l, delay)
			delay = min(2*delay, c.pod.timeouts.lastBackOff)
		}
		again = true
	}
}

// mostFailures is how often in a row a program may fail that sends an older version
// away for each try: what it misses may come a moment after it.
const mostFailures = 3

func (c *container) sameAsFailed(p state.Program) bool {
	return c.failed.Path == p.Path && c.failed.ID == p.ID
}

// isOver reports whether a container that ended so stays ended, by the restart
// policy and its rules.
func (c *container) isOver(end ending) bool {
	if end.isNone() {
		return false
	}
	code := end.code
	if end.cause != nil {
		code = cmp.Or(code, lostCode) // it was not well, however it ended
	}
	if (!c.init || code != 0) && podutil.ContainerShouldRestart(c.spec, c.pod.latest().Spec, code) {
		return false
	}
	c.change(func() { c.over, c.success = true, end.code == 0 })
	return true
}

// prepare waits until the container can be started. ok is false when ctx ends.
func (c *container) prepare(ctx context.Context) (l *launch, ok bool) {
	told, shown := waiting{}, false // shown: also as what it became since
	for ctx.Err() == nil {
		changed := c.pod.Programs.watch()
		l, err := c.ready(ctx)
		if err == nil {
			return l, true
		}
		var why waiting
		if !errors.As(err, &why) {
			why = waiting{"CreateContainerError", err.Error()}
		}
		if why != told {
			c.wait(why)
			c.tellWaiting(why)
			told, shown = why, false
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(c.pod.timeouts.retry):
		}
		if why.reason == "ErrImagePull" && !shown {
			c.wait(waiting{"ImagePullBackOff", why.message})
			shown = true
		}
	}
	return nil, false
}

// ready returns how to start the container now, or why it has to wait.
func (c *container) ready(ctx context.Context) (*launch, error) {
	pod := c.pod.latest()
	whose := ownerOf(pod)
	program, found := c.pod.Programs.find(c.spec.Image, whose.name)
	switch {
	case !found:
		return nil, waiting{"ErrImagePull", fmt.Sprintf("no program serves image %q on this cluster", c.spec.Image)}
	case program.Problem != "":
		return nil, waiting{"ErrImagePull", program.Problem}
	}
	l, err := c.launchOf(ctx, program)
	if err != nil {
		return nil, err
	}
	me := holder{
		container: c, owner: whose, created: pod.CreationTimestamp.Time, seen: c.pod.seen,
		failed: c.failures >= mostFailures && c.sameAsFailed(program),
	}
	inTheWay, err := c.pod.claims.take(me, l.claimed(me.owner))
	if err != nil {
		return nil, err
	}
	if inTheWay != nil {
		c.pod.event(corev1.EventTypeNormal, "Replacing", "stopping pod %s first: only one process can have what both need", inTheWay.pod.name)
		inTheWay.stop(ctx, errReplaced)
		return c.ready(ctx)
	}
	return l, nil
}

func (c *container) tellWaiting(why waiting) {
	switch why.reason {
	case "ErrImagePull":
		c.pod.event(corev1.EventTypeWarning, "Failed", "Failed to pull image %q: %s", c.spec.Image, why.message)
	case standby:
		c.pod.event(corev1.EventTypeNormal, standby, "Stands by for its replica: %s", why.message)
	case "ContainerCreating":
		c.pod.event(corev1.EventTypeWarning, "FailedMount", "%s", why.message)
	default:
		c.pod.event(corev1.EventTypeWarning, "Failed", "Error: %s", why.message)
	}
}

// backOff waits before the next start of a program that ended, unless another
// program serves the image meanwhile.
func (c *container) backOff(ctx context.Context, l *launch, delay time.Duration) {
	why := waiting{crashLoop, fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)",
		delay, c.spec.Name, c.pod.name, c.pod.namespace, c.pod.uid)}
	c.wait(why)
	c.pod.event(corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container %s in pod %s_%s(%s)",
		c.spec.Name, c.pod.name, c.pod.namespace, c.pod.uid)
	limited, cancel := context.WithTimeout(ctx, delay)
	defer cancel()
	c.otherProgram(limited, l)
}

// stop ends the process that runs, if one does, and returns when it has gone.
func (c *container) stop(ctx context.Context, cause error) {
	c.mu.Lock()
	halt, stopped := c.halt, c.stopped
	c.mu.Unlock()
	if halt == nil {
		return
	}
	halt(cause)
	select {
	case <-stopped:
	case <-ctx.Done():
	}
}

func (c *container) wait(why waiting) {
	c.change(func() {
		if why.reason == standby {
			c.to(corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now().Rfc3339Copy()}})
			c.now.Ready, c.now.Started = true, ptr.To(true)
			return
		}
		c.to(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: why.reason, Message: why.message}})
		c.now.Ready = false
	})
}

// to makes s the container's state, with mu held. How it ended stays to be
// seen in the next states.
func (c *container) to(s corev1.ContainerState) {
	if c.now.State.Terminated != nil {
		c.now.LastTerminationState = c.now.State
	}
	c.now.State = s
}

// change changes the container's state and has the pod's status follow.
func (c *container) change(f func()) {
	c.mu.Lock()
	f()
	c.mu.Unlock()
	c.pod.poke()
}

func (c *container) status() corev1.ContainerStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *c.now.DeepCopy()
}

// words are the first and the last ones of its program.
func (c *container) words() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.log == nil {
		return ""
	}
	return c.log.ends()
}

// ended reports whether the container is over, and how.
func (c *container) ended() (over, success bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over, c.success
}

// started reports whether the next container in line may start beside it.
func (c *container) started() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now.State.Running != nil && ptr.Deref(c.now.Started, false)
}

func (c *container) describe() state.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := state.Process{
		Namespace: c.pod.namespace, Pod: c.pod.name, Container: c.spec.Name, Image: c.spec.Image,
		PID: c.pid, Ready: c.now.Ready, Restarts: int(c.now.RestartCount), State: "running",
	}
	if c.process == nil && c.now.State.Running != nil {
		p.State = "standby"
	}
	if w := c.now.State.Waiting; w != nil {
		p.State, p.Reason, p.Message = "waiting", w.Reason, w.Message
	}
	if t := c.now.State.Terminated; t != nil {
		p.State, p.Reason, p.Message = "terminated", t.Reason, t.Message
	}
	return p
}

// begin takes over what the pod's status has about the container: this process
// may not be the first that serves the pod. What is over stays so; init containers
// and sidecars only where all else is, done, as what they made for it is gone.
func (c *container) begin(old corev1.ContainerStatus, done bool) {
	c.now = corev1.ContainerStatus{Name: c.spec.Name, Image: c.spec.Image, Started: new(bool)}
	c.now.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	c.now.RestartCount, c.now.LastTerminationState = old.RestartCount, old.LastTerminationState
	end := old.State.Terminated
	if old.State.Running != nil && old.ContainerID != "" {
		end = &corev1.ContainerStateTerminated{
			Reason: "Unknown", ExitCode: lostCode, StartedAt: old.State.Running.StartedAt, FinishedAt: metav1.Now().Rfc3339Copy(),
			Message: "the cluster was stopped", ContainerID: old.ContainerID,
		}
	}
	again := c.init && end != nil && end.ExitCode == 0
	switch {
	case end != nil && (done || !again && c.isOver(ending{code: end.ExitCode})):
		c.over, c.success = true, end.ExitCode == 0
		c.now.State, c.now.ImageID, c.now.ContainerID = corev1.ContainerState{Terminated: end}, old.ImageID, old.ContainerID
	case end != nil:
		c.now.LastTerminationState.Terminated = end
		c.now.RestartCount++ // which serve counts with the next run
	case old.State.Waiting != nil && old.LastTerminationState.Terminated != nil:
		c.now.RestartCount++
	}
	c.run = c.now.RestartCount
}

// crashLoop is the reason for which a container waits that has failed.
const crashLoop = "CrashLoopBackOff"

// lostCode is the exit code of a program whose end nobody saw, as in a kubelet.
const lostCode = 137

// grace is what the container has between being asked to stop and being killed.
func grace(pod *corev1.Pod) time.Duration {
	seconds := ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	return time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, seconds)) * time.Second
}
