package kube

import (
	"context"
	"errors"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// ListOptions choose among the objects of a kind.
type ListOptions struct {
	Namespace string // empty: all of them, or those of a kind without namespaces
	Selector  string // label selector; empty: all
}

// List returns the objects of a kind. A kind that the cluster does not serve
// has none: that is no error, as for what comes and goes with a CRD. Nor has one
// that can only be created, such as a review.
func (c *Client) List(ctx context.Context, gvk schema.GroupVersionKind, o ListOptions) ([]*unstructured.Unstructured, error) {
	r, err := c.kinds.find(ctx, gvk)
	if _, ok := errors.AsType[*noKindError](err); ok {
		return nil, nil
	}
	if err != nil {
		return nil, c.explain("list", Ref{GroupVersionKind: gvk, Namespace: o.Namespace}, err)
	}
	return c.list(ctx, Kind{GroupVersionKind: gvk, Resource: r.Name, Namespaced: r.Namespaced}, o)
}

// list is List of a kind that the cluster has.
func (c *Client) list(ctx context.Context, k Kind, o ListOptions) ([]*unstructured.Unstructured, error) {
	endpoint := dynamic.ResourceInterface(c.dyn.Resource(k.gvr()))
	if k.Namespaced && o.Namespace != "" {
		endpoint = c.dyn.Resource(k.gvr()).Namespace(o.Namespace)
	}
	found, err := endpoint.List(ctx, metav1.ListOptions{LabelSelector: o.Selector})
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil, nil // served until a moment ago, or not kept
	}
	if err != nil {
		return nil, c.explain("list", Ref{GroupVersionKind: k.GroupVersionKind, Namespace: o.Namespace}, err)
	}
	list := make([]*unstructured.Unstructured, len(found.Items))
	for i := range found.Items {
		list[i] = &found.Items[i]
	}
	return list, nil
}

// LogOptions choose a part of a pod's output.
type LogOptions struct {
	Container string // empty: the only one
	Previous  bool   // of the run before the last restart
	Tail      int    // last lines; 0: all
	Limit     int    // bytes, from the first of these lines on; 0: all
}

// Logs returns what a container has printed.
func (c *Client) Logs(ctx context.Context, namespace, pod string, o LogOptions) ([]byte, error) {
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	req := c.rest.Get().AbsPath("/api/v1/namespaces", namespace, "pods", pod, "log")
	if o.Container != "" {
		req.Param("container", o.Container)
	}
	if o.Previous {
		req.Param("previous", "true")
	}
	if o.Tail > 0 {
		req.Param("tailLines", strconv.Itoa(o.Tail))
	}
	if o.Limit > 0 {
		req.Param("limitBytes", strconv.Itoa(o.Limit))
	}
	out, err := req.DoRaw(ctx)
	if err != nil {
		return nil, c.explain("read the log of", Ref{GroupVersionKind: gvk, Namespace: namespace, Name: pod}, err)
	}
	return out, nil
}

// Serves reports whether the cluster has a kind.
func (c *Client) Serves(ctx context.Context, gvk schema.GroupVersionKind) (bool, error) {
	_, err := c.kinds.find(ctx, gvk)
	if _, ok := errors.AsType[*noKindError](err); ok {
		return false, nil
	}
	if err != nil {
		return false, c.explain("look for", Ref{GroupVersionKind: gvk}, err)
	}
	return true, nil
}
