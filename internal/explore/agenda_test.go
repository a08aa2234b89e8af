package explore

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/recording"
)

// TestDisturb: the first change of its way is disturbed, with what hides it first.
func TestDisturb(t *testing.T) {
	sample := Sample{Object: object(t, shop), CRD: object(t, shopCRD)}
	e := &explorer{ways: map[string]bool{}}
	changes := mutated(t, sample.CRD, sample.Object, 1)
	a := &agenda{changed: sample.recreated(), others: sample.staleOf(changes)}
	all := a.left()
	scale := recording.Request{Verb: "patch", Group: "apps", Resource: "deployments", Kind: "Deployment", Name: "s"}
	remove := recording.Request{Verb: "delete", Resource: "configmaps", Kind: "ConfigMap", Name: "c"}
	o := Outcome{Steps: []Rest{{}, {Writes: []recording.Request{scale, scale, remove}}}}
	for range 2 {
		for _, m := range changes {
			if plan, _, ok := sample.round(m); ok && plan.Steps[1].Path == "spec.size" {
				e.disturb(a, plan, o)
			}
		}
	}
	if got := a.left() - all; got != 5 {
		t.Errorf("%d more plans, want to be killed after each of the three writes, and refused both kinds, once", got)
	}
	if again, kill, blind := a.changed[0].plan, a.changed[1].plan.Fault, a.changed[2].plan; again.Steps[1].Do != Delete || kill.Verb != "delete" || blind.Steps[1].Path != "spec.size" {
		t.Errorf("what hurts most is not the first: %s, %s, %s", again, kill, blind)
	}
}

// TestPairs: of properties that went well by themselves, two are changed at once,
// when each has been tried.
func TestPairs(t *testing.T) {
	e := &explorer{Options: Options{Seed: 1}}
	a := &agenda{sample: Sample{Object: object(t, shop), CRD: object(t, shopCRD)}}
	changes := map[string]mutation{}
	for _, m := range mutated(t, a.sample.CRD, a.sample.Object, 1) {
		changes[m.note] = m
	}
	a.rounds = e.round(a.sample, changes["spec.mode: fast"])
	a.well(a.rounds[0].change, Rest{Rested: true})
	for note, rest := range map[string]Rest{
		"spec.size: 4": {Rested: true}, "spec.limits.memory: 2Gi": {Rested: true}, "spec.limits: map[memory:2Gi]": {Rested: true},
		"spec.tags: []": {}, "spec.open: true": {Rested: true, Failure: "x"}, "spec.image: registry.example.com/other:v2": {Rested: true, Invalid: "x"},
	} {
		a.well(changes[note], rest)
	}
	a.well(changes["spec.size: 5"], Rest{Rested: true}) // another one of its property
	if e.pair(a); len(a.rounds) != 1 || len(a.pairs) != 0 {
		t.Errorf("%d rounds, %d pairs, while a single change is left", len(a.rounds), len(a.pairs))
	}
	a.rounds = nil
	got := map[string]bool{}
	for e.pair(a); len(a.rounds) > 0; e.pair(a) {
		if len(got) == 0 && a.left() != 5 {
			t.Errorf("%d left, want the five pairs", a.left())
		}
		i := a.rounds[0]
		a.rounds = a.rounds[1:]
		a.well(i.change, Rest{Rested: true})
		changed, one := i.plan.Steps[1], i.against.Steps[0]
		if changed.Path != "" || len(changed.Parts) != 2 || cmp.Diff(changed, one) != "" {
			t.Errorf("%s, compared with %s", i.plan, i.against)
		}
		names := []string{changed.Parts[0].Note, changed.Parts[1].Note}
		if changed.Note != names[0]+" and "+names[1] {
			t.Errorf("%q of %q", changed.Note, names)
		}
		slices.Sort(names)
		got[strings.Join(names, ", ")] = true
	}
	want := map[string]bool{
		"spec.mode: fast, spec.size: 4": true, "spec.limits.memory: 2Gi, spec.mode: fast": true, "spec.limits.memory: 2Gi, spec.size: 4": true,
		"spec.limits: map[memory:2Gi], spec.mode: fast": true, "spec.limits: map[memory:2Gi], spec.size: 4": true,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("pairs (-want +got):\n%s", d)
	}
	plan, _, ok := a.sample.round(changes["spec.size: 4"], changes["spec.mode: fast"])
	if d := cmp.Diff(map[string]any{"mode": "fast", "size": int64(4), "tags": []any{"a", "b"}}, plan.Steps[1].Object["spec"]); !ok || d != "" {
		t.Errorf("both at once (-want +got):\n%s", d)
	}
	if text := "apply Shop/s, then apply Shop/s (spec.size: 4 and spec.mode: fast), then apply Shop/s (as before), then delete Shop/s"; plan.String() != text {
		t.Errorf("%s, want %s", plan, text)
	}
}
