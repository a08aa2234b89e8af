package v4

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/host/hosttest"
)

// kinds are names that Go, Kubernetes, YAML, the libraries or the templates
// use for something else.
var kinds = strings.Fields(`Pod Status Spec Object M Type Interface String Error Scheme Reconciler Controller Deployment Condition
	Test Linux ObjectMeta TypeMeta ListMeta Context Client Manager Builder Handler Event Recorder Predicate Metrics Labels Meta
	Runtime Request Result Options Cache Config Environment Namespace Node Service Secret Time Duration Quantity Map Slice Func Struct
	Package Import Init Main True False Null Yes No On Off Y N Any Byte Int32 Hub Conversion Webhook Validator Defaulter Suite Root Fill
	Lost Group Version Kind Resource Item Names Size Replicas Selector Metadata Finalizer Image Log Setup Admission Ctrl
	Json Cmp Os Equality Unstructured Envtest PriceList A1 MEMCACHED Watch Scale`)

// TestKinds renders a kind of each name, with webhooks and a second version,
// type-checks the code with its tests and reads the samples. Some are in one
// project, where they could get in each other's way. The everyday lane does so
// with one such project.
func TestKinds(t *testing.T) {
	var c *hosttest.TypeChecker
	for some := range slices.Chunk(kinds, 8) {
		if testing.Short() && c != nil {
			break
		}
		p := newTestProject(t)
		p.mustCreateAPI(t, "--group=cache", "--kind=Zone", "--namespaced=false")
		for _, kind := range some {
			p.mustCreateAPI(t, "--group=cache", "--kind="+kind, "--image-container-port=80")
			p.mustCreateAPI(t, "--group=cache", "--version=v1", "--kind="+kind, "--from=v1alpha1")
			p.mustCreateWebhook(t, "--group=cache", "--version=v1", "--kind="+kind, "--defaulting", "--programmatic-validation", "--conversion")
		}
		p.addDeepCopies(t)
		files := p.files(t)
		for _, kind := range some {
			for _, version := range []string{"v1alpha1", "v1"} {
				checkSample(t, files["config/samples/cache_"+version+"_"+strings.ToLower(kind)+".yaml"], version, kind)
			}
		}
		const module = "example.com/shop"
		if c == nil {
			imports, err := hosttest.GoImports(module, files)
			if err != nil {
				t.Fatal(err)
			}
			if c, err = hosttest.NewTypeChecker(".", nil, imports); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := c.Check(module, files); n < 6 || err != nil {
			t.Errorf("%d packages were checked: %v", n, err)
		}
	}
}

func checkSample(t *testing.T, text, version, kind string) {
	t.Helper()
	var sample map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &sample); err != nil {
		t.Fatalf("the sample of %s: %v", kind, err)
	}
	if sample["kind"] != kind || sample["apiVersion"] != "cache.example.com/"+version {
		t.Errorf("the sample of %s is of kind %v in %v", kind, sample["kind"], sample["apiVersion"])
	}
}
