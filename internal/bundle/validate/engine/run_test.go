package engine

import (
	"strings"
	"testing"

	apierrors "github.com/operator-framework/api/pkg/validation/errors"
	interfaces "github.com/operator-framework/api/pkg/validation/interfaces"
)

// TestRuleFails: rules that do not survive a bundle are an error of it, and the
// others run.
func TestRuleFails(t *testing.T) {
	r := &runner{}
	r.run("good-practices", interfaces.ValidatorFunc(func(objects ...any) []apierrors.ManifestResult {
		return []apierrors.ManifestResult{objects[1].(apierrors.ManifestResult)}
	}), "one")
	r.run("csv", interfaces.ValidatorFunc(func(...any) []apierrors.ManifestResult {
		return []apierrors.ManifestResult{{Name: "a", Errors: []apierrors.Error{apierrors.ErrInvalidCSV("bad", "a")}}}
	}), "one")
	if len(r.results) != 2 {
		t.Fatalf("results %+v", r.results)
	}
	failed := r.results[0]
	if failed.Validator != "good-practices" || !failed.Error || failed.Type != "RuleFailed" || !strings.Contains(failed.Detail, "good-practices cannot judge this bundle") {
		t.Errorf("result %+v", failed)
	}
	if r.results[1].Validator != "csv" || !strings.Contains(r.results[1].Detail, "bad") {
		t.Errorf("result %+v", r.results[1])
	}
}

func TestInOrder(t *testing.T) {
	for detail, want := range map[string]string{
		`channel(s) ["b" "a"] are not`:                   `channel(s) ["a" "b"] are not`,
		`channel(s) ["b"] are not`:                       `channel(s) ["b"] are not`,
		`for Role: (["r"]),Job: (["b" "a"]),`:            `for Job: (["a" "b"]), Role: (["r"])`,
		`for Job: (["b"]),Role: (["Spec.Rules[6]"])`:     `for Job: (["b"]), Role: (["Spec.Rules[6]"])`,
		`for CRD: (["z.a.b" "a.a.b"]) or the annotation`: `for CRD: (["a.a.b" "z.a.b"]) or the annotation`,
		"name: (x) and [y]":                              "name: (x) and [y]",
		"":                                               "",
	} {
		if got := inOrder(detail); got != want {
			t.Errorf("%q: got %q, want %q", detail, got, want)
		}
	}
}
