package scorecard

import (
	_ "embed"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/kube"
)

//go:embed pod.yaml.tmpl
var podText string

// pod is the pod of a test.
func (p *Pods) pod(s Subject, t v1alpha3.TestConfiguration) (*unstructured.Unstructured, error) {
	tops := map[string]bool{}
	for name := range s.Files {
		top, _, _ := strings.Cut(name, "/")
		tops[top] = true
	}
	list, err := kube.RenderManifests(podText, "pod.yaml", map[string]any{
		"Name": p.Run + "-" + podName(t), "Pods": p, "Test": t, "Tops": slices.Sorted(maps.Keys(tops)), "Sources": p.sources,
		"Storage": t.Storage.Spec.MountPath.Path, "Seconds": int((p.Wait + sidecarTime).Seconds()),
	})
	if err != nil {
		return nil, fmt.Errorf("make the pod of %s: %w", Name(t), err)
	}
	return list[0], nil
}

// podName is the test's name and the digits that keep two of one name apart.
func podName(t v1alpha3.TestConfiguration) string {
	sum := fnv.New32a()
	for _, word := range append([]string{t.Image, t.UniqueID, t.Labels["test"]}, t.Entrypoint...) {
		sum.Write([]byte(word + "\x00")) // a hash's Write never fails
	}
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, Name(t))
	return strings.Trim(clean[:min(len(clean), 30)], "-") + fmt.Sprintf("-%08x", sum.Sum32())
}
