package validate

import (
	"encoding/json"
	"path"

	"github.com/example/mysdk/internal/sarif"
)

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
