package bundle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
)

func TestParseMarker(t *testing.T) {
	three := 3
	for name, c := range map[string]struct {
		text    string
		onField bool
		want    marker
		not     bool
		err     string
	}{
		"another comment":      {text: " size is the size", not: true},
		"another marker":       {text: "+kubebuilder:validation:Minimum=1", not: true},
		"a longer name":        {text: "+operator-sdk:csv:customresourcedefinitionsfoo:x=1", not: true},
		"bare":                 {text: " +operator-sdk:csv:customresourcedefinitions", want: marker{}},
		"display name":         {text: `+operator-sdk:csv:customresourcedefinitions:displayName="My, App"`, want: marker{displayName: "My, App"}},
		"bare display name":    {text: `+operator-sdk:csv:customresourcedefinitions:displayName=My App,order=3`, want: marker{displayName: "My App", order: &three}},
		"quoted with escapes":  {text: `+operator-sdk:csv:customresourcedefinitions:displayName="a \"b\""`, want: marker{displayName: `a "b"`}},
		"back quotes":          {text: "+operator-sdk:csv:customresourcedefinitions:displayName=`a`", want: marker{displayName: "a"}},
		"resources":            {text: `+operator-sdk:csv:customresourcedefinitions:resources={{Deployment,v1,memcached-deployment},{"Pod", v1}}`, want: marker{resources: [][]string{{"Deployment", "v1", "memcached-deployment"}, {"Pod", "v1"}}}},
		"resources with space": {text: `+operator-sdk:csv:customresourcedefinitions:resources={ { Service , v1 , "" } } , order=3`, want: marker{resources: [][]string{{"Service", "v1", ""}}, order: &three}},
		"quotes with space":    {text: `+operator-sdk:csv:customresourcedefinitions:displayName="My , \" ;App" ,resources={{Pod,v1 , ` + "`a ,}`}}", want: marker{displayName: `My , " ;App`, resources: [][]string{{"Pod", "v1", "a ,}"}}}},
		"spec field":           {text: `+operator-sdk:csv:customresourcedefinitions:type=spec`, onField: true, want: marker{kind: "spec"}},
		"descriptors in braces": {text: `+operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:a:b","urn:c"}`, onField: true,
			want: marker{kind: "status", descriptors: []string{"urn:a:b", "urn:c"}}},
		"descriptors by semicolon": {text: `+operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors=urn:a;urn:b,order=3`, onField: true,
			want: marker{kind: "spec", descriptors: []string{"urn:a", "urn:b"}, order: &three}},
		"one descriptor": {text: `+operator-sdk:csv:customresourcedefinitions:xDescriptors="urn:a,b",type="spec"`, onField: true,
			want: marker{kind: "spec", descriptors: []string{"urn:a,b"}}},

		"unknown type":       {text: "+operator-sdk:csv:customresourcedefinitions:type=sepc", onField: true, err: `type is spec or status, not "sepc"`},
		"misspelt argument":  {text: `+operator-sdk:csv:customresourcedefinitions:displayname="x"`, err: `unknown argument "displayname"`},
		"type on a type":     {text: `+operator-sdk:csv:customresourcedefinitions:type=spec`, err: `unknown argument "type"`},
		"order not a number": {text: `+operator-sdk:csv:customresourcedefinitions:order=first`, err: `expected integer, got "first"`},
		"no value":           {text: `+operator-sdk:csv:customresourcedefinitions:displayName`, err: `expected equals, got ""`},
		"open quotes":        {text: `+operator-sdk:csv:customresourcedefinitions:displayName="x`, err: "literal not terminated"},
		"open braces":        {text: `+operator-sdk:csv:customresourcedefinitions:resources={{Pod,v1}`, err: `expected comma, got ""`},
		"open inner braces":  {text: `+operator-sdk:csv:customresourcedefinitions:resources={{Pod,v1`, err: `expected comma, got ""`},
		"one part":           {text: `+operator-sdk:csv:customresourcedefinitions:resources={{Pod}}`, err: "not {Pod}"},
		"no list":            {text: `+operator-sdk:csv:customresourcedefinitions:resources=Pod`, err: "not {Pod}"},
		"rest":               {text: `+operator-sdk:csv:customresourcedefinitions:displayName="x"y`, err: `expected comma, got "y"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok, err := parseMarker(c.text, c.onField)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v", err)
				}
				return
			}
			if err != nil || ok == c.not {
				t.Fatalf("ok %v, error %v", ok, err)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(marker{})); diff != "" {
				t.Error(diff)
			}
		})
	}
	_, _, err := parseMarker("+operator-sdk:csv:customresourcedefinitions:displaName=x", false)
	if clierr.HintOf(err) != `did you mean "displayName"?` {
		t.Errorf("hint %q", clierr.HintOf(err))
	}
}

// FuzzParseMarker: whatever stands in a comment, parsing ends with a marker or
// an error that quotes it.
func FuzzParseMarker(f *testing.F) {
	for _, s := range []string{
		`:displayName="a",order=1`, `:resources={{Pod,v1,""},{A,b}}`, `:type=spec,xDescriptors={"a","b"}`, `:xDescriptors=a;b`, `:{`, `:a=`, "", "=",
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, s string, onField bool) {
		m, ok, err := parseMarker(markerName+s, onField)
		if err != nil && !strings.Contains(err.Error(), "marker +") {
			t.Errorf("error without the marker: %v", err)
		}
		if err == nil && ok && onField && len(m.resources) > 0 {
			t.Errorf("a field got resources: %v", m)
		}
		for _, r := range m.resources {
			if len(r) < 2 || len(r) > 3 {
				t.Errorf("resource %q", r)
			}
		}
	})
}
