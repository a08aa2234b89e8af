package explore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/recording"
)

// staged is a rig for whole trials, whose operator panics, lacks a right, or ends.
type staged struct {
	polling
	namespace string // of the trial
	panicAt   string
	uses      []recording.Use
	ends      bool
	refuses   error    // of what is applied
	deleted   []string // where
	watches   []string // resources, from its start on
	starts    int
}

func (s *staged) Record(ctx context.Context, _, _ string, began func()) error {
	began()
	<-ctx.Done()
	time.Sleep(time.Second) // it may be over from the beginning: that it began comes first
	return nil
}

func (s *staged) Recording(ctx context.Context, at recording.Position, wait time.Duration) (recording.Recording, error) {
	rec, err := s.polling.Recording(ctx, at, wait)
	rec.Uses = s.uses
	for _, resource := range s.watches {
		rec.Requests = append(rec.Requests, recording.Request{Time: s.at(s.now), User: "op", Verb: "watch", Group: "example.com", Resource: resource, Code: 200})
	}
	if s.panicAt != "" {
		rec.Reconciles[0].Namespace, rec.Reconciles[0].Error = s.namespace, recording.Panic+s.panicAt
	}
	return rec, err
}

func (s *staged) Inject(ctx context.Context, _ state.Fault, hit func()) error {
	hit() // armed
	<-ctx.Done()
	return nil
}

func (s *staged) EnsureNamespace(_ context.Context, name string) (bool, error) {
	s.namespace = name
	return true, nil
}

func (s *staged) Apply(context.Context, []*unstructured.Unstructured, kube.ApplyOptions) ([]kube.Result, error) {
	return nil, s.refuses
}

func (s *staged) Delete(_ context.Context, list []*unstructured.Unstructured, _ kube.DeleteOptions) ([]kube.Result, error) {
	s.deleted = append(s.deleted, list[0].GetNamespace())
	return nil, nil
}

func (s *staged) List(context.Context, schema.GroupVersionKind, kube.ListOptions) ([]*unstructured.Unstructured, error) {
	return nil, nil
}

func (s *staged) Start(context.Context) error {
	s.starts++
	return nil
}

func (s *staged) Kill() {}

func (s *staged) Ended() (string, bool) { return "exit status 2", s.ends }

// replayOf tries a finding again on the rig.
func (s *staged) replayOf(t *testing.T, f Finding, limit time.Duration) (Report, error) {
	t.Helper()
	s.every, s.until = time.Hour, time.Hour
	f.ID, f.Plan.Steps = "1", []Step{{Do: Apply, Object: map[string]any{"kind": "Shop"}}}
	r := &Rig{Cluster: s, Control: s, Operator: s, Now: func() time.Time { return s.at(s.now) }, Keep: true, watched: map[schema.GroupResource]bool{{}: true}}
	return Run(t.Context(), r, Options{Time: limit, Replay: &f})
}

// TestReplay: a finding shows again wherever its code is now, and a trial that could not
// show it says so.
func TestReplay(t *testing.T) {
	const long = 100 * 365 * 24 * time.Hour // since 1970
	use := recording.Use{Right: recording.Right{Verb: "get", Resource: "pods"}, Denied: 1, Frames: []string{"b.go:3"}}
	forbidden := Finding{Check: Forbidden, Title: "the operator may not get pods; add +kubebuilder:rbac:groups=core,resources=pods,verbs=get", Frames: []string{"a.go:5"}}
	panics := Finding{Check: Exits, Title: "Reconcile panics", Frames: []string{"a.go:5"}}
	killed := Finding{Check: Crash, Plan: Plan{Fault: &Fault{Injection: state.Injection{Do: state.FaultHold, Verb: "create", Resource: "pods"}, Restart: true}}}
	blind := Finding{Check: Stale, Plan: Plan{Fault: &Fault{Injection: state.Injection{Do: state.FaultGap, Resource: "shops"}}}}
	for name, tc := range map[string]struct {
		rig   staged
		of    Finding
		limit time.Duration
		found int
		err   string
	}{
		"it panics in another line":          {staged{panicAt: "a.go:9"}, panics, long, 1, ""},
		"it panics in another file":          {staged{panicAt: "b.go:5"}, panics, long, 0, ""},
		"it panics no more":                  {staged{}, panics, long, 0, ""},
		"forbidden in another file":          {staged{uses: []recording.Use{use}}, forbidden, long, 1, ""},
		"another right is forbidden":         {staged{uses: []recording.Use{{Right: recording.Right{Verb: "get"}, Denied: 1, Frames: []string{"a.go:5"}}}}, forbidden, long, 0, ""},
		"it ends":                            {staged{ends: true}, panics, long, 0, "the operator ended 3 times, last with exit status 2"},
		"the object is refused":              {staged{refuses: errors.New("size: too small")}, panics, long, 0, "step 1 is refused: size: too small"},
		"a step before the fault is refused": {staged{refuses: errors.New("size: too small")}, killed, long, 0, "step 1 is refused: size: too small"},
		"a webhook refuses on old data":      {staged{refuses: errors.New("forbidden")}, blind, long, 0, ""},
		"it makes no such request":           {staged{}, killed, long, 0, "the trial never reached the point where the operator is killed after create pods; the trial did not get that far this time, or the operator no longer makes that request"},
		"the time is over":                   {staged{}, Finding{Against: &Plan{Steps: []Step{{Do: Apply, Object: map[string]any{}}}}}, time.Second, 0, "the time is over"},
		"found, though the fault is no more": {staged{uses: []recording.Use{use}}, Finding{Check: Forbidden, Title: forbidden.Title, Plan: killed.Plan}, long, 1, ""},
	} {
		report, err := tc.rig.replayOf(t, tc.of, tc.limit)
		if len(report.Findings) != tc.found || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error()+"; "+clierr.HintOf(err), tc.err) {
			t.Errorf("%s: %+v, %v", name, report.Findings, err)
		}
	}
}

// TestReplay_Keep: what a kept trial leaves is not there for those it is compared with.
func TestReplay_Keep(t *testing.T) {
	s := &staged{}
	undisturbed := Plan{Steps: []Step{{Do: Apply, Object: map[string]any{"kind": "Shop"}}, {Do: Apply, Object: map[string]any{"kind": "Shop"}}}}
	_, err := s.replayOf(t, Finding{Check: History, Against: &undisturbed}, 100*365*24*time.Hour)
	if slices.Sort(s.deleted); err != nil || !slices.Equal(slices.Compact(s.deleted), []string{trialPrefix + "0001", trialPrefix + "0002"}) || s.namespace != trialPrefix+"0003" {
		t.Errorf("deleted in %v, kept in %s, %v", s.deleted, s.namespace, err)
	}
}

// TestReady: the operator is started until a trial has seen that it watches the kind, or has
// waited for such a watch once; the other watches that it then had are known. That of one
// that ends too often is not.
func TestReady(t *testing.T) {
	const unwatched, soon = "the operator does not watch it", 2 * time.Second
	type try struct {
		resource, err string
		starts        int
		within        time.Duration
		ends          bool
	}
	for name, tries := range map[string][]try{
		"a watched kind first": {
			{"shops.example.com", "", 1, soon, false}, {"shops.example.com", "", 1, soon, false}, {"carts.example.com", "", 1, soon, false},
			{"orders.example.com", unwatched + ": its roles do not let it list orders.example.com", 2, restless + soon, false},
			{"items.example.com", unwatched, 2, soon, false}, {"shops.example.com", "", 2, soon, false},
		},
		"a kind without a controller first": {
			{"items.example.com", unwatched, 1, restless + soon, false}, {"items.example.com", unwatched, 1, soon, false},
			{"orders.example.com", unwatched + ": its roles do not let it list orders.example.com", 1, soon, false}, {"carts.example.com", "", 1, soon, false},
		},
		"a kind of another group": {{"shops.example.com", "", 1, soon, false}, {"carts.example.org", unwatched, 2, restless + soon, false}},
		"the operator ends too often": {
			{"shops.example.com", "", 1, soon, false}, {"items.example.com", "", 5, soon, true}, {"items.example.com", unwatched, 6, restless + soon, false},
		},
	} {
		s := &staged{watches: []string{"shops", "carts"}, uses: []recording.Use{{Right: recording.Right{Verb: "list", Group: "example.com", Resource: "orders"}, Denied: 1}}}
		s.every, s.until = time.Hour, time.Hour
		r := &Rig{Cluster: s, Control: s, Operator: s, Now: func() time.Time { return s.at(s.now) }}
		for _, tc := range tries {
			own := schema.ParseGroupResource(tc.resource)
			plan := Plan{Steps: []Step{{Do: Apply, Object: map[string]any{"apiVersion": own.Group + "/v1", "kind": "Shop"}}}}
			tr := r.newTrial(plan, "ns", limits{quiet: quiet, rest: restless}, map[schema.GroupVersionKind]bool{})
			tr.resource, s.ends = own.Resource, tc.ends
			began := s.now
			err := tr.ready(t.Context())
			if s.starts != tc.starts || s.now-began > tc.within || (err == nil) != (tc.err == "") || err != nil && (err.Error() != tc.err || !errors.Is(err, errUnwatched)) {
				t.Errorf("%s, %s: %d starts, %v after %s", name, tc.resource, s.starts, err, s.now-began)
			}
		}
	}
}

// TestRun_Over: samples whose turn does not come count as left, and a note names them.
func TestRun_Over(t *testing.T) {
	var samples []Sample
	for _, kind := range []string{"Shop", "Cart", "Shop", "Cart", "Order"} {
		u := object(t, shop)
		u.SetKind(kind)
		samples = append(samples, Sample{Object: u, CRD: object(t, shopCRD)})
	}
	for name, resource := range map[string]string{"during the first one": samples[0].plural(), "after the first one, which is left out": "others"} {
		s := &staged{}
		s.every, s.until = time.Hour, time.Hour
		var ahead time.Duration
		if resource == "others" {
			ahead = 200 * 365 * 24 * time.Hour // contexts know the real time, which is not over during this one
		}
		r := &Rig{Cluster: s, Control: s, Operator: s, Now: func() time.Time { return s.at(s.now + ahead) }, watched: map[schema.GroupResource]bool{{Group: "example.com", Resource: resource}: true}}
		report, err := Run(t.Context(), r, Options{Samples: samples, Time: time.Second})
		unwatched := slices.ContainsFunc(report.Notes, func(n string) bool { return strings.Contains(n, errUnwatched.Error()) })
		if err != nil || report.Ended != EndedTime || report.Left != 4 || unwatched != (resource == "others") || !slices.Contains(report.Notes, "not explored: Cart, Order") {
			t.Errorf("over %s: %+v, %v", name, report, err)
		}
	}
}
