// Package oldapi recognizes code that was written for operator-sdk v0.x or for
// an old controller-runtime, by the compiler's errors. It changes nothing; package
// migrate does.
package oldapi

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
)

// Guide is the page that says what became of what in old code.
const Guide = "https://github.com/example/mysdk/blob/main/docs/guides/migrate.md"

// place is how errors of the compiler and of the generators name a file.
var place = lazy.Delayed(`^\s*(?:generate: )?(\S+\.go):\d+(?::\d+)?: (.*)$`)

// Hint is what to do about code of a project that the errors show to be for
// operator-sdk v0.x or an old controller-runtime; empty for other errors.
func Hint(errors string) string {
	var files []string
	for _, e := range joined(errors) {
		m := place.FindStringSubmatch(e)
		if m != nil && match(m[2]).sure && !filepath.IsAbs(m[1]) && !slices.Contains(files, m[1]) {
			files = append(files, m[1])
		}
	}
	const most = 3
	switch n := len(files); {
	case n == 0:
		return ""
	case n > most:
		return fmt.Sprintf("rewrite %s and %d more files, which were written for an old controller-runtime, with 'mysdk migrate --file FILE', see %s", files[0], n-1, Guide)
	}
	return fmt.Sprintf("rewrite what was written for an old controller-runtime with 'mysdk migrate --file %s', see %s", strings.Join(files, " --file "), Guide)
}

// joined are the errors in the output of the go command, a line each.
func joined(output string) []string {
	var out []string
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, "\t") && len(out) > 0 {
			out[len(out)-1] += " " + strings.TrimSpace(line)
			continue
		}
		out = append(out, strings.TrimRight(line, "\r\n"))
	}
	return out
}

// A cause explains a kind of compiler error by what changed in a library.
type cause struct {
	error lazy.Regexp
	text  string
	sure  bool // new code has no such errors
}

// causes are tried in their order: the first that fits is the answer.
var causes = []cause{
	{lazy.Delayed(`github\.com/operator-framework/operator-sdk/(pkg|version)`), "the library of operator-sdk v0.x is gone: controller-runtime, apimachinery and operator-lib have its parts", true},
	{lazy.Delayed(`sigs\.k8s\.io/controller-runtime/pkg/runtime/(log|scheme|signals)`), "the package lies elsewhere in controller-runtime since 0.2", true},
	// Kubernetes has a pkg/apis of its own, which is missing where any module is.
	{lazy.Delayed(`no required module provides package k8s\.io/`), "", false},
	{lazy.Delayed(`no (required module provides|module in go\.mod has the) package \S+/pkg/apis/`), "operator-sdk v0.x had types in pkg/apis: they are in api today, and those of another project need its module in go.mod", true},
	{lazy.Delayed(`method Reconcile\)? have Reconcile\([^,)]*Request\)|\bReconcile have \([^,)]*Request\)`), "Reconcile takes a context first since controller-runtime 0.7", true},
	{lazy.Delayed(`as func\(\*.*\.?Scheme\) error value in (argument to|variadic argument to) SchemeBuilder\.Register`), "SchemeBuilder is apimachinery's: it takes functions that add types to a scheme", true},
	{lazy.Delayed(`source\.(Kind|Channel|Informer)\b.*is not a type`), "sources are functions since controller-runtime 0.15 and have the handler in them: source.Kind(mgr.GetCache(), object, handler, predicates...)", true},
	{lazy.Delayed(`in call to \w+\.Watch have`), "Watch takes only a source since controller-runtime 0.15: source.Kind(mgr.GetCache(), object, handler, predicates...)", true},
	{lazy.Delayed(`handler\.EnqueueRequest\w+.* is not a type|undefined: handler\.(ToRequestsFunc|MapObject|Mapper)`), "handlers are functions since controller-runtime 0.15, and those that map objects take (context.Context, client.Object)", true},
	{lazy.Delayed(`(unknown field|has no field or method) Meta(Old|New)?\b.*event\.|type event\.\w+ has no field or method Meta`), "events have no Meta since controller-runtime 0.7: Object is a client.Object and has its methods", true},
	{lazy.Delayed(`TypedRateLimitingInterface`), "queues have the type of their requests since controller-runtime 0.20, and handlers take a context", false},
	{lazy.Delayed(`not enough arguments in call to .*have \(.*want \(("context"|context)\.Context`), "the method takes a context first today", false},
	{lazy.Delayed(`not enough arguments in call to .*\.(Do|DoRaw|Stream|Watch) have \(\)`), "requests of client-go take a context since 0.18", true},
	{lazy.Delayed(`runtime"?\.Object does not implement .*(client|controllerutil|metav1|v1)"?\.Object|runtime"?\.Object does not implement .*ObjectList`), "the client takes client.Object and client.ObjectList since controller-runtime 0.7, which runtime.Object does not have the methods of", false},
	{lazy.Delayed(`client"?\.(StatusWriter|SubResourceWriter|SubResourceClient)\b`), "Status() of a client is a SubResourceWriter with more methods since controller-runtime 0.15", false},
	{lazy.Delayed(`does not implement .*(client"?\.Client|client"?\.WithWatch|manager"?\.Manager|cluster"?\.Cluster|cache"?\.Cache)\b|missing method (Apply|GroupVersionKindFor|IsObjectNamespaced|SubResource)\)`), "the interface has more or other methods today: embed a value of it in a mock, or use fake.NewClientBuilder", false},
	{lazy.Delayed(`does not implement manager\.Runnable`), "Start of what is added to the manager takes a context instead of a channel since controller-runtime 0.7", false},
	{lazy.Delayed(`undefined: fake\.NewFakeClient`), "fake clients are made by fake.NewClientBuilder since controller-runtime 0.6", true},
	{lazy.Delayed(`NewDecoder returns 1 value`), "admission.NewDecoder returns no error since controller-runtime 0.15", false},
	{lazy.Delayed(`non-channel .*SetupSignalHandler|SetupSignalHandler\(\).*as <-chan struct`), "signals.SetupSignalHandler returns a context since controller-runtime 0.7", false},
	{lazy.Delayed(`webhook"?\.Server has no field or method|composite literal type webhook\.Server`), "webhook.Server is an interface since controller-runtime 0.15: its settings are webhook.Options, given to webhook.NewServer", false},
	{lazy.Delayed(`unknown field \w+ in struct literal of type (manager|"sigs\.k8s\.io/controller-runtime"|ctrl|controllerruntime|"?[\w./-]*manager"?)\.Options`), "options of the manager were grouped in controller-runtime 0.16: Metrics, WebhookServer and Cache have them", true},
	{lazy.Delayed(`undefined: cache\.MultiNamespacedCacheBuilder|\.Options has no field or method (Namespace|NewCache)\b`), "the namespaces are cache.Options.DefaultNamespaces since controller-runtime 0.16, set as Cache in the options of the manager", true},
	{lazy.Delayed(`ClusterName\b.*(ObjectMeta|has no field or method ClusterName)`), "ObjectMeta has had no ClusterName since Kubernetes 1.24; no API server ever set it", false},
	{lazy.Delayed(`core/v1"?\.Probe has no field or method Handler|v1\.Handler\b|unknown field Handler in struct literal of type .*Probe`), "Handler is ProbeHandler in probes since Kubernetes 1.23, and LifecycleHandler in hooks", true},
	{lazy.Delayed(`VolumeResourceRequirements`), "resources of volume claims have the type VolumeResourceRequirements since Kubernetes 1.29", false},
	{lazy.Delayed(`has no field or method SetupWebhookWithManager`), "types are not their own webhooks since controller-runtime 0.20: internal/webhook sets theirs up", false},
	{lazy.Delayed(`undefined: client\.(UseListOptions|MatchingField)\b|client"?\.(ListOptions|InNamespace) has no field or method`), "options of a list come after it since controller-runtime 0.2, each by itself: client.InNamespace(ns), client.MatchingLabels(l), client.MatchingFields{}", true},
	{lazy.Delayed(`ToleratesTaint`), "ToleratesTaint takes a logger first since Kubernetes 1.35", false},
}

// Cause is why code that was right once does not compile any more, by the
// compiler's error in one line; empty where that is not known.
func Cause(compilerError string) string { return match(compilerError).text }

// match is the first cause that fits an error, an empty one for none.
func match(compilerError string) cause {
	for _, c := range causes {
		if c.error.MatchString(compilerError) {
			return c
		}
	}
	return cause{}
}
