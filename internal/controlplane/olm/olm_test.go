package olm

import (
	"context"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/api/client/clientset/versioned"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/bundle"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/operators"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/apis/core"
	ctrl "sigs.k8s.io/controller-runtime"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/example/mysdk/internal/cluster/state"
	ours "github.com/example/mysdk/internal/registry"
)

func TestEstablished(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if established(crd) || olmNamespace(crd) != "olm" {
		t.Errorf("a CRD without a status is established in %s", olmNamespace(crd))
	}
	crd.Annotations = map[string]string{state.OLMNamespaceAnnotation: "operator-lifecycle-manager"}
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionFalse}}
	if established(crd) {
		t.Error("a CRD that is not established is")
	}
	crd.Status.Conditions[0].Status = apiextensionsv1.ConditionTrue
	now := metav1.Now()
	crd.DeletionTimestamp = &now
	if !established(crd) || olmNamespace(crd) != "operator-lifecycle-manager" {
		t.Errorf("a CRD that is going is not established, or in %s", olmNamespace(crd))
	}
}

func TestEveryOLMCRDIsWaitedFor(t *testing.T) {
	if all := CRDs(); len(all) != 8 || all[0] != csvCRD {
		t.Errorf("olmCRDs() = %v", all)
	}
}

// TestAddReconcilers a second time, without leave to take their names again: it
// ends at the first that cannot be added.
func TestAddReconcilers(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := operators.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	m, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{
		Scheme: scheme, Metrics: metrics.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	first, again := addReconcilers(m), addReconcilers(m)
	if again == nil || strings.Count(again.Error(), "already exists") != 1 {
		t.Errorf("addReconcilers() = %v, then %v", first, again)
	}
}

// TestKeep: what runs ends with stop, which may come again.
func TestKeep(t *testing.T) {
	ended := false
	stop := (&olm{}).keep(t.Context(), "it", func(ctx context.Context) error {
		<-ctx.Done()
		ended = true
		return ctx.Err()
	})
	stop()
	stop()
	if !ended {
		t.Error("stop() did not wait for the end")
	}
}

// clientHolder has clients as OLM's operators have them.
type clientHolder struct {
	client versioned.Interface
	inner  *coreHolder
	self   *clientHolder
}

type coreHolder struct {
	core   kubernetes.Interface
	config *rest.Config
}

func TestUnlimit(t *testing.T) {
	config := &rest.Config{Host: "http://127.0.0.1:1"}
	custom, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	h := &clientHolder{client: custom, inner: &coreHolder{core, config}}
	h.self = h
	if clients, configs := unlimit(h); clients < 2 || configs != 1 || config.QPS >= 0 {
		t.Fatalf("unlimit() found %d clients and %d configurations; QPS is %v", clients, configs, config.QPS)
	}
	for name, c := range map[string]rest.Interface{"custom": custom.OperatorsV1alpha1().RESTClient(), "core": core.CoreV1().RESTClient()} {
		for i := range 100 {
			if !c.GetRateLimiter().TryAccept() {
				t.Errorf("%s: request %d has to wait", name, i)
				break
			}
		}
	}
	if clients, configs := unlimit(struct{ a any }{nil}); clients+configs != 0 {
		t.Errorf("unlimit() of nothing = %d, %d", clients, configs)
	}
}

func TestHideCI(t *testing.T) {
	t.Setenv("CI", "true")
	restore, err := hideCI()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := os.LookupEnv("CI"); ok {
		t.Error("CI is still set")
	}
	if err := restore(); err != nil || os.Getenv("CI") != "true" {
		t.Errorf("restored to %q, %v", os.Getenv("CI"), err)
	}
}

func TestUnpackPodsWait(t *testing.T) {
	admit := func(pod *core.Pod, subresource string) {
		a := admission.NewAttributesRecord(pod, nil, core.Kind("Pod").WithVersion("v1"), "shop", "x", core.Resource("pods").WithVersion("v1"), subresource,
			admission.Create, nil, false, nil)
		if err := (unpackGater{admission.NewHandler(admission.Create)}).Admit(t.Context(), a, nil); err != nil {
			t.Fatal(err)
		}
	}
	unpack := map[string]string{bundle.BundleUnpackRefLabel: "abc"}
	tests := map[string]struct {
		labels      map[string]string
		subresource string
		want        int
	}{
		"unpack pod":        {unpack, "", 1},
		"another pod":       {nil, "", 0},
		"an unpack's logs?": {unpack, "log", 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Labels: tc.labels}}
			admit(pod, tc.subresource)
			if got := len(pod.Spec.SchedulingGates); got != tc.want {
				t.Errorf("%d gates, want %d", got, tc.want)
			}
		})
	}
}

func TestBundleImage(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers:  []corev1.Container{{Name: "util", Image: "none"}, {Name: "pull", Image: "example.com/bundle:v1"}},
		SchedulingGates: []corev1.PodSchedulingGate{{Name: unpackGate}},
	}}
	if got := bundleImage(pod); got != "example.com/bundle:v1" || !gated(pod) {
		t.Errorf("bundleImage() = %q, gated = %v", got, gated(pod))
	}
	if bundleImage(&corev1.Pod{}) != "" || gated(&corev1.Pod{}) {
		t.Error("a pod without containers has a bundle")
	}
}

func TestImagesFromStoreAndRegistry(t *testing.T) {
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer s.Close()
	img, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	want, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	pushed := strings.TrimPrefix(s.URL, "http://") + "/catalog:v1"
	ref, err := name.ParseReference(pushed)
	if err == nil {
		err = remote.Write(ref, img)
	}
	if err != nil {
		t.Fatal(err)
	}
	store := t.TempDir()
	dir := filepath.Join(store, ours.FileKey("example.com/stored:v1"))
	l, err := layout.Write(dir, empty.Index)
	if err == nil {
		err = l.AppendImage(img)
	}
	if err == nil {
		err = state.WriteFile(filepath.Join(dir, "origin.json"), []byte(`{"image":"example.com/stored:v1"}`))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{pushed, "example.com/stored:v1"} {
		got, err := images(store).get(t.Context(), from, pullAccess{})
		if err != nil {
			t.Errorf("get(%s) = %v", from, err)
			continue
		}
		if digest, err := got.Digest(); err != nil || digest != want {
			t.Errorf("get(%s) has the digest %v, %v, want %v", from, digest, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := images(filepath.Join(store, "none")).get(ctx, "example.com/stored:v1", pullAccess{}); err == nil {
		t.Error("get() of what is nowhere = nil")
	}
}
