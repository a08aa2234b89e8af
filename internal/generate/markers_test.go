package generate

import (
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/fileset"
)

// checkText checks the markers of one file.
func checkText(t testing.TB, text string, lax bool) (wrong, useless []string, f *sourceFile) {
	t.Helper()
	known, err := newRegistry()
	if err != nil {
		t.Fatal(err)
	}
	r := workspace{tree: newTree("/p", fileset.Set{}), registry: known, src: &sources{fset: token.NewFileSet()}}
	file, err := parseFile(r.src.fset, "/p/a.go", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	f = &sourceFile{name: "a.go", ast: file}
	w, u := r.checkMarkers(f, func(marker, bool) bool { return lax })
	for _, p := range w {
		wrong = append(wrong, p.String())
	}
	for _, p := range u {
		useless = append(useless, p.String())
	}
	return wrong, useless, f
}

// TestMarker puts one marker above a field and checks what is said about it.
func TestMarker(t *testing.T) {
	tests := map[string]struct{ marker, want string }{
		"right":                            {"+kubebuilder:validation:Minimum=1", ""},
		"right without a value":            {"+kubebuilder:validation:Optional", ""},
		"no space before it":               {"+kubebuilder:default=1", ""},
		"of the scaffold":                  {"+kubebuilder:scaffold:imports", ""},
		"of kubebuilder's book":            {"+kubebuilder:docs-gen:collapse=Imports", ""},
		"of apply configurations":          {"+kubebuilder:ac:generate=true", ""},
		"misspelt, and read by nobody":     {"+kubebuilder:conversion:hab", "unknown marker +kubebuilder:conversion:hab; did you mean +kubebuilder:conversion:hub?"},
		"of somebody else":                 {"+genclient:nonNamespaced", ""},
		"known without kubebuilder":        {"+listType=map", ""},
		"required, as Kubernetes has it":   {"+required", ""},
		"required, declarative":            {"+k8s:required", ""},
		"of Kubernetes' own validation":    {"+k8s:maxItems=3", ""},
		"the same with a condition":        {`+k8s:ifEnabled(Feature)=+k8s:maxLength=3`, ""},
		"of a list, declarative":           {"+k8s:listType=map", ""},
		"of its code generators":           {"+k8s:conversion-gen=example.com/apis", ""},
		"misspelt":                         {"+kubebuilder:validation:MinLenght=1", "unknown marker +kubebuilder:validation:MinLenght; did you mean +kubebuilder:validation:MinLength?"},
		"wrong case":                       {"+kubebuilder:validation:minimum=1", "unknown marker +kubebuilder:validation:minimum; did you mean +kubebuilder:validation:Minimum?"},
		"misspelt in the middle":           {"+kubebuilder:validaton:Minimum=1", "unknown marker +kubebuilder:validaton:Minimum; did you mean +kubebuilder:validation:Minimum?"},
		"misspelt in front":                {"+kubebulder:validation:Minimum=1", "unknown marker +kubebulder:validation:Minimum; did you mean +kubebuilder:validation:Minimum?"},
		"misspelt all over":                {"+kubebulder:validation:Minimun=1", "unknown marker +kubebulder:validation:Minimun; did you mean +kubebuilder:validation:Minimum?"},
		"middle left out":                  {"+kubebuilder:Minimum=1", "unknown marker +kubebuilder:Minimum; did you mean +kubebuilder:validation:Minimum?"},
		"with arguments, misspelt":         {"+kubebuilder:resorce:path=a,scope=Cluster", "unknown marker +kubebuilder:resorce:path; did you mean +kubebuilder:resource?"},
		"subresource, misspelt":            {"+kubebuilder:subresource:statu", "unknown marker +kubebuilder:subresource:statu; did you mean +kubebuilder:subresource:status?"},
		"like nothing":                     {"+kubebuilder:zzzzzzzzzzzz=1", "unknown marker +kubebuilder:zzzzzzzzzzzz"},
		"nothing":                          {"+kubebuilder:", "unknown marker +kubebuilder:"},
		"prose":                            {"+kubebuilder:default is a marker", `marker +kubebuilder:default: unexpected text behind it: "is a marker"`},
		"a comment behind it":              {"+kubebuilder:skip // this one", `marker +kubebuilder:skip: unexpected text behind it: "// this one"`},
		"unknown argument":                 {"+kubebuilder:rbac:group=apps,verbs=get", `marker +kubebuilder:rbac: unknown argument "group"; did you mean groups?`},
		"argument like nothing":            {"+kubebuilder:rbac:xxxxxxxxx=apps,verbs=get", `marker +kubebuilder:rbac: unknown argument "xxxxxxxxx"`},
		"argument missing":                 {"+kubebuilder:rbac:groups=apps,resources=pods", `marker +kubebuilder:rbac: missing argument "verbs"`},
		"value of a wrong type":            {"+kubebuilder:validation:MaxLength=many", "marker +kubebuilder:validation:MaxLength: expected integer, got \"many\""},
		"value missing":                    {"+kubebuilder:validation:MaxLength", "marker +kubebuilder:validation:MaxLength: missing argument \"\""},
		"value too much":                   {"+kubebuilder:subresource:status=true", "marker +kubebuilder:subresource:status: extra arguments provided: \"true\""},
		"a plain name that does not parse": {"+listMapKey", `marker +listMapKey: missing argument ""`},
		"open quotes":                      {`+kubebuilder:printcolumn:name="a,type=string,JSONPath=.x`, `marker +kubebuilder:printcolumn: literal not terminated`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			wrong, _, _ := checkText(t, "package a\n\ntype A struct {\n\t// "+tt.marker+"\n\tB int\n}\n", false)
			var want []string
			if tt.want != "" {
				want = []string{"a.go:4:5: " + tt.want}
			}
			if diff := cmp.Diff(want, wrong); diff != "" {
				t.Errorf("%s:\n%s", tt.marker, diff)
			}
		})
	}
}

// TestPlace puts markers where they do something and where they do not.
func TestPlace(t *testing.T) {
	const (
		rbac    = "// +kubebuilder:rbac:groups=apps,resources=pods,verbs=get"
		root    = "// +kubebuilder:object:root=true"
		minimum = "// +kubebuilder:validation:Minimum=1"
		skip    = "// +kubebuilder:skip"
		onPkg   = "has no effect here; it describes a package and needs an empty line between it and the declaration below"
		onType  = "has no effect here; it describes a type"
	)
	tests := map[string]struct {
		text string
		want []string
	}{
		"rbac above a function": {rbac + "\n\n// F is.\nfunc F() {}", nil},
		"rbac in its comment":   {"// F is.\n" + rbac + "\nfunc F() {}", []string{"a.go:4:4: marker +kubebuilder:rbac " + onPkg}},
		"rbac above a type":     {rbac + "\n\n// T is.\ntype T struct{}", nil},
		"rbac in its comment too": {
			"// T is.\n" + rbac + "\ntype T struct{}", []string{"a.go:4:4: marker +kubebuilder:rbac " + onPkg}},
		"root above a type":                   {root + "\n\n// T is.\ntype T struct{}", nil},
		"root in its comment":                 {"// T is.\n" + root + "\ntype T struct{}", nil},
		"root in a group of types":            {"type (\n\t" + root + "\n\tT struct{}\n)", nil},
		"root on a field":                     {"type T struct {\n\t" + root + "\n\tA int\n}", []string{"a.go:4:5: marker +kubebuilder:object:root " + onType}},
		"root at the end":                     {"type T struct{}\n\n" + root, []string{"a.go:5:4: marker +kubebuilder:object:root " + onType}},
		"minimum on a field":                  {"type T struct {\n\t" + minimum + "\n\tA int\n}", nil},
		"minimum on a type":                   {minimum + "\ntype T int", nil},
		"minimum on a constant":               {minimum + "\nconst T = 1", []string{"a.go:3:4: marker +kubebuilder:validation:Minimum has no effect here; it describes a type or a field"}},
		"the hub of a conversion":             {root + "\n// +kubebuilder:conversion:hub\n\n// T is.\ntype T struct{}", nil},
		"a spoke of it":                       {root + "\n// +kubebuilder:conversion:spoke\ntype T struct{}", nil},
		"the hub on a field":                  {"type T struct {\n\t// +kubebuilder:conversion:hub\n\tA int\n}", []string{"a.go:4:5: marker +kubebuilder:conversion:hub " + onType}},
		"in a function":                       {"func F() {\n\t" + rbac + "\n}", []string{"a.go:4:5: marker +kubebuilder:rbac " + onPkg}},
		"scaffold marker in a function":       {"func F() {\n\t// +kubebuilder:scaffold:builder\n}", nil},
		"at the end of the file":              {"type T struct{}\n\n" + rbac, nil},
		"in the middle":                       {"type T struct{}\n\n" + skip + "\n\ntype U struct{}", nil},
		"plain names where nobody reads them": {"// +default={\nfunc F() {\n\t// +listType=\n}", nil},
		"somebody else's":                     {"// +other:thing\nfunc F() {}", nil},
		"required on a type":                  {"// +required\n// +k8s:required\ntype T struct{}", nil},
		"immutable on a type":                 {"// +k8s:immutable\n// +k8s:minimum=1\ntype T int", nil},
		"in a comment of another kind":        {"/*\n+kubebuilder:nonsense\n*/\ntype T struct{}", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			wrong, useless, f := checkText(t, "package a\n\n"+tt.text+"\n", false)
			if diff := cmp.Diff(tt.want, useless); diff != "" || len(wrong) > 0 {
				t.Errorf("%v\n%s", wrong, diff)
			}
			for _, g := range f.ast.Comments {
				for _, c := range g.List {
					if !strings.Contains(tt.text, c.Text) {
						t.Errorf("comment became %q", c.Text)
					}
				}
			}
		})
	}
}

// TestLax hides what does not parse from the generators, and nothing else.
func TestLax(t *testing.T) {
	_, wrong, f := checkText(t, `package a

// T is.
// +kubebuilder:resource:pth=x
// +kubebuilder:nonsense
// +kubebuilder:subresource:status
type T struct{}
`, true)
	if len(wrong) != 2 {
		t.Errorf("found %v", wrong)
	}
	var got []string
	for _, c := range f.ast.Comments[0].List {
		got = append(got, c.Text)
	}
	want := []string{"// T is.", ignoredMarker, ignoredMarker, "// +kubebuilder:subresource:status"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRoleMarkers: a marker where the generator does not read it grants nothing.
func TestRoleMarkers(t *testing.T) {
	p := newProject(t, map[string]string{"internal/controller/cache.go": rbacFile +
		"\n// F is.\n// +kubebuilder:rbac:groups=apps,resources=pods,verbs=get\nfunc F() {}\n"})
	got, err := RoleMarkers(t.Context(), p.opts)
	if err != nil || len(got) != 1 || got[0].Line != 3 {
		t.Errorf("RoleMarkers() = %v, %v", got, err)
	}
}

// TestKnownMarkers holds every name that the registries know against the
// check: a name that is complete must not be called unknown.
func TestKnownMarkers(t *testing.T) {
	r, err := newRegistry()
	if err != nil {
		t.Fatal(err)
	}
	if len(r.names) < 60 {
		t.Errorf("only %d markers are known", len(r.names))
	}
	for _, name := range r.names {
		if msg, _ := r.wrong(marker{text: "+" + prefix + name}); strings.Contains(msg, "unknown marker") {
			t.Errorf("%s: %s", name, msg)
		}
		if s := r.suggestMarker("+" + prefix + name + "x"); s == "" {
			t.Errorf("no suggestion for %sx", name)
		}
	}
}

// TestMarkerErrors renders: an error without --lax, a warning with it.
func TestMarkerErrors(t *testing.T) {
	p := newProject(t, small())
	p.write("internal/controller/cache.go", rbacFile+"// +kubebuilder:rbac:groups=apps,resources=pods,verb=get\n")
	_, err := p.tryRender()
	const want = `internal/controller/cache.go:4:4: marker +kubebuilder:rbac: unknown argument "verb"; did you mean verbs?`
	if err == nil || err.Error() != "generate: "+want {
		t.Errorf("got %v", err)
	}
	lax := p.render(func(o *Options) { o.Lax, o.RBAC = true, true })
	if diff := cmp.Diff([]string{want}, lax.Warnings); diff != "" {
		t.Errorf("warnings:\n%s", diff)
	}
	if role := texts(lax)[rolePath]; !strings.Contains(role, "deployments") {
		t.Errorf("role:\n%s", role)
	}
}

func FuzzMarker(f *testing.F) {
	for _, s := range []string{
		"+kubebuilder:rbac:groups=apps;batch,verbs={get,list}", "+kubebuilder:validation:Enum=a;\"b\";`c`",
		"+kubebuilder:default={a: {1,2}, b: \"x\"}", "+kubebuilder:", "+=", "+:::=", "+kubebuilder:validation:Pattern=`", "+kubebuilder:default={",
	} {
		f.Add(s)
	}
	r, err := newRegistry()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !strings.HasPrefix(text, "+") {
			text = "+" + text
		}
		for _, target := range targets() {
			msg, _ := r.wrong(marker{text: text, place: place{true, target}})
			if s := r.suggestMarker(text); s != "" && !strings.HasPrefix(s, prefix) {
				t.Errorf("%q: suggests %q", text, s)
			}
			if foreign(nameOf(text)) && msg != "" {
				t.Errorf("%q: %s", text, msg)
			}
		}
	})
}

// FuzzFile checks the markers of whole files: no comment may be changed.
func FuzzFile(f *testing.F) {
	f.Add("package a\n\n// +kubebuilder:skip\n\ntype T struct {\n\t// +kubebuilder:default=1\n\tA int // +kubebuilder:skip\n}\n// +x\n")
	f.Add("// +a\n\n// +b\npackage a // +c\nimport \"x\" // +d\nvar (\n// +e\n)\nfunc f() { /* +f */ }\n//+g")
	f.Fuzz(func(t *testing.T, text string) {
		src := &sources{fset: token.NewFileSet()}
		file, err := parseFile(src.fset, "a.go", []byte(text))
		if err != nil {
			t.Skip()
		}
		var before []string
		for _, g := range file.Comments {
			for _, c := range g.List {
				before = append(before, c.Text)
			}
		}
		r, err := newRegistry()
		if err != nil {
			t.Fatal(err)
		}
		markersOf(file, r)
		var after []string
		for _, g := range file.Comments {
			for _, c := range g.List {
				after = append(after, c.Text)
			}
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Error(diff)
		}
	})
}
