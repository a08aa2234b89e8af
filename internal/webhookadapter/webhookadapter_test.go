package webhookadapter

import (
	"go/format"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAdapter_Defaulter(t *testing.T) {
	a := Adapter{Kind: "Shop", Name: "ShopDefaulter", Type: "v1.Shop", Context: "context", Comment: "// +marker\n\n", Marker: "// +generate=false\n"}
	const want = `
// +marker

// ShopDefaulter fills in what the author of a Shop left out.
// +generate=false
type ShopDefaulter struct{}

// Default changes the object before it is stored.
func (*ShopDefaulter) Default(_ context.Context, obj *v1.Shop) error {
	obj.Default()
	return nil
}
`
	if d := cmp.Diff(want, a.Defaulter()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What a method returns decides how it is called, and what a type lacks allows
// everything.
func TestAdapter_Validator(t *testing.T) {
	all := []string{
		"ValidateCreate(_ c.Context, obj *Shop) (a.Warnings, error) {\n\t",
		"ValidateUpdate(_ c.Context, oldObj, newObj *Shop) (a.Warnings, error) {\n\t",
		"ValidateDelete(_ c.Context, obj *Shop) (a.Warnings, error) {\n\t",
	}
	for name, test := range map[string]struct {
		methods Methods
		want    [3]string
	}{
		"with warnings":    {Methods{"ValidateCreate": 2, "ValidateUpdate": 2, "ValidateDelete": 2}, [3]string{"return obj.ValidateCreate()", "return newObj.ValidateUpdate(oldObj)", "return obj.ValidateDelete()"}},
		"with errors only": {Methods{"ValidateCreate": 1, "ValidateUpdate": 1, "ValidateDelete": 1}, [3]string{"return nil, obj.ValidateCreate()", "return nil, newObj.ValidateUpdate(oldObj)", "return nil, obj.ValidateDelete()"}},
		"some of them":     {Methods{"ValidateUpdate": 1}, [3]string{"return nil, nil", "return nil, newObj.ValidateUpdate(oldObj)", "return nil, nil"}},
		"none":             {nil, [3]string{"return nil, nil", "return nil, nil", "return nil, nil"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Adapter{Kind: "Shop", Name: "Check", Type: "Shop", Context: "c", Admission: "a"}.Validator(test.methods)
			for i, head := range all {
				if want := "func (*Check) " + head + test.want[i] + "\n}\n"; !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
			out, err := format.Source([]byte("package v1\n" + got))
			if err != nil || string(out) != "package v1\n"+got {
				t.Errorf("not formatted: %v\n%s", err, got)
			}
		})
	}
}
