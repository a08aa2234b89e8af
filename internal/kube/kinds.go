package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/example/mysdk/internal/clierr"
)

// kinds maps kinds to the resources that serve them. It asks for one group and
// version at a time: a handful of small answers instead of the whole API, and no
// dependency on client-go's discovery, which registers every built-in kind.
type kinds struct {
	rest rest.Interface

	mu    sync.Mutex // not held while the cluster is asked
	seen  map[schema.GroupVersion][]metav1.APIResource
	dated int // how often something was forgotten
}

// newKinds knows nothing yet: each kind is asked for when it is needed.
func newKinds(r rest.Interface) *kinds {
	return &kinds{rest: r, seen: map[schema.GroupVersion][]metav1.APIResource{}}
}

// noKindError says that the cluster does not serve a kind.
type noKindError struct {
	schema.GroupVersionKind
	explained bool // what is wrong with it is known, and hinted at
}

// Unknown is the kind that the cluster does not serve, if err says so and nothing more
// is known of it.
func Unknown(err error) (gvk schema.GroupVersionKind, ok bool) {
	e, ok := errors.AsType[*noKindError](err)
	if !ok || e.explained {
		return gvk, false
	}
	return e.GroupVersionKind, true
}

// Error implements error.
func (e *noKindError) Error() string {
	return fmt.Sprintf("the cluster knows no kind %s in %s", e.Kind, e.GroupVersion())
}

// find returns the resource of gvk. A kind that was not there is requested again
// each time, since a CRD may have brought it.
func (k *kinds) find(ctx context.Context, gvk schema.GroupVersionKind) (metav1.APIResource, error) {
	k.mu.Lock()
	known, dated := k.seen[gvk.GroupVersion()], k.dated
	k.mu.Unlock()
	if r, ok := pick(known, gvk.Kind); ok {
		return r, nil
	}
	list, err := k.ask(ctx, gvk.GroupVersion())
	if err != nil {
		return metav1.APIResource{}, err
	}
	k.mu.Lock()
	if k.dated == dated { // else the answer may be from before a CRD changed
		k.seen[gvk.GroupVersion()] = list
	}
	k.mu.Unlock()
	if r, ok := pick(list, gvk.Kind); ok {
		return r, nil
	}
	return metav1.APIResource{}, unknownKind(gvk, list)
}

// ask gets the resources of one group and version; none if it is not served.
func (k *kinds) ask(ctx context.Context, gv schema.GroupVersion) ([]metav1.APIResource, error) {
	path := "/apis/" + gv.String()
	if gv.Group == "" {
		path = "/api/" + gv.Version
	}
	data, err := k.rest.Get().AbsPath(path).DoRaw(ctx)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask for the kinds of %s: %w", gv, cause(err))
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("read the kinds of %s: %w", gv, err)
	}
	return list.APIResources, nil
}

// forget drops what is known of a group, because a CRD of it came or changed.
func (k *kinds) forget(group string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dated++
	maps.DeleteFunc(k.seen, func(gv schema.GroupVersion, _ []metav1.APIResource) bool { return gv.Group == group })
}

// pick finds the resource that creates objects of that kind.
func pick(list []metav1.APIResource, kind string) (metav1.APIResource, bool) {
	i := slices.IndexFunc(list, func(r metav1.APIResource) bool {
		return r.Kind == kind && !strings.Contains(r.Name, "/") // subresources repeat their kind
	})
	if i < 0 {
		return metav1.APIResource{}, false
	}
	return list[i], true
}

// providers are what to do for kinds of operators that kubebuilder's scaffold has.
var providers = map[string]string{
	"cert-manager.io":       "install cert-manager first: https://cert-manager.io/docs/installation",
	"monitoring.coreos.com": "take ../prometheus out of config/default, or install the Prometheus operator first: https://prometheus-operator.dev",
}

// unknownKind is a noKindError with the likeliest way out: a CRD that is not
// installed, or a slip of the pen where the group has similar kinds.
func unknownKind(gvk schema.GroupVersionKind, list []metav1.APIResource) error {
	var names []string
	for _, r := range list {
		names = append(names, r.Kind)
	}
	hint := providers[gvk.Group]
	if near := clierr.Closest(gvk.Kind, names); near != "" {
		hint = fmt.Sprintf("did you mean kind %s?", near)
	}
	err := &noKindError{gvk, hint != ""}
	return clierr.Failedf(cmp.Or(hint, "run 'mysdk install' to apply the project's CRDs, or apply the CRD of this kind first"), "%w", err)
}

// resource returns the endpoint for u, in its own namespace or in fallback, and
// u's name with the namespace that counts.
func (c *Client) resource(ctx context.Context, u *unstructured.Unstructured, fallback string) (dynamic.ResourceInterface, Ref, error) {
	ref := RefOf(u)
	r, err := c.kinds.find(ctx, ref.GroupVersionKind)
	if err != nil {
		return nil, ref, err
	}
	endpoint := c.dyn.Resource(ref.GroupVersion().WithResource(r.Name))
	if !r.Namespaced {
		ref.Namespace = ""
		return endpoint, ref, nil
	}
	ref.Namespace = cmp.Or(ref.Namespace, fallback, c.Namespace)
	return endpoint.Namespace(ref.Namespace), ref, nil
}
