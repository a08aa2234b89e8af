package explore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/cluster/state"
)

// tree is an object with some values at each of some depths below spec.
func tree(random *rand.Rand, depth int) map[string]any {
	out := map[string]any{}
	for i := range 1 + random.IntN(3) {
		name := fmt.Sprintf("f%d", i)
		switch {
		case depth == 0 || random.IntN(3) == 0:
			out[name] = int64(random.IntN(9))
		case random.IntN(3) == 0:
			out[name] = []any{tree(random, depth-1), tree(random, depth-1)}
		default:
			out[name] = tree(random, depth-1)
		}
	}
	return out
}

// leaves counts the values that are no maps and lists, and these themselves.
func leaves(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			n += leaves(e)
		}
	case []any:
		for _, e := range v {
			n += leaves(e)
		}
	}
	return n
}

func size(f Finding) int {
	n := len(f.Plan.Steps)
	for _, s := range f.Plan.Steps {
		n += leaves(s.Object)
	}
	if f.Plan.Fault != nil {
		n++
	}
	return n
}

// TestMinimizedProperty: for any objects and any fields that matter, what comes
// out still shows the finding, is not larger, loses each field that does not
// matter, and keeps what the plan is about.
func TestMinimizedProperty(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		a := map[string]any{"kind": "Shop", "metadata": map[string]any{"name": "s", "labels": map[string]any{"l": "v"}}, "spec": tree(random, 3)}
		f := Finding{Check: History, Plan: Plan{Check: History, Steps: []Step{{Do: Apply, Object: a}, {Do: Apply, Object: a, Path: "spec.f0"}, {Do: Apply, Object: a}}}}
		f.Against = &Plan{Steps: []Step{f.Plan.Steps[1]}}
		matters := [][]string{}
		for depth := 1; depth < 4; depth++ {
			if list := f.fields(depth); len(list) > 0 && random.IntN(2) == 0 {
				// Of a list only the first item: the others move.
				if path := list[random.IntN(len(list))]; !slices.Contains(path, "1") {
					matters = append(matters, path)
				}
			}
		}
		var tries int
		shows := func(g Finding) (bool, error) {
			tries++
			if d := cmp.Diff(g.Plan.Steps[1].Object, g.Against.Steps[0].Object); d != "" {
				t.Fatalf("seed %d: it is compared with something else:\n%s", seed, d)
			}
			return !slices.ContainsFunc(matters, func(path []string) bool { return !has(g.Plan.Steps[1].Object, path) }), nil
		}
		small, err := minimized(f, shows)
		if err != nil {
			t.Fatal(err)
		}
		if ok, _ := shows(small); !ok || size(small) > size(f) || !has(small.Plan.Steps[0].Object, []string{"spec", "f0"}) {
			t.Errorf("seed %d: of %v came %v, where %v matters", seed, a, small.Plan.Steps[0].Object, matters)
		}
		for depth := 1; depth < 6; depth++ {
			for _, path := range small.fields(depth) {
				if !slices.ContainsFunc(matters, func(m []string) bool { return related(m, path) }) {
					t.Errorf("seed %d: %v stays, where %v matters", seed, path, matters)
				}
			}
		}
		if len(small.Plan.Steps) != 2 || tries > 100 {
			t.Errorf("seed %d: %d steps after %d tries", seed, len(small.Plan.Steps), tries)
		}
	}
}

func has(v any, path []string) bool {
	for _, name := range path {
		switch now := v.(type) {
		case map[string]any:
			v = now[name]
		case []any:
			if name != "0" || len(now) == 0 {
				return false
			}
			v = now[0]
		default:
			return false
		}
		if v == nil {
			return false
		}
	}
	return true
}

// TestMinimizedSteps: steps before a fault go from both plans, the fault itself
// where it does not matter, and an error keeps what was reached.
func TestMinimizedSteps(t *testing.T) {
	step := func(n int64) Step {
		return Step{Do: Apply, Object: map[string]any{"kind": "Shop", "spec": map[string]any{"n": n, "rest": n}}}
	}
	steps := []Step{step(1), step(2), step(3), step(4)}
	f := Finding{
		Check: Stale, Differences: []Difference{{Object: "Pod/p", Want: there}}, Against: &Plan{Steps: steps},
		Plan: Plan{Steps: steps, Fault: &Fault{Step: 3, As: 1, Injection: state.Injection{Do: state.FaultStale}}},
	}
	all := func(Finding) (bool, error) { return true, nil }
	small, err := minimized(f, all)
	if err != nil || len(small.Plan.Steps) != 2 || len(small.Against.Steps) != 2 || small.Plan.Fault.Step != 1 || small.Plan.Fault.As != 0 {
		t.Errorf("%v, compared with %v: %v", small.Plan, small.Against, err)
	}
	if n, _, _ := unstructured.NestedInt64(f.Plan.Steps[1].Object, "spec", "n"); n != 2 || len(small.Plan.Steps[0].Object["spec"].(map[string]any)) != 0 {
		t.Errorf("the finding itself is changed, or the other one is not: %v %v", f.Plan.Steps[1].Object, small.Plan.Steps[0].Object)
	}

	crashed := Finding{Check: Forbidden, Plan: Plan{Check: Crash, Steps: steps[:2], Fault: &Fault{Step: 1}}, Against: &Plan{Steps: steps[:2]}}
	if small, err = minimized(crashed, all); err != nil || small.Plan.Fault != nil || len(small.Plan.Steps) != 1 {
		t.Errorf("%v: %v", small.Plan, err)
	}
	broken, tries := errors.New("broken"), 0
	small, err = minimized(crashed, func(Finding) (bool, error) {
		if tries++; tries > 1 {
			return false, broken
		}
		return true, nil
	})
	if !errors.Is(err, broken) || small.Plan.Fault != nil || len(small.Plan.Steps) != 2 {
		t.Errorf("after an error: %v: %v", small.Plan, err)
	}
	both := Step{Do: Apply, Object: map[string]any{"kind": "Shop", "spec": map[string]any{"n": int64(2), "m": int64(2)}}, Note: "n and m", Parts: []Step{step(2), step(3)}}
	pair := Finding{Check: History, Plan: Plan{Check: History, Steps: []Step{step(1), both, step(1)}}, Against: &Plan{Steps: []Step{both}}}
	second := func(g Finding) (bool, error) {
		n, _, _ := unstructured.NestedInt64(g.Plan.Steps[1].Object, "spec", "n")
		return n == 3, nil
	}
	if small, err = minimized(pair, second); err != nil || small.Plan.Steps[1].Parts != nil || cmp.Diff(small.Plan.Steps[1], small.Against.Steps[0]) != "" || len(pair.Plan.Steps[1].Parts) != 2 {
		t.Errorf("of two changes came %v, compared with %v: %v", small.Plan, small.Against, err)
	}
	ignored := Finding{Check: Ignored, Plan: Plan{Steps: steps}, Against: &Plan{Steps: steps[1:2]}}
	if small, err = minimized(ignored, all); err != nil || len(small.Plan.Steps[0].Object["spec"].(map[string]any)) != 2 {
		t.Errorf("%v: %v", small.Plan, err)
	}
}
