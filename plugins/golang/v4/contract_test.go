package v4_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kubebuilder/v3/pkg/cli"
	cfgv3 "sigs.k8s.io/kubebuilder/v3/pkg/config/v3"
	"sigs.k8s.io/yaml"

	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// kubebuilder runs kubebuilder's own command line with the plugin in it. It
// works on the current directory and reads os.Args.
func kubebuilder(t *testing.T, args ...string) {
	t.Helper()
	before := os.Args
	os.Args = append([]string{"kubebuilder"}, args...)
	defer func() { os.Args = before }()
	c, err := cli.New(
		cli.WithCommandName("kubebuilder"),
		cli.WithVersion("v3"),
		cli.WithPlugins(v4.Plugin{}),
		cli.WithDefaultPlugins(cfgv3.Version, v4.Plugin{}),
		cli.WithDefaultProjectVersion(cfgv3.Version),
	)
	if err != nil {
		t.Fatalf("making the command line: %v", err)
	}
	if err := c.Run(); err != nil {
		t.Fatalf("kubebuilder %s: %v", strings.Join(args, " "), err)
	}
}

// The plugin is one of kubebuilder's: its command line runs it, from flags to
// PROJECT.
func TestKubebuildersCommandLineRunsThePlugin(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	kubebuilder(t, "init", "--domain=example.com", "--repo=example.com/shop", "--project-name=shop")
	kubebuilder(t, "create", "api", "--group=cache", "--version=v1alpha1", "--kind=Memcached")
	kubebuilder(t, "create", "api", "--group=cache", "--version=v1", "--kind=Memcached")
	kubebuilder(t, "create", "webhook", "--group=cache", "--version=v1", "--kind=Memcached", "--defaulting", "--conversion")

	for _, name := range []string{
		"go.mod", "go.sum", "Makefile", ".gitignore", "cmd/main.go", "api/v1alpha1/memcached_types.go",
		"api/v1/memcached_types.go", "internal/controller/memcached_controller.go", "config/default/kustomization.yaml",
		"internal/webhook/v1/memcached_webhook.go", "api/v1alpha1/memcached_conversion.go", "config/webhook/service.yaml",
	} {
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}

	text, err := os.ReadFile(filepath.Join(dir, "PROJECT"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := yaml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	of := func(version string, more map[string]any) []any {
		out := map[string]any{
			"domain": "example.com", "group": "cache", "kind": "Memcached", "version": version,
			"options": map[string]any{"image": "memcached:1.6", "runAsUser": "1001"},
		}
		maps.Copy(out, more)
		return []any{out}
	}
	api := map[string]any{"crdVersion": "v1", "namespaced": true}
	want := map[string]any{
		"domain": "example.com", "layout": []any{"go.kubebuilder.io/v4"}, "projectName": "shop", "repo": "example.com/shop", "version": "3",
		"plugins": map[string]any{
			v4.DeployImageKey: map[string]any{"resources": of("v1alpha1", nil)},
			v4.ScaffoldKey: map[string]any{"resources": of("v1", map[string]any{
				"pattern": "deployment", "webhooks": []any{map[string]any{"certs": "self", "conversion": true, "defaulting": true}},
			})},
			"manifests.sdk.operatorframework.io/v2": map[string]any{}, "scorecard.sdk.operatorframework.io/v2": map[string]any{},
		},
		"resources": []any{
			map[string]any{"api": api, "controller": true, "domain": "example.com", "group": "cache", "kind": "Memcached",
				"path": "example.com/shop/api/v1alpha1", "version": "v1alpha1"},
			map[string]any{"api": api, "domain": "example.com", "group": "cache", "kind": "Memcached",
				"path": "example.com/shop/api/v1", "version": "v1",
				"webhooks": map[string]any{"conversion": true, "defaulting": true, "webhookVersion": "v1"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("PROJECT (-want +got):\n%s", diff)
	}
}
