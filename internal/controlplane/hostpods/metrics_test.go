package hostpods

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/example/mysdk/internal/cluster/state"
)

// TestMetricsAPI asks for metrics as the API server passes requests on.
func TestMetricsAPI(t *testing.T) {
	pod := func(name string, phase corev1.PodPhase, annotations map[string]string) *corev1.Pod {
		running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Annotations: annotations, Labels: map[string]string{"app": name}},
			Spec:       corev1.PodSpec{NodeName: "node-1"},
			Status: corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{
				{Name: "a", State: running}, {Name: "b", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}},
			}},
		}
	}
	m := &Pods{client: fake.NewClientset(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}},
		pod("idle", corev1.PodRunning, nil), pod("pending", corev1.PodPending, nil),
		pod("busy", corev1.PodRunning, map[string]string{state.CPUAnnotation: "1.5", state.MemoryAnnotation: "1Gi"}),
		pod("odd", corev1.PodRunning, map[string]string{state.CPUAnnotation: "much"}),
	)}
	handler := (&Kubelet{Processes: m}).handler()
	const base = "/apis/metrics.k8s.io/v1beta1"
	for path, want := range map[string]struct {
		code  int
		texts []string
	}{
		base:                                    {200, []string{`"name":"nodes"`, `"name":"pods"`, `"kind":"PodMetrics"`}},
		base + "/namespaces/shop/pods/idle":     {200, []string{`"name":"idle"`, `"containers":[{"name":"a","usage":{"cpu":"1m","memory":"16Mi"}}]`}},
		base + "/namespaces/shop/pods/busy":     {200, []string{`"usage":{"cpu":"1500m","memory":"1Gi"}`}},
		base + "/namespaces/shop/pods/odd":      {200, []string{`"cpu":"1m"`}},
		base + "/namespaces/shop/pods":          {200, []string{`"kind":"PodMetricsList"`, `"name":"idle"`, `"name":"busy"`}},
		base + "/pods?labelSelector=app%3Dbusy": {200, []string{`"items":[{"kind":"PodMetrics","apiVersion":"metrics.k8s.io/v1beta1","metadata":{"name":"busy"`}},
		base + "/nodes/node-1":                  {200, []string{`"usage":{"cpu":"1502m","memory":"1056Mi"}`}},
		base + "/nodes":                         {200, []string{`"name":"node-1"`}},
		base + "/namespaces/shop/pods/pending":  {404, []string{`pods.metrics.k8s.io \"shop/pending\" not found`}},
		base + "/namespaces/shop/pods/none":     {404, []string{`not found`}},
		base + "/nodes/none":                    {404, []string{`not found`}},
		base + "/pods?watch=true":               {405, []string{"watch is not supported"}},
		"/openapi/v2":                           {404, nil},
		"/apis":                                 {404, nil},
		"/containerLogs/shop/idle/a":            {200, []string{"is simulated"}},
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		if w.Code != want.code {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		compact := strings.NewReplacer("\n", "", "  ", "", `": `, `":`).Replace(w.Body.String())
		for _, text := range want.texts {
			if !strings.Contains(compact, text) {
				t.Errorf("%s: %q is missing in %s", path, text, w.Body)
			}
		}
	}
}

// TestUsageOfAProcess measures this one.
func TestUsageOfAProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are measured on Linux only")
	}
	used, memory := ProcessUsage(os.Getpid())
	if used <= 0 || memory < 1<<20 {
		t.Fatalf("processUsage() = %s, %d", used, memory)
	}
	began := time.Now()
	c := &container{pid: os.Getpid(), meter: reading{at: began}}
	if u := c.usage(began.Add(used)); u.cpu < 1000 || u.memory < 1<<20 {
		t.Errorf("usage since the start: %+v, and it had a processor for itself", u)
	}
	if c.meter.at != began && used < MeterWindow {
		t.Error("a short time counts as a reading")
	}
	later := began.Add(time.Hour)
	c.usage(later)
	if u := c.usage(later.Add(time.Hour)); u.cpu > 10 {
		t.Errorf("an hour after a reading it uses %+v", u)
	}
	if u := (&container{}).usage(later); u != (usage{}) {
		t.Errorf("what does not run uses %+v", u)
	}
	if got := fmt.Sprint(ProcessUsage(1 << 30)); got != "0s 0" {
		t.Errorf("a process that is not there uses %s", got)
	}
}
