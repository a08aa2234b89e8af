package migrate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// twoVersions is a project whose kind has two versions; hub and spoke are the
// text of their conversions.
func twoVersions(hub, spoke string) map[string]string {
	const types = "package VERSION\n\nimport metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\n// +kubebuilder:object:root=true\n// +kubebuilder:subresource:status\n\n" +
		"// Cart is filled.\ntype Cart struct {\n\tmetav1.TypeMeta   `json:\",inline\"`\n\tmetav1.ObjectMeta `json:\"metadata,omitempty\"`\n}\n"
	return map[string]string{
		"PROJECT": "domain: example.com\nlayout: [go.kubebuilder.io/v3]\nprojectName: shop\nrepo: example.com/shop\nresources:\n" +
			"- {api: {crdVersion: v1, namespaced: true}, domain: example.com, group: sale, kind: Cart, path: example.com/shop/api/v1, version: v1}\n" +
			"- {api: {crdVersion: v1, namespaced: true}, domain: example.com, group: sale, kind: Cart, path: example.com/shop/api/v2, version: v2, webhooks: {conversion: true, defaulting: true, webhookVersion: v1}}\n" +
			"version: \"3\"\n",
		"go.mod": "module example.com/shop\n",
		"main.go": "package main\n\nimport (\n\t\"os\"\n\n\tsalev1 \"example.com/shop/api/v1\"\n\tctrl \"sigs.k8s.io/controller-runtime\"\n)\n\nfunc main() {\n" +
			"\tmgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{})\n\tif err != nil {\n\t\tos.Exit(1)\n\t}\n" +
			"\tif os.Getenv(\"ENABLE_WEBHOOKS\") != \"false\" {\n\t\tif err = (&salev1.Cart{}).SetupWebhookWithManager(mgr); err != nil {\n\t\t\tos.Exit(1)\n\t\t}\n\t}\n}\n",
		"api/v1/cart_types.go":                     strings.ReplaceAll(types, "VERSION", "v1"),
		"api/v2/cart_types.go":                     strings.ReplaceAll(types, "VERSION", "v2"),
		"api/v1/cart_webhook.go":                   "package v1\n\nimport ctrl \"sigs.k8s.io/controller-runtime\"\n\n// SetupWebhookWithManager sets up.\nfunc (r *Cart) SetupWebhookWithManager(mgr ctrl.Manager) error {\n\treturn ctrl.NewWebhookManagedBy(mgr).For(r).Complete()\n}\n",
		"api/v1/cart_conversion.go":                "package v1\n\n" + hub,
		"api/v2/cart_conversion.go":                "package v2\n\nimport \"sigs.k8s.io/controller-runtime/pkg/conversion\"\n\nvar _ conversion.Hub\n\n" + spoke,
		"config/crd/kustomization.yaml":            "resources:\n- bases/sale.example.com_carts.yaml\npatchesStrategicMerge:\n- patches/webhook_in_carts.yaml\n- patches/cainjection_in_carts.yaml\n- patches/mine.yaml\nconfigurations:\n- kustomizeconfig.yaml\n",
		"config/crd/patches/mine.yaml":             "kind: CustomResourceDefinition\n",
		"config/crd/patches/webhook_in_carts.yaml": "kind: CustomResourceDefinition\nold: true\n",
	}
}

const (
	hubMethod   = "// Hub is mine.\nfunc (*Cart) Hub() {}\n"
	spokeMethod = "// ConvertTo is mine.\nfunc (c *Cart) ConvertTo(dst conversion.Hub) error { return nil }\n\n// ConvertFrom is mine.\nfunc (c *Cart) ConvertFrom(src conversion.Hub) error { return nil }\n"
)

// webhooksInProject are the webhooks of each version in PROJECT.
func webhooksInProject(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	var p struct {
		Resources []struct {
			Version  string
			Webhooks map[string]any
		}
	}
	if err := yaml.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for _, r := range p.Resources {
		if r.Webhooks != nil {
			out[r.Version] = r.Webhooks
		}
	}
	return out
}

func TestConversions(t *testing.T) {
	converted := map[string]map[string]any{"v1": {"conversion": true, "spoke": []any{"v2"}, "webhookVersion": "v1"}}
	tests := map[string]struct {
		hub, spoke string
		webhooks   map[string]map[string]any
		want       map[string][]string
	}{
		"hub and spoke": {hubMethod, spokeMethod, converted, map[string][]string{
			"internal/webhook/v1/cart_webhook.go":      {"ctrl.NewWebhookManagedBy(mgr, &salev1.Cart{}).\n\t\tComplete()", "!context"},
			"config/crd/kustomization.yaml":            {"- path: patches/webhook_in_carts.yaml\n", "- path: patches/mine.yaml\n", "\nconfigurations:\n", "!cainjection"},
			"config/crd/patches/webhook_in_carts.yaml": {"path: /convert", "!old: true"},
			"config/crd/patches/mine.yaml":             {"kind: CustomResourceDefinition\n"},
			"api/v1/cart_webhook.go":                   {"!SetupWebhookWithManager"},
			"api/v1/cart_conversion.go":                {"// Hub is mine."},
			"api/v2/cart_conversion.go":                {"// ConvertTo is mine."},
			"internal/certs/targets.go":                {"carts.sale.example.com"},
			newMain:                                    {"webhookv1.SetupCartWebhookWithManager(mgr)", "!salev1.Cart{}).Setup", "!TODO"},
			"config/samples/sale_v1_cart.yaml":         {"kind: Cart"},
		}},
		"no hub": {"", spokeMethod, map[string]map[string]any{}, map[string][]string{
			ReportName:                      {"no version of it has the method Hub"},
			"config/crd/kustomization.yaml": {"!webhook_in", "- path: patches/mine.yaml\n"},
			newMain:                         {"!SetupCart"},
		}},
		"no spoke": {hubMethod, "", map[string]map[string]any{}, map[string][]string{
			ReportName: {"Cart of v1 is a hub, and no other version is converted to it"}, newMain: {"!SetupCart"},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := content(mustPlan(t, twoVersions(test.hub, test.spoke)).Result)
			if d := cmp.Diff(test.webhooks, webhooksInProject(t, got["PROJECT"])); d != "" {
				t.Errorf("webhooks in PROJECT (-want +got):\n%s", d)
			}
			expect(t, got, test.want)
		})
	}
}

// TestHubWithoutSetup holds that conversion is served even where no type set a
// webhook up.
func TestHubWithoutSetup(t *testing.T) {
	files := twoVersions(hubMethod, spokeMethod)
	delete(files, "api/v1/cart_webhook.go")
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{"internal/webhook/v1/cart_webhook.go": {"func SetupCartWebhookWithManager(mgr ctrl.Manager) error"}})
}

// TestCertManager holds that certificates come from where they came from.
func TestCertManager(t *testing.T) {
	files := twoVersions(hubMethod, spokeMethod)
	files["config/default/kustomization.yaml"] = "namespace: shop-system\nnamePrefix: shop-\nbases:\n- ../crd\n- ../rbac\n- ../manager\n- ../webhook\n- ../certmanager\npatchesStrategicMerge:\n- manager_auth_proxy_patch.yaml\n"
	files["config/certmanager/certificate.yaml"] = "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata:\n  name: serving-cert\n  namespace: system\nspec:\n" +
		"  dnsNames: [$(SERVICE_NAME).$(SERVICE_NAMESPACE).svc]\n  duration: 1h\n  secretName: webhook-server-cert\n"
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{
		"config/default/kustomization.yaml":           {"\n- ../certmanager\n", "\nreplacements:\n", "cert-manager.io/inject-ca-from"},
		"config/certmanager/certificate-webhook.yaml": {"duration: 1h"},
		ReportName: {"Of config/certmanager/certificate.yaml, these were yours and are kept: spec.duration."},
	})
	if _, self := got["internal/certs/certs.go"]; self {
		t.Error("the operator makes certificates too")
	}
	delete(files, "config/default/kustomization.yaml")
	got = content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{ReportName: {"`config.old/certmanager/certificate.yaml:8`: sets spec.duration to 1h, for which the new scaffold has no place"}, "internal/certs/certs.go": {"package certs"}})
}

// TestWebhookBuilders holds the form of builders and of validators of any
// object.
func TestWebhookBuilders(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"plain": {"\treturn ctrl.NewWebhookManagedBy(mgr).For(r).Complete()", "\treturn ctrl.NewWebhookManagedBy(mgr, r).Complete()"},
		"in lines": {"\treturn ctrl.NewWebhookManagedBy(mgr).\n\t\tFor(&Cart{}).\n\t\tWithDefaulter(&d{}).\n\t\tWithValidator(v).\n\t\tComplete()",
			"\treturn ctrl.NewWebhookManagedBy(mgr, &Cart{}).\n\t\tWithCustomDefaulter(&d{}).\n\t\tWithCustomValidator(v).\n\t\tComplete()"},
		"of today":     {"\treturn ctrl.NewWebhookManagedBy(mgr, r).WithValidator(v).Complete()", "\treturn ctrl.NewWebhookManagedBy(mgr, r).WithValidator(v).Complete()"},
		"of something": {"\treturn ctrl.NewControllerManagedBy(mgr).For(r).Complete(x)", "\treturn ctrl.NewControllerManagedBy(mgr).For(r).Complete(x)"},
	} {
		t.Run(name, func(t *testing.T) {
			in := wrap(t, `ctrl "sigs.k8s.io/controller-runtime"`, "func f() error {\n"+test.in+"\n}")
			got, err := transform("a.go", []byte(in), webhookBuilders)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(got), test.want) {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestCustomValidator(t *testing.T) {
	in := wrap(t, `"context"; "k8s.io/apimachinery/pkg/runtime"`, `func (v *V) ValidateCreate(ctx context.Context, obj runtime.Object) error {
	check := func() error { return nil }
	if obj == nil {
		return check()
	}
	return nil
}

func (v *V) ValidateDelete() error { return nil }
`)
	got, err := transform("a.go", []byte(in), webhookBuilders)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"ValidateCreate(ctx context.Context, obj runtime.Object) (admission.Warnings, error) {", "func() error { return nil }", "\t\treturn nil, check()\n", "\treturn nil, nil\n",
		`"sigs.k8s.io/controller-runtime/pkg/webhook/admission"`, "func (v *V) ValidateDelete() error { return nil }",
	} {
		if !strings.Contains(string(got), part) {
			t.Errorf("no %q in\n%s", part, got)
		}
	}
	again, err := transform("a.go", got, webhookBuilders)
	if err != nil || string(again) != string(got) {
		t.Errorf("a second time: %v\n%s", err, again)
	}
}

// TestOwnHandlers holds that a type that names handlers of its own keeps its
// set-up, which the new webhook calls.
func TestOwnHandlers(t *testing.T) {
	files := twoVersions("", "")
	swap(files, "api/v1/cart_webhook.go", ".For(r).", ".For(r).WithValidator(&checker{}).")
	got := content(mustPlan(t, files).Result)
	expect(t, got, map[string][]string{
		"api/v1/cart_webhook.go":              {"ctrl.NewWebhookManagedBy(mgr, r).WithCustomValidator(&checker{}).Complete()"},
		"internal/webhook/v1/cart_webhook.go": {"return (&salev1.Cart{}).SetupWebhookWithManager(mgr)"},
	})
	if d := cmp.Diff(map[string]map[string]any{"v1": {"validation": true, "webhookVersion": "v1"}}, webhooksInProject(t, got["PROJECT"])); d != "" {
		t.Errorf("webhooks in PROJECT (-want +got):\n%s", d)
	}
}
