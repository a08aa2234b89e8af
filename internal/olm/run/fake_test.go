package run

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/kube"
)

// world is a cluster as a Reader sees it.
type world struct {
	objects objects
	logs    map[string]string // by pod
	allowed map[string]bool   // by Access.String
	err     error             // that requests fail with; nil: they work
}

// worldOf parses the objects; those without a namespace are put into ns where
// their kind has one.
func worldOf(t *testing.T, manifests string) *world {
	t.Helper()
	objs, err := kube.ParseManifests([]byte(manifests), "world.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return &world{objects: objs, logs: map[string]string{}, allowed: map[string]bool{}}
}

func (w *world) Read(_ context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	for _, o := range w.objects {
		if kube.RefOf(o) == kube.RefOf(u) {
			return o, w.err
		}
	}
	return nil, w.err
}

func (w *world) List(_ context.Context, gvk schema.GroupVersionKind, o kube.ListOptions) ([]*unstructured.Unstructured, error) {
	selector, err := labels.Parse(o.Selector)
	if err != nil {
		return nil, err
	}
	found := w.objects.where(func(u *unstructured.Unstructured) bool {
		return u.GroupVersionKind() == gvk && (o.Namespace == "" || u.GetNamespace() == o.Namespace) && selector.Matches(labels.Set(u.GetLabels()))
	})
	if slices.ContainsFunc(found, isCopied) {
		return nil, errors.New("a large cluster has thousands of copies of CSVs, which nobody needs")
	}
	return found, w.err
}

// Serves reports whether the CRD of a kind is there.
func (w *world) Serves(_ context.Context, gvk schema.GroupVersionKind) (bool, error) {
	return w.objects.find(strings.ToLower(gvk.Kind)+"s."+gvk.Group) != nil, w.err
}

func (w *world) Logs(_ context.Context, _, pod string, o kube.LogOptions) ([]byte, error) {
	if o.Previous {
		pod += " before"
	}
	log, ok := w.logs[pod]
	if !ok {
		return nil, errors.New("the container has not started")
	}
	if o.Tail > 0 {
		lines := strings.Split(strings.TrimSuffix(log, "\n"), "\n")
		log = strings.Join(lines[max(0, len(lines)-o.Tail):], "\n")
	}
	if o.Limit > 0 {
		log = log[:min(len(log), o.Limit)]
	}
	return []byte(log), nil
}

func (w *world) Allowed(_ context.Context, a kube.Access) (bool, error) {
	return w.allowed[a.String()], nil
}
