package hostpods

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/ptr"

	"github.com/example/mysdk/internal/cluster/state"
)

// scripted are pods of scripts, with nobody but a fake API server around them.
type scripted struct {
	*Pods
	t      *testing.T
	client *fake.Clientset
	events *record.FakeRecorder
	end    context.CancelFunc // as the stop of the cluster does
}

// runs serves a pod until the test ends. Each container's image is the text of its
// script.
func runs(t *testing.T, pod *corev1.Pod) *scripted {
	t.Helper()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("no shell")
	}
	dir := t.TempDir()
	known, err := openPrograms(state.Layout{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i, c := range list {
			script := filepath.Join(dir, c.Name)
			if err := os.WriteFile(script, []byte("#!/bin/sh\n"+c.Image+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			list[i].Image = "scripts/" + c.Name
			if err := known.set(state.Program{Image: list[i].Image, Path: script}); err != nil {
				t.Fatal(err)
			}
		}
	}
	pod.Namespace, pod.Name, pod.UID = "ns", "p", "0000000a-0000"
	short := defaultTimeouts()
	short.firstBackOff = 10 * time.Millisecond
	ctx, end := context.WithCancel(t.Context())
	s := &scripted{t: t, client: fake.NewClientset(pod), events: record.NewFakeRecorder(1000), end: end}
	s.client.PrependReactor("update", "pods", s.refuse)
	s.Pods = &Pods{
		client: s.client, Programs: known, getenv: os.Getenv, log: log.New(t.Output(), "", 0), events: s.events, timeouts: short,
		dir: filepath.Join(dir, "run"), logs: filepath.Join(dir, "logs"), left: state.Layout{Dir: dir}.Orphans(), pods: map[types.UID]*hostedPod{},
	}
	s.host(ctx, pod)
	t.Cleanup(func() {
		s.end()
		for _, p := range s.all() {
			<-p.done
		}
	})
	return s
}

// refuse holds a status to what the API server does: what is over by the pod's policy
// stays ended.
func (s *scripted) refuse(a k8stesting.Action) (bool, runtime.Object, error) {
	now := a.(k8stesting.UpdateAction).GetObject().(*corev1.Pod)
	o, err := s.client.Tracker().Get(a.GetResource(), "ns", "p")
	if err != nil {
		return true, nil, err
	}
	was := o.(*corev1.Pod)
	allNow, allWas := slices.Concat(now.Status.InitContainerStatuses, now.Status.ContainerStatuses), slices.Concat(was.Status.InitContainerStatuses, was.Status.ContainerStatuses)
	for i, c := range slices.Concat(was.Spec.InitContainers, was.Spec.Containers) {
		if len(allWas) > 0 && allWas[i].State.Terminated != nil && allNow[i].State.Terminated == nil &&
			!podutil.ContainerShouldRestart(c, was.Spec, allWas[i].State.Terminated.ExitCode) {
			s.t.Errorf("the status of container %s goes from %+v to %+v", c.Name, allWas[i].State, allNow[i].State)
		}
	}
	return false, nil, nil
}

// restart does what a stop and a start of the cluster do.
func (s *scripted) restart() {
	s.t.Helper()
	p := s.hosted("ns", "p")
	s.end()
	<-p.done
	s.forget(p)
	pod, err := s.client.CoreV1().Pods("ns").Get(s.t.Context(), "p", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, end := context.WithCancel(s.t.Context())
	s.end = end
	s.host(ctx, pod)
}

// one is a pod of one script.
func one(policy corev1.RestartPolicy, script string) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: policy, Containers: []corev1.Container{{Name: "c", Image: script}}}}
}

// await waits for the status of the pod, as its API server has it, to pass.
func (s *scripted) await(what string, pass func(corev1.PodStatus) bool) corev1.PodStatus {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		pod, err := s.client.CoreV1().Pods("ns").Get(s.t.Context(), "p", metav1.GetOptions{})
		if err != nil {
			s.t.Fatalf("%s: %v", what, err)
		}
		if len(pod.Status.ContainerStatuses) > 0 && pass(pod.Status) {
			return pod.Status
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s: the status is %+v", what, pod.Status)
		}
	}
}

// awaitLog waits until a container has written text, in any of its runs.
func (s *scripted) awaitLog(container, text string) {
	s.t.Helper()
	s.await(fmt.Sprintf("container %s says %s", container, text), func(corev1.PodStatus) bool { return s.said(container, text) })
}

// said reports whether a container has written text, in any of its runs.
func (s *scripted) said(container, text string) bool {
	files, err := filepath.Glob(filepath.Join(s.logs, "*", container, "*.log"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && strings.Contains(string(data), text) {
			return true
		}
	}
	return false
}

// delete has the pod be one that is deleted with this grace.
func (s *scripted) delete(seconds int64) {
	pod := s.hosted("ns", "p").latest().DeepCopy()
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = ptr.To(metav1.Now()), &seconds
	s.see(s.t.Context(), pod)
}

func isTerminated(s corev1.PodStatus) bool {
	return s.ContainerStatuses[0].State.Terminated != nil
}

// TestCrashIsSeenAtOnce although a child that is left holds the output open: what the
// child is asked for is not the container's grace.
func TestCrashIsSeenAtOnce(t *testing.T) {
	s := runs(t, one(corev1.RestartPolicyNever, "sleep 300 & echo last words; exit 3"))
	ended := s.await("it has ended", isTerminated).ContainerStatuses[0].State.Terminated
	if took := ended.FinishedAt.Sub(ended.StartedAt.Time); took > 20*time.Second || ended.ExitCode != 3 || ended.Message != "last words" {
		t.Errorf("it ended after %s with %+v", took, ended)
	}
}

// TestGraces are those of the moment: a deletion or a probe may have one of its own.
func TestGraces(t *testing.T) {
	const slow = "trap 'sleep 3; exit 0' TERM; echo up; while :; do sleep 0.1; done"
	t.Run("longer for the deletion", func(t *testing.T) {
		pod := one("", slow)
		pod.Spec.TerminationGracePeriodSeconds = ptr.To(int64(1))
		s := runs(t, pod)
		s.awaitLog("c", "up")
		c := s.hosted("ns", "p").containers[0]
		s.delete(60)
		<-c.pod.done
		if end := c.status().State.Terminated; end.ExitCode != 0 {
			t.Errorf("it ended so: %+v", end)
		}
	})
	t.Run("shorter for a probe", func(t *testing.T) {
		pod := one(corev1.RestartPolicyNever, "trap '' TERM; echo up; while :; do sleep 0.1; done")
		pod.Spec.Containers[0].LivenessProbe = &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(1)}},
			PeriodSeconds: 1, TerminationGracePeriodSeconds: ptr.To(int64(1)),
		}
		ended := runs(t, pod).await("it has ended", isTerminated).ContainerStatuses[0].State.Terminated
		if took := ended.FinishedAt.Sub(ended.StartedAt.Time); took > 20*time.Second || ended.ExitCode != lostCode {
			t.Errorf("it ended after %s with %+v", took, ended)
		}
	})
}

// TestLastStatus of a pod that is deleted is there, with its phase: whoever has a
// finalizer on it waits for that.
func TestLastStatus(t *testing.T) {
	for want, script := range map[corev1.PodPhase]string{
		corev1.PodSucceeded: "trap 'exit 0' TERM; echo up; while :; do sleep 0.1; done",
		corev1.PodFailed:    "trap 'exit 1' TERM; echo up; while :; do sleep 0.1; done",
	} {
		for range 5 {
			s := runs(t, one(corev1.RestartPolicyAlways, script))
			s.awaitLog("c", "up")
			p := s.hosted("ns", "p")
			s.client.PrependReactor("delete", "pods", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
			s.delete(60)
			<-p.done
			pod, err := s.client.CoreV1().Pods("ns").Get(t.Context(), "p", metav1.GetOptions{})
			if err != nil || pod.Status.Phase != want || !isTerminated(pod.Status) {
				t.Errorf("the status is %+v, %v", pod.Status, err)
			}
		}
	}
}

func TestActiveDeadline(t *testing.T) {
	pod := one(corev1.RestartPolicyAlways, "trap 'exit 0' TERM; while :; do sleep 0.1; done")
	pod.Spec.ActiveDeadlineSeconds = ptr.To(int64(1))
	s := runs(t, pod)
	status := s.await("it has failed", func(s corev1.PodStatus) bool { return s.Phase == corev1.PodFailed })
	if status.Reason != "DeadlineExceeded" || !isTerminated(status) {
		t.Errorf("the status is %+v", status)
	}
	if s.hosted("ns", "p") == nil {
		t.Error("its logs are gone with it")
	}
	p := s.hosted("ns", "p")
	s.delete(0)
	<-p.done
}

// TestWhatIsOverStaysSo when the cluster is stopped and started.
func TestWhatIsOverStaysSo(t *testing.T) {
	const first, serves = "echo first; exit 0", "echo up; while :; do sleep 0.1; done"
	t.Run("a run that was cut off", func(t *testing.T) {
		pod := one(corev1.RestartPolicyNever, serves)
		pod.Spec.InitContainers = []corev1.Container{{Name: "init", Image: first}}
		s := runs(t, pod)
		s.awaitLog("c", "up")
		s.await("it runs", func(s corev1.PodStatus) bool { return s.Phase == corev1.PodRunning })
		s.restart()
		status := s.await("it has failed", func(s corev1.PodStatus) bool { return s.Phase == corev1.PodFailed })
		if c := status.ContainerStatuses[0]; c.RestartCount != 0 || c.State.Terminated.ExitCode != lostCode || status.InitContainerStatuses[0].State.Terminated == nil {
			t.Errorf("the status is %+v", status)
		}
	})
	t.Run("one of two", func(t *testing.T) {
		pod := one(corev1.RestartPolicyOnFailure, first)
		pod.Spec.InitContainers = []corev1.Container{{Name: "init", Image: first}}
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "other", Image: serves})
		s := runs(t, pod)
		s.await("one runs and one has ended", func(s corev1.PodStatus) bool { return isTerminated(s) && s.ContainerStatuses[1].State.Running != nil })
		s.restart()
		status := s.await("the other one runs again", func(s corev1.PodStatus) bool {
			return s.ContainerStatuses[1].RestartCount == 1 && s.ContainerStatuses[1].State.Running != nil
		})
		if c := status.ContainerStatuses[0]; !isTerminated(status) || c.RestartCount != 0 || c.State.Terminated.Reason != "Completed" || status.InitContainerStatuses[0].RestartCount != 1 {
			t.Errorf("the status is %+v", status)
		}
	})
}

// TestAnotherProgram of a pod that runs once: its run goes on, and is no end.
func TestAnotherProgram(t *testing.T) {
	s := runs(t, one(corev1.RestartPolicyNever, "echo up; while :; do sleep 0.1; done"))
	s.awaitLog("c", "up")
	s.await("it runs", func(s corev1.PodStatus) bool { return s.Phase == corev1.PodRunning })
	program, _ := s.Programs.find("scripts/c", "")
	program.ID = "another"
	if err := s.Programs.set(program); err != nil {
		t.Fatal(err)
	}
	s.await("it runs again", func(s corev1.PodStatus) bool {
		c := s.ContainerStatuses[0]
		return c.State.Running != nil && c.ImageID == "another" && c.LastTerminationState.Terminated != nil && s.Phase == corev1.PodRunning
	})
}

// TestFilesOfACrash are not there when it starts again, but those in volumes are.
func TestFilesOfACrash(t *testing.T) {
	pod := one(corev1.RestartPolicyOnFailure, `set -C; echo >$TMPDIR/lock && if [ -e $KEPT/file ]; then exit 0; fi; echo >$KEPT/file; exit 1`)
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/tmp/kept"}}
	pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "KEPT", Value: "/tmp/kept"}}
	status := runs(t, pod).await("it has ended twice", func(s corev1.PodStatus) bool {
		return s.ContainerStatuses[0].RestartCount > 1 || isTerminated(s) && s.ContainerStatuses[0].RestartCount == 1
	})
	if end := status.ContainerStatuses[0].State.Terminated; end == nil || end.ExitCode != 0 {
		t.Errorf("the status is %+v", status)
	}
}

func TestSocketsHaveRoom(t *testing.T) {
	m := &Pods{dir: filepath.Join("run", Dir), Programs: &programs{}}
	p := m.newHosted(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "12345678-1234-1234-1234-123456789012"}})
	t.Chdir(t.TempDir())
	root, _, err := p.volumes.mount(&corev1.Container{Name: "manager"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if socket, want := filepath.Join(root, "tmp", "op.sock"), filepath.Join("run", TypicalSocket); len(socket) != len(want) {
		t.Errorf("a socket is at %s, not as short as %s", socket, want)
	}
}

// TestOldLogsGo with the run after the next one.
func TestOldLogsGo(t *testing.T) {
	s := runs(t, one(corev1.RestartPolicyOnFailure, "echo run; exit 1"))
	s.await("it has crashed three times", func(s corev1.PodStatus) bool { return s.ContainerStatuses[0].RestartCount >= 3 })
	first := logName(s.hosted("ns", "p").logs, "c", 0)
	if _, err := os.Stat(first); !os.IsNotExist(err) {
		t.Errorf("the log of the first run is kept: %v", err)
	}
	if !s.said("c", "run") {
		t.Error("so is none")
	}
}

func TestHooks(t *testing.T) {
	const serves = "trap 'exit 0' TERM; echo up; while :; do sleep 0.1; done"
	t.Run("before the end", func(t *testing.T) {
		pod := one("", serves)
		pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 2}}}
		s := runs(t, pod)
		s.awaitLog("c", "up")
		p, begin := s.hosted("ns", "p"), time.Now()
		s.delete(60)
		<-p.done
		if took := time.Since(begin); took < 2*time.Second || p.containers[0].status().State.Terminated.ExitCode != 0 {
			t.Errorf("it ended after %s with %+v", took, p.containers[0].status())
		}
	})
	t.Run("after the start", func(t *testing.T) {
		pod := one(corev1.RestartPolicyNever, serves)
		pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt(1)}}}
		ended := runs(t, pod).await("it has ended", isTerminated).ContainerStatuses[0].State.Terminated
		if !strings.Contains(ended.Message, "its PostStart hook failed: ") {
			t.Errorf("it ended with %+v", ended)
		}
	})
}
