package v4

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// packageOf makes a package of one file that declares the kind K.
func packageOf(t testing.TB, version, text string) *goPackage {
	t.Helper()
	p := &goPackage{dir: "api/" + version, types: map[string]goType{}, names: map[string]bool{}, files: map[string]*goedit.File{}}
	g, err := parseGo("api/"+version+"/k_types.go", "package "+version+"\n\n"+text)
	if err != nil {
		t.Fatal(err)
	}
	p.add(g)
	return p
}

// fields is a kind whose spec has these fields.
func fieldsOf(fields, more string) string {
	return "type K struct {\n\tmetav1.TypeMeta\n\tmetav1.ObjectMeta\n\tSpec KSpec\n}\n\ntype KSpec struct {\n" + fields + "\n}\n\n" + more
}

func TestConvertedFields(t *testing.T) {
	const part = "type Part struct{ Name string }\n\ntype Phase string\n\ntype Parts []Part\n\ntype Index map[Phase]Phase\n\ntype Endless []Endless\n"
	for name, test := range map[string]struct {
		spoke, hub string // fields of the two
		want       string // of the function that converts the spec to the hub, without layout
	}{
		"same":          {"A int", "A int", "dst.A = src.A"},
		"same, foreign": {"A metav1.Time", "A metav1.Time", "dst.A = src.A"},
		"list of plain": {"A []map[string]*int", "A []map[string]*int", "dst.A = src.A"},
		"JSON name":     {"Old int `json:\"a,omitempty\"`", "New int `json:\"a\"`", "dst.New = src.Old"},
		"gone":          {"A int", "B int", "// A stays behind: v1 has no such field."},
		"other type":    {"A int", "A string", "// A stays behind: convert it to its type in v1 by hand."},
		"not exported":  {"a int", "a int", ""},
		"struct":        {"A Part", "A Part", "partToV1(&src.A, &dst.A)"},
		"embedded":      {"Part", "Part", "partToV1(&src.Part, &dst.Part)"},
		"pointer":       {"A *Part", "A *Part", "if src.A != nil { dst.A = new(hubv1.Part) partToV1(src.A, dst.A) }"},
		"named text":    {"A Phase", "A Phase", "dst.A = hubv1.Phase(src.A)"},
		"pointer to it": {"A *Phase", "A *Phase", "if src.A != nil { value := hubv1.Phase(*src.A) dst.A = &value }"},
		"list":          {"A []Part", "A []Part", "if src.A != nil { dst.A = make([]hubv1.Part, len(src.A)) for i := range src.A { partToV1(&src.A[i], &dst.A[i]) } }"},
		"map":           {"A map[string]Phase", "A map[string]Phase", "if src.A != nil { dst.A = make(map[string]hubv1.Phase, len(src.A)) for key, value := range src.A { var converted hubv1.Phase converted = hubv1.Phase(value) dst.A[key] = converted } }"},
		"named list":    {"A Parts", "A Parts", "if src.A != nil { dst.A = make([]hubv1.Part, len(src.A)) for i := range src.A { partToV1(&src.A[i], &dst.A[i]) } }"},
		"named map":     {"A Index", "A Index", "if src.A != nil { dst.A = make(map[hubv1.Phase]hubv1.Phase, len(src.A)) for key, value := range src.A { var converted hubv1.Phase converted = hubv1.Phase(value) dst.A[hubv1.Phase(key)] = converted } }"},
		"endless list":  {"A Endless", "A Endless", "// A stays behind: convert it to its type in v1 by hand."},
		"list or not":   {"A []Part", "A Part", "// A stays behind: convert it to its type in v1 by hand."},
		"other pointer": {"A *Part", "A Part", "// A stays behind: convert it to its type in v1 by hand."},
		"other keys":    {"A map[string]Part", "A map[int]Part", "// A stays behind: convert it to its type in v1 by hand."},
		"array":         {"A [3]Part", "A [3]Part", "// A stays behind: convert it to its type in v1 by hand."},
	} {
		t.Run(name, func(t *testing.T) {
			code, err := convert("K", "v1", "hubv1", packageOf(t, "v1alpha1", fieldsOf(test.spoke, part)), packageOf(t, "v1", fieldsOf(test.hub, part)))
			if err != nil {
				t.Fatal(err)
			}
			_, body, _ := strings.Cut(code.Helpers, "func kSpecToV1(src *KSpec, dst *hubv1.KSpec) {")
			body, _, _ = strings.Cut(body+"\n\nfunc", "\n}\n\n\nfunc")
			if got := strings.Join(strings.Fields(body), " "); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			for _, text := range []string{code.To, code.From} {
				if _, err := parseGo("x.go", "package x\n\nfunc f() {\n"+text+"\n}\n"+code.Helpers); err != nil {
					t.Errorf("%v in\n%s\n%s", err, text, code.Helpers)
				}
			}
		})
	}
}

func TestConvertsTypesThatContainThemselves(t *testing.T) {
	const tree = "type Tree struct {\n\tName string\n\tBelow []Tree\n}\n"
	text := fieldsOf("Root Tree", tree)
	code, err := convert("K", "v1", "hubv1", packageOf(t, "v1alpha1", text), packageOf(t, "v1", text))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(code.Helpers, "func treeToV1("); n != 1 {
		t.Errorf("written %d times:\n%s", n, code.Helpers)
	}
}

// Another kind's conversion has the helpers of a struct that both have a field of.
func TestConvertWithHelpersThatAreThere(t *testing.T) {
	const part = "type Part struct{ Name string }\n"
	text := fieldsOf("A Part", part)
	spoke := packageOf(t, "v1alpha1", text+"func partToV1(src *Part, dst *hubv1.Part) {}\n")
	code, err := convert("K", "v1", "hubv1", spoke, packageOf(t, "v1", text))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(code.Helpers, "func partToV1(") || !strings.Contains(code.Helpers, "func partFromV1(") {
		t.Errorf("the helpers are\n%s", code.Helpers)
	}
}

func TestConvertWithoutTheKind(t *testing.T) {
	with, without := packageOf(t, "v1", fieldsOf("A int", "")), packageOf(t, "v1alpha1", "type Other struct{}\n")
	_, err := convert("K", "v1", "hubv1", without, with)
	refused(t, err, "api/v1alpha1: found no struct K")
	_, err = convert("K", "v1", "hubv1", with, without)
	refused(t, err, "api/v1alpha1: found no struct K")
}

func TestUncommentBlock(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"to the empty line":  {"a: 1\n#b:\n#- x\n\n#- y\n", "a: 1\nb:\n- x\n\n#- y\n"},
		"to the end":         {"#b:\n#- x", "b:\n- x"},
		"markers stay":       {"#b:\n# +kubebuilder:scaffold:m\n#- x\n", "b:\n# +kubebuilder:scaffold:m\n- x\n"},
		"not the next block": {"#b:\n# - source: # Uncomment the following block to\n", "b:\n# - source: # Uncomment the following block to\n"},
		"done already":       {"b:\n#- x\n", "b:\n#- x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := uncommentBlock("k.yaml", test.text, "b:")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	_, err := uncommentBlock("k.yaml", "a: 1\n", "b:")
	refused(t, err, "k.yaml:2: found no block")
}

func TestImportsGoBesideTheirKind(t *testing.T) {
	const add = "package v1\n\nimport (\n\t\"context\"\n\n\t\"k8s.io/api\"\n\n\tmine \"example.com/shop/api\"\n)\n\nvar _, _, _ = context.TODO, api.X, mine.Y\n"
	none := func(string) bool { return false }
	for name, test := range map[string]struct{ text, want string }{
		"none": {"package v1\n", "package v1\n\nimport (\n\t\"context\"\n\n\t\"k8s.io/api\"\n\n\tmine \"example.com/shop/api\"\n)\n\nvar _, _, _ = context.TODO, api.X, mine.Y\n"},
		"all kinds": {
			"package v1\n\nimport (\n\t\"fmt\"\n\n\t\"sigs.k8s.io/yaml\"\n\n\t\"example.com/shop/x\"\n)\n",
			"package v1\n\nimport (\n\t\"context\"\n\t\"fmt\"\n\n\t\"k8s.io/api\"\n\t\"sigs.k8s.io/yaml\"\n\n\tmine \"example.com/shop/api\"\n\t\"example.com/shop/x\"\n)\n\nvar _, _, _ = context.TODO, api.X, mine.Y\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			into, err := parseGo("v1.go", test.text)
			if err != nil {
				t.Fatal(err)
			}
			from, err := parseGo("add.go", add)
			if err != nil {
				t.Fatal(err)
			}
			got, err := mergeGo(into, from, none, "example.com/shop")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got.Src)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	taken, err := parseGo("v1.go", "package v1\n\nimport context \"example.com/other\"\n\nvar _ = context.X\n")
	if err != nil {
		t.Fatal(err)
	}
	from, err := parseGo("add.go", add)
	if err != nil {
		t.Fatal(err)
	}
	_, err = mergeGo(taken, from, none, "example.com/shop")
	refused(t, err, "is the name of another import than context")
}
