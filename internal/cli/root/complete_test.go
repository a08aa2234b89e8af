package root

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/host/hosttest"
)

// textFlags take what nobody but the user knows.
var textFlags = strings.Fields(`api-version base build-cmd check-compat bundle-upgrade ca-secret-name catalog-image channels controller-name csv-channel csv-version
	custom-api-import decompression-image default-channel defaulting-path domain env explain external-api-domain
	external-api-module external-api-path extra-service-accounts from-version go-build-args go-ldflags go-test-flags
	image image-container-command image-container-port image-registry image-tag-base index-image label
	operator-flags operator-name operator-version optional-values owner package plural project-name pull-secret-name
	registry-image repo run-as-user selector service-account sha256 storage-image tag untar-image validation-path webhook-host webhook-listen load-build-tags
	helm-chart helm-chart-repo helm-chart-version docker-build-args image-build-args csv-config global-manifest namespaced-manifest
	local-operator-flags molecule-test-flags max-workers reconcile-period watches-file replay seed`)

// everyFlag calls visit with the flags of every command that help shows.
func everyFlag(t *testing.T, visit func(c *cobra.Command, f *pflag.Flag)) {
	t.Helper()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				visit(c, f)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(Root(hosttest.New(t).Host))
}

// TestEveryFlagCompletes: what a flag takes is known, so that no file names are
// offered where no file is meant.
func TestEveryFlagCompletes(t *testing.T) {
	everyFlag(t, func(c *cobra.Command, f *pflag.Flag) {
		_, isChoice := f.Value.(*cli.ChoiceValue)
		if isChoice || slices.Contains([]string{"bool", "count", "int", "duration"}, f.Value.Type()) {
			return
		}
		_, isFile := cli.FileFlags[f.Name]
		n := 0
		for _, in := range []bool{isFile, cli.DirFlags[f.Name], slices.Contains(textFlags, f.Name), valueFlags[f.Name] != nil} {
			if in {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s --%s is in %d of the tables, want 1", c.CommandPath(), f.Name, n)
		}
	})
}

// TestSettings: each key names a flag of its command, and none says which of the
// user's clusters is meant, where something goes, or that it may be overwritten.
func TestSettings(t *testing.T) {
	known := map[string]bool{}
	everyFlag(t, func(c *cobra.Command, _ *pflag.Flag) {
		for key, f := range cli.SettingsOf(c) {
			known[key] = true
			bad := []string{"apply", "context", "delete-all", "dry-run", "force", "fresh", "group", "kind", "kubeconfig", "output", "output-dir", "overwrite", "push", "write", "yes"}
			if slices.Contains(bad, f.Name) || f.Name == "version" && key != "bundle-generate.version" {
				t.Errorf("%s must not be set outside the command line", key)
			}
		}
	})
	for _, key := range cli.SettingKeys() {
		if !known[key] {
			t.Errorf("%s: there is no such flag", key)
		}
	}
}

// TestConfigurationPage holds the page to what help says.
func TestConfigurationPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{listSettings(), listVariables(), listExitCodes()} {
		if !strings.Contains(string(page), strings.TrimRight(list, "\n")) {
			t.Errorf("docs/configuration.md does not have:\n%s", list)
		}
	}
}

func TestComplete(t *testing.T) {
	const projectFile = `domain: example.com
layout: [go.kubebuilder.io/v4]
projectName: op
repo: example.com/op
version: "3"
resources:
- {api: {crdVersion: v1}, domain: example.com, group: cache, kind: Memcached, path: example.com/op/api/v1, version: v1}
- {api: {crdVersion: v1}, domain: example.com, group: cache, kind: Memcached, path: example.com/op/api/v2, version: v2}
- {api: {crdVersion: v1}, domain: example.com, group: shop, kind: Cart, path: example.com/op/api/shop/v3, version: v3}
`
	const kubeconfig = `apiVersion: v1
kind: Config
contexts:
- {name: kind-dev, context: {cluster: a}}
- {name: prod, context: {cluster: a}}
`
	const nothing, files, dirs = ":4", ":0", ":16"
	for line, want := range map[string]string{
		"create api --pattern ":    "deployment blank :4",
		"create api --group ":      "cache shop :4",
		"create api --plural ":     nothing,
		"create api ":              nothing,
		"create webhook --kind ":   "Memcached Cart :4",
		"create webhook --certs c": "cert-manager :4",
		"delete api --group cache --kind Memcached --version ": "v1 v2 :4",
		"delete webhook --kind Cart --version=":                "v3 :4",
		"-C below delete webhook --kind Cart --version ":       "v3 :4",
		"create webhook --kind Memcached --spoke v1,":          "v1,v1 v1,v2 :4",
		"init --license ":               "apache2 none :4",
		"init --domain ":                nothing,
		"init --plugins ":               "go/v4 :4",
		"install --context ":            "kind-dev prod :4",
		"install --context k":           "kind-dev :4",
		"install --kubeconfig ":         files,
		"install --timeout ":            nothing,
		"olm explain -n ":               nothing,
		"cluster stop --cluster ":       "dev :4",
		"cluster stop ":                 nothing,
		"cluster simulate pod ":         nothing,
		"cluster simulate pod web cr":   "crash :4",
		"cluster simulate pod web a ":   nothing,
		"bundle generate --input-dir ":  dirs,
		"bundle validate ":              files,
		"test ":                         files,
		"test --kubernetes ":            strings.Join(cli.MinorVersions(), " ") + " :4",
		"run local --apply ":            "yaml yml json :8",
		"run bundle b --install-mode S": "SingleNamespace= :6",
		"version -o ":                   "text json yaml :4",
		"--color a":                     "auto always :4",
	} {
		t.Run(line, func(t *testing.T) {
			w := hosttest.New(t)
			w.Env["KUBECONFIG"] = "kubeconfig"
			for name, text := range map[string]string{"PROJECT": projectFile, "kubeconfig": kubeconfig, "below/file": "", "state/clusters/dev/state.json": ""} {
				if err := os.MkdirAll(filepath.Dir(w.Path(name)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(w.Path(name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			w.Env["MYSDK_STATE_DIR"] = "state"
			args := strings.Split(line, " ")
			if code := Main(t.Context(), w.Host, append([]string{"__complete"}, args...)); code != 0 {
				t.Fatalf("exit code %d: %s", code, w.Err)
			}
			var got []string
			for word := range strings.Lines(w.Out.String()) {
				word, _, _ = strings.Cut(strings.TrimSpace(word), "\t")
				got = append(got, word)
			}
			if d := cmp.Diff(want, strings.Join(got, " ")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
