package explore

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/recording"
)

// TestRounds: a change is compared with what a new object with the same spec is, if
// there can be one.
func TestRounds(t *testing.T) {
	state := func(value string) Rest { return Rest{State: State{"Shop/s": {"status.x": value}}} }
	plan := Plan{Check: History, Steps: []Step{{}, {Path: "spec.x"}, {}}}
	changed := Outcome{Steps: []Rest{state("1"), state("2"), state("1")}}
	cut := func(i int) Outcome {
		o := Outcome{Steps: slices.Clone(changed.Steps)}
		o.Steps[i].Failure = "storing the size: zk: could not connect to a server"
		return o
	}
	for name, o := range map[string]Outcome{"": changed, "in the change": cut(1), "on the way back": cut(2), "all the time": {Steps: []Rest{cut(0).Steps[0], cut(1).Steps[1]}}} {
		e := &explorer{mask: mask{}, noted: map[string]bool{}}
		if got := e.rounds(plan, Outcome{Steps: []Rest{state("3")}}, o); (len(got) == 0) != (name != "") || len(e.report.Notes) != min(len(name), 1) {
			t.Errorf("it needs the application %s: %+v, %q", name, got, e.report.Notes)
		}
	}
	for name, tc := range map[string]struct {
		fresh Rest
		want  int
	}{
		"the same":                     {state("2"), 0},
		"another one":                  {state("3"), 1},
		"refused":                      {Rest{Refused: "no"}, 0},
		"it cannot be":                 {Rest{Invalid: "no"}, 0},
		"Reconcile fails":              {Rest{Failure: "x"}, 0},
		"its phase says that it fails": {Rest{State: State{"Shop/s": {"status.x": "3"}}, Object: object(t, "kind: Shop\nstatus: {phase: Failed}")}, 0},
	} {
		e := &explorer{mask: mask{}, noted: map[string]bool{}}
		if got := e.rounds(plan, Outcome{Steps: []Rest{tc.fresh}}, changed); len(got) != tc.want || tc.want > 0 && len(got[0].Plan.Steps) != 2 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestNoteFailure: what the operator fails to do is noted once, and whether it is for
// want of the application.
func TestNoteFailure(t *testing.T) {
	e := &explorer{noted: map[string]bool{}}
	plan := Plan{Steps: []Step{{Object: map[string]any{"kind": "Shop"}}}}
	for _, rest := range []Rest{
		{}, {Failure: "no secret shop-1 in explore-0012\nat shop.go:7"}, {Failure: "no secret shop-1 in explore-0013"},
		{Failure: "dial tcp 10.0.0.1:6379: i/o timeout"}, {Failure: "x", Invalid: "no image"},
	} {
		if got := e.noteFailure("spec.x: 1", plan, rest); got != (rest.Failure != "") {
			t.Errorf("%+v fails: %v", rest, got)
		}
	}
	if d := cmp.Diff([]string{
		"Shop with spec.x: 1: Reconcile fails again and again: no secret shop-1 in explore-0012",
		"Shop with spec.x: 1: it needs the application, which simulated pods do not run: dial tcp 10.0.0.1:6379: i/o timeout",
		"Shop with spec.x: 1: what the operator writes is refused: no image",
	}, e.report.Notes); d != "" {
		t.Errorf("notes (-want +got):\n%s", d)
	}
}

// TestRoundsDeclined: what the operator says that it does not do, and what Kubernetes does
// not, is no fault.
func TestRoundsDeclined(t *testing.T) {
	sample := Sample{Object: object(t, shop), CRD: object(t, shopCRD)}
	plan, _, ok := sample.round(mutated(t, sample.CRD, sample.Object, 1)[0])
	if !ok {
		t.Fatal("no change")
	}
	rest := func(message string, state State) Rest {
		u := object(t, shop)
		if err := setStatus(u, "conditions", []any{map[string]any{"type": "Done", "reason": "Scaled", "message": message}}); err != nil {
			t.Fatal(err)
		}
		return Rest{Object: u, State: state, Rested: true}
	}
	claim := func(size string) State {
		return State{"PersistentVolumeClaim/c": {"spec.resources.requests.storage": size}}
	}
	made := recording.Request{Verb: "create", Kind: "PersistentVolumeClaim", Name: "c", Code: 201}
	for name, tc := range map[string]struct {
		steps []Rest
		want  int
	}{
		"not as it was":           {[]Rest{rest("", State{"Job/a": {"spec.x": "1"}}), rest("", State{}), rest("", State{"Job/a": {"spec.x": "2"}})}, 1},
		"it says that it cannot":  {[]Rest{rest("", State{"Job/a": {"spec.x": "1"}}), rest("", State{}), rest("scale down not supported", State{"Job/a": {"spec.x": "2"}})}, 0},
		"the API server says so":  {[]Rest{rest("", State{"Job/a": {"spec.x": "1"}}), rest("", State{}), rest(`Job "a" is invalid: field is immutable`, State{"Job/a": {"spec.x": "2"}})}, 1},
		"a claim does not shrink": {[]Rest{rest("", claim("10Gi")), rest("", State{}), rest("", claim("20Gi"))}, 0},
		"a claim does not grow":   {[]Rest{rest("", claim("10Gi")), rest("", State{}), rest("", claim("5Gi"))}, 1},
		"a claim stays":           {[]Rest{rest("", State{}), rest("", State{}), rest("", claim("5Gi"))}, 0},
		"its own stays":           {[]Rest{rest("", State{}), {Writes: []recording.Request{made}}, rest("", claim("5Gi"))}, 1},
	} {
		e := &explorer{mask: mask{}, noted: map[string]bool{}}
		if got := e.rounds(plan, Outcome{Steps: []Rest{{Refused: "only recovery counts here"}}}, Outcome{Steps: tc.steps}); len(got) != tc.want || tc.want > 0 && len(got[0].Plan.Steps) != 3 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	missed := Plan{Check: Stale, Fault: &Fault{Injection: state.Injection{Do: state.FaultGap}}}
	end := func(size string) Outcome { return Outcome{Steps: []Rest{rest("", claim(size))}} }
	if got := compared(Stale, missed, end("20Gi"), end("10Gi"), mask{}); len(got) != 0 {
		t.Errorf("a claim that never was larger: %+v", got)
	}
	missed.Fault.Do = state.FaultStale
	if got := compared(Stale, missed, end("20Gi"), end("10Gi"), mask{}); len(got) != 1 {
		t.Errorf("a claim that was not made larger: %+v", got)
	}
}
