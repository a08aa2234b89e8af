package validate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yaml "go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/yamledit"
	"github.com/example/mysdk/internal/sarif"
)

const positions = `# a comment
kind: A
metadata:
  annotations: {a.b/c: one, d: two}
spec: &s
  installModes:
  - type: Own
  - {type: All}
  install:
    strategy: deployment
    spec: {deployments: [{name: x}]}
---
---
kind: B
other: *t
alias:
  <<: {}
`

// reading is a run on a bundle with one file, f.
func reading(text string) *run {
	docs, _ := yamledit.Documents([]byte(text))
	return &run{docs: map[string][]*yaml.Node{"f": docs}}
}

func TestLocate(t *testing.T) {
	r := reading(strings.Replace(positions, "other: *t", "other: &t [1, 2]\nlast: *t", 1))
	tests := map[string]struct {
		doc       int
		line, col int
	}{
		"":                                      {0, 2, 1},
		"kind":                                  {0, 2, 1},
		`metadata.annotations["a.b/c"]`:         {0, 4, 17},
		`metadata.annotations["nothing"]`:       {0, 4, 3},
		"Spec.InstallModes[1].Type":             {0, 8, 6},
		"spec.installModes[7].type":             {0, 6, 3},
		"Spec.InstallStrategy.StrategyName":     {0, 10, 5},
		"Spec.InstallStrategy.StrategySpec.x":   {0, 11, 5},
		"spec.install.spec.deployments[0].name": {0, 11, 27},
		"ObjectMeta.Annotations":                {0, 4, 3},
		"other":                                 {1, 15, 1},
		"last[1]":                               {1, 15, 15},
		"TypeMeta.Kind":                         {1, 14, 1},
		"nothing[":                              {1, 14, 1},
		"kind ":                                 {5, 0, 0},
	}
	for field, want := range tests {
		line, col := r.locate("f", want.doc, field)
		if line != want.line || col != want.col {
			t.Errorf("%q is at %d:%d, want %d:%d", field, line, col, want.line, want.col)
		}
	}
	if line, col := r.find("f", 0, "spec", "All"); line != 8 || col != 12 {
		t.Errorf("All is at %d:%d", line, col)
	}
	if line, _ := r.find("f", 0, "", "nowhere"); line != 0 {
		t.Errorf("nowhere is in line %d", line)
	}
}

// FuzzLocate: whatever the file and the path, a place is one of the file.
func FuzzLocate(f *testing.F) {
	f.Add(positions, "spec.installModes[1].type")
	f.Add("a: &a [*a]\nb: {c: *a}\n", "a[0][0][0][0].b")
	f.Add("a:\n  b: c\n", `a["b`)
	f.Fuzz(func(t *testing.T, text, field string) {
		r := reading(text)
		lines := strings.Count(text, "\n") + strings.Count(text, "\r") + strings.Count(text, "\u0085") + strings.Count(text, "\u2028") + strings.Count(text, "\u2029") + 1
		line, column := r.locate("f", 0, field)
		if line < 0 || line > lines || column < 0 || (line == 0) != (len(r.docs["f"]) == 0) {
			t.Errorf("%q is at %d:%d of %d lines", field, line, column, lines)
		}
		r.find("f", 0, "", field)
	})
}

func TestParseSelector(t *testing.T) {
	tests := map[string][]string{
		"":                             {"operatorhubv2", "capabilities", "categories", "alpha-deprecated-apis", "good-practices", "objects"},
		"suite=operatorframework":      {"operatorhubv2", "capabilities", "categories", "alpha-deprecated-apis", "good-practices"},
		"name=multiarch":               {"multiarch"},
		"name in (community, objects)": {"community", "objects"},
	}
	for text, want := range tests {
		s, err := ParseSelector(text)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, s.Names); d != "" {
			t.Errorf("%q (-want +got):\n%s", text, d)
		}
		if s.Strict != (text != "") {
			t.Errorf("%q: strict is %v", text, s.Strict)
		}
	}
	for text, hint := range map[string]string{"name=operatorhubv": "name=operatorhubv2", "name=": "name=operatorhubv2", "a b": "suite=operatorframework"} {
		_, err := ParseSelector(text)
		if clierr.CodeOf(err) != clierr.CodeUsage || !strings.Contains(clierr.HintOf(err), hint) {
			t.Errorf("%q: %v, hint %q", text, err, clierr.HintOf(err))
		}
	}
	if _, err := ParseValues([]string{"k8s-version=1.25", "index-path=a=b"}); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"k8s-verson=1", "k8s-version", "x=y"} {
		if _, err := ParseValues([]string{bad}); clierr.CodeOf(err) != clierr.CodeUsage {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := ForTarget("operatorhup", Selection{}); !strings.Contains(clierr.HintOf(err), "operatorhub") {
		t.Errorf("hint %q", clierr.HintOf(err))
	}
}

func TestReport(t *testing.T) {
	r := &Report{Bundle: "a.v1", Findings: []Finding{
		{Level: Warning, Rule: "csv/a", File: "b.yaml", Line: 3, Text: "later"},
		{Level: Warning, Rule: "hub/a", File: "b.yaml", Line: 3, Text: "later"}, // the same again
		{Level: Error, Rule: "csv/b", File: "b.yaml", Line: 2, Column: 5, Text: "bad", Hint: "mend it"},
		{Level: Error, Rule: "format/parse", File: "z.yaml", Line: 1, Text: "broken"},
		{Level: Error, Rule: "format/layout", Text: "no directory"},
	}}
	r.finish()
	var got []string
	for _, f := range r.Findings {
		got = append(got, f.Place()+" "+f.Text)
	}
	if d := cmp.Diff([]string{"z.yaml:1:1 broken", " no directory", "b.yaml:2:5 bad", "b.yaml:3:1 later"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if r.Passed || r.Count(Error) != 3 || r.Count(Warning) != 1 {
		t.Errorf("report %+v", r)
	}
	alpha, err := r.Alpha1()
	if err != nil || !strings.Contains(string(alpha), `"type": "error",
            "message": "z.yaml:1:1: broken"`) {
		t.Errorf("%v\n%s", err, alpha)
	}
	data, err := r.SARIF("bundle", "v1")
	if err != nil {
		t.Fatal(err)
	}
	var log sarif.Log
	if err := json.Unmarshal(data, &log); err != nil {
		t.Fatal(err)
	}
	first := log.Runs[0].Results[0]
	if log.Version != "2.1.0" || len(log.Runs[0].Tool.Driver.Rules) != 4 || first.Level != "error" || first.Locations[0].Physical.Artifact.URI != "bundle/z.yaml" || first.Locations[0].Physical.Region.StartLine != 1 {
		t.Errorf("%s", data)
	}
}
