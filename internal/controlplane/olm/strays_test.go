package olm

import (
	"io"
	"strings"
	"testing"

	"github.com/operator-framework/operator-lifecycle-manager/pkg/api/client/clientset/versioned/fake"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/operators/labeller"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	metadatafake "k8s.io/client-go/metadata/fake"
)

// TestStraysAreNoticed has OLM itself look for objects without its label.
func TestStraysAreNoticed(t *testing.T) {
	pod := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "olm", Name: "cat-1", Labels: map[string]string{"olm.catalogSource": "cat"}},
	}
	for name, tc := range map[string]struct {
		objects []runtime.Object
		want    bool
	}{"none": {nil, false}, "a pod": {[]runtime.Object{pod}, true}} {
		t.Run(name, func(t *testing.T) {
			scheme := metadatafake.NewTestScheme()
			if err := metav1.AddMetaToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			if err := corev1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			o := &olmOperators{logger: newLogrus(io.Discard, 0)}
			o.logger.AddHook(&o.strays)
			ok, err := labeller.Validate(t.Context(), o.logger, metadatafake.NewSimpleMetadataClient(scheme, tc.objects...), fake.NewSimpleClientset(), labeller.IdentityCatalogOperator)
			if err != nil {
				t.Fatal(err)
			}
			if got := o.strays.found.Load(); got != tc.want || ok == tc.want {
				t.Errorf("found = %v, want %v; OLM says %v", got, tc.want, ok)
			}
			if err := o.launch(nil); tc.want && (err == nil || !strings.Contains(err.Error(), "without the label")) {
				t.Errorf("launch() = %v", err)
			}
		})
	}
}
