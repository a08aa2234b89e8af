package hostpods

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	grpchealth "google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/record"
)

func TestProbesAskWhereThePortIs(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ok" || r.Header.Get("X-Probe") != "yes" {
			http.Error(w, "no", http.StatusTeapot)
		}
	}))
	t.Cleanup(srv.Close)
	_, digits, err := net.SplitHostPort(srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	real, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatal(err)
	}
	closed, err := freeLoopbackPort()
	if err != nil {
		t.Fatal(err)
	}
	c := &container{spec: *listening(8443)}
	at := &ports{host: map[int]int{8443: real, 1: closed}}
	get := func(path string) *corev1.HTTPGetAction {
		return &corev1.HTTPGetAction{
			Path: path, Port: intstr.FromString("p8443"), Scheme: corev1.URISchemeHTTPS, Host: "192.0.2.1",
			HTTPHeaders: []corev1.HTTPHeader{{Name: "X-Probe", Value: "yes"}},
		}
	}
	for name, tc := range map[string]struct {
		probe corev1.ProbeHandler
		want  string // of the error
	}{
		"http":              {corev1.ProbeHandler{HTTPGet: get("/ok")}, ""},
		"http that says no": {corev1.ProbeHandler{HTTPGet: get("/other")}, "statuscode: 418"},
		"tcp":               {corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(8443)}}, ""},
		"tcp, closed":       {corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(1)}}, "refused"},
		"no such port":      {corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("none")}}, "no port named none"},
		"grpc, not spoken":  {corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 1}}, "failed to connect"},
		"of no kind":        {corev1.ProbeHandler{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.ask(t.Context(), &corev1.Probe{ProbeHandler: tc.probe, TimeoutSeconds: 5}, &launch{ports: at})
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("ask() = %v, want %q", err, tc.want)
			}
		})
	}
}

// TestProbeOfGRPC asks a service for its health by name.
func TestProbeOfGRPC(t *testing.T) {
	l, err := net.Listen("tcp", loopback+":0")
	if err != nil {
		t.Fatal(err)
	}
	health, srv := grpchealth.NewServer(), grpc.NewServer()
	health.SetServingStatus("down", healthpb.HealthCheckResponse_NOT_SERVING)
	healthpb.RegisterHealthServer(srv, health)
	go func() {
		if err := srv.Serve(l); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(srv.Stop)
	c := &container{}
	at := &launch{ports: &ports{host: map[int]int{9000: l.Addr().(*net.TCPAddr).Port}}}
	for service, want := range map[string]string{"": "", "down": "NOT_SERVING", "none": "unknown service"} {
		p := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 9000, Service: &service}}, TimeoutSeconds: 60}
		if err := c.ask(t.Context(), p, at); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("service %q: %v, want %q", service, err, want)
		}
	}
}

// TestProbeCounts has a probe fail until something listens, and again after.
func TestProbeCounts(t *testing.T) {
	free, err := freeLoopbackPort()
	if err != nil {
		t.Fatal(err)
	}
	events := record.NewFakeRecorder(100)
	pod := &hostedPod{Pods: &Pods{timeouts: timeouts{eager: time.Millisecond}, events: events}, pod: &corev1.Pod{}}
	c := &container{pod: pod}
	p := &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(free)}},
		PeriodSeconds: 3600, SuccessThreshold: 3, FailureThreshold: 1,
	}
	asked := make(chan struct{})
	var verdicts []bool
	go func() {
		defer close(asked)
		c.probe(t.Context(), "Readiness", p, &launch{ports: &ports{}}, func(ok, _ bool) bool {
			verdicts = append(verdicts, ok)
			return ok
		})
	}()
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(free)))
	if err != nil {
		t.Fatal(err)
	}
	<-asked // three successes in a row, although the period is an hour
	if len(verdicts) != 1 || !verdicts[0] {
		t.Errorf("verdicts = %v", verdicts)
	}
	if len(events.Events) > 0 {
		t.Errorf("a failure before the first success was told: %s", <-events.Events)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestGrace(t *testing.T) {
	two, five := int64(2), int64(5)
	for name, tc := range map[string]struct {
		spec, deletion *int64
		want           time.Duration
	}{
		"default": {nil, nil, 30 * time.Second}, "of the pod": {&two, nil, 2 * time.Second}, "of the deletion": {&five, &two, 2 * time.Second},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionGracePeriodSeconds: tc.deletion}, Spec: corev1.PodSpec{TerminationGracePeriodSeconds: tc.spec}}
		if got := grace(pod); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
