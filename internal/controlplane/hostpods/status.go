package hostpods

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/kubelet/status"
	"k8s.io/utils/ptr"
)

// publish writes the pod's status where it is not what it should be. Failures
// are logged and tried again with the next change.
func (p *hostedPod) publish(ctx context.Context) {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		pod, err := p.client.CoreV1().Pods(p.namespace).Get(ctx, p.name, metav1.GetOptions{})
		if err != nil || pod.UID != p.uid {
			return err
		}
		status := p.statusOf(pod)
		if equality.Semantic.DeepEqual(status, pod.Status) {
			return nil
		}
		pod.Status = status
		_, err = p.client.CoreV1().Pods(p.namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
		p.log.Printf("write the status of pod %s/%s: %v", p.namespace, p.name, err)
		time.AfterFunc(p.timeouts.retry, p.poke)
	}
}

// statusOf is the status of the pod as its containers are now.
func (p *hostedPod) statusOf(pod *corev1.Pod) corev1.PodStatus {
	s := begun(pod)
	s.HostIP = nodeAddress(pod.Spec.NodeName)
	s.HostIPs = []corev1.HostIP{{IP: s.HostIP}}
	s.PodIP, s.PodIPs = p.address, []corev1.PodIP{{IP: p.address}}
	for _, c := range pod.Spec.InitContainers {
		s.InitContainerStatuses = append(s.InitContainerStatuses, p.containerStatus(pod, &c, s.StartTime, true))
	}
	for _, c := range pod.Spec.Containers {
		s.ContainerStatuses = append(s.ContainerStatuses, p.containerStatus(pod, &c, s.StartTime, false))
	}
	s.Phase = phaseOf(s, p.unfinished())
	if p.initFailed() {
		s.Phase = corev1.PodFailed
	}
	if why := p.concluded(); why != "" {
		conclude(&s)
		if why == deadlineExceeded {
			s.Phase, s.Reason, s.Message = corev1.PodFailed, why, "Pod was active on the node longer than the specified deadline"
		}
	}
	conditions(&s, pod)
	return s
}

// begun is the status of a pod on its node, before its containers are in it.
func begun(pod *corev1.Pod) corev1.PodStatus {
	s := *pod.Status.DeepCopy()
	s.ObservedGeneration = pod.Generation
	if s.StartTime == nil {
		s.StartTime = ptr.To(metav1.Now().Rfc3339Copy())
	}
	s.InitContainerStatuses, s.ContainerStatuses = nil, nil
	return s
}

// initFailed reports whether an init container has failed for good: no other
// container is going to start.
func (p *hostedPod) initFailed() bool {
	return slices.ContainsFunc(p.containers, func(c *container) bool {
		over, success := c.ended()
		return c.init && over && !success
	})
}

// containerStatus is the status of one container: what its program does, or
// the simulation of a container that has none.
func (p *hostedPod) containerStatus(pod *corev1.Pod, c *corev1.Container, since *metav1.Time, init bool) corev1.ContainerStatus {
	if served, err := p.find(c.Name); err == nil {
		now := served.status()
		was, _ := podutil.GetContainerStatus(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), c.Name)
		// The API server takes no end back that is one by the pod's policy, such as
		// that of an init container which runs again after a start of the cluster.
		if end := was.State.Terminated; end != nil && now.State.Terminated == nil && !podutil.ContainerShouldRestart(*c, pod.Spec, end.ExitCode) {
			now.State = was.State
		}
		return now
	}
	s := corev1.ContainerStatus{Name: c.Name, Image: c.Image, Ready: true, Started: ptr.To(true)}
	if init && !podutil.IsRestartableInitContainer(c) {
		s.Started = ptr.To(false)
		s.State.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: *since, FinishedAt: *since}
		return s
	}
	s.State.Running = &corev1.ContainerStateRunning{StartedAt: *since}
	return s
}

// phaseOf sums up the containers as a kubelet does; unfinished says that one of
// them may run yet, or run again.
func phaseOf(s corev1.PodStatus, unfinished bool) corev1.PodPhase {
	waiting, ended, failed := 0, 0, 0
	for _, c := range s.ContainerStatuses {
		switch {
		case c.State.Terminated != nil:
			ended++
			if c.State.Terminated.ExitCode != 0 {
				failed++
			}
		case c.State.Waiting != nil && c.LastTerminationState.Terminated == nil:
			waiting++
		}
	}
	switch {
	case waiting > 0:
		return corev1.PodPending
	case unfinished, ended < len(s.ContainerStatuses):
		return corev1.PodRunning
	case failed > 0:
		return corev1.PodFailed
	}
	return corev1.PodSucceeded
}

// conclude makes s the status of a pod of which nothing runs any more, in the way of
// a kubelet. What was simulated has ended well.
func conclude(s *corev1.PodStatus) {
	s.Phase = corev1.PodSucceeded
	for i := range s.ContainerStatuses {
		c := &s.ContainerStatuses[i]
		c.Ready, c.Started = false, new(bool)
		switch {
		case c.State.Running != nil:
			at := c.State.Running.StartedAt
			c.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: at, FinishedAt: at}}
		case c.State.Waiting != nil && c.LastTerminationState.Terminated != nil:
			c.State, c.LastTerminationState = c.LastTerminationState, corev1.ContainerState{}
		case c.State.Waiting != nil:
			c.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				Reason: "ContainerStatusUnknown", ExitCode: lostCode, Message: "it did not run when the pod was terminated",
			}}
		}
		if c.State.Terminated.ExitCode != 0 {
			s.Phase = corev1.PodFailed
		}
	}
}

// conditions sets the conditions that a kubelet sets, and leaves others.
func conditions(s *corev1.PodStatus, pod *corev1.Pod) {
	for i := range s.InitContainerStatuses {
		c := &s.InitContainerStatuses[i]
		c.Ready = c.Ready || c.State.Terminated != nil && c.State.Terminated.ExitCode == 0
	}
	// Of the init containers alone: a simulated container runs at once, which a
	// kubelet would take for the end of them.
	initialized := status.GeneratePodInitializedCondition(pod, s, s.InitContainerStatuses, s.Phase)
	for i := range s.ContainerStatuses {
		s.ContainerStatuses[i].Ready = s.ContainerStatuses[i].Ready && initialized.Status == corev1.ConditionTrue
	}
	all := slices.Concat(s.InitContainerStatuses, s.ContainerStatuses)
	network := corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue, ObservedGeneration: pod.Generation}
	if podutil.IsPodPhaseTerminal(s.Phase) {
		network.Status = corev1.ConditionFalse
	}
	for _, c := range []corev1.PodCondition{
		network, initialized, status.GenerateContainersReadyCondition(pod, s, all, s.Phase),
		status.GeneratePodReadyCondition(pod, s, s.Conditions, all, s.Phase),
	} {
		podutil.UpdatePodCondition(s, &c)
	}
}
