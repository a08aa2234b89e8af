package migrate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/compat"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/migrate"
)

// TestGrouped holds that the page has a change once that a type shared by several
// CRDs makes in each, and that it loses none that are different.
func TestGrouped(t *testing.T) {
	at := generate.Position{File: "api/v1/cart_types.go", Line: 7, Column: 2}
	change := func(crd, field, text string) compat.Change {
		return compat.Change{CRD: crd, Version: "v1", Field: field, Rule: "required", Text: text, Hint: "make it optional"}
	}
	got := grouped([]located{
		{at, change("carts", "spec.size", "is required now")},
		{at, change("shops", "spec.cart.size", "is required now")},
		{at, change("shops", "spec.cart.size", "is a string now")},
		{generate.Position{}, compat.Change{CRD: "gone", Rule: compat.CRDRemoval, Text: "the CRD is removed", Hint: "keep it"}},
		{generate.Position{}, compat.Change{CRD: "lost", Rule: compat.CRDRemoval, Text: "the CRD is removed", Hint: "keep it"}},
	})
	want := []migrate.Problem{
		{File: at.File, Line: 7, Column: 2, Text: "carts v1: spec.size: is required now: make it optional (and 1 more like this)"},
		{File: at.File, Line: 7, Column: 2, Text: "shops v1: spec.cart.size: is a string now: make it optional"},
		{File: crdBases, Text: "gone: the CRD is removed: keep it"},
		{File: crdBases, Text: "lost: the CRD is removed: keep it"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
