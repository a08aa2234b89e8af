package migrate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCorrected holds that the place of an error becomes what the error shows it
// to have to be, and that others stay. The place is where @ stands.
func TestCorrected(t *testing.T) {
	const (
		volume    = `cannot use x (value of struct type "k8s.io/api/core/v1".ResourceRequirements) as "k8s.io/api/core/v1".VolumeResourceRequirements value in assignment`
		container = `cannot use x (variable of struct type "k8s.io/api/core/v1".VolumeResourceRequirements) as "k8s.io/api/core/v1".ResourceRequirements value in argument to f`
		constant  = `cannot use "1m" (untyped string constant) as *"example.com/monitoring/v1".Duration value in struct literal`
		probe     = `p.Handler undefined (type *"k8s.io/api/core/v1".Probe has no field or method Handler)`
		named     = `p.ClusterName undefined (type *"k8s.io/api/core/v1".Pod has no field or method ClusterName)`
	)
	for name, test := range map[string]struct{ error, code, want string }{
		"a literal":          {volume, "c.Spec.Resources = @v1.ResourceRequirements{Requests: l}", "c.Spec.Resources = v1.VolumeResourceRequirements{Requests: l}"},
		"a variable":         {volume, "c.Spec.Resources = @a.b", "c.Spec.Resources = v1.VolumeResourceRequirements{Limits: a.b.Limits, Requests: a.b.Requests}"},
		"a claim's":          {container, "f(@c.Spec.Resources)", "f(v1.ResourceRequirements{Limits: c.Spec.Resources.Limits, Requests: c.Spec.Resources.Requests})"},
		"a function's":       {volume, "c.Spec.Resources = @resources()", ""},
		"with devices":       {volume, "c.Spec.Resources = @v1.ResourceRequirements{Claims: l}", ""},
		"a constant":         {constant, "r := m.Rule{For: @\"1m\"}", "r := m.Rule{For: new(m.Duration(\"1m\"))}"},
		"a type not at hand": {strings.Replace(constant, "monitoring", "other", 1), "r := m.Rule{For: @\"1m\"}", ""},
		"a probe":            {probe, "p.@Handler.Exec = nil", "p.ProbeHandler.Exec = nil"},
		"a channel":          {`invalid operation: cannot receive from non-channel stop() (value of interface type context.Context)`, "<-@stop()", "<-stop().Done()"},
		"a name":             {named, "return p.@ClusterName", "return \"\""},
		"a name that is set": {named, "p.@ClusterName = c", ""},
		"one of the user's":  {strings.Replace(named, "k8s.io", "example.com", 1), "return p.@ClusterName", ""},
		"another error":      {"undefined: x", "f(@x)", ""},
	} {
		t.Run(name, func(t *testing.T) {
			const file = "package a\n\nimport (\n\tm \"example.com/monitoring/v1\"\n\tv1 \"k8s.io/api/core/v1\"\n)\n\nvar _, _ = v1.Pod{}, m.Rule{}\n\nfunc g() any {\n\t%s\n}\n"
			code := strings.Replace(test.code, "@", "", 1)
			got, err := Corrected("a.go", fmt.Appendf(nil, file, code), []Problem{{"a.go", 11, strings.Index(test.code, "@") + 2, test.error}})
			if err != nil {
				t.Fatal(err)
			}
			if test.want == "" {
				test.want = code
			}
			if d := cmp.Diff(fmt.Sprintf(file, test.want), string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
