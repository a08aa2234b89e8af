package oldapi

import (
	"strings"
	"testing"
)

func TestCause(t *testing.T) {
	tests := map[string]struct{ error, want string }{
		"reconcile":   {`cannot use r (variable of type *R) as reconcile.Reconciler value in argument to Complete: *R does not implement reconcile.TypedReconciler[reconcile.Request] (wrong type for method Reconcile) have Reconcile(reconcile.Request) (reconcile.Result, error) want Reconcile(context.Context, reconcile.Request) (reconcile.Result, error)`, "Reconcile takes a context"},
		"a source":    {`source.Kind (value of type func[object client.Object](cache cache.Cache, obj object) source.SyncingSource) is not a type`, "sources are functions"},
		"a handler":   {`handler.EnqueueRequestForOwner (value of type func(scheme *runtime.Scheme) handler.EventHandler) is not a type`, "handlers are functions"},
		"a watch":     {`too many arguments in call to c.Watch have (*invalid type, *invalid type) want (source.TypedSource[reconcile.Request])`, "Watch takes only a source"},
		"an event":    {`unknown field Meta in struct literal of type event.CreateEvent`, "events have no Meta"},
		"register":    {`cannot use &Cart{} (value of type *Cart) as func(*"k8s.io/apimachinery/pkg/runtime".Scheme) error value in argument to SchemeBuilder.Register`, "SchemeBuilder is apimachinery's"},
		"the library": {`no required module provides package github.com/operator-framework/operator-sdk/pkg/status; to add it:`, "the library of operator-sdk"},
		"a package":   {`no required module provides package sigs.k8s.io/controller-runtime/pkg/runtime/log; to add it:`, "lies elsewhere"},
		"other types": {`no required module provides package github.com/acme/shop/pkg/apis/cache/v1; to add it:`, "types in pkg/apis"},
		"an object":   {`cannot use obj (variable of interface type "k8s.io/apimachinery/pkg/runtime".Object) as client.Object value in argument to c.Get: "k8s.io/apimachinery/pkg/runtime".Object does not implement client.Object (missing method GetAnnotations)`, "the client takes client.Object"},
		"a context":   {`not enough arguments in call to pods.Get have (string, "k8s.io/apimachinery/pkg/apis/meta/v1".GetOptions) want ("context".Context, string, "k8s.io/apimachinery/pkg/apis/meta/v1".GetOptions)`, "takes a context first"},
		"a request":   {`not enough arguments in call to req.Do have () want (context.Context)`, "takes a context"},
		"a probe":     {`probe.Handler undefined (type *"k8s.io/api/core/v1".Probe has no field or method Handler)`, "Handler is ProbeHandler"},
		"a mock":      {`*m does not implement "sigs.k8s.io/controller-runtime/pkg/client".Client (missing method Apply)`, "the interface has more"},
		"a server":    {`invalid composite literal type webhook.Server`, "webhook.NewServer"},
		"namespaces":  {`opt.Namespace undefined (type controllerruntime.Options has no field or method Namespace)`, "DefaultNamespaces"},
		"own client":  {`*test.Mock does not implement common.Client (missing method Apply) (and 2 more like this)`, "the interface has more"},
		"a status":    {`m.Client does not implement "sigs.k8s.io/controller-runtime/pkg/client".SubResourceWriter (missing method Apply)`, "SubResourceWriter"},
		"a cluster":   {`unknown field ClusterName in struct literal of type "k8s.io/apimachinery/pkg/apis/meta/v1".ObjectMeta`, "no ClusterName"},
		"new code":    {`undefined: size`, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Cause(test.error); !strings.Contains(got, test.want) || test.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestHint(t *testing.T) {
	const old = "internal/controller/a.go:9:2: source.Kind (value of type func) is not a type\n"
	tests := map[string]struct{ output, want string }{
		"none":            {"# x\ninternal/controller/a.go:9:2: undefined: size\n", ""},
		"one file, twice": {"# x\n" + old + old, "with 'mysdk migrate --file internal/controller/a.go', see https://github.com/example/mysdk/blob/main/docs/guides/migrate.md"},
		"on two lines":    {"internal/controller/a.go:9:2: cannot use r: wrong type for method Reconcile\n\thave Reconcile(reconcile.Request) error\n\twant x\n", "--file internal/controller/a.go'"},
		"two files":       {old + strings.ReplaceAll(old, "a.go", "b.go"), "--file internal/controller/a.go --file internal/controller/b.go'"},
		"many":            {old + strings.ReplaceAll(old, "a.go", "b.go") + strings.ReplaceAll(old, "a.go", "c.go") + strings.ReplaceAll(old, "a.go", "d.go"), "rewrite internal/controller/a.go and 3 more files"},
		"of a module":     {"/go/pkg/mod/x/a.go:9:2: source.Kind is not a type\n", ""},
		"Kubernetes":      {"a.go:3:8: no required module provides package k8s.io/apimachinery/pkg/apis/meta/v1; to add it:\n", ""},
		"may be new":      {"a.go:9:2: not enough arguments in call to c.Get have (key) want (context.Context, key)\n", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Hint(test.output); !strings.Contains(got, test.want) || test.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
