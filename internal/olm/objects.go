package olm

import (
	_ "embed"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/kube"
)

//go:embed olm.yaml.tmpl
var manifestsText string

// Objects are OLM's objects without its CRDs, in the order of OLM's own
// manifests, with the catalog of operatorhub.io. namespace is OLM's.
func Objects(namespace string) ([]*unstructured.Unstructured, error) {
	return kube.RenderManifests(manifestsText, "olm.yaml", map[string]string{"Namespace": namespace, "Version": Version})
}
