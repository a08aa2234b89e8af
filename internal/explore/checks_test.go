package explore

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/recording"
)

// TestRested: silence is no rest while a call runs, or is about to.
func TestRested(t *testing.T) {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	call := func(c recording.Reconcile) []recording.Reconcile {
		c.Namespace, c.Name, c.Begin = "ns", "s", at(10)
		return []recording.Reconcile{c}
	}
	for name, tc := range map[string]struct {
		calls []recording.Reconcile
		now   int
		want  bool
	}{
		"silence":                   {nil, 700, true},
		"too early":                 {nil, 300, false},
		"a call runs":               {call(recording.Reconcile{}), 5000, false},
		"of the process before":     {[]recording.Reconcile{{Object: recording.Object{Namespace: "ns", Name: "s"}, Begin: at(-10)}}, 700, true},
		"of another namespace":      {[]recording.Reconcile{{Object: recording.Object{Namespace: "other", Name: "s"}, Begin: at(10)}}, 700, true},
		"it has ended":              {call(recording.Reconcile{End: at(20)}), 700, true},
		"it failed":                 {call(recording.Reconcile{End: at(20), Error: "x"}), 700, false},
		"it failed long ago":        {call(recording.Reconcile{End: at(20), Error: "x"}), 1100, true},
		"it comes back soon":        {call(recording.Reconcile{End: at(20), After: time.Second}), 1100, false},
		"it comes back in a minute": {call(recording.Reconcile{End: at(20), After: time.Minute}), 700, true},
	} {
		a := activity{namespace: "ns", since: start, last: start, calls: tc.calls}
		if got := a.rested(at(tc.now), 600*time.Millisecond); got != tc.want {
			t.Errorf("%s: rested = %v", name, got)
		}
	}
	busy := activity{namespace: "other", since: start, last: start, crowded: true, calls: call(recording.Reconcile{})}
	if busy.rested(at(5000), 600*time.Millisecond) {
		t.Error("rested while the operator is busy with another trial")
	}
	if busy.calls[0].End = at(4000); busy.rested(at(4500), 600*time.Millisecond) || !busy.rested(at(5000), 600*time.Millisecond) {
		t.Error("rested too early, or never, after the operator was busy with another trial")
	}
	a := activity{namespace: "ns", since: start, calls: []recording.Reconcile{
		{Object: recording.Object{Namespace: "ns", Name: "a"}, Begin: at(10), After: time.Second}, {Object: recording.Object{Namespace: "ns", Name: "a"}, Begin: at(20), After: time.Hour},
		{Object: recording.Object{Namespace: "ns", Name: "b"}, Begin: at(10), After: time.Minute}, {Object: recording.Object{Namespace: "ns", Name: "c"}, Begin: at(10)},
	}}
	if got := a.again(); got != time.Minute {
		t.Errorf("it looks again after %s, want a minute", got)
	}
}

// TestDue: a requeue is waited for until it has come once since the last change.
func TestDue(t *testing.T) {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	a := activity{namespace: "ns", since: start, changed: start.Add(time.Second), calls: []recording.Reconcile{{
		Object: recording.Object{Namespace: "ns", Name: "s"}, Begin: start.Add(time.Second), After: 5 * time.Second,
	}}}
	for _, tc := range []struct {
		now  int
		most time.Duration
		want bool
	}{{3, 0, false}, {3, patience, true}, {3, 2 * time.Second, false}, {6, patience, true}, {7, patience, false}} {
		if got := a.due(start.Add(time.Duration(tc.now)*time.Second), quiet, tc.most); got != tc.want {
			t.Errorf("after %d s, at most %s: due is %v", tc.now, tc.most, got)
		}
	}
}

// TestActivity: what of a recording counts.
func TestActivity(t *testing.T) {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	kinds := map[schema.GroupVersionKind]bool{}
	a := activity{namespace: "ns", operator: "op", since: start, last: start}
	write := recording.Request{Time: start.Add(time.Second), User: "op", Verb: "update", Group: "apps", Version: "v1", Resource: "deployments", Kind: "Deployment", Namespace: "ns", Code: 200, Revision: "1"}
	changed, refused, lease, others, watch, review := write, write, write, write, write, write
	review.Verb, review.Group, review.Resource, review.Kind, review.Namespace, review.Code = "create", "authorization.k8s.io", "localsubjectaccessreviews", "LocalSubjectAccessReview", "ns", 201
	changed.Changes = []recording.Change{{Path: "spec"}}
	refused.Code = 409
	lease.Resource, lease.Time = "leases", start.Add(time.Hour)
	others.User, others.Namespace, others.Time = "kubectl", "elsewhere", start.Add(time.Hour)
	watch.Verb, watch.Kind, watch.Resource, watch.Time = "watch", "", "shops", start.Add(2*time.Second)
	a.take(recording.Recording{Requests: []recording.Request{write, changed, refused, lease, others, watch, review}}, kinds)
	writes, idle, _ := a.takeWrites()
	if len(writes) != 1 || len(idle) != 1 || len(kinds) != 1 || !kinds[schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}] {
		t.Errorf("%d writes, %d that change nothing, kinds %v", len(writes), len(idle), kinds)
	}
	if !a.last.Equal(write.Time) || !a.watches(schema.GroupResource{Group: "apps"}) {
		t.Errorf("last at %v, watched %v", a.last.Sub(start), a.watched)
	}
	if a.forget(schema.GroupResource{Group: "apps", Resource: "shops"}); a.watches(schema.GroupResource{}) {
		t.Error("a watch is not forgotten")
	}
}

// TestActivityOfCluster: for a kind without namespaces what is no other trial's counts.
func TestActivityOfCluster(t *testing.T) {
	a := activity{operator: "op"}
	write := recording.Request{User: "op", Verb: "patch", Resource: "configmaps", Kind: "ConfigMap", Namespace: "default", Name: "c", Code: 200, Changes: []recording.Change{{Path: "data"}}}
	other, space := write, write
	other.Namespace = trialPrefix + "0001"
	space.Resource, space.Kind, space.Namespace, space.Name = "namespaces", "Namespace", "z", "z"
	calls := []recording.Reconcile{{Object: recording.Object{Name: "z"}}, {Object: recording.Object{Namespace: "default", Name: "z"}}, {Object: recording.Object{Namespace: other.Namespace, Name: "z"}, Error: "x"}}
	for i := range calls {
		calls[i].Begin = time.Unix(1, 0)
	}
	a.take(recording.Recording{Requests: []recording.Request{write, other, space}, Reconciles: calls}, map[schema.GroupVersionKind]bool{})
	writes, _, _ := a.takeWrites()
	if len(writes) != 2 || writes[0].Name != "default/c" || writes[1].Name != "z" || len(a.lastCalls()) != 2 || a.failure() != "" {
		t.Errorf("writes %v, calls %v", writes, a.lastCalls())
	}
	o := Outcome{Steps: []Rest{{Writes: writes, State: State{"ConfigMap/default/c": {}, "Namespace/z": {}}}}}
	var got []string
	for _, i := range faultsOf(Plan{Steps: []Step{{}}}, o, 0) {
		if f := i.plan.Fault; f.Do == state.FaultHold {
			got = append(got, f.Namespace+" "+f.Name)
		}
	}
	if d := cmp.Diff([]string{"default c", " z"}, got); d != "" {
		t.Errorf("where it is killed (-want +got):\n%s", d)
	}
}

// TestFindings: what an outcome says by itself, and beside another one.
func TestFindings(t *testing.T) {
	sample := Sample{Object: object(t, shop), CRD: object(t, shopCRD)}
	life := sample.life()
	behind := object(t, shop)
	behind.SetGeneration(3)
	if err := setStatus(behind, "observedGeneration", int64(2)); err != nil {
		t.Fatal(err)
	}
	held := object(t, shop)
	held.SetFinalizers([]string{"example.com/f"})
	create := recording.Request{Verb: "create", Kind: "ConfigMap", Name: "c", Code: 201, Frames: []string{"shop.go:7"}}
	status := recording.Request{Verb: "patch", Kind: "Shop", Name: "s", Subresource: "status", Code: 200}
	madeUp := create
	madeUp.Name = "c-x7k2p"
	keys, _ := namesOf("ns", []*unstructured.Unstructured{object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c-x7k2p, generateName: c-, namespace: ns}\n")})
	for name, tc := range map[string]struct {
		plan Plan
		out  Outcome
		want []string
	}{
		"well":    {life, Outcome{Steps: []Rest{{Rested: true}, {Rested: true}}}, nil},
		"it ends": {life, Outcome{Exits: []string{"exit code 2"}, Steps: []Rest{{Rested: true}, {Rested: true}}}, []string{"exits: the operator ends with exit code 2"}},
		"it ends for good": {life, Outcome{Exits: []string{"a", "b", "c"}, Steps: []Rest{{Rested: true}, {Rested: true, Object: held}}},
			[]string{"exits: the operator ends with a", "exits: the operator ends with b", "exits: the operator ends with c"}},
		"a right is missing":                  {life, Outcome{Uses: []recording.Use{{Right: recording.Right{Verb: "get", Resource: "pods"}, Denied: 1}}, Steps: []Rest{{Rested: true}, {Rested: true}}}, []string{`forbidden: the operator may not get pods; add +kubebuilder:rbac:groups=core,namespace=shop-system,resources=pods,verbs=get`}},
		"it does not rest":                    {life, Outcome{Steps: []Rest{{Idle: []recording.Request{create, create, create}}, {Rested: true}}}, []string{"unrest: the operator does not come to rest: create ConfigMap c, again and again"}},
		"it does not rest, and seldom writes": {life, Outcome{Steps: []Rest{{Writes: []recording.Request{create}}, {Rested: true}}}, []string{"unrest: the operator does not come to rest"}},
		"it fails slowly":                     {life, Outcome{Steps: []Rest{{Writes: []recording.Request{create}, Failure: "x"}, {Rested: true}}}, nil},
		"it writes two things":                {life, Outcome{Steps: []Rest{{Writes: []recording.Request{status, create, create, status, status, create, create}}, {Rested: true}}}, []string{"unrest: the operator does not come to rest: create ConfigMap c, again and again"}},
		"it is behind":                        {life, Outcome{Steps: []Rest{{Rested: true, Object: behind}, {Rested: true}}}, []string{"observed: status.observedGeneration is 2 at rest, while metadata.generation is 3"}},
		"it is behind where Reconcile fails":  {life, Outcome{Steps: []Rest{{Rested: true, Object: behind, Failure: "no"}, {Rested: true, Object: behind, Invalid: "no"}}}, []string{"leftovers: the object does not go: finalizers [] stay"}},
		"the object stays":                    {life, Outcome{Steps: []Rest{{Rested: true}, {Rested: true, Object: held}}}, []string{"leftovers: the object does not go: finalizers [example.com/f] stay"}},
		"it comes back to it":                 {life, Outcome{Steps: []Rest{{Rested: true}, {Rested: true, Object: held, Again: 5 * time.Minute}}}, nil},
		"what it made stays":                  {life, Outcome{Steps: []Rest{{Rested: true, Writes: []recording.Request{create}}, {Rested: true, State: State{"ConfigMap/c": {}}}}}, []string{"leftovers: ConfigMap/c stays behind after delete"}},
		"what it made under a name made up":   {life, Outcome{Steps: []Rest{{Rested: true, Writes: []recording.Request{madeUp}}, {Rested: true, State: State{"ConfigMap/c-1": {}}, keys: keys}}}, []string{"leftovers: ConfigMap/c-1 stays behind after delete"}},
		"what others made":                    {life, Outcome{Steps: []Rest{{Rested: true}, {Rested: true, State: State{"ConfigMap/c": {}}}}}, nil},
		"a panic":                             {life, Outcome{Panics: []string{"shop.go:9"}, Steps: []Rest{{Rested: true}, {Rested: true}}}, []string{"exits: Reconcile panics"}},
		"a refused write":                     {life, Outcome{Steps: []Rest{{Rested: true, Invalid: "no image"}, {Rested: true}}}, []string{"invalid: the operator writes what the API refuses: no image"}},
		"of a changed sample":                 {Plan{Steps: []Step{{Note: "spec.size: 9"}}}, Outcome{Steps: []Rest{{Rested: true, Invalid: "too many"}}}, nil},
		"a field is lost":                     {Plan{Check: Versions, Steps: life.Steps[:1]}, Outcome{Lost: []Difference{{Object: "Shop/s written as v1", Path: "spec.open", Want: "true"}}, Steps: []Rest{{Rested: true}}}, []string{`versions: Shop/s written as v1 spec.open: absent, want "true"`}},
		"unrest while faulted":                {Plan{Steps: life.Steps[:1], Fault: &Fault{}}, Outcome{Steps: []Rest{{}}}, nil},
	} {
		var got []string
		for _, f := range always(tc.plan, tc.out, "shop-system") {
			got = append(got, f.Check+": "+f.Title)
			if n := len(f.Plan.Steps); n > 1 && (f.Check == Unrest || f.Check == Observed) {
				t.Errorf("%s: seen after the first step, of %d", name, n)
			}
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}

	made := func(n int) Outcome {
		rest := Rest{State: State{"ConfigMap/c": {"data.k": "v"}}}
		for range n {
			rest.Writes = append(rest.Writes, create)
		}
		return Outcome{Steps: []Rest{rest}}
	}
	if f := compared(Crash, life, made(1), made(2), mask{}); len(f) != 1 || f[0].Title != "create ConfigMap c 2 times in place of 1" {
		t.Errorf("made twice: %+v", f)
	}
	other := made(1)
	other.Steps[0].State = State{"ConfigMap/c": {"data.k": "w"}}
	if f := compared(Crash, life, made(1), other, mask{}); len(f) != 1 || f[0].Title != `ConfigMap/c data.k: "w", want "v"` || len(f[0].Frames) != 1 {
		t.Errorf("another value: %+v", f)
	}
	other.Steps[0] = Rest{State: State{"ConfigMap/c": {"data.k": "v"}, "ConfigMap/c-1": {}}, Writes: []recording.Request{create, madeUp}, keys: keys}
	if f := compared(Crash, life, made(1), other, mask{}); len(f) != 1 || f[0].Title != "ConfigMap/c-1 should not be there" || len(f[0].Frames) != 1 {
		t.Errorf("one more, under a name made up: %+v", f)
	}
	other.Steps[0] = Rest{State: State{"ConfigMap/c": {"data.k": "w"}}}
	if f := compared(Crash, life, made(1), other, mask{"ConfigMap/c\x00data.k": true}); len(f) != 0 {
		t.Errorf("a value that differs anyway: %+v", f)
	}
	if f := compared(Unreachable, life, made(1), other, mask{}); len(f) != 1 {
		t.Errorf("an error that does not heal: %+v", f)
	}
	other.Steps[0].Again = time.Minute
	if f := compared(Unreachable, life, made(1), other, mask{}); len(f) != 0 {
		t.Errorf("an error after which it looks again in a minute: %+v", f)
	}
	always := made(1)
	always.Steps[0].Again = time.Minute
	if f := compared(Unreachable, life, always, other, mask{}); len(f) != 1 {
		t.Errorf("an error of an operator that looks again every minute: %+v", f)
	}
	own := Outcome{Steps: []Rest{{State: State{"Shop/s": {"status.phase": "Creating"}, "ConfigMap/c": {"data.k": "w"}}, Again: time.Minute}}}
	done := Outcome{Steps: []Rest{{State: State{"Shop/s": {"status.phase": "Running"}, "ConfigMap/c": {"data.k": "v"}, "Service/s": {}}}}}
	if f := compared(History, life, own, done, mask{}); len(f) != 1 || len(f[0].Differences) != 1 || f[0].Differences[0].Object != "ConfigMap/c" {
		t.Errorf("of an operator that has not looked again yet: %+v", f)
	}
	own.Steps[0].Again = 5 * time.Second
	if f := compared(History, life, own, done, mask{}); len(f) != 1 || len(f[0].Differences) != 3 {
		t.Errorf("of one that is waited for: %+v", f)
	}
}

// TestFindingKeys: one bug is one finding, whatever shows it; what is created too
// often for another reason is another.
func TestFindingKeys(t *testing.T) {
	set := func(size int64) Step { return Step{Do: Apply, Object: map[string]any{"spec": size}} }
	change, again := []Step{set(1), set(2)}, []Step{set(1), {Do: Delete}, set(1)}
	plan := func(check, do string, steps []Step) Plan {
		return Plan{Check: check, Steps: steps, Fault: &Fault{Step: len(steps) - 1, Injection: state.Injection{Do: do}}}
	}
	counted := func(title string, p Plan) Finding { return Finding{Check: p.Check, Plan: p, Title: title} }
	differs := func(p Plan) Finding {
		return Finding{Check: p.Check, Plan: p, Title: "x", Differences: []Difference{{Object: "Set/s", Path: "spec.x"}}}
	}
	one := counted("create Set s 3 times in place of 2", plan(Stale, state.FaultStale, change))
	for name, tc := range map[string]struct {
		other Finding
		same  bool
	}{
		"another value":  {counted("create Set s 4 times in place of 2", plan(Stale, state.FaultStale, []Step{set(1), set(3)})), true},
		"made anew":      {counted(one.Title, plan(Stale, state.FaultStale, again)), false},
		"missed events":  {counted(one.Title, plan(Stale, state.FaultGap, change)), false},
		"at its start":   {counted(one.Title, plan(Stale, state.FaultStale, change[:1])), false},
		"another object": {counted("create Pod p 3 times in place of 2", plan(Stale, state.FaultStale, change)), false},
	} {
		if got := one.key() == tc.other.key(); got != tc.same {
			t.Errorf("%s: the same is %v", name, got)
		}
	}
	if differs(plan(Stale, state.FaultStale, change)).key() != differs(plan(Stale, state.FaultStale, again)).key() {
		t.Error("the same field differs for two reasons")
	}
	denied := func(p Plan) Finding {
		return Finding{Check: Forbidden, Plan: p, Title: "the operator may not get pods"}
	}
	if denied(plan(Stale, state.FaultStale, change)).key() != denied(plan(Crash, state.FaultHold, again)).key() {
		t.Error("a right is missing twice")
	}
	two := denied(plan(Stale, state.FaultStale, change))
	two.Title = "the operator may not list pods"
	if a, b := denied(two.Plan).id(), two.id(); a == b || a != denied(two.Plan).id() {
		t.Errorf("two findings of one plan: %s and %s", a, b)
	}
	crashed := differs(plan(Crash, state.FaultHold, change))
	list := unique([]Finding{differs(plan(Stale, state.FaultStale, change)), one, crashed, differs(plan(Stale, state.FaultStale, again))})
	if len(list) != 3 || list[0].Check != Crash || list[1].Plan.Steps[1].Do == Delete {
		t.Errorf("each once, in order: %+v", list)
	}
}

// TestFaultPlans: a crash after each write, and the rest once for each kind.
func TestFaultPlans(t *testing.T) {
	sample := Sample{Object: object(t, shop), CRD: object(t, shopCRD)}
	patch := recording.Request{Verb: "patch", Resource: "shops", Subresource: "status", Kind: "Shop", Name: "s"}
	create := recording.Request{Verb: "create", Resource: "pods", Kind: "Pod", Name: "s-0"}
	o := Outcome{Steps: []Rest{{State: State{"Shop/s": {}, "Pod/s-0": {}}, Writes: []recording.Request{patch, create, patch}}}}
	var got []string
	for _, i := range faultsOf(sample.life(), o, 0) {
		got = append(got, i.plan.Check+" "+i.plan.Fault.String())
	}
	if d := cmp.Diff([]string{
		"crash where the operator is killed after patch shops/status/s", "unreachable where each patch shops/status/s is refused with 409",
		"crash where the operator is killed after create pods", "unreachable where each create pods is refused with 500",
		"unreachable where the answer to patch shops/status/s is lost", "unreachable where the answer to create pods is lost",
		"crash where the operator is killed after patch shops/status/s (the 2. time)",
	}, got); d != "" {
		t.Errorf("plans (-want +got):\n%s", d)
	}
	var blind []string
	for _, i := range sample.staleOf(mutated(t, sample.CRD, sample.Object, 1)) {
		if i.plan.Fault.Do == state.FaultGap && (i.plan.Steps[1].Via == nil || !strings.Contains(i.plan.String(), ", right after ")) {
			t.Errorf("nothing is missed in %s", i.plan)
		}
		blind = append(blind, i.plan.Fault.Do)
	}
	if len(blind) == 0 || blind[0] != state.FaultStale {
		t.Errorf("blind plans: %v", blind)
	}
}

// TestPlanID: the same plan has the same name.
func TestPlanID(t *testing.T) {
	sample := Sample{Object: object(t, shop), CRD: object(t, shopCRD)}
	if a, b := sample.life().ID(), sample.life().ID(); a != b || len(a) != 8 {
		t.Errorf("IDs %s and %s", a, b)
	}
	other := sample.life()
	other.Steps = other.Steps[:1]
	if other.ID() == sample.life().ID() {
		t.Error("another plan has the same ID")
	}
}

// TestIgnored: what nothing follows is a finding, unless the operator waits for
// something all the time, or the property is left out.
func TestIgnored(t *testing.T) {
	shopWith := func(spec string) map[string]any {
		return object(t, "apiVersion: example.com/v1\nkind: Shop\nspec: "+spec).Object
	}
	plan := Plan{Check: History, Steps: []Step{{Object: object(t, shop).Object}, {Path: "spec.x", Object: shopWith("{x: 1}")}, {}}}
	if removes(plan.Steps[1]) || !removes(Step{Path: "spec.x", Object: shopWith("{y: 1}")}) || !removes(Step{Path: "spec.x.z", Object: shopWith("{x: {}}")}) {
		t.Error("which steps leave a property out")
	}
	created := []recording.Request{{Verb: "create", Kind: "Deployment", Name: "s"}}
	for status, want := range map[string]int{
		"{}": 1, "{phase: Running}": 1, "{phase: Pending}": 0, "{state: Initializing}": 0, "{phase: Failed}": 0,
		"{conditions: [{type: Ready, status: 'False', reason: NoPrimary}]}": 0,
	} {
		begun := Rest{Writes: created, Object: object(t, "apiVersion: example.com/v1\nkind: Shop\nstatus: "+status)}
		e := &explorer{mask: mask{}, noted: map[string]bool{}}
		if got := e.rounds(plan, Outcome{Steps: []Rest{{}}}, Outcome{Steps: []Rest{begun, {}, {}}}); len(got) != want {
			t.Errorf("%s: %+v", status, got)
		}
	}
}

// TestMistaken: a field of the property's name follows, to another value.
func TestMistaken(t *testing.T) {
	sample := Sample{Object: object(t, shop), CRD: object(t, shopCRD)}
	plan := Plan{Steps: []Step{{Object: sample.Object.Object}, {Path: "spec.replicas"}}}
	state := func(own, other string) Rest {
		return Rest{State: State{"Shop/s": {"spec.replicas": own}, "Deployment/s": {"spec.replicas": other, "spec.paused": own}}}
	}
	for name, tc := range map[string]struct {
		after Rest
		want  string
	}{
		"as asked":       {state("5", "5"), ""},
		"not at all":     {state("5", "3"), ""}, // that is ignored
		"to another one": {state("5", "6"), `Deployment/s spec.replicas: "6", want "5" like spec.replicas`},
	} {
		var got string
		e := &explorer{mask: mask{}, noted: map[string]bool{}}
		for _, f := range e.mistaken(plan, Outcome{Steps: []Rest{state("3", "3"), tc.after}}) {
			f.narrow(f) // it is seen again
			got = f.Title
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	for path, want := range map[string]int{"spec.size": 1, "spec.server.nodeCount": 1, "spec.port": 0} {
		plan := Plan{Steps: []Step{{Object: sample.Object.Object}, {Path: path}}}
		state := func(own, other string) Rest {
			return Rest{State: State{"Shop/s": {path: own}, "Deployment/s": {"spec.replicas": other}}}
		}
		e := &explorer{mask: mask{}, noted: map[string]bool{}}
		if got := e.mistaken(plan, Outcome{Steps: []Rest{state("3", "3"), state("5", "6")}}); len(got) != want {
			t.Errorf("replicas like %s: %v", path, got)
		}
	}
}

// TestReferences: a plan's outcome is that of what it begins with, and the second
// run tells what differs.
func TestReferences(t *testing.T) {
	plan := Plan{Check: History, Steps: []Step{{Do: Apply}, {Do: Delete}}}
	run := func(value string) Outcome {
		return Outcome{Steps: []Rest{{State: State{"Secret/s": {"data.k": value}}}, {State: State{}}}}
	}
	r, m := references{}, mask{}
	begins := Plan{Steps: plan.Steps[:1]}
	if _, ok := r.of(begins); ok || r.sure(begins) {
		t.Error("an outcome of nothing")
	}
	r.add(plan, run("a"), false, m)
	if o, ok := r.of(begins); !ok || len(o.Steps) != 1 || r.sure(begins) {
		t.Errorf("after one run: %v, %v", o, ok)
	}
	r.add(begins, run("b"), false, m)
	if o, _ := r.of(begins); !r.sure(begins) || r.sure(plan) || o.Steps[0].State["Secret/s"]["data.k"] != "a" || !m["Secret/s\x00data.k"] {
		t.Errorf("after two runs: %v, mask %v", o, m)
	}

	waits := func(phase string, again time.Duration) Outcome {
		return Outcome{Steps: []Rest{{State: State{"Shop/s": {"status.phase": phase}}, Again: again}}}
	}
	r, m = references{}, mask{}
	r.add(begins, waits("Creating", 5*time.Second), false, m)
	r.add(begins, waits("Creating", 5*time.Second), false, m)
	if r.sure(begins) {
		t.Error("sure of an end before a requeue")
	}
	r.add(begins, waits("Running", 0), true, m)
	r.add(begins, waits("Running", 0), true, m)
	if o, _ := r.of(begins); !r.sure(begins) || len(m) != 0 || o.Steps[0].State["Shop/s"]["status.phase"] != "Running" {
		t.Errorf("after the requeue: %v, mask %v", o, m)
	}
}

// TestWants: faults stands for the checks with faults.
func TestWants(t *testing.T) {
	for _, tc := range []struct {
		checks []string
		want   []string
	}{
		{nil, []string{Crash, Stale, Unreachable, History}},
		{[]string{Faults}, []string{Crash, Stale, Unreachable}},
		{[]string{Stale, History}, []string{Stale, History}},
	} {
		e := newExplorer(&Rig{Now: time.Now}, Options{Checks: tc.checks})
		for _, c := range []string{Crash, Stale, Unreachable, History} {
			if got, want := e.wants(c), slices.Contains(tc.want, c); got != want {
				t.Errorf("--checks %v: wants %s is %v", tc.checks, c, got)
			}
		}
	}
}
