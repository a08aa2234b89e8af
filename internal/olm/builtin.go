package olm

import (
	_ "embed"
	"slices"

	"github.com/operator-framework/api/crds"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/kube"
)

// CRDs are those of OLM's kinds, sorted by name. namespace is where OLM goes.
func CRDs(namespace string) ([]*unstructured.Unstructured, error) {
	names := crds.AssetNames()
	slices.Sort(names)
	// A megabyte of YAML: side by side they take half the time.
	parsed := make([][]*unstructured.Unstructured, len(names))
	var work errgroup.Group
	for i, name := range names {
		work.Go(func() error {
			data, err := crds.Asset(name)
			if err == nil {
				parsed[i], err = kube.ParseManifests(data, name)
			}
			return err
		})
	}
	err := work.Wait()
	return annotate(slices.Concat(parsed...), namespace), err
}

// annotate tells the embedded cluster where OLM is.
func annotate(list []*unstructured.Unstructured, namespace string) []*unstructured.Unstructured {
	for _, u := range list {
		if u.GetName() != csvCRD || namespace == DefaultNamespace {
			continue
		}
		annotations := u.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[state.OLMNamespaceAnnotation] = namespace
		u.SetAnnotations(annotations)
	}
	return list
}

//go:embed olm.yaml.tmpl
var manifestsText string

// Objects are OLM's objects without its CRDs, in the order of OLM's own
// manifests, with the catalog of operatorhub.io. namespace is OLM's.
func Objects(namespace string) ([]*unstructured.Unstructured, error) {
	return kube.RenderManifests(manifestsText, "olm.yaml", map[string]string{"Namespace": namespace, "Version": Version})
}
