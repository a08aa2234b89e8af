package olm

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/kube"
)

//go:embed olm.yaml.tmpl
var manifestsText string

// Objects are OLM's objects without its CRDs, in the order of OLM's own
// manifests, with the catalog of operatorhub.io. namespace is OLM's.
func Objects(namespace string) ([]*unstructured.Unstructured, error) {
	t, err := template.New("olm.yaml").Parse(manifestsText)
	if err != nil {
		return nil, fmt.Errorf("read OLM's manifests: %w", err)
	}
	var text strings.Builder
	if err := t.Execute(&text, map[string]string{"Namespace": namespace, "Version": Version}); err != nil {
		return nil, fmt.Errorf("render OLM's manifests: %w", err)
	}
	return kube.ParseManifests([]byte(text.String()), t.Name())
}
