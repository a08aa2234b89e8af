package cluster

import (
	"os"
	"testing"
	"time"

	"github.com/example/mysdk/internal/host/hosttest"
)

// The kills are spread over a whole start, of a new cluster and of one that holds
// data by turns. The next start does not wait for the killed server's end.
func TestKill_ClusterStart(t *testing.T) {
	h := realHost(t)
	binary, err := Binary(t.Context(), h, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	l, err := layoutOf(h, "one")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Name: "one"}
	o.complete()
	began := time.Now()
	start(t, h, o)
	whole := time.Since(began)
	rounds := hosttest.KillRounds(t, 2)
	for i := range rounds {
		if stopped, err := Stop(t.Context(), h, o.Name); err != nil || !stopped {
			t.Fatalf("Stop() = %v, %v", stopped, err)
		}
		if i%2 == 0 {
			if _, err := Reset(t.Context(), h, o.Name); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.MkdirAll(l.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		after := hosttest.KillMoment(i, rounds, whole)
		s, err := spawn(t.Context(), h, l, binary, o)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		hosttest.KillProcess(t, s.process.Pid())
		info, err := Start(t.Context(), h, o)
		if err != nil {
			t.Fatalf("start after a kill after %s: %v", after, err)
		}
		c := newClient(t, info)
		c.get("/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings/system:controller:token-cleaner")
		c.get("/api/v1/nodes/node-1")
	}
}
