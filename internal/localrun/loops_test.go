package localrun

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/example/mysdk/internal/recording"
)

// TestLoops: a loop is told once, while it goes on, however often it is looked for.
func TestLoops(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	shop := recording.Object{Group: "example.com", Kind: "Shop", Namespace: "default", Name: "s"}
	// round is a call that changes the shop, which leads to the next one.
	seq := uint64(0)
	round := func(r *recording.Recording, at time.Time) {
		seq++
		id := fmt.Sprint(seq)
		r.Reconciles = append(r.Reconciles, recording.Reconcile{ID: id, Object: shop, Begin: at, End: at.Add(100 * time.Millisecond), Process: "1"})
		r.Requests = append(r.Requests, recording.Request{
			Seq: seq, Time: at.Add(50 * time.Millisecond), User: "op", Verb: "update", Group: "example.com", Resource: "shops", Subresource: "status", Kind: "Shop",
			Namespace: "default", Name: "s", Code: 200, Revision: "7", Reconcile: id, Frames: []string{"shop.go:9"},
			Changes: []recording.Change{{Path: "status.seen", New: at.String()}, {Path: "status.count", New: seq}},
		})
		r.Next = seq + 1
	}
	for namespace, want := range map[string]string{"default": "", "team": " --namespace=team", "": " --namespace="} { // of a kind without namespaces
		o := shop
		o.Namespace = namespace
		if got := (&run{client: clientFake{&world{embedded: "dev"}}}).why(o); got != "mysdk why shop/s"+want+" --cluster dev" {
			t.Errorf("the hint is %s", got)
		}
	}
	for pattern, want := range map[string]string{recording.Fight: "two writers set one field back and forth: ", recording.OwnWrites: "the operator is in a loop: "} {
		if got := warning(recording.Loop{Pattern: pattern}); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", pattern, got)
		}
	}
	l := loops{told: map[string]bool{}}
	var calls []recording.Reconcile          // each answer has all of them
	for i, want := range []int{0, 1, 0, 0} { // the first answer has too few rounds for one
		from := began.Add(time.Duration(i) * loopsEvery)
		more := recording.Recording{Operator: "op", Since: began, Until: from.Add(loopsEvery), Reconciles: calls}
		for n := range 10 {
			round(&more, from.Add(time.Duration(n)*time.Second))
		}
		calls = slices.Clone(more.Reconciles)
		got := l.take(more)
		if len(got) != want {
			t.Errorf("look %d: %+v", i, got)
		}
	}
	if n := len(l.recent.Requests); n != 40 {
		t.Errorf("%d requests are kept", n)
	}
	if got := (&loops{told: map[string]bool{}}).take(recording.Recording{Operator: "op", Requests: l.recent.Requests, Reconciles: l.recent.Reconciles, Until: began.Add(50 * time.Second)}); len(got) != 0 {
		t.Errorf("when it is over: %+v", got)
	}
	if l.take(recording.Recording{Until: began.Add(time.Hour)}); len(l.recent.Requests) > 0 {
		t.Errorf("what is too old is kept: %+v", l.recent.Requests)
	}
}
