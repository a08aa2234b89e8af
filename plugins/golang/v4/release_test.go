package v4

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/spf13/afero"
	cfgv3 "sigs.k8s.io/kubebuilder/v3/pkg/config/v3"
	"sigs.k8s.io/kubebuilder/v3/pkg/machinery"
	"sigs.k8s.io/yaml"
)

// emptyProject is one that init has not run in.
func emptyProject() *project {
	return &project{config: cfgv3.New(), disk: machinery.Filesystem{FS: afero.NewMemMapFs()}}
}

// A release leaves its version in PROJECT, a build between two does not: what
// it writes has no name.
func TestInitRecordsRelease(t *testing.T) {
	for version, want := range map[string]string{"v1.2.3": "v1.2.3", "(devel)": "", "": ""} {
		p := emptyProject()
		if err := p.init(Plugin{CLIVersion: version}); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Version string `json:"version"`
		}
		err := p.config.DecodePluginConfig(ScaffoldKey, &got)
		if got.Version != want || (err == nil) != (want != "") {
			t.Errorf("%q records %q, %v", version, got.Version, err)
		}
	}
}

// Other templates and versions are written as today's are.
func TestEarlierTemplates(t *testing.T) {
	now := Templates()
	earlier := fstest.MapFS{
		"init/" + boilerplatePath + ".tmpl": &fstest.MapFile{Data: []byte("// Header of {{ .Owner }}\n")},
		"init/cmd/main.go.tmpl":             &fstest.MapFile{Data: []byte("{{ .Boilerplate }}\n\npackage main // {{ .Versions.Go }}\n")},
	}
	pins := CurrentVersions()
	pins.Go = "1.2.3"
	for name, c := range map[string]struct {
		plugin Plugin
		want   string
		files  int
	}{
		"today's by name": {Plugin{Templates: now}, "Command manager", 0},
		"earlier":         {Plugin{Templates: earlier, Pins: &pins}, "// Header of me\n\npackage main // 1.2.3\n", 2},
	} {
		p := emptyProject()
		if err := p.init(c.plugin, "--owner=me"); err != nil {
			t.Fatal(err)
		}
		files := p.files(t)
		if !strings.Contains(files["cmd/main.go"], c.want) || c.files > 0 && len(files) != c.files {
			t.Errorf("%s: %d files, main.go is\n%s", name, len(files), files["cmd/main.go"])
		}
	}
	if _, err := (Plugin{Templates: earlier}).Workflow(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a workflow of templates without one: %v", err)
	}
	text, err := Plugin{}.Workflow()
	if err != nil || strings.Contains(string(text), `{{"`) || !strings.Contains(string(text), "${{ secrets.UPGRADE_TOKEN || github.token }}") {
		t.Errorf("the workflow is, with %v:\n%s", err, text)
	}
}

// What somebody pushed to the branch of the pull request is not overwritten.
func TestUpgradeWorkflowKeepsCommits(t *testing.T) {
	text, err := Plugin{}.Workflow()
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Jobs struct {
			Upgrade struct{ Steps []struct{ Run string } }
		}
	}
	if err := yaml.Unmarshal(text, &workflow); err != nil {
		t.Fatal(err)
	}
	steps := workflow.Jobs.Upgrade.Steps
	const standIns = `set -e
git() { case $1 in push) echo pushed ;; status) echo changed ;; fetch) [ -n "$AUTHOR" ] ;; log) echo "$AUTHOR" ;; esac; }
gh() { if [ "$2" = view ]; then echo "$STATE"; fi; }
`
	for name, test := range map[string]struct {
		author, state string
		pushed        bool
	}{
		"no branch":          {"", "", true},
		"nobody else":        {"github-actions[bot]", "OPEN", true},
		"somebody":           {"Somebody", "OPEN", false},
		"no pull request":    {"Somebody", "", false},
		"somebody, and done": {"Somebody", "MERGED", true},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "bash", "-c", standIns+steps[len(steps)-1].Run)
			cmd.Env = append(os.Environ(), "BRANCH=mysdk-upgrade", "RUNNER_TEMP=.", "AUTHOR="+test.author, "STATE="+test.state)
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Contains(string(out), "pushed\n") != test.pushed || strings.Contains(string(out), "::notice::") == test.pushed {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
