package bundle

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
)

const cartTypes = `// Package v1 has carts.
// +groupName=shop.example.com
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/shop/api/shared"
	named "example.com/shop/api/other"
)

// CartSpec is a spec.
type CartSpec struct {
	// size is how much
	// fits in.
	// +kubebuilder:default=1
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=2,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	Size int32 ` + "`json:\"size\"`" + `

	// not described
	Hidden string ` + "`json:\"hidden\"`" + `

	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="The items"

	// Items are in the cart.
	Items []*Item ` + "`json:\"items,omitempty\"`" + `

	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=1
	ByName map[string]shared.Wheel ` + "`json:\"byName\"`" + `

	named.Inlined ` + "`json:\",inline\"`" + `

	// +operator-sdk:csv:customresourcedefinitions:type=status
	Skipped string ` + "`json:\"-\"`" + `
}

type Item struct {
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Seen"
	HTTPPort int

	// parent is again an item
	Parent *Item ` + "`json:\"parent\"`" + `
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=cartses,scope=Cluster
// +operator-sdk:csv:customresourcedefinitions:resources={{Pod,v1,b},{Deployment,v1,a},{Pod,v1beta1,b}}

// Cart is a cart
// on wheels.
//
// It rolls.
// +operator-sdk:csv:customresourcedefinitions:displayName="Shopping Cart"
type Cart struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	Spec   CartSpec   ` + "`json:\"spec\"`" + `
	Status CartStatus ` + "`json:\"status\"`" + `
}

type CartStatus struct {
	Items Items ` + "`json:\"items\"`" + `
}

// Items is a list with a name.
type Items []Item
`

func cartModule() fstest.MapFS {
	return dir(
		"api/v1/cart_types.go", cartTypes,
		"api/v1/zz_generated.deepcopy.go", "package v1\nbroken",
		"api/v1/cart_test.go", "package v1\nbroken",
		"api/shared/wheel.go", "package shared\n\ntype Wheel struct {\n\t// +operator-sdk:csv:customresourcedefinitions:type=spec\n\tRound bool `json:\"round\"`\n}\n",
		"api/other/inlined.go", "package other\n\ntype Inlined struct {\n\t// +operator-sdk:csv:customresourcedefinitions:type=spec,order=3\n\tInside string\n}\n",
		"api/v2/plain.go", "// +groupName=shop.example.com\n\npackage v2\n\n// Plain has no markers.\ntype Plain struct {\n\tSpec PlainSpec `json:\"spec\"`\n}\n\ntype PlainSpec struct {\n\t// b is first.\n\tB string `json:\"b\"`\n\t// a is second.\n\tA struct{ C int } `json:\"a\"`\n\tunexported int\n}\n",
	)
}

func cartAPI() API {
	return API{Group: "shop.example.com", Version: "v1", Kind: "Cart", Plural: "carts"}
}

func TestDescribe(t *testing.T) {
	want := object{
		"kind": "Cart", "version": "v1", "name": "cartses.shop.example.com",
		"displayName": "Shopping Cart", "description": "Cart is a cart on wheels.\nIt rolls.",
		"resources": []any{
			object{"kind": "Deployment", "version": "v1", "name": "a"},
			object{"kind": "Pod", "version": "v1", "name": "b"},
			object{"kind": "Pod", "version": "v1beta1", "name": "b"},
		},
		"specDescriptors": []any{
			object{"path": "byName", "displayName": "By Name"},
			object{"path": "size", "displayName": "Size", "description": "size is how much fits in.", "x-descriptors": []any{"urn:alm:descriptor:com.tectonic.ui:podCount"}},
			object{"path": "Inside", "displayName": "Inside"},
			object{"path": "byName.round", "displayName": "Round"},
			object{"path": "items", "displayName": "The items", "description": "Items are in the cart."},
			object{"path": "items[0].HTTPPort", "displayName": "HTTPPort"},
		},
		"statusDescriptors": []any{object{"path": "items[0].HTTPPort", "displayName": "Seen"}},
	}
	for name, where := range map[string]string{"where PROJECT says": "api/v1", "searched": "", "moved": "apis/v1"} {
		t.Run(name, func(t *testing.T) {
			api := cartAPI()
			api.Dir = where
			list, warnings, err := Describe(cartModule(), "example.com/shop", "api", []API{api})
			if err != nil || len(warnings) > 0 || len(list) != 1 {
				t.Fatalf("%d, warnings %v, error %v", len(list), warnings, err)
			}
			if diff := cmp.Diff(want, list[0].entry); diff != "" {
				t.Error(diff)
			}
			if got := list[0].from["displayName"]; got != "the marker at api/v1/cart_types.go:54" {
				t.Errorf("displayName comes from %s", got)
			}
		})
	}
}

// TestDescribePlain: without markers the top fields are described, in their
// order.
func TestDescribePlain(t *testing.T) {
	list, _, err := Describe(cartModule(), "example.com/shop", "api", []API{{Group: "shop.example.com", Version: "v2", Kind: "Plain", Plural: "plains"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []any{
		object{"path": "b", "displayName": "B", "description": "b is first."},
		object{"path": "a", "displayName": "A", "description": "a is second."},
	}
	if diff := cmp.Diff(want, list[0].entry["specDescriptors"]); diff != "" {
		t.Error(diff)
	}
	if list[0].entry["statusDescriptors"] != nil {
		t.Error("a kind without status has status descriptors")
	}
}

// TestDescribeNoType: a marker without a type has no effect, on other fields
// neither.
func TestDescribeNoType(t *testing.T) {
	fsys := cartModule()
	plain := fsys["api/v2/plain.go"]
	plain.Data = []byte(strings.Replace(string(plain.Data), "\t// b is first.\n", "\t// b is first.\n\t// +operator-sdk:csv:customresourcedefinitions:displayName=\"Bee\"\n", 1))
	list, warnings, err := Describe(fsys, "example.com/shop", "api", []API{{Group: "shop.example.com", Version: "v2", Kind: "Plain"}})
	if err != nil || len(warnings) != 1 {
		t.Fatal(warnings, err)
	}
	if got := objectsAt(list[0].entry, "specDescriptors"); len(got) != 2 || got[0]["displayName"] != "B" {
		t.Errorf("described: %v", got)
	}
}

func TestDescribeProblems(t *testing.T) {
	api := cartAPI()
	for name, c := range map[string]struct {
		from, to string // a change of the types
		api      API
		err      string
		warning  string
	}{
		"no such type":      {api: API{Group: "shop.example.com", Version: "v3", Kind: "Cart"}, warning: "Cart v3: there is no Go type below api to describe it"},
		"another group":     {api: API{Group: "example.com", Version: "v1", Kind: "Cart"}, warning: "Cart v1: there is no Go type"},
		"marker on a type":  {"displayName=\"Shopping", "dsplayName=\"Shopping", api, `api/v1/cart_types.go:54: marker +operator-sdk:csv:customresourcedefinitions:dsplayName="Shopping Cart": unknown argument "dsplayName"`, ""},
		"marker on a field": {"type=spec,order=2", "type=spec,order=x", api, `api/v1/cart_types.go:17: marker`, ""},
		"no type":           {"type=spec,order=1", "order=1", api, "", "api/v1/cart_types.go:28: the marker has neither type=spec nor type=status"},
		"broken Go":         {"type CartSpec struct {", "type CartSpec {", api, "api/v1/cart_types.go:13", ""},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := cartModule()
			fsys["api/v1/cart_types.go"].Data = []byte(strings.Replace(cartTypes, c.from, c.to, 1))
			_, warnings, err := Describe(fsys, "example.com/shop", "api", []API{c.api})
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || clierr.HintOf(err) == "") {
				t.Errorf("error %v, hint %q", err, clierr.HintOf(err))
			}
			if got := strings.Join(warnings, "\n"); !strings.HasPrefix(got, c.warning) || c.warning == "" && got != "" {
				t.Errorf("warnings %s", got)
			}
		})
	}
}

func TestDisplayName(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "shop": "Shop", "shop-operator": "Shop Operator", "containerPort": "Container Port", "ContainerPort": "Container Port",
		"HTTPPort": "HTTPPort", "another-_AppOperator_againTwiceThrice More": "Another App Operator Again Twice Thrice More",
		"a.b.c": "A B C", "--": "", "élan": "Élan",
	} {
		if got := DisplayName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// FuzzDescribe: whatever stands in a Go file, describing it ends.
func FuzzDescribe(f *testing.F) {
	f.Add(cartTypes)
	f.Add("package v1\ntype Cart struct{ Spec []Cart `json:\"spec\"` }")
	f.Add("package v1\ntype Cart struct{ Spec A `json:\"spec\"` }\ntype A B\ntype B A")
	f.Add("package v1\ntype (\n// x\nCart = struct{ Spec map[string]*Cart `json:\"spec\"`; Cart })")
	f.Fuzz(func(t *testing.T, text string) {
		api := cartAPI()
		api.Dir = "api/v1"
		list, _, err := Describe(dir("api/v1/x.go", text), "m", "api", []API{api})
		if err != nil {
			return
		}
		for _, d := range list {
			if _, err := marshal(d.entry); err != nil {
				t.Error(err)
			}
		}
	})
}
