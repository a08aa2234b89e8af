package doctor_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/example/mysdk/internal/cluster/clustertest"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/doctor"
)

// cluster makes the directory of an embedded cluster with that state.
func (p *patient) cluster(s state.State) state.Layout {
	p.t.Helper()
	l := state.New(p.Env["MYSDK_STATE_DIR"], s.Name)
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := l.Write(s); err != nil {
		p.t.Fatal(err)
	}
	return l
}

// serve plays the server of a cluster, which says s over its control socket.
func (p *patient) serve(s state.Status) {
	p.t.Helper()
	l, running := clustertest.Serve(p.t, p.Host, s.Name, func() any { return s })
	s.PID, s.ProcessStart, s.Socket = running.PID, running.ProcessStart, running.Socket
	p.cluster(s.State)
	lock, err := l.Lock(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = lock.Release() })
}

func TestEmbedded(t *testing.T) {
	const name = "embedded cluster default"
	runs := state.Status{State: state.State{Name: "default", Server: "https://127.0.0.1:1", Kubernetes: "v1.36.3", Build: "v1.2.3"}, Ready: true}
	for caseName, tt := range map[string]struct {
		change func(*patient)
		want   want
	}{
		"runs": {func(p *patient) { p.serve(runs) }, want{name, doctor.OK, "runs at https://127.0.0.1:1, Kubernetes v1.36.3", ""}},
		"of another version": {
			func(p *patient) { p.o.Build = "v2.0.0"; p.serve(runs) }, want{name, doctor.Warning, "started by mysdk v1.2.3, and this is v2.0.0", "mysdk cluster stop, and"},
		},
		"not ready": {
			func(p *patient) {
				s := runs
				s.Ready, s.Failed = false, "the scheduler has ended"
				p.serve(s)
			}, want{name, doctor.Warning, "not ready: the scheduler has ended", "mysdk cluster logs"},
		},
		"not ready yet": {
			func(p *patient) {
				s := runs
				s.Ready = false
				p.serve(s)
			}, want{name, doctor.Warning, "it does not say why", "mysdk cluster logs"},
		},
		"killed": {
			func(p *patient) { p.cluster(state.State{Name: "dev", PID: 1 << 22, ProcessStart: "0"}) },
			want{"embedded cluster dev", doctor.Warning, "its server was killed", "mysdk cluster start --cluster dev"},
		},
		"stopped": {func(p *patient) { p.cluster(state.State{Name: "default", Port: 20001}) }, want{name, doctor.OK, "stopped", ""}},
		"stopped, and its port is taken": {
			func(p *patient) {
				p.cluster(state.State{Name: "default", Port: 20001})
				p.o.System.PortInUse = func(_ context.Context, port int) bool { return port == 20001 }
			}, want{name, doctor.Warning, "its port 20001", "--merge --cluster default"},
		},
		"clusters that cannot be listed": {
			func(p *patient) {
				if err := os.WriteFile(state.Root(p.Env["MYSDK_STATE_DIR"]), nil, 0o600); err != nil {
					p.t.Fatal(err)
				}
			}, want{"embedded cluster", doctor.Problem, "list the clusters", "state directory"},
		},
	} {
		t.Run(caseName, func(t *testing.T) {
			p := healthy(t)
			tt.change(p)
			p.expect(tt.want)
		})
	}
}

// TestPorts asks the system for a port that is taken, and for one that is not.
func TestPorts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := healthy(t)
	p.cluster(state.State{Name: "default", Port: l.Addr().(*net.TCPAddr).Port})
	p.o.System.PortInUse = nil
	p.expect(want{"embedded cluster default", doctor.Warning, "something else has its port", "end what listens there"})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	p.expect(want{"embedded cluster default", doctor.OK, "stopped", ""})
}

func TestLeftovers(t *testing.T) {
	const name = "webhooks of run local"
	for caseName, tt := range map[string]struct {
		journal string
		want    want
	}{
		"killed": {
			`{"project":"/home/me/shop","changed":[{"kind":"ValidatingWebhookConfiguration","name":"shop"}]}`,
			want{name, doctor.Warning, "a run of /home/me/shop was killed and left ValidatingWebhookConfiguration shop", "mysdk run local --restore"},
		},
		"garbled": {"{", want{name, doctor.Problem, "op.json", "remove that file"}},
	} {
		t.Run(caseName, func(t *testing.T) {
			p := healthy(t)
			dir := filepath.Join(p.Env["MYSDK_STATE_DIR"], "run-local", "some-cluster")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "op.json"), []byte(tt.journal), 0o600); err != nil {
				t.Fatal(err)
			}
			p.expect(tt.want)
		})
	}
}

func TestNamed(t *testing.T) {
	const name = "named cluster"
	asked := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.Method != http.MethodGet || r.URL.Path != "/version" {
			t.Errorf("asked for %s %s", r.Method, r.URL)
		}
		fmt.Fprint(w, `{"gitVersion":"v1.30.0"}`)
	}))
	defer api.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	kubeconfig := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"prod",
"clusters":[{"name":"a","cluster":{"server":%q}},{"name":"b","cluster":{"server":%q}}],
"contexts":[{"name":"prod","context":{"cluster":"a"}},{"name":"kind-dev","context":{"cluster":"a"}},{"name":"gone","context":{"cluster":"b"}}]}`, api.URL, gone.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for caseName, tt := range map[string]struct {
		change func(*patient)
		asked  bool
		want   want
	}{
		"not named": {func(p *patient) { p.Env["KUBECONFIG"] = kubeconfig }, false, want{name, doctor.OK, "KUBECONFIG=" + kubeconfig + " alone", ""}},
		"by a file": {func(p *patient) { p.o.Kubeconfig = kubeconfig }, true, want{name, doctor.Warning, "refuse to write there without its name", "--context prod"}},
		"by a file, and allowed": {
			func(p *patient) { p.o.Kubeconfig, p.o.Allowed = kubeconfig, []string{"prod"} }, true, want{name, doctor.OK, "context prod, server " + api.URL + ", Kubernetes v1.30.0", ""},
		},
		"by its context": {
			func(p *patient) { p.Env["KUBECONFIG"] = kubeconfig; p.o.Context = "kind-dev" }, true, want{name, doctor.OK, "context kind-dev", ""},
		},
		"that does not answer": {func(p *patient) { p.o.Kubeconfig, p.o.Context = kubeconfig, "gone" }, false, want{name, doctor.Problem, "connect to context gone", "start that cluster"}},
		"that does not exist":  {func(p *patient) { p.o.Kubeconfig, p.o.Context = kubeconfig, "kind-dv" }, false, want{name, doctor.Problem, "kind-dv", `did you mean "kind-dev"`}},
	} {
		t.Run(caseName, func(t *testing.T) {
			p := healthy(t)
			tt.change(p)
			asked = 0
			p.expect(tt.want)
			if (asked > 0) != tt.asked {
				t.Errorf("the cluster was asked %d times", asked)
			}
		})
	}
}
