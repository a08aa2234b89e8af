package recording

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const operator = "system:serviceaccount:shop-system:shop"

// second is a time on the clock of a test.
func second(s float64) time.Time {
	return time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC).Add(time.Duration(s * float64(time.Second)))
}

// call is a Reconcile of the shop that took 100 ms.
func call(id string, begin float64, change func(*Reconcile)) Reconcile {
	c := Reconcile{ID: id, Controller: "ShopReconciler", Object: Object{Group: "example.com", Kind: "Shop", Namespace: "default", Name: "s"}, Begin: second(begin), End: second(begin + 0.1), Process: "1"}
	if change != nil {
		change(&c)
	}
	return c
}

// watching is a call of a controller whose code says what it watches.
func watching(c Reconcile, kinds ...string) Reconcile {
	c.Watches = kinds
	return c
}

// restarted makes a call one of the operator's second process.
func restarted(c *Reconcile) { c.Process = "2" }

// write is an update of an object of the shop's.
func write(seq uint64, at float64, kind, name string, change func(*Request)) Request {
	q := Request{
		Seq: seq, Time: second(at), Took: time.Millisecond, User: "admin", Agent: "kubectl/v1.36", Verb: "update", Group: "example.com", Resource: "shops",
		Kind: kind, Namespace: "default", Name: name, Code: 200, Revision: "7", Changes: []Change{{Path: "spec.size", Old: 1, New: 2}},
	}
	if kind != "Shop" {
		q.Group, q.Resource = "apps", "deployments"
	}
	if change != nil {
		change(&q)
	}
	return q
}

// watches are the operator's.
func watches() []Request {
	return []Request{
		{Seq: 1, Time: second(0), User: operator, Verb: "watch", Group: "example.com", Resource: "shops", Code: 200},
		{Seq: 2, Time: second(0), User: operator, Verb: "watch", Group: "apps", Resource: "deployments", Code: 200},
	}
}

// sent is the event of a write.
func sent(at float64, kind, name, revision string) Event {
	q := write(0, 0, kind, name, nil)
	return Event{Time: second(at), Type: "MODIFIED", Group: q.Group, Resource: q.Resource, Namespace: "default", Name: name, Revision: revision}
}

func owned(q *Request) { q.Owners = []Owner{{Kind: "Shop", Name: "s"}} }

// elsewhere and ofAnother are of objects of other shops, in another namespace and in this one.
func elsewhere(q *Request) { owned(q); q.Namespace = "elsewhere" }
func ofAnother(q *Request) { q.Owners = []Owner{{Kind: "Shop", Name: "other"}} }

func TestWhy(t *testing.T) {
	tests := map[string]struct {
		calls    []Reconcile
		requests []Request
		events   []Event
		want     [][]string // causes of each call
	}{
		"created, then scaled": {
			[]Reconcile{call("a", 1.01, nil), call("b", 9.01, nil)},
			[]Request{
				write(3, 1, "Shop", "s", func(q *Request) { q.Verb, q.Revision, q.Changes = "create", "", nil }),
				write(4, 9, "Shop", "s", func(q *Request) { q.Subresource = "scale" }),
			},
			nil, [][]string{{"Shop s created by kubectl"}, {"Shop s (scale) changed by kubectl"}},
		},
		"there before the operator": {[]Reconcile{call("a", 0.5, nil)}, nil, nil, [][]string{{"the operator started"}}},
		"operator restarted": {
			[]Reconcile{call("a", 1, nil), call("b", 5, restarted)},
			[]Request{write(3, 4.9, "Shop", "s", nil)},
			nil, [][]string{{"the operator started"}, {"the operator started"}},
		},
		"what it owns, by line": {
			[]Reconcile{call("a", 1, nil), call("b", 1.2, nil)},
			[]Request{write(3, 1.05, "Deployment", "s-web", func(q *Request) { owned(q); q.User, q.Frames = operator, []string{"internal/controller/shop.go:9"} })},
			nil, [][]string{{"the operator started"}, {"Deployment s-web changed by internal/controller/shop.go:9"}},
		},
		"other objects do not count": {
			[]Reconcile{call("a", 1, nil), call("b", 5, nil)},
			[]Request{
				write(3, 4.9, "Shop", "other", nil),
				write(4, 4.9, "Shop", "s", func(q *Request) { q.Namespace = "elsewhere" }),
				write(5, 4.9, "Shop", "s", func(q *Request) { q.Code = 409 }),
				write(6, 4.9, "Shop", "s", func(q *Request) { q.DryRun = true }),
				write(7, 4.9, "Shop", "s", func(q *Request) { q.Changes = nil }),
				write(8, 4.9, "ReplicaSet", "s-web", func(q *Request) { owned(q); q.Resource = "replicasets" }),
			},
			nil, [][]string{{"the operator started"}, {"unknown: no recorded change explains it; perhaps a resync, or an event from outside the cluster"}},
		},
		"a watched kind that nobody owns": {
			[]Reconcile{call("a", 1, nil), call("b", 5, nil)},
			[]Request{write(3, 4.99, "Deployment", "shared", nil)},
			nil, [][]string{{"the operator started"}, {"Deployment shared changed by kubectl"}},
		},
		"a kind that it watches, after changes that it left out": {
			[]Reconcile{watching(call("a", 1, nil), "Shop", "Deployment"), watching(call("b", 9, nil), "Shop", "Deployment")},
			[]Request{write(3, 4, "Deployment", "shared", nil), write(4, 6, "Deployment", "shared", nil), write(5, 8.99, "Deployment", "shared", nil)},
			nil, [][]string{{"the operator started"}, {"Deployment shared changed by kubectl"}},
		},
		"the same where the code does not say so": {
			[]Reconcile{call("a", 1, nil), call("b", 9, nil)},
			[]Request{write(3, 4, "Deployment", "shared", nil), write(4, 6, "Deployment", "shared", nil), write(5, 8.99, "Deployment", "shared", nil)},
			nil, [][]string{{"the operator started"}, {"unknown: no recorded change explains it; perhaps a resync, or an event from outside the cluster"}},
		},
		"a kind that another controller watches": {
			[]Reconcile{watching(call("a", 1, nil), "Shop", "Pod"), watching(call("b", 5, nil), "Shop", "Pod")},
			[]Request{write(3, 4.98, "Shop", "s", nil), write(4, 4.99, "Deployment", "shared", nil), write(5, 4.99, "Deployment", "s-web", owned)},
			nil, [][]string{{"the operator started"}, {"Shop s changed by kubectl"}},
		},
		"kinds that only one build watches": {
			[]Reconcile{
				watching(call("a", 1, nil), "Shop", "Pod"), watching(call("b", 3.01, nil), "Shop", "Pod"),
				watching(call("c", 8, restarted), "Shop", "Deployment"), watching(call("d", 9.01, restarted), "Shop", "Deployment"), watching(call("e", 10.01, restarted), "Shop", "Deployment"),
			},
			[]Request{
				write(3, 2.9, "Deployment", "shared", nil), write(4, 3, "Shop", "s", nil), write(5, 5, "Deployment", "shared", nil),
				write(6, 9, "Shop", "s", nil), write(7, 9.001, "Deployment", "shared", nil), write(8, 10, "Deployment", "shared", nil),
			},
			nil, [][]string{
				{"the operator started"}, {"Shop s changed by kubectl"},
				{"the operator started"}, {"Shop s changed by kubectl", "Deployment shared changed by kubectl"}, {"Deployment shared changed by kubectl"},
			},
		},
		"a connection changes nothing": {
			[]Reconcile{call("a", 1, nil), call("b", 5, nil)},
			[]Request{write(3, 4.99, "PodExecOptions", "s", func(q *Request) {
				owned(q)
				q.Verb, q.Subresource, q.Changes = "create", "exec", nil
			})},
			nil, [][]string{{"the operator started"}, {"unknown: no recorded change explains it; perhaps a resync, or an event from outside the cluster"}},
		},
		"an error is retried": {
			[]Reconcile{call("a", 1, func(c *Reconcile) { c.Error = "no" }), call("b", 4, nil)}, nil,
			nil, [][]string{{"the operator started"}, {"retry after an error: no"}},
		},
		"a terminal error is not retried": {
			[]Reconcile{call("a", 1, func(c *Reconcile) { c.Error = "make it: terminal error: no" }), call("b", 1.2, nil)}, nil,
			nil, [][]string{{"the operator started"}, {"unknown: no recorded change explains it; perhaps a resync, or an event from outside the cluster"}},
		},
		"requeued": {
			[]Reconcile{call("a", 1, func(c *Reconcile) { c.After = 30 * time.Second }), call("b", 31.2, nil), call("c", 40, func(c *Reconcile) { c.Requeue = true }), call("d", 40.2, nil)}, nil,
			nil, [][]string{{"the operator started"}, {"requeued after 30s"}, {"unknown: no recorded change explains it; perhaps a resync, or an event from outside the cluster"}, {"requeued"}},
		},
		"an event before the timer": {
			[]Reconcile{call("a", 1, func(c *Reconcile) { c.After = 30 * time.Second }), call("b", 10.01, nil)},
			[]Request{write(3, 10, "Shop", "s", nil)},
			nil, [][]string{{"the operator started"}, {"Shop s changed by kubectl"}},
		},
		"a write explains one call": {
			[]Reconcile{call("a", 1, nil), call("b", 5.01, nil), call("c", 5.3, nil)},
			[]Request{write(3, 5, "Shop", "s", nil), write(4, 5.2, "Deployment", "s-web", owned)},
			nil, [][]string{{"the operator started"}, {"Shop s changed by kubectl"}, {"Deployment s-web changed by kubectl"}},
		},
		"a write long ago, that a predicate held back": {
			[]Reconcile{call("a", 1, nil), call("b", 9, nil)},
			[]Request{write(3, 1.05, "Shop", "s", func(q *Request) { q.Subresource = "status" })},
			nil, [][]string{{"the operator started"}, {"unknown: no recorded change explains it; perhaps a resync, or an event from outside the cluster"}},
		},
		"a controller that was busy with others": {
			[]Reconcile{call("a", 1, nil), call("x", 2.5, func(c *Reconcile) { c.Name, c.End = "other", second(8.9) }), call("b", 9, nil)},
			[]Request{write(3, 2.6, "Shop", "s", nil)},
			nil, [][]string{{"the operator started"}, {"Shop s changed by kubectl"}},
		},
		"several changes before one call": {
			[]Reconcile{call("a", 1, nil), call("b", 2, nil), call("c", 5, func(c *Reconcile) { c.End = second(6) }), call("d", 6.001, nil)},
			[]Request{
				write(3, 1.99, "Deployment", "shared", nil), write(4, 4.99, "Shop", "s", nil), write(5, 5.2, "Shop", "s", nil), write(6, 5.3, "Deployment", "s-web", owned),
				write(7, 5.4, "Deployment", "shared", nil), write(8, 5.4, "Deployment", "stranger", nil),
			},
			[]Event{
				sent(1.991, "Deployment", "shared", "8"), sent(4.995, "Shop", "s", "8"), sent(5.21, "Shop", "s", "9"), sent(5.31, "Deployment", "s-web", "8"),
				sent(5.41, "Deployment", "shared", "9"), sent(5.41, "Deployment", "stranger", "8"),
			},
			[][]string{
				{"the operator started"}, {"Deployment shared changed by kubectl"}, {"Shop s changed by kubectl"},
				{"Shop s changed by kubectl", "Deployment s-web changed by kubectl", "Deployment shared changed by kubectl"},
			},
		},
		"known to the operator later": {
			[]Reconcile{call("a", 1, nil), call("b", 5, nil), call("c", 8.001, nil)},
			[]Request{write(3, 4.99, "Shop", "s", nil), write(4, 4.995, "Deployment", "s-web", owned)},
			[]Event{sent(4.995, "Shop", "s", "8"), sent(8, "Deployment", "s-web", "8")},
			[][]string{{"the operator started"}, {"Shop s changed by kubectl"}, {"Deployment s-web changed by kubectl"}},
		},
		"not known to the operator": {
			[]Reconcile{call("a", 1, nil), call("b", 5, nil)},
			[]Request{write(3, 4.99, "Deployment", "s-web", owned)}, []Event{},
			[][]string{{"the operator started"}, {"unknown: no recorded change explains it; perhaps a resync, or an event from outside the cluster"}},
		},
		"an object that calls seldom follow": {
			[]Reconcile{call("a", 1, nil), call("b", 5.001, nil)},
			[]Request{write(3, 2, "Deployment", "shared", nil), write(4, 3, "Deployment", "shared", nil), write(5, 5, "Deployment", "shared", nil)}, nil,
			[][]string{{"the operator started"}, {"unknown: no recorded change explains it; perhaps a resync, or an event from outside the cluster"}},
		},
		"objects of others that it maps": {
			[]Reconcile{call("a", 1, nil), call("b", 3.01, nil), call("c", 5.01, nil), call("d", 7.01, nil), call("e", 9.01, nil), call("f", 11.01, nil), call("g", 13.01, nil), call("h", 15.01, nil)},
			[]Request{
				write(3, 3, "Shop", "other", nil), write(4, 5, "Shop", "other", nil), write(5, 7, "Deployment", "s-web", elsewhere), write(6, 9, "Deployment", "s-web", elsewhere),
				write(7, 11, "Deployment", "theirs", ofAnother), write(8, 13, "Deployment", "theirs", ofAnother), write(9, 15, "Deployment", "once", ofAnother),
			}, nil,
			[][]string{
				{"the operator started"}, {"Shop other changed by kubectl"}, {"Shop other changed by kubectl"}, {"Deployment s-web changed by kubectl"}, {"Deployment s-web changed by kubectl"},
				{"Deployment theirs changed by kubectl"}, {"Deployment theirs changed by kubectl"}, {"unknown: no recorded change explains it; perhaps a resync, or an event from outside the cluster"},
			},
		},
		"objects of others that change with its own": {
			[]Reconcile{call("a", 1, nil), call("b", 3.01, nil), call("c", 5.01, nil), call("d", 7.01, nil)},
			[]Request{
				write(3, 3, "Shop", "s", nil), write(4, 3, "Shop", "other", nil), write(5, 5, "Shop", "s", nil), write(6, 5, "Shop", "other", nil),
				write(7, 7, "Deployment", "s-web", owned), write(8, 7, "Deployment", "theirs", ofAnother),
			}, nil,
			[][]string{{"the operator started"}, {"Shop s changed by kubectl"}, {"Shop s changed by kubectl"}, {"Deployment s-web changed by kubectl"}},
		},
		"an event, and the timer after it": {
			[]Reconcile{call("a", 1, func(c *Reconcile) { c.After = 30 * time.Second }), call("b", 10.01, nil), call("c", 31.101, nil)},
			[]Request{write(3, 10, "Shop", "s", nil)}, nil,
			[][]string{{"the operator started"}, {"Shop s changed by kubectl"}, {"requeued after 30s"}},
		},
		"an error, and a change before it is retried": {
			[]Reconcile{call("a", 1, func(c *Reconcile) { c.Error = "no" }), call("b", 1.102, nil), call("c", 1.3, nil)},
			[]Request{write(3, 1.05, "Shop", "s", nil)}, []Event{sent(1.06, "Shop", "s", "8")},
			[][]string{{"the operator started"}, {"Shop s changed by kubectl"}, {"retry after an error: no"}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := Recording{Operator: operator, Since: second(0), Requests: append(watches(), tc.requests...), Reconciles: tc.calls, Events: tc.events}
			if tc.events != nil {
				r.EventsSince = r.Since
			}
			var got [][]string
			for _, c := range r.Why(Object{Kind: "shop", Namespace: "default", Name: "s"}) {
				var texts []string
				for _, cause := range c.Causes {
					texts = append(texts, cause.Text())
				}
				got = append(got, texts)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEffect holds what is said of an object that a request was about, and whether that
// is a change. Of what is deleted the recorder notes the revision that it had.
func TestEffect(t *testing.T) {
	for _, tc := range []struct {
		request Request
		want    string
		changed bool
	}{
		{Request{Verb: "update", Code: 404}, "refused", false},
		{Request{Verb: "delete", Code: 404}, "already gone", false},
		{Request{Verb: "delete", Code: 200, Revision: "7"}, "deleted", true},
		{Request{Verb: "delete", Code: 200}, "unchanged", false}, // it is being deleted
		{Request{Verb: "deletecollection", Code: 200, Revision: "7"}, "deleted", true},
		{Request{Verb: "deletecollection", Code: 200}, "unchanged", false}, // of nothing
		{Request{Verb: "create", Code: 201}, "created", true},
		{Request{Verb: "create", Code: 201, DryRun: true}, "created", false},
		{Request{Verb: "create", Code: 101, Subresource: "exec"}, "called", false},
		{Request{Verb: "patch", Code: 201}, "created", true},
		{Request{Verb: "update", Code: 200, Revision: "7"}, "unchanged", false},
		{Request{Verb: "update", Code: 200, Revision: "7", Changes: []Change{{}}}, "changed", true},
	} {
		q := tc.request
		q.Resource = "pods"
		if got := q.Effect(); got != tc.want || q.Changed() != tc.changed {
			t.Errorf("%s with %d: %s, changed is %v, want %s", q.Verb, q.Code, got, q.Changed(), tc.want)
		}
	}
}

// TestWhyCalls: a call has the requests that were made in it.
func TestWhyCalls(t *testing.T) {
	r := Recording{Operator: operator, Since: second(0), Reconciles: []Reconcile{call("a", 1, nil)}, Requests: append(watches(),
		write(3, 1.01, "Deployment", "s-web", func(q *Request) { q.User, q.Reconcile = operator, "a" }),
		Request{Seq: 4, Time: second(1.02), User: operator, Verb: "get", Resource: "secrets", Reconcile: "a"},
		write(5, 1.01, "Deployment", "s-web", nil),
	)}
	calls := r.Why(Object{Kind: "Shop", Namespace: "default", Name: "s"})
	if len(calls) != 1 || len(calls[0].Writes) != 1 || calls[0].Writes[0].Seq != 3 || calls[0].Reads != 1 {
		t.Errorf("calls: %+v", calls)
	}
	if other := r.Why(Object{Kind: "Cart", Namespace: "default", Name: "s"}); other != nil {
		t.Errorf("another kind: %+v", other)
	}
}

// TestCutOff: a call without an end runs, or its operator ended and was started again.
func TestCutOff(t *testing.T) {
	running := func(id, process string) Reconcile {
		return Reconcile{ID: id, Process: process, Begin: second(1)}
	}
	r := Recording{Active: true, Reconciles: []Reconcile{running("a", "1"), running("b", "2")}}
	if n := r.Starts(); n != 2 {
		t.Errorf("%d starts", n)
	}
	if a, b := r.CutOff(r.Reconciles[0]), r.CutOff(r.Reconciles[1]); !a || b {
		t.Errorf("of the operator before: %v, want true; of this one: %v, want false", a, b)
	}
	if r.Active = false; !r.WhyAll()[1].CutOff {
		t.Error("a call runs in a run that has ended")
	}
}

// TestWhyGroup: kinds of one name in two groups are two.
func TestWhyGroup(t *testing.T) {
	ours := Object{"serving.example.com", "Service", "default", "s"}
	core := func(seq uint64, at float64, owner string) Request {
		return write(seq, at, "Service", "s", func(q *Request) {
			q.Group, q.Resource, q.Owners = "", "services", []Owner{{owner, "Service", "s"}}
		})
	}
	r := Recording{Operator: operator, Since: second(0), Requests: append(watches(),
		Request{Seq: 3, User: operator, Verb: "watch", Resource: "services"}, core(4, 5, ours.Group), core(5, 9, "other.example.com"))}
	for i, at := range []float64{1, 5.01, 9.01} {
		r.Reconciles = append(r.Reconciles, call(strconv.Itoa(i), at, func(c *Reconcile) { c.Object = ours }))
	}
	for _, o := range []Object{ours, {Kind: "service", Namespace: "default", Name: "s"}} {
		var reasons []string
		for _, c := range r.Why(o) {
			reasons = append(reasons, c.Causes[0].Reason)
		}
		if diff := cmp.Diff([]string{Started, OwnedChanged, Unknown}, reasons); diff != "" {
			t.Errorf("%v (-want +got):\n%s", o, diff)
		}
	}
	if calls := r.Why(Object{CoreGroup, "Service", "default", "s"}); calls != nil {
		t.Errorf("of the other group: %+v", calls)
	}
}

// TestWhyThroughOwners: a pod leads to the object whose Deployment it is of, and
// to no other one, and what binds it, which has no owners of its own, does so too.
func TestWhyThroughOwners(t *testing.T) {
	pod := func(seq uint64, at float64, of, sub string) Request {
		q := Request{Seq: seq, Time: second(at), Agent: "mysdk-cluster", Verb: "create", Resource: "pods", Subresource: sub, Kind: "Pod", Namespace: "default", Name: of + "-1", Code: 201}
		if q.Owners = []Owner{{"apps", "Deployment", of + "-web"}}; sub != "" {
			q.Owners = nil
		}
		return q
	}
	requests := append(watches(), Request{Seq: 3, User: operator, Verb: "watch", Resource: "pods"})
	for i, of := range []string{"s", "other"} {
		web := write(uint64(4+3*i), 2, "Deployment", of+"-web", func(q *Request) { q.Verb, q.Owners = "create", []Owner{{"example.com", "Shop", of}} })
		requests = append(requests, web, pod(uint64(5+3*i), 5, of, ""), pod(uint64(6+3*i), 9, of, "binding"))
	}
	r := Recording{Operator: operator, Since: second(0), Requests: requests, Reconciles: []Reconcile{call("a", 1, nil), call("b", 2.01, nil), call("c", 5.01, nil), call("d", 9.01, nil)}}
	var got [][]string
	for _, c := range r.WhyAll() {
		var texts []string
		for _, cause := range c.Causes {
			texts = append(texts, cause.Text())
		}
		got = append(got, texts)
	}
	want := [][]string{
		{"the operator started"}, {"Deployment s-web created by kubectl"}, {"Pod s-1 created by mysdk-cluster"}, {"Pod s-1 (binding) created by mysdk-cluster"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}

// TestPanics: the text of a panic is that of the log.
func TestPanics(t *testing.T) {
	for name, tc := range map[string]struct{ line, want string }{
		"of zap":          {`2026-01-02T03:04:05Z	ERROR	Reconciler error	{"controller": "shop", "reconcileID": "7", "error": "panic: no \"size\": [1] [recovered]"}`, `panic at shop.go:9: no "size": [1]`},
		"of another call": {`2026-01-02T03:04:05Z	ERROR	Reconciler error	{"reconcileID": "8", "error": "panic: no [recovered]"}`, "panic at shop.go:9"},
		"not logged":      {"", "panic at shop.go:9"},
	} {
		c := call("a", 1, func(c *Reconcile) { c.LogID, c.Error = "7", Panic+"shop.go:9" })
		r := Recording{Reconciles: []Reconcile{c, call("b", 1.2, nil)}, Lines: []Line{ReadLine(tc.line, Line{})}}
		calls := r.WhyAll()
		if got := calls[0].Error; got != tc.want || calls[1].Causes[0].Error != tc.want {
			t.Errorf("%s: %s, then %+v", name, got, calls[1].Causes)
		}
	}
}
