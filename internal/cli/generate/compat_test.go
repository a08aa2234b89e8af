package generate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/compat"
	"github.com/example/mysdk/internal/generate"
)

// What is alike in many fields of a line is printed once.
func TestCompatReport_Text(t *testing.T) {
	finding := func(line int, field, text string, warning bool) compatFinding {
		return compatFinding{generate.Position{File: "a.go", Line: line, Column: 1}, compat.Change{CRD: "x", Version: "v1", Field: field, Rule: "type", Text: text, Hint: "keep it", Warning: warning}}
	}
	r := compatReport{Reference: "v1", Compatible: true, Findings: []compatFinding{
		finding(3, "a", "changed", false), finding(3, "b", "changed", false), finding(3, "c", "other", true), finding(3, "d", "changed", false),
		finding(4, "e", "changed", false), finding(0, "f", "changed", false), finding(0, "g", "changed", false),
	}}
	r.Findings[5].File, r.Findings[6].File = "", ""
	var out strings.Builder
	r.text(&out, 2)
	want := `a.go:3:1: x v1: a: changed (type)
    and 2 more fields of this line in the same way
    keep it
a.go:3:1: warning: x v1: c: other (type)
    keep it
a.go:4:1: x v1: e: changed (type)
    keep it
x v1: f: changed (type)
    keep it
x v1: g: changed (type)
    keep it
compatible with v1 (2 CRDs)
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}
