package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/host/hosttest"
)

// generatedWebhooks is what the webhook markers of any project give.
const generatedWebhooks = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: validating-webhook-configuration
webhooks: []
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: mutating-webhook-configuration
webhooks: []
`

// TestProjectWebhooks: a run takes the place of the deployment, so its webhook
// configurations have the deployment's names, whether it has them or not yet.
func TestProjectWebhooks(t *testing.T) {
	const (
		project = "domain: example.com\nlayout:\n- go.kubebuilder.io/v4\nprojectName: shop\nrepo: example.com/shop\nversion: \"3\"\n"
		service = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n"
	)
	tests := map[string]struct {
		files map[string]string
		want  []string
		err   string
	}{
		"none": {nil, nil, ""},
		"generated, not deployed": {map[string]string{"config/webhook/manifests.yaml": generatedWebhooks,
			"config/default/kustomization.yaml": "namePrefix: other-\nresources: [s.yaml]\n", "config/default/s.yaml": service},
			[]string{"shop-validating-webhook-configuration", "shop-mutating-webhook-configuration"}, ""},
		"no deployment at all": {map[string]string{"config/webhook/manifests.yaml": generatedWebhooks},
			[]string{"shop-validating-webhook-configuration", "shop-mutating-webhook-configuration"}, ""},
		"deployed": {map[string]string{"config/webhook/manifests.yaml": generatedWebhooks,
			"config/webhook/kustomization.yaml": "resources: [manifests.yaml]\n",
			"config/default/kustomization.yaml": "namePrefix: other-\nresources: [s.yaml, ../webhook]\n", "config/default/s.yaml": service},
			[]string{"other-mutating-webhook-configuration", "other-validating-webhook-configuration"}, ""},
		"generated elsewhere": {map[string]string{"config/components/webhook/manifests.yaml": generatedWebhooks,
			"config/components/webhook/kustomization.yaml": "resources: [manifests.yaml]\n",
			"config/default/kustomization.yaml":            "namePrefix: other-\nresources: [../components/webhook]\n"},
			[]string{"other-mutating-webhook-configuration", "other-validating-webhook-configuration"}, ""},
		"broken deployment": {map[string]string{"config/webhook/manifests.yaml": generatedWebhooks,
			"config/default/kustomization.yaml": "resources: [none.yaml]\n"}, nil, "config/default/kustomization.yaml:1"},
		"broken deployment without webhooks": {map[string]string{"config/default/kustomization.yaml": "resources: [none.yaml]\n"}, nil, ""},
		"broken manifest":                    {map[string]string{"config/webhook/manifests.yaml": "a: [\n"}, nil, "config/webhook/manifests.yaml:"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t)
			tc.files = cloneWith(tc.files, "PROJECT", project)
			for file, text := range tc.files {
				full := filepath.Join(w.Dir, filepath.FromSlash(file))
				if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			c := &cobra.Command{}
			c.SetContext(t.Context())
			f := &cli.Factory{Host: w.Host, Running: c}
			deployed, deployErr := deployedObjects(t.Context(), f)
			m, err := manifestsOf(f, nil, deployed, deployErr)
			if !errors.Is(m.RoleErr, deployErr) {
				t.Errorf("why there is no role: %v, want %v", m.RoleErr, deployErr)
			}
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("error: %v", err)
			}
			var got []string
			for _, u := range m.Webhooks {
				got = append(got, u.GetName())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func cloneWith(files map[string]string, name, text string) map[string]string {
	all := map[string]string{name: text}
	for k, v := range files {
		all[k] = v
	}
	return all
}
