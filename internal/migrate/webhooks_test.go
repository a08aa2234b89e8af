package migrate

import (
	"go/format"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWebhookPass(t *testing.T) {
	w := &webhookFile{kind: "Cache", markers: []string{"// +kubebuilder:webhook:path=/mutate,mutating=true"}}
	hook := `"sigs.k8s.io/controller-runtime/pkg/webhook"; ctrl "sigs.k8s.io/controller-runtime"`
	runPasses(t, map[string]passCase{
		"setup goes, methods stay": {
			hook, "// SetupWebhookWithManager serves.\nfunc (c *Cache) SetupWebhookWithManager(mgr ctrl.Manager) error { return ctrl.X(mgr) }\n\n// +kubebuilder:webhook:path=/mutate,mutating=true\n\nvar _ webhook.Defaulter = &Cache{}\n\n// Default fills in.\nfunc (c *Cache) Default() {}",
			"none", "// Default fills in.\nfunc (c *Cache) Default() {}",
		},
		"setup that does more": {
			`ctrl "sigs.k8s.io/controller-runtime"`, "func (c *Cache) SetupWebhookWithManager(mgr ctrl.Manager) error {\n\treader = mgr.GetClient()\n\treturn ctrl.X(mgr)\n}",
			`ctrl "sigs.k8s.io/controller-runtime"`, "// TODO(migrate): this is no longer called: do in cmd/main.go what it does beside setting the webhook up, then remove it\nfunc (c *Cache) SetupWebhookWithManager(mgr ctrl.Manager) error {\n\treader = mgr.GetClient()\n\treturn ctrl.X(mgr)\n}",
		},
		"setup that is its own error": {
			hook, "func (c *Cache) SetupWebhookWithManager(mgr ctrl.Manager) error {\n\terr := ctrl.NewWebhookManagedBy(mgr).For(c).Complete()\n\tif err != nil {\n\t\treturn err\n\t}\n\treturn nil\n}\n\nvar _ webhook.Defaulter = &Cache{}\n\n// Default fills in.\nfunc (c *Cache) Default() {}",
			"none", "// Default fills in.\nfunc (c *Cache) Default() {}",
		},
		"setup with a check": {
			hook, "func (c *Cache) SetupWebhookWithManager(mgr ctrl.Manager) error {\n\tif err := ctrl.NewWebhookManagedBy(mgr).For(c).Complete(); err != nil {\n\t\treturn err\n\t}\n\treturn nil\n}\n\nvar _ webhook.Defaulter = &Cache{}\n\n// Default fills in.\nfunc (c *Cache) Default() {}",
			"none", "// Default fills in.\nfunc (c *Cache) Default() {}",
		},
		"setup that ends with more": {
			`ctrl "sigs.k8s.io/controller-runtime"`, "func (c *Cache) SetupWebhookWithManager(mgr ctrl.Manager) error {\n\tif err := ctrl.NewWebhookManagedBy(mgr).For(c).Complete(); err != nil {\n\t\treturn err\n\t}\n\treturn index(mgr)\n}",
			`ctrl "sigs.k8s.io/controller-runtime"`, "// TODO(migrate): this is no longer called: do in cmd/main.go what it does beside setting the webhook up, then remove it\nfunc (c *Cache) SetupWebhookWithManager(mgr ctrl.Manager) error {\n\tif err := ctrl.NewWebhookManagedBy(mgr).For(c).Complete(); err != nil {\n\t\treturn err\n\t}\n\treturn index(mgr)\n}",
		},
		"of another kind":    {hook, "func (s *Store) SetupWebhookWithManager(mgr ctrl.Manager) error { return nil }\n\nvar _ webhook.Defaulter = &Store{}", "", ""},
		"a function":         {`ctrl "sigs.k8s.io/controller-runtime"`, "func SetupWebhookWithManager(mgr ctrl.Manager) error { return nil }", "", ""},
		"another check":      {`"fmt"`, "var _ fmt.Stringer = &Cache{}", "", ""},
		"another's marker":   {"", "// +kubebuilder:object:root=true\ntype Cache struct{}", "", ""},
		"a variable of that": {"", "var webhook = Cache{}", "", ""},
	}, w.pass)
}

func TestWebhookWrite(t *testing.T) {
	for name, test := range map[string]struct {
		methods map[string]int
		want    []string
		not     []string
	}{
		"defaults":   {map[string]int{"Default": 0}, []string{"WithDefaulter(&CacheDefaulter{}).", "obj.Default()\n\treturn nil"}, []string{"Validator", "admission"}},
		"validation": {map[string]int{"ValidateCreate": 1, "ValidateUpdate": 1}, []string{"return nil, obj.ValidateCreate()", "return nil, newObj.ValidateUpdate(oldObj)", "ValidateDelete(_ context.Context, obj *cachev1.Cache) (admission.Warnings, error) {\n\treturn nil, nil"}, []string{"Defaulter"}},
		"warnings":   {map[string]int{"ValidateCreate": 2, "ValidateDelete": 2}, []string{"return obj.ValidateCreate()", "return obj.ValidateDelete()"}, []string{"return nil, obj"}},
		"conversion": {map[string]int{"Hub": 0}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := &migration{module: "example.com/op", out: map[string]output{}}
			w := &webhookFile{apiVersion: &apiVersion{version: "v1", label: "cache"}, kind: "Cache", to: "api/v1", methods: test.methods}
			w.write(m)
			o, written := m.out["internal/webhook/v1/cache_webhook.go"]
			if written != (test.want != nil) || written == (len(m.general) > 0) {
				t.Fatalf("written: %t; %v", written, m.general)
			}
			if _, err := format.Source(o.data); err != nil && written {
				t.Errorf("%v\n%s", err, o.data)
			}
			for _, want := range test.want {
				if !strings.Contains(string(o.data), want) {
					t.Errorf("no %q in\n%s", want, o.data)
				}
			}
			for _, not := range test.not {
				if strings.Contains(string(o.data), not) {
					t.Errorf("%q in\n%s", not, o.data)
				}
			}
		})
	}
}

func TestWebhookMarker(t *testing.T) {
	const head = "// +kubebuilder:webhook:path=/mutate,mutating=true"
	for name, test := range map[string]struct{ marker, want string }{
		"what became mandatory":  {head + ",verbs=create;update", head + ",verbs=create;update,sideEffects=None,admissionReviewVersions=v1\n\n"},
		"what it says":           {head + ",sideEffects=NoneOnDryRun,admissionReviewVersions=v1", head + ",sideEffects=NoneOnDryRun,admissionReviewVersions=v1\n\n"},
		"versions before v1":     {head + ",sideEffects=None,admissionReviewVersions={v1,v1beta1},name=x", head + ",sideEffects=None,admissionReviewVersions=v1,name=x\n\n"},
		"quoted versions":        {head + `,sideEffects=None,admissionReviewVersions="{v1beta1}"`, head + ",sideEffects=None,admissionReviewVersions=v1\n\n"},
		"webhook's API versions": {head + ",webhookVersions=v1beta1,sideEffects=None,admissionReviewVersions=v1", head + ",sideEffects=None,admissionReviewVersions=v1\n\n"},
		"they first, several": {
			strings.Replace(head, "path", "webhookVersions={v1,v1beta1},path", 1) + ",sideEffects=None,admissionReviewVersions=v1", head + ",sideEffects=None,admissionReviewVersions=v1\n\n",
		},
		"they last":            {head + ",sideEffects=None,admissionReviewVersions=v1,webhookVersions=v1", head + ",sideEffects=None,admissionReviewVersions=v1\n\n"},
		"of the other webhook": {"// +kubebuilder:webhook:path=/validate,mutating=false", ""},
	} {
		w := &webhookFile{markers: []string{test.marker}}
		if d := cmp.Diff(test.want, w.marker("mutating=true")); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
