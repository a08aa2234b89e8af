package migrate

import (
	stdcmp "cmp"
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
		options   = `cannot use o (variable of type *"k8s.io/apimachinery/pkg/apis/meta/v1".DeleteOptions) as "k8s.io/apimachinery/pkg/apis/meta/v1".DeleteOptions value in argument to c.Delete`
		few       = `not enough arguments in call to c.Delete have (string) want (context.Context, string, "k8s.io/apimachinery/pkg/apis/meta/v1".DeleteOptions)`
		many      = `too many arguments in call to c.Get have (context.Context, string) want (string)`
		owner     = `handler.EnqueueRequestForOwner (value of type func(scheme *"k8s.io/apimachinery/pkg/runtime".Scheme) handler.EventHandler) is not a type`
		named     = `p.ClusterName undefined (type *"k8s.io/api/core/v1".Pod has no field or method ClusterName)`
	)
	for name, test := range map[string]struct{ error, code, want string }{
		"a literal":              {volume, "c.Spec.Resources = @v1.ResourceRequirements{Requests: l}", "c.Spec.Resources = v1.VolumeResourceRequirements{Requests: l}"},
		"a variable":             {volume, "c.Spec.Resources = @a.b", "c.Spec.Resources = v1.VolumeResourceRequirements{Limits: a.b.Limits, Requests: a.b.Requests}"},
		"a claim's":              {container, "f(@c.Spec.Resources)", "f(v1.ResourceRequirements{Limits: c.Spec.Resources.Limits, Requests: c.Spec.Resources.Requests})"},
		"a function's":           {volume, "c.Spec.Resources = @resources()", ""},
		"with devices":           {volume, "c.Spec.Resources = @v1.ResourceRequirements{Claims: l}", ""},
		"a constant":             {constant, "r := m.Rule{For: @\"1m\"}", "r := m.Rule{For: new(m.Duration(\"1m\"))}"},
		"a type not at hand":     {strings.Replace(constant, "monitoring", "other", 1), "r := m.Rule{For: @\"1m\"}", ""},
		"a probe":                {probe, "p.@Handler.Exec = nil", "p.ProbeHandler.Exec = nil"},
		"a channel":              {`invalid operation: cannot receive from non-channel stop() (value of interface type context.Context)`, "<-@stop()", "<-stop().Done()"},
		"a name":                 {named, "return p.@ClusterName", "return \"\""},
		"a name that is set":     {named, "p.@ClusterName = c", ""},
		"one of the user's":      {strings.Replace(named, "k8s.io", "example.com", 1), "return p.@ClusterName", ""},
		"an address of options":  {options, "c.Delete(@&o)", "c.Delete(o)"},
		"a pointer to options":   {options, "c.Delete(@o)", "c.Delete(*o)"},
		"a pointer of the user":  {strings.ReplaceAll(options, "Options", "Thing"), "c.Delete(@o)", ""},
		"a request":              {"not enough arguments in call to c.Get().Do have () want (context.Context)", "c.Get().Do(@)", "c.Get().Do(ctx)"},
		"in a function's":        {"not enough arguments in call to f have () want (context.Context)", "h(func(c context.Context) { f(@) })", "h(func(c context.Context) { f(c) })"},
		"with options":           {few, "c.Delete(\"a\"@)", "c.Delete(ctx, \"a\", metav1.DeleteOptions{})"},
		"with a list":            {`not enough arguments in call to c.List have (T) want (context.Context, T, ...client.ListOption)`, "c.List(l@)", "c.List(ctx, l)"},
		"without something else": {`not enough arguments in call to f have (T) want (context.Context, T, int)`, "f(t@)", ""},
		"a context too many":     {many, "c.Get(context.TODO(), @n)", "c.Get(n)"},
		"a context of the user":  {many, "c.Get(x, @n)", ""},
		"a handler":              {owner, "e := @handler.EnqueueRequestForOwner{IsController: true, OwnerType: o}", "e := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), o, handler.OnlyControllerOwner())"},
		"its address, inferred":  {"in call to source.Kind, type *handler.EventHandler of &e does not match inferred type handler.TypedEventHandler[client.Object, reconcile.Request] for handler.TypedEventHandler[object, reconcile.Request]", "source.Kind(o, @&e)", "source.Kind(o, e)"},
		"its address":            {"cannot use &e (value of type *handler.EventHandler) as handler.TypedEventHandler[client.Object, reconcile.Request] value in argument to b.Watches", "b.Watches(o, @&e)", "b.Watches(o, e)"},
		"an object's parameter":  {`cannot use o (variable of interface type "k8s.io/apimachinery/pkg/runtime".Object) as client.Object value in argument to c.Get`, "func(o runtime.Object) { c.Get(@o) }", "func(o runtime.Object) { c.Get(o.(client.Object)) }"},
		"options first":          {`cannot use l (variable of type *"k8s.io/api/core/v1".PodList) as client.ListOption value in argument to c.List: *"k8s.io/api/core/v1".PodList does not implement client.ListOption (missing method ApplyToList)`, "c.List(ctx, &client.ListOptions{}, @l)", "c.List(ctx, l, &client.ListOptions{})"},
		"no options first":       {`cannot use l (variable of type *"k8s.io/api/core/v1".PodList) as client.ListOption value in argument to c.List: missing method ApplyToList`, "c.List(ctx, nil, @l)", "c.List(ctx, l)"},
		"options of another API": {`cannot use o (variable of struct type "k8s.io/apimachinery/pkg/apis/meta/v1".ListOptions) as client.ListOption value in argument to c.List: missing method ApplyToList`, "c.List(ctx, l, @o)", ""},
		"an object to watch":     {`cannot convert o (variable of interface type "k8s.io/apimachinery/pkg/runtime".Object) to type client.Object: "k8s.io/apimachinery/pkg/runtime".Object does not implement client.Object (missing method GetAnnotations)`, "source.Kind(client.Object(@o))", "source.Kind(client.Object(o.(client.Object)))"},
		"no options":             {`cannot use nil as "k8s.io/apimachinery/pkg/apis/meta/v1".DeleteOptions value in argument to c.Delete`, "c.Delete(@nil)", "c.Delete(metav1.DeleteOptions{})"},
		"an object":              {`cannot use o (variable of interface type "k8s.io/apimachinery/pkg/runtime".Object) as client.Object value in argument to c.Get: "k8s.io/apimachinery/pkg/runtime".Object does not implement client.Object (missing method GetAnnotations)`, "c.Get(@o)", "c.Get(o.(client.Object))"},
		"another error":          {"undefined: x", "f(@x)", ""},
	} {
		t.Run(name, func(t *testing.T) {
			const file = "package a\n\nimport (\n\t\"context\"\n\n\tm \"example.com/monitoring/v1\"\n\tv1 \"k8s.io/api/core/v1\"\n\tmetav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\t\"sigs.k8s.io/controller-runtime/pkg/client\"\n\t\"sigs.k8s.io/controller-runtime/pkg/handler\"\n\t\"sigs.k8s.io/controller-runtime/pkg/manager\"\n)\n\nvar _, _, _, _, _ = v1.Pod{}, m.Rule{}, metav1.Now, client.IgnoreNotFound, handler.Funcs{}\n\nfunc g(ctx context.Context, mgr manager.Manager) any {\n\t%s\n}\n"
			code := strings.Replace(test.code, "@", "", 1)
			got, err := Corrected("a.go", fmt.Appendf(nil, file, code), []Problem{{"a.go", 17, strings.Index(test.code, "@") + 2, test.error}})
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

// TestCorrectedParameter holds that an object which a function passes to the
// client has the client's type, and one that a method does is asserted to be of it.
func TestCorrectedParameter(t *testing.T) {
	const head = "package a\n\nimport (\n\t\"k8s.io/apimachinery/pkg/runtime\"\n\t\"sigs.k8s.io/controller-runtime/pkg/client\"\n)\n\nvar _ runtime.Object\n\n"
	const text = `cannot use o (variable of interface type "k8s.io/apimachinery/pkg/runtime".Object) as client.Object value in argument to c.Create`
	for name, test := range map[string][2]string{
		"a function":      {"func f(c client.Client, o runtime.Object) {\n\tc.Create(nil, o)\n}\n", "func f(c client.Client, o client.Object) {\n\tc.Create(nil, o)\n}\n"},
		"a method":        {"func (t *T) f(c client.Client, o runtime.Object) {\n\tc.Create(nil, o)\n}\n", "func (t *T) f(c client.Client, o runtime.Object) {\n\tc.Create(nil, o.(client.Object))\n}\n"},
		"the name is its": {"func (t *T) f(client client.Client, o runtime.Object) {\n\tc.Create(nil, o)\n}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Corrected("a.go", []byte(head+test[0]), []Problem{{"a.go", 11, 16, text}})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(head+stdcmp.Or(test[1], test[0]), string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
