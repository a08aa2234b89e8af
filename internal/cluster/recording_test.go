package cluster

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/recording"
)

const (
	secrets      = "/api/v1/namespaces/default/secrets"
	operatorUser = "system:serviceaccount:shop-system:shop"
)

// recordAs begins to record the requests of a user, and returns the way to the
// server and a client of that user.
func recordAs(tb testing.TB, info *Info, control state.Control, groups ...string) *client {
	tb.Helper()
	data, err := control.Kubeconfig(tb.Context(), state.User{Name: operatorUser, Groups: groups})
	if err != nil {
		tb.Fatal(err)
	}
	file := filepath.Join(tb.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	return newClient(tb, &Info{Kubeconfig: file, Server: info.Server})
}

// record records until the test ends, whatever project reports.
func record(tb testing.TB, control state.Control) (stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	began, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		// It ends with ctx, which is an error.
		_ = control.Record(ctx, operatorUser, "", func() { close(began) })
	}()
	<-began
	return func() { cancel(); <-ended }
}

// recordsRequests: who asked for what, what changed, and what is no longer noted
// when nobody records.
func recordsRequests(t *testing.T, c *hosted) {
	info, admin := c.cluster, newClient(t, c.cluster)
	control, err := Control(t.Context(), c.host, info.Name)
	if err != nil {
		t.Fatal(err)
	}
	op := recordAs(t, info, control, "system:masters")
	limited := recordAs(t, info, control)
	op.post(configMaps, object{"metadata": object{"name": "before"}})
	stop := record(t, control)

	// The operator's own writes and reads, with a line and a call.
	op.post(configMaps, object{"metadata": object{"name": "a"}, "data": object{"k": "1"}})
	op.do(http.MethodPatch, configMaps+"/a", object{"data": object{"k": "2"}})
	op.do(http.MethodPatch, configMaps+"/a", object{"data": object{"k": "2"}})
	op.get(configMaps + "/a")
	for range 2 {
		op.do(http.MethodPatch, configMaps+"/b?fieldManager=op", object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "b"}})
	}
	op.post(secrets, object{"metadata": object{"name": "s"}, "stringData": object{"password": "hunter2"}})
	op.do(http.MethodPatch, secrets+"/s", object{"stringData": object{"password": "hunter3"}})
	for range 2 { // the second time there is none
		op.del(secrets + "?fieldSelector=metadata.name%3Ds")
	}
	if _, code, _ := op.try(http.MethodPost, configMaps, object{"metadata": object{"name": "a"}}); code != http.StatusConflict {
		t.Errorf("a second ConfigMap a: %d", code)
	}
	// Others: writes that changed something.
	admin.get(configMaps + "/a")
	admin.do(http.MethodPatch, configMaps+"/a", object{"metadata": object{"ownerReferences": []object{{"apiVersion": "v1", "kind": "Shop", "name": "x", "uid": "1"}}}})
	admin.do(http.MethodPatch, configMaps+"/a", object{"data": object{"k": "2"}})
	admin.del(configMaps + "/a")
	// A right that is missing.
	if _, code, _ := limited.try(http.MethodGet, "/api/v1/nodes", nil); code != http.StatusForbidden {
		t.Errorf("nodes: %d", code)
	}

	refused, err := control.Refused(t.Context(), "/shop", 0, time.Minute)
	if err != nil || len(refused) != 1 || refused[0].Right.String() != "list nodes" || refused[0].Denied != 1 {
		t.Errorf("refused: %+v %v", refused, err)
	}
	rec, err := control.Recording(t.Context(), recording.Position{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	checkRecording(t, rec)
	stop()
	for rec.Active { // until the server has seen that nobody listens
		if rec, err = control.Recording(t.Context(), recording.Position{Request: rec.Next}, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	op.post(configMaps, object{"metadata": object{"name": "after"}})
	if rec, err = control.Recording(t.Context(), recording.Position{}, 0); err != nil || rec.Active || strings.Contains(summary(rec), "after") {
		t.Errorf("after the end: active %v, %v\n%s", rec.Active, err, summary(rec))
	}
}

// summary is a line for each request.
func summary(rec recording.Recording) string {
	var b strings.Builder
	for _, q := range rec.Requests {
		b.WriteString(q.Verb + " " + q.Target() + " " + q.Effect())
		if q.User == operatorUser {
			b.WriteString(" *")
		}
		if q.Applied {
			b.WriteString(" applied")
		}
		for _, c := range q.Changes {
			b.WriteString(" " + c.Path)
		}
		for _, o := range q.Owners {
			b.WriteString(" of " + o.Kind + "/" + o.Name)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func checkRecording(t *testing.T, rec recording.Recording) {
	t.Helper()
	got := summary(rec)
	for _, line := range []string{
		"create ConfigMap a created *\n",
		"patch ConfigMap a changed * data.k\n",
		"patch ConfigMap a unchanged *\n",
		"patch ConfigMap b created * applied\n",
		"patch ConfigMap b unchanged * applied\n",
		"get configmaps a",
		"create Secret s created *\n",
		"patch Secret s changed * data.password\n",
		"deletecollection Secret  deleted *\n",
		"deletecollection Secret  unchanged *\n",
		"create ConfigMap a refused *\n",
		"patch ConfigMap a changed metadata.ownerReferences of Shop/x\n",
		"delete ConfigMap a deleted of Shop/x\n",
		"list nodes",
	} {
		if strings.Count(got, line) != 1 {
			t.Errorf("not once: %s", line)
		}
	}
	for _, other := range []string{"before", "patch ConfigMap a unchanged\n", "leases"} {
		if strings.Contains(got, other) {
			t.Errorf("recorded: %s", other)
		}
	}
	for _, q := range rec.Requests {
		if strings.Contains(q.Message+summary(recording.Recording{Requests: []recording.Request{q}}), "hunter") {
			t.Errorf("a Secret leaks: %+v", q)
		}
		for _, c := range q.Changes {
			if s, ok := c.New.(string); ok && (strings.Contains(s, "hunter") || strings.Contains(s, "aHVudGVyMw")) {
				t.Errorf("a Secret leaks: %+v", c)
			}
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

// BenchmarkRecording compares writes of an operator without and with a
// recording: s/off and s/on are for 200 of them.
func BenchmarkRecording(b *testing.B) {
	const writes = 200
	h := realHost(b)
	info, _ := start(b, h, Options{Name: "bench", Progress: func(string) {}})
	control, err := Control(b.Context(), h, "bench")
	if err != nil {
		b.Fatal(err)
	}
	op := recordAs(b, info, control, "system:masters")
	op.post(configMaps, object{"metadata": object{"name": "a"}})
	round := func(n int) time.Duration {
		began := time.Now()
		for i := range writes {
			op.do(http.MethodPatch, configMaps+"/a", object{"data": object{"k": strings.Repeat("x", i+n)}})
			op.get(configMaps + "/a")
		}
		return time.Since(began)
	}
	round(0) // warms up
	var off, on time.Duration
	for b.Loop() {
		off += round(1)
		stop := record(b, control)
		on += round(2)
		stop()
	}
	b.ReportMetric(off.Seconds()/float64(b.N), "s/off")
	b.ReportMetric(on.Seconds()/float64(b.N), "s/on")
	b.ReportMetric(100*(on.Seconds()/off.Seconds()-1), "%-slower")
}
