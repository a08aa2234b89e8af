package migrate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/migrate"
)

// TestBuilt holds that a kustomization which does not build is a problem with its
// remedy, and one that only mysdk does not build a note.
func TestBuilt(t *testing.T) {
	const name = cli.DeployDir + "/kustomization.yaml"
	for text, want := range map[string]migrate.Plan{
		"namePrefix: a-\nresources: [https://example.com/a.yaml]\n": {General: []migrate.Note{{Text: cli.DeployDir + " was not built: " + name + ":2: resources https://example.com/a.yaml is remote, and mysdk fetches nothing while it builds: download it into the project and refer to the copy"}}},
		"helmCharts: [{name: a}]\n":                                 {General: []migrate.Note{{Text: cli.DeployDir + " was not built: " + name + ":1: helm charts need the helm program, which mysdk does not run: render the chart to a file with 'helm template' and list that file under resources"}}},
		"resources: [a.yaml]\n":                                     {Problems: []migrate.Problem{{File: cli.DeployDir, Text: name + ":1: resources: there is no config/default/a.yaml: create it, or take the line out"}}},
		"resources: a\n":                                            {Problems: []migrate.Problem{{File: cli.DeployDir, Text: name + ": cannot unmarshal string into Go struct field Kustomization.resources of type []string: correct the file"}}},
		"configMapGenerator: [{name: a}]\n":                         {},
	} {
		w := hosttest.New(t)
		to := filepath.Join(w.Dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var got migrate.Plan
		if err := built(t.Context(), &cli.Factory{Host: w.Host}, &got, nil); err != nil {
			t.Error(err)
		}
		if d := cmp.Diff([]any{want.General, want.Problems}, []any{got.General, got.Problems}); d != "" {
			t.Errorf("%s (-want +got):\n%s", text, d)
		}
	}
}
