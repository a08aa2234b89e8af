package sarif

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNew(t *testing.T) {
	rules := []Rule{{ID: "crash", Text: "The operator ends."}}
	for name, c := range map[string]struct {
		results []Result
		want    string
	}{
		"nothing": {nil, `{"driver":{"name":"mysdk","version":"v1","rules":[{"id":"crash","shortDescription":{"text":"The operator ends."}}]}} []`},
		"found": {
			[]Result{
				{Rule: "crash", Level: "error", Text: "a", File: "x/./a.go", Line: 3, Column: 2, Fingerprints: map[string]string{"plan/v1": "1f"}},
				{Rule: "leak", Level: "warning", Text: "b", File: "b c#1%.go"},
				{Rule: "leak", Level: "warning", Text: "c"},
			},
			`{"driver":{"name":"mysdk","version":"v1","rules":[{"id":"crash","shortDescription":{"text":"The operator ends."}},{"id":"leak"}]}} ` +
				`[{"ruleId":"crash","level":"error","message":{"text":"a"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"x/a.go"},"region":{"startLine":3,"startColumn":2}}}],"partialFingerprints":{"plan/v1":"1f"}},` +
				`{"ruleId":"leak","level":"warning","message":{"text":"b"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"b%20c%231%25.go"}}}]},` +
				`{"ruleId":"leak","level":"warning","message":{"text":"c"}}]`,
		},
	} {
		log := New("mysdk", "v1", rules, c.results)
		tool, err := json.Marshal(log.Runs[0].Tool)
		if err != nil {
			t.Fatal(err)
		}
		results, err := json.Marshal(log.Runs[0].Results)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, string(tool)+" "+string(results)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
