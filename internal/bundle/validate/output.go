package validate

import (
	"encoding/json"
	"path"
	"slices"
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
		text := f.Text
		if at := f.Place(); at != "" {
			text = at + ": " + text
		}
		out.Outputs = append(out.Outputs, output{string(f.Level), text})
	}
	return json.MarshalIndent(out, "", "    ")
}

// The parts of the Static Analysis Results Interchange Format, version 2.1.0,
// that a list of findings needs.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID string `json:"id"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     Level           `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
)

// SARIF is the report in the Static Analysis Results Interchange Format 2.1.0,
// which code hosts show beside the lines. root is the bundle's directory as it
// is called there, and version that of mysdk.
func (r *Report) SARIF(root, version string) ([]byte, error) {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "mysdk", Version: version, Rules: []sarifRule{}}}, Results: []sarifResult{}}
	for _, f := range r.Findings {
		if !slices.Contains(run.Tool.Driver.Rules, sarifRule{f.Rule}) {
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{f.Rule})
		}
		text := f.Text
		if f.Hint != "" {
			text += "\n" + f.Hint
		}
		res := sarifResult{RuleID: f.Rule, Level: f.Level, Message: sarifText{text}}
		at := sarifPhysical{Artifact: sarifArtifact{path.Join(root, f.File)}}
		if f.Line > 0 {
			at.Region = &sarifRegion{f.Line, f.Column}
		}
		res.Locations = []sarifLocation{{at}}
		run.Results = append(run.Results, res)
	}
	return json.MarshalIndent(sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run},
	}, "", "  ")
}
