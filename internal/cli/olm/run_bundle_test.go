package olm

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/olm/run"
	"github.com/example/mysdk/internal/registry"
)

// TestBundleNamesNoRegistry says what the bundle is that no image name is made of.
func TestBundleNamesNoRegistry(t *testing.T) {
	w := hosttest.New(t)
	if err := errors.Join(os.Mkdir(w.Path("dir"), 0o750), os.WriteFile(w.Path("file"), nil, 0o600), os.Symlink("dir", w.Path("link"))); err != nil {
		t.Fatal(err)
	}
	for bundle, want := range map[string]string{"dir": "directory", "file": "file", "link": "directory"} {
		err := serveCatalog(t.Context(), &cli.Factory{Host: w.Host}, &run.Options{}, registry.Access{}, &runBundleOptions{bundle: bundle})
		if err == nil || !strings.Contains(err.Error(), "the bundle is a "+want+", which names none") {
			t.Errorf("%s: %v", bundle, err)
		}
	}
}

// TestOpensWhatTheClusterPulls: other clusters than the embedded one pull from registries.
func TestOpensWhatTheClusterPulls(t *testing.T) {
	for want, target := range map[bool]cli.Target{false: {Name: "default"}, true: {Name: "default", Context: "kind-dev"}} {
		o := &runBundleOptions{Target: target}
		if got := o.open("ghcr.io/you/op-bundle:v1", registry.Access{UseHTTP: true}); got.RegistryFirst != want || !got.UseHTTP || got.Image == "" {
			t.Errorf("%+v: %+v", target, got)
		}
	}
}

// TestPrograms: the operator is that of the project around the bundle, wherever in it
// the command is run.
func TestPrograms(t *testing.T) {
	w := hosttest.New(t)
	for name, text := range map[string]string{
		"PROJECT":                           "domain: example.com\nlayout: [go.kubebuilder.io/v4]\nprojectName: op\nrepo: example.com/op\nversion: \"3\"\n",
		"config/default/kustomization.yaml": "resources: [manager.yaml]\n",
		"config/default/manager.yaml":       "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: op}\nspec: {template: {spec: {containers: [{name: manager, image: controller:latest}]}}}\n",
		"bundle/manifests/x.yaml":           "",
	} {
		if err := os.MkdirAll(filepath.Dir(w.Path(name)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(w.Path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := &cobra.Command{}
	c.SetContext(t.Context())
	other := &cli.Factory{Host: w.Host, Running: c, AsIs: true}
	if p, err := programs(t.Context(), other, "default", "theirs", "ghcr.io/them/theirs:v1"); err != nil || p.Project != nil {
		t.Errorf("of another's image: %+v, %v", p.Project, err)
	}
	for dir, from := range map[string]string{".": "bundle", "config": "../bundle"} {
		f := &cli.Factory{Host: w.Host, Running: c, AsIs: true}
		f.Host.Dir = w.Path(dir)
		p, err := programs(t.Context(), f, "default", "op", from)
		if err != nil || p.Project == nil || p.Project.Dir != w.Dir || p.Project.Image != "controller:latest" {
			t.Errorf("in %s: %+v, %v", dir, p.Project, err)
		}
	}
}
