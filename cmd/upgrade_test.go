package cmd_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/upgrade"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// olderVersion is a release that never was: it differs from today's scaffold
// by olderTexts.
const olderVersion = "v0.0.9"

// runtimeNow is a line of go.mod that today's scaffold has.
var runtimeNow = "sigs.k8s.io/controller-runtime " + v4.CurrentVersions().ControllerRuntime

// olderTexts are texts of scaffolded files, which hold nothing of the project,
// with what the older version had in their place.
var olderTexts = map[string][2]string{
	".gitignore":                     {"/bin/\n", ""},
	"Dockerfile":                     {"USER 65532:65532\n", "USER nobody\n"},
	"Makefile":                       {".PHONY: vet\nvet: ## Look for mistakes that compile.\n\tgo vet ./...\n\n", ""},
	"cmd/main.go":                    {"Failed to create the manager", "No manager"},
	"config/manager/manager.yaml":    {"cpu: 500m", "cpu: 250m"},
	"config/rbac/kustomization.yaml": {"- metrics_reader_role.yaml\n", ""},
	"go.mod":                         {runtimeNow, "sigs.k8s.io/controller-runtime v0.23.0"},
}

// writeOlder writes the older version's baseline into the directory to and
// makes the project, which mysdk has just written, one of that version.
func writeOlder(project, to string) error {
	templates := v4.Templates()
	tree := fstest.MapFS{}
	err := fs.WalkDir(templates, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(templates, name)
		tree[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		return err
	}
	for name, texts := range olderTexts {
		text := strings.Replace(string(tree["init/"+name+".tmpl"].Data), texts[0], texts[1], 1)
		tree["init/"+name+".tmpl"] = &fstest.MapFile{Data: []byte(text)}
		if err := substitute(filepath.Join(project, name), texts[0], texts[1]); err != nil {
			return err
		}
	}
	delete(tree, "init/.devcontainer/devcontainer.json.tmpl")
	archive, err := upgrade.Baseline{Version: olderVersion, Templates: tree, Pins: v4.CurrentVersions()}.Archive()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, olderVersion+".zip"), archive, 0o644); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(project, ".devcontainer")); err != nil {
		return err
	}
	// What was installed is that version, and PROJECT says so.
	if err := substitute(filepath.Join(project, ".github/workflows/test.yml"), "cmd/...@latest", "cmd/...@"+olderVersion); err != nil {
		return err
	}
	const version = "    version: " + olderVersion + "\n"
	file := filepath.Join(project, "PROJECT")
	if substitute(file, "  "+v4.ScaffoldKey+":\n", "  "+v4.ScaffoldKey+":\n"+version) == nil {
		return nil
	}
	return substitute(file, "  scorecard.", "  "+v4.ScaffoldKey+":\n"+version+"  scorecard.")
}

func substitute(file, old, text string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !strings.Contains(string(data), old) {
		return fmt.Errorf("%s does not have %q", file, old)
	}
	return os.WriteFile(file, []byte(strings.Replace(string(data), old, text, 1)), 0o644)
}

// older DIR makes the project here one of an older version, whose baseline goes
// into the directory.
func older(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: older DIR")
	}
	ts.Check(writeOlder(ts.MkAbs("."), ts.MkAbs(args[0])))
}

// TestUpgradeTransaction breaks an upgrade off, as TestTransactions does: with
// files that are new, updated, merged and in conflict.
func TestUpgradeTransaction(t *testing.T) {
	base, command := upgradeBase(t)
	tr := newTransaction(t, base, command)
	if _, there := tr.want["config/manager/manager.yaml.rej"]; !there || tr.want[".devcontainer/devcontainer.json"] == "" || strings.Contains(tr.want["Dockerfile"], "nobody") {
		t.Fatal("the upgrade does less than it should")
	}
	tr.breakOff(t)
}

// upgradeBase is a project of an older version with changes of its own, and the
// command that upgrades it.
func upgradeBase(t *testing.T) (base *hosttest.World, command string) {
	base = projectBy(t, []string{"init --domain example.com"})
	baselines := t.TempDir()
	if err := writeOlder(base.Dir, baselines); err != nil {
		t.Fatal(err)
	}
	for file, texts := range map[string][2]string{
		"config/manager/manager.yaml": {"cpu: 250m", "cpu: 300m"},
		"Makefile":                    {"IMG ?= controller:latest", "IMG ?= quay.io/me/shop:v1"},
	} {
		if err := substitute(filepath.Join(base.Dir, file), texts[0], texts[1]); err != nil {
			t.Fatal(err)
		}
	}
	return base, "upgrade --keep-going --baselines " + baselines
}
