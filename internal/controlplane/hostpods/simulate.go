package hostpods

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/utils/ptr"

	"github.com/example/mysdk/internal/cluster/state"
)

// simulatedBecause begins the message of the condition Ready of a pod that was
// made to look so.
const simulatedBecause = "simulated: "

// simulations are the pods whose annotation keeps KWOK from making them Ready.
type simulations struct {
	*Pods
	queue workqueue.TypedDelayingInterface[types.NamespacedName]
}

// concerns reports whether a pod is to look different from one that runs, or
// does so no longer.
func (s *simulations) concerns(pod *corev1.Pod) bool {
	ours := func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && strings.HasPrefix(c.Message, simulatedBecause)
	}
	return pod.Annotations[state.SimulateAnnotation] != "" || slices.ContainsFunc(pod.Status.Conditions, ours)
}

func (s *simulations) see(pod *corev1.Pod) {
	s.queue.Add(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
}

// run has the pods look as they are to until ctx ends.
func (s *simulations) run(ctx context.Context) {
	defer context.AfterFunc(ctx, s.queue.ShutDown)()
	for key, ended := s.queue.Get(); !ended; key, ended = s.queue.Get() {
		again, err := s.simulate(ctx, key)
		if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
			again = true
			if !apierrors.IsConflict(err) {
				s.log.Printf("simulate pod %s: %v", key, err)
			}
		}
		if again {
			s.queue.AddAfter(key, s.timeouts.retry)
		}
		s.queue.Done(key)
	}
}

// simulate brings one pod up to date; again has it looked at later.
func (s *simulations) simulate(ctx context.Context, key types.NamespacedName) (again bool, err error) {
	pods := s.client.CoreV1().Pods(key.Namespace)
	pod, err := pods.Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil || pod.DeletionTimestamp != nil || pod.Annotations[ProcessAnnotation] == ProcessMarked || over(pod) || !s.concerns(pod) {
		return false, err
	}
	what := pod.Annotations[state.SimulateAnnotation]
	var why waiting
	if what == state.SimulateConfig && !errors.As(s.configured(ctx, pod), &why) || what != "" && !state.Simulates(what) {
		what = ""
	}
	status := simulatedStatus(pod, what, why)
	if !equality.Semantic.DeepEqual(status, pod.Status) {
		now := pod.DeepCopy()
		now.Status = status
		if _, err := pods.UpdateStatus(ctx, now, metav1.UpdateOptions{}); err != nil {
			return false, err
		}
		s.tell(pod, what, why)
	}
	if asked := pod.Annotations[state.SimulateAnnotation]; what == "" && asked != "" {
		if !state.Simulates(asked) {
			s.events.Eventf(pod, corev1.EventTypeWarning, "InvalidAnnotation", "%s: %q is not one of %s", state.SimulateAnnotation, asked, strings.Join(state.Simulations(), ", "))
		}
		patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":{%q:null}}}`, pod.UID, state.SimulateAnnotation)
		_, err = pods.Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	return what == state.SimulateConfig || what == state.SimulateCrash, err
}

func (s *simulations) tell(pod *corev1.Pod, what string, why waiting) {
	reason, message := "", ""
	switch {
	case why.reason == "ContainerCreating":
		reason, message = "FailedMount", why.message
	case why.reason != "":
		reason, message = "Failed", "Error: "+why.message
	case what == state.SimulateCrash && pod.Spec.RestartPolicy != corev1.RestartPolicyNever:
		reason, message = "BackOff", "Back-off restarting failed container (simulated)"
	case what == state.SimulatePullError:
		reason, message = "Failed", "Failed to pull image (simulated)"
	case what == state.SimulateNotReady:
		reason, message = "Unhealthy", "Readiness probe failed (simulated)"
	default:
		return
	}
	s.events.Event(pod, corev1.EventTypeWarning, reason, message)
}

// configured returns a waiting that says which Secret, ConfigMap or key of one
// a pod lacks. Tokens and the cluster's CA are always on their way.
func (m *Pods) configured(ctx context.Context, pod *corev1.Pod) error {
	v := &volumes{sources: sources{m.client, pod}}
	for _, volume := range pod.Spec.Volumes {
		if p := volume.Projected; p != nil && slices.ContainsFunc(p.Sources, func(s corev1.VolumeProjection) bool { return s.ServiceAccountToken != nil }) {
			continue
		}
		if _, _, err := v.files(ctx, &volume); err != nil {
			return waiting{"ContainerCreating", fmt.Sprintf("MountVolume.SetUp failed for volume %q: %v", volume.Name, err)}
		}
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if _, err := v.variables(ctx, &c); err != nil {
			return waiting{"CreateContainerConfigError", err.Error()}
		}
	}
	return nil
}

// simulatedStatus is the status of a pod that is to look like what. For "" it
// is that of one which has not started yet, which KWOK then starts.
func simulatedStatus(pod *corev1.Pod, what string, why waiting) corev1.PodStatus {
	if what == "" {
		s := *pod.Status.DeepCopy()
		// KWOK adds an address to those that are there.
		s.Phase, s.PodIP, s.PodIPs = corev1.PodPending, "", nil
		s.InitContainerStatuses, s.ContainerStatuses = nil, nil
		s.Conditions = slices.DeleteFunc(s.Conditions, func(c corev1.PodCondition) bool {
			return slices.Contains([]corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady}, c.Type)
		})
		return s
	}
	s := begun(pod)
	var bare hostedPod // with no container that a program serves
	for _, c := range pod.Spec.InitContainers {
		status := bare.containerStatus(pod, &c, s.StartTime, true)
		if why.reason != "" {
			status = notRunning(status, waiting{reason: "PodInitializing"})
		}
		s.InitContainerStatuses = append(s.InitContainerStatuses, status)
	}
	for i, c := range pod.Spec.Containers {
		var old corev1.ContainerStatus
		if i < len(pod.Status.ContainerStatuses) {
			old = pod.Status.ContainerStatuses[i]
		}
		s.ContainerStatuses = append(s.ContainerStatuses, simulatedContainer(bare.containerStatus(pod, &c, s.StartTime, false), old, pod.Spec.RestartPolicy, what, why))
	}
	s.Phase = phaseOf(s, pod.Spec.RestartPolicy != corev1.RestartPolicyNever)
	conditions(&s, pod)
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Type == corev1.PodReady {
			c.Message = simulatedBecause + what
		}
	}
	return s
}

// simulatedContainer changes the status of a container that runs.
func simulatedContainer(c, old corev1.ContainerStatus, policy corev1.RestartPolicy, what string, why waiting) corev1.ContainerStatus {
	c.RestartCount, c.LastTerminationState = old.RestartCount, old.LastTerminationState
	switch what {
	case state.SimulateConfig:
		return notRunning(c, why)
	case state.SimulatePullError:
		return notRunning(c, waiting{"ImagePullBackOff", fmt.Sprintf("Back-off pulling image %q: simulated", c.Image)})
	case state.SimulateCrash:
		end := &corev1.ContainerStateTerminated{
			ExitCode: 1, Reason: "Error", Message: "simulated", StartedAt: c.State.Running.StartedAt, FinishedAt: metav1.Now().Rfc3339Copy(),
		}
		if policy == corev1.RestartPolicyNever {
			c = notRunning(c, waiting{})
			c.State = corev1.ContainerState{Terminated: end}
			return c
		}
		if crashesNow(old) {
			c.RestartCount++
			c.LastTerminationState.Terminated = end
		}
		return notRunning(c, waiting{crashLoop, "back-off restarting failed container: simulated"})
	}
	c.Ready = false
	return c
}

// crashesNow reports whether a container has yet to crash for the first time, or has
// been started again since it did: after the back-off of one that a program serves.
func crashesNow(old corev1.ContainerStatus) bool {
	last := old.LastTerminationState.Terminated
	if last == nil || old.State.Waiting == nil || old.State.Waiting.Reason != crashLoop {
		return true
	}
	t := defaultTimeouts()
	return time.Since(last.FinishedAt.Time) >= min(t.firstBackOff<<min(max(old.RestartCount, 1)-1, 6), t.lastBackOff)
}

func notRunning(c corev1.ContainerStatus, why waiting) corev1.ContainerStatus {
	c.Ready, c.Started = false, ptr.To(false)
	c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: why.reason, Message: why.message}}
	return c
}

// awaitConfig marks a pod at its creation that names Secrets or ConfigMaps: it
// is not to run before they are seen to be there.
func awaitConfig(pod *core.Pod) {
	if pod.Annotations[state.SimulateAnnotation] != "" {
		return
	}
	found := false
	visit := func(string) bool { found = true; return false }
	podutil.VisitPodSecretNames(pod, visit, podutil.AllContainers)
	podutil.VisitPodConfigmapNames(pod, visit, podutil.AllContainers)
	if found {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, state.SimulateAnnotation, state.SimulateConfig)
	}
}
