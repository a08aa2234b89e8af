package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Kind is a kind that the cluster serves.
type Kind struct {
	schema.GroupVersionKind
	Resource   string // plural: deployments
	Namespaced bool
	Scales     bool // it has the subresource scale
}

func (k Kind) gvr() schema.GroupVersionResource { return k.GroupVersion().WithResource(k.Resource) }

// aggregated asks for all groups in one answer, which API servers give since
// Kubernetes 1.27, and in version v2 since 1.30.
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"

// apiGroup is what is read here of an APIGroupDiscovery of that API. Linked, its
// types would weigh more than all of this package.
type apiGroup struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Versions []apiVersion      `json:"versions"`
}

type apiVersion struct {
	Version   string        `json:"version"`
	Freshness string        `json:"freshness"` // Current or Stale: its server does not answer
	Resources []apiResource `json:"resources"`
}

type apiResource struct {
	Resource     string                   `json:"resource"` // plural: deployments
	ResponseKind *metav1.GroupVersionKind `json:"responseKind"`
	Scope        string                   `json:"scope"` // Namespaced or Cluster
	Verbs        []string                 `json:"verbs"`
	Subresources []struct {
		Subresource string `json:"subresource"`
	} `json:"subresources"`
}

// Kinds returns the kinds whose objects can be listed and watched, each in the
// version that the API server prefers.
func (c *Client) Kinds(ctx context.Context) ([]Kind, error) {
	groups, err := c.groups(ctx)
	return listable(groups), err
}

// groups asks for the cluster's whole API; none come from before Kubernetes 1.27.
func (c *Client) groups(ctx context.Context) ([]apiGroup, error) {
	var groups []apiGroup
	for _, path := range []string{"/api", "/apis"} {
		data, err := c.rest.Get().AbsPath(path).SetHeader("Accept", aggregated).DoRaw(ctx)
		if err != nil {
			return nil, fmt.Errorf("ask for the cluster's kinds: %w", cause(err))
		}
		var d struct {
			Items []apiGroup `json:"items"`
		}
		if err := json.Unmarshal(data, &d); err != nil {
			return nil, fmt.Errorf("read the cluster's kinds: %w", err)
		}
		groups = append(groups, d.Items...)
	}
	return groups, nil
}

// listable are the first version of each resource.
func listable(groups []apiGroup) []Kind {
	var kinds []Kind
	for _, group := range groups {
		seen := map[string]bool{}
		for _, version := range group.Versions {
			for _, r := range version.Resources {
				if seen[r.Resource] || r.ResponseKind == nil || !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "watch") {
					continue
				}
				seen[r.Resource] = true
				k := Kind{Resource: r.Resource, Namespaced: r.Scope == "Namespaced"}
				k.GroupVersionKind = schema.GroupVersionKind{Group: group.Metadata.Name, Version: version.Version, Kind: r.ResponseKind.Kind}
				for _, sub := range r.Subresources {
					k.Scales = k.Scales || sub.Subresource == "scale"
				}
				kinds = append(kinds, k)
			}
		}
	}
	return kinds
}

// Follower is told of a kind's objects. What it gets is its own.
type Follower struct {
	All  func(objs []*unstructured.Unstructured, revision string) // first, and again when changes were missed
	Now  func(obj *unstructured.Unstructured)                     // the object came or changed
	Gone func(obj *unstructured.Unstructured)                     // as it was; its resourceVersion is that of its end
}

// Follow tells f of the objects of a kind until ctx ends, whatever goes wrong
// meanwhile: it tries again.
func (c *Client) Follow(ctx context.Context, k Kind, f Follower) {
	endpoint := c.dyn.Resource(k.gvr())
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return endpoint.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return endpoint.Watch(ctx, o)
		},
	}
	quiet := logr.Discard()
	r := cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(lw, endpoint), &unstructured.Unstructured{}, follower{f}, cache.ReflectorOptions{Logger: &quiet})
	r.RunWithContext(klog.NewContext(ctx, quiet))
}

// follower is a Follower as a reflector wants it.
type follower struct{ to Follower }

// Add implements cache.ReflectorStore.
func (f follower) Add(obj any) error { return f.tell(f.to.Now, obj) }

// Update implements cache.ReflectorStore.
func (f follower) Update(obj any) error { return f.tell(f.to.Now, obj) }

// Delete implements cache.ReflectorStore.
func (f follower) Delete(obj any) error { return f.tell(f.to.Gone, obj) }

// Resync implements cache.ReflectorStore.
func (follower) Resync() error { return nil }

// Replace implements cache.ReflectorStore.
func (f follower) Replace(list []any, revision string) error {
	objs := make([]*unstructured.Unstructured, 0, len(list))
	for _, obj := range list {
		if err := f.tell(func(u *unstructured.Unstructured) { objs = append(objs, u) }, obj); err != nil {
			return err
		}
	}
	f.to.All(objs, revision)
	return nil
}

func (follower) tell(to func(*unstructured.Unstructured), obj any) error {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("a %T is no object", obj)
	}
	to(u)
	return nil
}
