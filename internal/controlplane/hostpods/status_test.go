package hostpods

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/ptr"

	"github.com/example/mysdk/internal/cluster/state"
)

func TestPhaseOf(t *testing.T) {
	first := corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}
	again := first
	again.LastTerminationState = terminated(1).State
	for name, tc := range map[string]struct {
		containers []corev1.ContainerStatus
		unfinished bool
		want       corev1.PodPhase
	}{
		"not yet started":   {[]corev1.ContainerStatus{running(true), first}, true, corev1.PodPending},
		"starts again":      {[]corev1.ContainerStatus{running(true), again}, true, corev1.PodRunning},
		"runs":              {[]corev1.ContainerStatus{running(false)}, true, corev1.PodRunning},
		"ended, comes back": {[]corev1.ContainerStatus{terminated(0)}, true, corev1.PodRunning},
		"ended":             {[]corev1.ContainerStatus{terminated(0)}, false, corev1.PodSucceeded},
		"failed":            {[]corev1.ContainerStatus{terminated(0), terminated(1)}, false, corev1.PodFailed},
		"one is simulated":  {[]corev1.ContainerStatus{terminated(0), running(true)}, false, corev1.PodRunning},
	} {
		if got := phaseOf(corev1.PodStatus{ContainerStatuses: tc.containers}, tc.unfinished); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestSimulatedCrashGoesOn: a pod that crashes is started again and again, so that a Job
// reaches its limit.
func TestSimulatedCrashGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", Annotations: map[string]string{state.SimulateAnnotation: state.SimulateCrash}},
			Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyOnFailure, Containers: []corev1.Container{{Name: "c"}}},
		})
		s := &simulations{Pods: &Pods{client: client, events: record.NewFakeRecorder(10)}}
		for i, want := range []struct {
			after    time.Duration
			restarts int32
		}{{0, 1}, {time.Second, 2}, {time.Second, 2}, {time.Second, 3}, {4 * time.Second, 4}, {8 * time.Second, 5}, {16 * time.Second, 6}} {
			time.Sleep(want.after)
			again, err := s.simulate(t.Context(), types.NamespacedName{Namespace: "ns", Name: "web"})
			pod, getErr := client.CoreV1().Pods("ns").Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil || getErr != nil || !again {
				t.Fatal(again, err, getErr)
			}
			if c := pod.Status.ContainerStatuses[0]; c.RestartCount != want.restarts || c.State.Waiting.Reason != crashLoop || pod.Status.Phase != corev1.PodRunning {
				t.Errorf("look %d: %d restarts, want %d; phase %s", i, c.RestartCount, want.restarts, pod.Status.Phase)
			}
		}
	})
}

func TestConditions(t *testing.T) {
	then := metav1.NewTime(time.Unix(1000, 0))
	gates := []corev1.PodReadinessGate{{ConditionType: "open"}}
	first := []corev1.Container{{Name: "first"}}
	for name, tc := range map[string]struct {
		spec       corev1.PodSpec
		containers []corev1.ContainerStatus
		gate       corev1.ConditionStatus
		want       string // of ContainersReady and Ready
	}{
		"ready":           {corev1.PodSpec{}, []corev1.ContainerStatus{running(true)}, "", "True True"},
		"not ready":       {corev1.PodSpec{}, []corev1.ContainerStatus{running(true), running(false)}, "", "False False"},
		"not initialized": {corev1.PodSpec{InitContainers: first}, []corev1.ContainerStatus{running(true)}, "", "False False"},
		"gate closed":     {corev1.PodSpec{ReadinessGates: gates}, []corev1.ContainerStatus{running(true)}, "False", "True False"},
		"gate open":       {corev1.PodSpec{ReadinessGates: gates}, []corev1.ContainerStatus{running(true)}, "True", "True True"},
	} {
		s := corev1.PodStatus{ContainerStatuses: tc.containers, Conditions: []corev1.PodCondition{
			{Type: "open", Status: tc.gate}, {Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: then},
		}}
		for _, c := range tc.spec.InitContainers {
			s.InitContainerStatuses = append(s.InitContainerStatuses, corev1.ContainerStatus{Name: c.Name})
		}
		for i := range s.ContainerStatuses {
			s.ContainerStatuses[i].Name = strconv.Itoa(i)
			tc.spec.Containers = append(tc.spec.Containers, corev1.Container{Name: strconv.Itoa(i)})
		}
		conditions(&s, &corev1.Pod{Spec: tc.spec})
		got := map[corev1.PodConditionType]corev1.PodCondition{}
		for _, c := range s.Conditions {
			got[c.Type] = c
		}
		ready := got[corev1.PodReady]
		if text := string(got[corev1.ContainersReady].Status + " " + ready.Status); text != tc.want {
			t.Errorf("%s: %s, want %s", name, text, tc.want)
		}
		if same := ready.LastTransitionTime.Equal(&then); same != (ready.Status == corev1.ConditionTrue) {
			t.Errorf("%s: the last transition was at %s", name, ready.LastTransitionTime)
		}
		if got["open"].Status != tc.gate {
			t.Errorf("%s: another's condition has changed", name)
		}
	}
}

// TestReasons has the words of a kubelet, by which tools tell pods apart.
func TestReasons(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "first"}, {Name: "beside", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}},
		Containers:     []corev1.Container{{Name: "main"}},
	}}
	named := func(name string, s corev1.ContainerStatus) corev1.ContainerStatus { s.Name = name; return s }
	waits, ended, begun := named("first", corev1.ContainerStatus{}), named("first", terminated(0)), corev1.ContainerStatus{Name: "beside", Started: ptr.To(true)}
	for want, s := range map[string]corev1.PodStatus{
		"PodFailed, ":                {Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{named("main", terminated(1))}, InitContainerStatuses: []corev1.ContainerStatus{ended, begun}},
		"PodCompleted, PodCompleted": {Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{named("main", terminated(0))}, InitContainerStatuses: []corev1.ContainerStatus{ended, begun}},
		"ContainersNotReady, ContainersNotInitialized: containers with incomplete status: [first]": {
			Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{waits, begun},
		},
		"ContainersNotReady, ContainersNotInitialized: containers with incomplete status: [beside]": {
			Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{ended, {Name: "beside"}},
		},
	} {
		conditions(&s, pod)
		_, ready := podutil.GetPodCondition(&s, corev1.PodReady)
		_, initialized := podutil.GetPodCondition(&s, corev1.PodInitialized)
		got := ready.Reason + ", " + initialized.Reason
		if initialized.Message != "" {
			got += ": " + initialized.Message
		}
		if got != want {
			t.Errorf("%s: %s, want %s", s.Phase, got, want)
		}
	}
}

func TestNodeAddress(t *testing.T) {
	for name, want := range map[string]string{"node-1": "240.1.0.1", "node-3": "240.1.0.3", "mine": "240.1.0.1", "node-999": "240.1.0.1"} {
		if got := nodeAddress(name); got != want {
			t.Errorf("%s is at %s, want %s", name, got, want)
		}
	}
}

// TestFirstWait: a container behind init containers waits for those.
func TestFirstWait(t *testing.T) {
	known, err := openPrograms(state.Layout{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	m := &Pods{Programs: known, logs: t.TempDir()}
	for want, inits := range map[string][]corev1.Container{"ContainerCreating": nil, "PodInitializing": {{Name: "first"}}} {
		p := m.newHosted(&corev1.Pod{Spec: corev1.PodSpec{InitContainers: inits, Containers: []corev1.Container{{Name: "c"}}}})
		if got := p.containers[0].status().State.Waiting.Reason; got != want {
			t.Errorf("with %d init containers: %s, want %s", len(inits), got, want)
		}
	}
}
