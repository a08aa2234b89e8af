package v4

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The first version as its user wrote it, in two files, with another kind
// beside it.
var userTypes = map[string]string{
	"api/v1alpha1/cart_types.go": `// A license.

package v1alpha1

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// CartSpec is mine.
type CartSpec struct {
	// items are in it.
	Items []Item ` + "`json:\"items,omitempty\"`" + `

	Phase Phase ` + "`json:\"phase\"`" + `
}

// Phase is one of these.
// +kubebuilder:validation:Enum=Open;Paid
type Phase string

const (
	Open Phase = "Open"
	Paid Phase = "Paid"
)

type CartStatus struct{}

// +kubebuilder:object:root=true
//+kubebuilder:storageversion
// +kubebuilder:resource:path=carts,shortName=ct
// +kubebuilder:deprecatedversion:warning="use v1"
//	+kubebuilder:unservedversion

// Cart is mine.
type Cart struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `

	Spec   CartSpec   ` + "`json:\"spec,omitempty\"`" + `
	Status CartStatus ` + "`json:\"status,omitempty\"`" + `
}

// Title is a method of mine.
func (c *Cart) Title() string { return shout(c.Name) }

// Hub marks the version that others are converted to.
func (*Cart) Hub() {}

// +kubebuilder:object:root=true

// CartList has many.
type CartList struct {
	metav1.TypeMeta ` + "`json:\",inline\"`" + `
	metav1.ListMeta ` + "`json:\"metadata,omitempty\"`" + `
	Items           []Cart ` + "`json:\"items\"`" + `
}

// Receipt is of another kind.
type Receipt struct{ Secret corev1.Secret }

func shout(s string) string { return strings.ToUpper(s) }

func init() {
	SchemeBuilder.Register(func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypes(SchemeGroupVersion, &Cart{}, &CartList{})
		return nil
	})
}
`,
	"api/v1alpha1/shared.go": `package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Item is shared.
type Item struct {
	Weight resource.Quantity ` + "`json:\"weight\"`" + `
}

// Unused stays where it is.
type Unused struct{}
`,
	"config/samples/cache_v1alpha1_cart.yaml": "apiVersion: cache.example.com/v1alpha1\nkind: Cart\nmetadata:\n  name: mine\nspec:\n  phase: Open\n",
}

const takenTypes = `package v1

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// CartSpec is mine.
type CartSpec struct {
	// items are in it.
	Items []Item ` + "`json:\"items,omitempty\"`" + `

	Phase Phase ` + "`json:\"phase\"`" + `
}

// Phase is one of these.
// +kubebuilder:validation:Enum=Open;Paid
type Phase string

const (
	Open Phase = "Open"
	Paid Phase = "Paid"
)

type CartStatus struct{}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=carts,shortName=ct

// Cart is mine.
type Cart struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `

	Spec   CartSpec   ` + "`json:\"spec,omitempty\"`" + `
	Status CartStatus ` + "`json:\"status,omitempty\"`" + `
}

// Title is a method of mine.
func (c *Cart) Title() string { return shout(c.Name) }

// +kubebuilder:object:root=true

// CartList has many.
type CartList struct {
	metav1.TypeMeta ` + "`json:\",inline\"`" + `
	metav1.ListMeta ` + "`json:\"metadata,omitempty\"`" + `
	Items           []Cart ` + "`json:\"items\"`" + `
}

func shout(s string) string { return strings.ToUpper(s) }

// Item is shared.
type Item struct {
	Weight resource.Quantity ` + "`json:\"weight\"`" + `
}

func init() {
	SchemeBuilder.Register(func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypes(SchemeGroupVersion, &Cart{}, &CartList{})
		return nil
	})
}
`

func TestFromAnotherVersion(t *testing.T) {
	p := newTestProject(t, "--license=none")
	p.mustCreateAPI(t, "--group=cache", "--kind=Cart", "--controller=false")
	for name, text := range userTypes {
		p.write(t, name, text)
	}
	p.mustCreateAPI(t, "--group=cache", "--version=v1", "--kind=Cart", "--controller=false", "--from=v1alpha1")
	files := p.files(t)
	if diff := cmp.Diff(takenTypes, files["api/v1/cart_types.go"]); diff != "" {
		t.Errorf("the types (-want +got):\n%s", diff)
	}
	want := strings.Replace(userTypes["config/samples/cache_v1alpha1_cart.yaml"], "v1alpha1", "v1", 1)
	if diff := cmp.Diff(want, files["config/samples/cache_v1_cart.yaml"]); diff != "" {
		t.Errorf("the sample (-want +got):\n%s", diff)
	}
	if files["api/v1alpha1/cart_types.go"] != userTypes["api/v1alpha1/cart_types.go"] {
		t.Error("the first version was changed")
	}

	// Of what the package has already, nothing comes twice.
	p.write(t, "api/v2/shared.go", "package v2\n\n// Item is that of v2.\ntype Item struct{}\n")
	p.mustCreateAPI(t, "--group=cache", "--version=v2", "--kind=Cart", "--controller=false", "--from=v1")
	if text := p.files(t)["api/v2/cart_types.go"]; strings.Contains(text, "type Item ") || !strings.Contains(text, "type Phase ") {
		t.Errorf("the types beside others of the package:\n%s", text)
	}
}

// What all versions share comes with the types.
func TestFromTakesScopeAndPlural(t *testing.T) {
	p := newTestProject(t)
	p.mustCreateAPI(t, "--group=cache", "--kind=Octopus", "--plural=octopi", "--namespaced=false", "--controller=false")
	p.mustCreateAPI(t, "--group=cache", "--version=v1", "--kind=Octopus", "--from=v1alpha1")
	if text := p.files(t)["api/v1/octopus_types.go"]; !strings.Contains(text, "// +kubebuilder:resource:path=octopi,scope=Cluster\n") {
		t.Errorf("the types are\n%s", text)
	}
}

func TestFromRefused(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no such version":  {[]string{"--version=v1", "--from=v2"}, `no version "v2"`},
		"itself":           {[]string{"--version=v1", "--from=v1"}, "names the new version itself"},
		"a new kind":       {[]string{"--version=v1", "--kind=Other", "--from=v1alpha1"}, "has no other version"},
		"and a pattern":    {[]string{"--version=v1", "--from=v1alpha1", "--pattern=deployment"}, "--pattern brings fields"},
		"without types":    {[]string{"--version=v1", "--from=v1alpha1", "--resource=false"}, "--resource=false writes none"},
		"another image":    {[]string{"--version=v1", "--from=v1alpha1", "--image=x"}, "--image says what the pattern"},
		"types that went":  {[]string{"--version=v1", "--from=v1beta1"}, "found no struct Cart"},
		"other plural":     {[]string{"--version=v1", "--from=v1alpha1", "--plural=cartes"}, "differs from"},
		"other scope":      {[]string{"--version=v1", "--from=v1alpha1", "--namespaced=false"}, "scope"},
		"there already":    {[]string{"--version=v1beta1", "--from=v1alpha1"}, "in this project already"},
		"a broken version": {[]string{"--version=v1", "--from=v1alpha2"}, "api/v1alpha2/cart_types.go:1:"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestProject(t)
			for _, version := range []string{"v1alpha1", "v1alpha2", "v1beta1"} {
				p.mustCreateAPI(t, "--group=cache", "--version="+version, "--kind=Cart")
			}
			p.write(t, "api/v1beta1/cart_types.go", "package v1beta1\n")
			if name == "a broken version" {
				p.write(t, "api/v1alpha2/cart_types.go", "package\n")
			}
			_, err := p.createAPI(t, append([]string{"--group=cache", "--kind=Cart"}, test.args...)...)
			refused(t, err, test.want)
		})
	}
}
