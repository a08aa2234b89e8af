// Package sarif has the parts of the Static Analysis Results Interchange Format
// 2.1.0 (OASIS) that a list of findings needs. Code hosts show such a log beside
// the lines. It knows the format, and nothing of what is found.
package sarif

import (
	"net/url"
	"path"
)

// Rule is a check. Text says what it looks for, and may be empty.
type Rule struct{ ID, Text string }

// Result is one finding. File is slash-separated and relative to the root of the
// repository, empty for a finding of no file; Line and Column count from 1, and
// are 0 where they are not known.
type Result struct {
	Rule, Level, Text string // the level is error, warning or note
	File              string
	Line, Column      int
	Fingerprints      map[string]string // by which a host knows a finding again
}

type (
	// Log is a file of the format, for encoding as JSON.
	Log struct {
		Schema  string `json:"$schema"`
		Version string `json:"version"`
		Runs    []run  `json:"runs"`
	}
	run struct {
		Tool    tool     `json:"tool"`
		Results []result `json:"results"`
	}
	tool struct {
		Driver driver `json:"driver"`
	}
	driver struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
		Rules   []rule `json:"rules"`
	}
	rule struct {
		ID    string `json:"id"`
		Short *text  `json:"shortDescription,omitempty"`
	}
	text struct {
		Text string `json:"text"`
	}
	result struct {
		RuleID       string            `json:"ruleId"`
		Level        string            `json:"level"`
		Message      text              `json:"message"`
		Locations    []location        `json:"locations,omitempty"`
		Fingerprints map[string]string `json:"partialFingerprints,omitempty"`
	}
	location struct {
		Physical physical `json:"physicalLocation"`
	}
	physical struct {
		Artifact artifact `json:"artifactLocation"`
		Region   *region  `json:"region,omitempty"`
	}
	artifact struct {
		URI string `json:"uri"`
	}
	region struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
)

// New is the log of one run of a tool. Rules that have results and are not given
// are added.
func New(name, version string, rules []Rule, results []Result) Log {
	d := driver{Name: name, Version: version, Rules: []rule{}}
	known := map[string]bool{}
	add := func(r Rule) {
		if known[r.ID] {
			return
		}
		known[r.ID] = true
		out := rule{ID: r.ID}
		if r.Text != "" {
			out.Short = &text{r.Text}
		}
		d.Rules = append(d.Rules, out)
	}
	for _, r := range rules {
		add(r)
	}
	out := []result{}
	for _, r := range results {
		add(Rule{ID: r.Rule})
		one := result{RuleID: r.Rule, Level: r.Level, Message: text{r.Text}, Fingerprints: r.Fingerprints}
		if r.File != "" {
			at := physical{Artifact: artifact{(&url.URL{Path: path.Clean(r.File)}).String()}}
			if r.Line > 0 {
				at.Region = &region{r.Line, r.Column}
			}
			one.Locations = []location{{at}}
		}
		out = append(out, one)
	}
	return Log{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []run{{tool{d}, out}},
	}
}
