package recorder

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/recording"
)

// TestBounds: the oldest requests go, the newest stay, and numbers go on.
func TestBounds(t *testing.T) {
	r := New()
	defer r.Begin("op", "/shop", time.Now())()
	const more = 1000
	for i := range maxRequests + more {
		r.add(recording.Request{Name: fmt.Sprint(i)}, 0)
	}
	now, _ := r.Snapshot(recording.Position{})
	if n := len(now.Requests); n > maxRequests || n < maxRequests*8/10 {
		t.Errorf("%d requests are kept", n)
	}
	last := now.Requests[len(now.Requests)-1]
	if last.Seq != maxRequests+more || last.Name != fmt.Sprint(maxRequests+more-1) || now.Next != last.Seq+1 {
		t.Errorf("the last is %d %s, the next %d", last.Seq, last.Name, now.Next)
	}
	if now.Lost+uint64(len(now.Requests)) != last.Seq {
		t.Errorf("%d lost and %d kept of %d", now.Lost, len(now.Requests), last.Seq)
	}
	const large = maxBytes / 4
	for range 5 {
		r.add(recording.Request{}, large)
	}
	if now, _ = r.Snapshot(recording.Position{}); len(now.Requests) > 4 {
		t.Errorf("%d requests of %d bytes are kept", len(now.Requests), large)
	}
	if since, _ := r.Snapshot(recording.Position{Request: last.Seq + 4}); len(since.Requests) != 1 {
		t.Errorf("%d requests behind the last but one", len(since.Requests))
	}
}

// TestKinds: a write names the kind of its object, as others or events have named it.
func TestKinds(t *testing.T) {
	r := New()
	defer r.Begin("op", "/shop", time.Now())()
	r.event(recording.Event{Group: "example.com", Resource: "shops", Kind: "Shop"})
	r.event(recording.Event{Group: "example.com", Resource: "shops", Kind: partialMetadata})
	want := []string{"Pod", "Pod", "Shop", "Shop", "", ""}
	for _, q := range []recording.Request{
		{Verb: "create", Resource: "pods", Kind: "Pod"},
		{Verb: "create", Resource: "pods", Subresource: "binding", Kind: "Binding"},
		{Verb: "update", Resource: "shops", Group: "example.com", Subresource: "scale", Kind: "Scale"},
		{Verb: "update", Resource: "shops", Group: "example.com", Subresource: "status", Code: http.StatusConflict},
		{Verb: "update", Resource: "carts", Group: "example.com", Subresource: "scale", Kind: "Scale"},
		{Verb: "get", Resource: "pods"},
	} {
		r.add(q, 0)
	}
	now, _ := r.Snapshot(recording.Position{})
	for i, q := range now.Requests {
		if q.Kind != want[i] {
			t.Errorf("%s %s/%s: kind %q, want %q", q.Verb, q.Resource, q.Subresource, q.Kind, want[i])
		}
	}
}

// TestNamespaces: a Namespace is in none, though requests for it are authorized in
// itself; its events name none either.
func TestNamespaces(t *testing.T) {
	r := New()
	defer r.Begin("op", "/shop", time.Now())()
	for resource, want := range map[string]string{"namespaces": "", "pods": "shop"} {
		ctx := genericrequest.WithRequestInfo(t.Context(), &genericrequest.RequestInfo{IsResourceRequest: true, Verb: "patch", Resource: resource})
		n := &note{}
		r.asked(ctx, n, authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "op"}, ResourceRequest: true, Verb: "patch", Resource: resource, Namespace: "shop", Name: "shop"}, true)
		if n.request.Namespace != want || n.request.Name != "shop" {
			t.Errorf("%s: %+v", resource, n.request)
		}
	}
}

// TestAskedBesides: what the API server asks besides, such as whether the operator
// may escalate where it has all rights of a Role that it creates, is missing only
// where the request is refused.
func TestAskedBesides(t *testing.T) {
	for code, want := range map[int]int{http.StatusCreated: 0, http.StatusForbidden: 1} {
		r := New()
		end := r.Begin("op", "/shop", time.Now())
		asks := r.Authorizer(authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
			if a.GetVerb() == "escalate" {
				return authorizer.DecisionNoOpinion, "", nil
			}
			return authorizer.DecisionAllow, "", nil
		}))
		handler := r.Filter(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			ctx := genericrequest.WithRequestInfo(req.Context(), &genericrequest.RequestInfo{IsResourceRequest: true, Verb: "create", Resource: "roles"})
			for _, verb := range []string{"create", "escalate"} {
				a := authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "op"}, ResourceRequest: true, Verb: verb, Resource: "roles"}
				if _, _, err := asks.Authorize(ctx, a); err != nil {
					t.Error(err)
				}
			}
			w.WriteHeader(code)
		}))
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/roles", nil))
		if refused, _, _ := r.Refused("/shop"); len(refused) != want {
			t.Errorf("answered with %d: %+v", code, refused)
		}
		end()
	}
}

// TestSessions: a recording begins with nothing of the one before, which cannot
// end it.
func TestSessions(t *testing.T) {
	r := New()
	endFirst := r.Begin("a", "/shop", time.Now())
	r.add(recording.Request{}, 0)
	r.use(recording.Right{Verb: "get"}, "", "", false, nil)
	_, more, _ := r.Refused("/shop")
	end := r.Begin("b", "/store", time.Now())
	endFirst()
	<-more
	if _, _, ok := r.Refused("/shop"); ok {
		t.Error("a project is told of another's refusals")
	}
	now, _ := r.Snapshot(recording.Position{})
	if refused, _, ok := r.Refused("/store"); !ok || len(now.Requests)+len(now.Uses)+len(refused) != 0 || now.Operator != "b" || now.Project != "/store" || !now.Active {
		t.Errorf("after the second begin: %+v", now)
	}
	for project, want := range map[string]int{"/shop": 0, "/store": 1} { // the first operator goes on reporting
		r.Call(project, recording.Reconcile{ID: project})
		r.Webhook(project, recording.Webhook{}, 1)
		r.Line(project, recording.Line{Number: 1})
		if now, _ := r.Snapshot(recording.Position{}); len(now.Reconciles) != want || len(now.Webhooks) != want || len(now.Lines) != want {
			t.Errorf("reported of %s: %+v", project, now)
		}
		r.clear()
	}
	_, changed := r.Snapshot(recording.Position{})
	end()
	<-changed
	if now, _ = r.Snapshot(recording.Position{}); now.Active {
		t.Error("it goes on")
	}
}

// TestServeBegin: whoever records learns that another project is recorded from then on.
func TestServeBegin(t *testing.T) {
	r, mux := New(), http.NewServeMux()
	r.Handle(mux)
	server := httptest.NewServer(mux)
	defer server.Close()
	client := &http.Client{Timeout: 10 * time.Second}
	resp, err := client.Post(server.URL+state.RecordingPath+"?operator=a&project=/shop", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	defer r.Begin("b", "/store", time.Now())()
	if data, err := io.ReadAll(resp.Body); err != nil || string(data) != "recording\n" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestUses counts, and keeps the order of refusals.
func TestUses(t *testing.T) {
	r := New()
	list, get := recording.Right{Verb: "list", Resource: "pods"}, recording.Right{Verb: "get", Resource: "pods"}
	_, more, _ := r.Refused("/shop")
	r.use(list, "", "", false, []string{"a.go:1"})
	<-more
	r.use(get, "default", "a", true, nil)
	r.use(get, "default", "a", true, nil)
	r.use(get, "kube-system", "b", false, nil)
	r.use(list, "", "", true, nil)
	refused, _, _ := r.Refused("/shop")
	want := []recording.Use{
		{Right: list, Names: []string{""}, Namespaces: []string{""}, Allowed: 1, Denied: 1, Frames: []string{"a.go:1"}},
		{Right: get, Names: []string{"a", "b"}, Namespaces: []string{"default", "kube-system"}, Allowed: 2, Denied: 1},
	}
	if diff := cmp.Diff(want, refused); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCalls: an end takes the place of its begin, also when older ones were dropped.
func TestCalls(t *testing.T) {
	r := New()
	defer r.Begin("op", "/shop", time.Now())()
	begin := func(id string) recording.Reconcile { return recording.Reconcile{ID: id, Begin: time.Unix(1, 0)} }
	ended := func(id string) recording.Reconcile {
		c := begin(id)
		c.End = time.Unix(2, 0)
		return c
	}
	r.Call("/shop", begin("first"))
	for i := range maxReconciles {
		r.Call("/shop", begin(fmt.Sprint(i)))
	}
	r.Call("/shop", ended("first")) // it is not kept any more, and so kept as it is now
	r.Call("/shop", ended("5000"))
	now, _ := r.Snapshot(recording.Position{})
	kept := len(now.Reconciles)
	if kept != maxReconciles*9/10+1 { // a tenth goes at once, as the rest is moved each time
		t.Fatalf("%d calls", kept)
	}
	open := 0
	for _, c := range now.Reconciles {
		if (c.ID == "5000" || c.ID == "first") && c.End.IsZero() {
			t.Errorf("call %s has no end", c.ID)
		}
		if c.End.IsZero() {
			open++
		}
	}
	if open != kept-2 {
		t.Errorf("%d calls are open", open)
	}
}

// TestLines: what is behind a line that is known, and nothing without a recording.
func TestLines(t *testing.T) {
	r := New()
	r.Line("/shop", recording.Line{Number: 1})
	defer r.Begin("op", "/shop", time.Now())()
	for n := range uint64(3) {
		r.Line("/shop", recording.Line{Number: n + 1})
	}
	for at, want := range map[recording.Position]int{{}: 3, {Line: 2}: 1, {Line: 3}: 0, {Line: recording.NoLines}: 0} {
		if now, _ := r.Snapshot(at); len(now.Lines) != want {
			t.Errorf("behind %d: %d lines", at.Line, len(now.Lines))
		}
	}
}
