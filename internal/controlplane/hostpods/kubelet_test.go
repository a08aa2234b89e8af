package hostpods

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/server/egressselector"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/util/cert"

	"github.com/example/mysdk/internal/cluster/state"
)

func testKubelet(t *testing.T) (*Kubelet, error) {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("kubelet", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	k, err := NewKubelet(certificate, key, log.New(io.Discard, "", 0))
	if err == nil {
		k.Processes = &Pods{client: fake.NewClientset()}
	}
	return k, err
}

func TestKubeletSaysThatPodsAreSimulated(t *testing.T) {
	k, err := testKubelet(t)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- k.Serve(ctx) }()
	dial, err := k.Lookup(egressselector.NetworkContext{})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{
		DialContext:     dial,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // as the API server's own client
	}}
	for path, want := range map[string]struct {
		code int
		text string
	}{
		"/containerLogs/default/web-1/c?tailLines=5": {http.StatusOK, "pod default/web-1 is simulated"},
		"/exec/default/web-1/c?command=ls":           {http.StatusBadRequest, "at least 1 of stdin, stdout, stderr"},
		"/attach/default/web-1/c":                    {http.StatusNotImplemented, "are simulated"},
		"/portForward/default/web-1":                 {http.StatusNotImplemented, "are simulated"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://240.1.0.1:10250"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			t.Error(err)
		}
		if resp.StatusCode != want.code || !strings.Contains(string(body), want.text) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("serve() = %v", err)
	}
	if _, err := dial(t.Context(), "tcp", "x"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("dial after the end = %v, want net.ErrClosed", err)
	}
}

// TestLogOfAPastPod: what a pod wrote that was over before the cluster was stopped
// is still there, and nobody calls the pod simulated.
func TestLogOfAPastPod(t *testing.T) {
	known, err := openPrograms(state.Layout{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	job := func(name string, phase corev1.PodPhase, marked string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Annotations: map[string]string{ProcessAnnotation: marked}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "job:v1"}}},
			Status: corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{
				Name: "c", RestartCount: 1, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}},
			}}},
		}
	}
	m := &Pods{
		Programs: known, logs: t.TempDir(), log: log.New(io.Discard, "", 0),
		client: fake.NewClientset(job("done", corev1.PodSucceeded, ProcessMarked), job("simulated", corev1.PodSucceeded, "")),
	}
	for run, text := range []string{"first", "second"} {
		name := logName(filepath.Join(m.logs, "done"), "c", int32(run))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte("2026-01-02T03:04:05Z "+text+"\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"done/c": "second\n", "done/c?previous=true": "first\n",
		"simulated/c": "(pod ns/simulated is simulated: no container runs, so there is no log)\n",
	} {
		w := httptest.NewRecorder()
		kubeletHandler(m).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/containerLogs/ns/"+path, http.NoBody))
		if got := w.Body.String(); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	m.gone(job("done", corev1.PodSucceeded, ProcessMarked))
	if left, err := os.ReadDir(m.logs); err != nil || len(left) != 0 {
		t.Errorf("the logs of the deleted pod are kept: %v, %v", left, err)
	}
}

// TestLogOfACrash: while a container that has crashed waits, the log of the crash
// is that of the previous run, too.
func TestLogOfACrash(t *testing.T) {
	c := &container{pod: &hostedPod{logs: t.TempDir()}, spec: corev1.Container{Name: "c"}}
	for run, word := range []string{"first", "second"} {
		log, err := createLog(logName(c.pod.logs, "c", int32(run)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.Write([]byte(word + "\n")); err != nil {
			t.Fatal(err)
		}
		c.run, c.log = int32(run), log
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		state    corev1.ContainerState
		run      int32
		previous string
	}{
		"it has ended":               {corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}, 1, "first\n"},
		"it backs off":               {corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: crashLoop}}, 1, "second\n"},
		"it is about to start again": {corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: crashLoop}}, 2, "second\n"},
		"it stands by":               {corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, 2, "second\n"},
	} {
		c.now.State, c.run = tc.state, tc.run
		for previous, want := range map[bool]string{false: "second\n", true: tc.previous} {
			var out bytes.Buffer
			if err := c.readLog(t.Context(), previous, logOptions{tail: -1}, &out); err != nil || out.String() != want {
				t.Errorf("%s, previous %t: %q, %v, want %q", name, previous, out.String(), err, want)
			}
		}
	}
}

func TestKubeletDialEndsWithItsContext(t *testing.T) {
	k, err := testKubelet(t)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.Dial(ctx, "tcp", "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("dial() = %v, want context.Canceled", err)
	}
}

func TestKubeletNeedsItsCertificate(t *testing.T) {
	if _, err := NewKubelet(nil, nil, log.New(io.Discard, "", 0)); err == nil {
		t.Error("newKubelet() = nil error")
	}
}
