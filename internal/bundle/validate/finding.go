package validate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"

	"github.com/example/mysdk/internal/sarif"
)

// Level is how bad a finding is.
type Level string

// The levels. A bundle with an error is not valid.
const (
	Error   Level = "error"
	Warning Level = "warning"
)

// Finding is one thing to say of a bundle.
type Finding struct {
	Level  Level  `json:"level"`
	Rule   string `json:"rule"`             // validator/rule
	File   string `json:"file,omitempty"`   // relative to the bundle; empty for the bundle as a whole
	Line   int    `json:"line,omitempty"`   // from 1; 0 where there is none
	Column int    `json:"column,omitempty"` // from 1
	Field  string `json:"field,omitempty"`
	Text   string `json:"message"`
	Hint   string `json:"hint,omitempty"`
}

// Place is the finding's place as file:line:column, as far as it is known.
func (f Finding) Place() string {
	if f.Line == 0 {
		return f.File
	}
	return fmt.Sprintf("%s:%d:%d", f.File, f.Line, max(f.Column, 1))
}

// String is the finding's text behind its place.
func (f Finding) String() string {
	if at := f.Place(); at != "" {
		return at + ": " + f.Text
	}
	return f.Text
}

// Report is all there is to say of a bundle, errors first.
type Report struct {
	Bundle   string    `json:"bundle"` // the CSV's name, or "" without one
	Passed   bool      `json:"passed"`
	Findings []Finding `json:"findings"`
}

// Count is how many findings of a level there are.
func (r *Report) Count(l Level) int {
	n := 0
	for _, f := range r.Findings {
		if f.Level == l {
			n++
		}
	}
	return n
}

// finish puts the findings in order, each once, and draws the conclusion.
// Several validators ask the same, and the first by its name is named. Validators
// find things in any order, so the order here goes by all that a finding says.
func (r *Report) finish() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(rank(a), rank(b)), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Text, b.Text), cmp.Compare(a.Field, b.Field))
	})
	seen := map[Finding]bool{} // errors come first
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool {
		key := Finding{File: f.File, Text: f.Text, Line: f.Line}
		twice := seen[key]
		seen[key] = true
		return twice
	})
	if r.Findings == nil {
		r.Findings = []Finding{} // an empty list in JSON too
	}
	r.Passed = r.Count(Error) == 0
}

// rank puts files that do not parse before everything else.
func rank(f Finding) int {
	if f.Rule == "format/parse" {
		return 0
	}
	return 1
}

// Alpha1 is the report in the format that operator-sdk calls json-alpha1.
func (r *Report) Alpha1() ([]byte, error) {
	type output struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	out := struct {
		Passed  bool     `json:"passed"`
		Outputs []output `json:"outputs"`
	}{Passed: r.Passed}
	for _, f := range r.Findings {
		out.Outputs = append(out.Outputs, output{string(f.Level), f.String()})
	}
	return json.MarshalIndent(out, "", "    ")
}

// SARIF is the report in the Static Analysis Results Interchange Format 2.1.0,
// which code hosts show beside the lines. root is the bundle's directory as it
// is called there, and version that of mysdk.
func (r *Report) SARIF(root, version string) ([]byte, error) {
	var results []sarif.Result
	for _, f := range r.Findings {
		text := f.Text
		if f.Hint != "" {
			text += "\n" + f.Hint
		}
		results = append(results, sarif.Result{
			Rule: f.Rule, Level: string(f.Level), Text: text, File: path.Join(root, f.File), Line: f.Line, Column: f.Column,
		})
	}
	return json.MarshalIndent(sarif.New("mysdk", version, nil, results), "", "  ")
}
