package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Scale sets the number of replicas of an object whose kind has the subresource
// scale.
func (c *Client) Scale(ctx context.Context, u *unstructured.Unstructured, replicas int64) error {
	endpoint, ref, err := c.resource(ctx, u, "")
	if err == nil {
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
		_, err = endpoint.Patch(ctx, ref.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: FieldManager}, "scale")
	}
	if err != nil {
		return c.explain("scale", ref, err)
	}
	return nil
}

// BeginDelete has the cluster delete an object with what it owns, and does not
// wait for that. What is not there is no error.
func (c *Client) BeginDelete(ctx context.Context, u *unstructured.Unstructured) error {
	_, err := c.startDelete(ctx, u, DeleteOptions{})
	return err
}

// FieldErrors are what the API server says about single fields of an object that
// it has refused, by their path: "spec.size". What is about the whole object
// stands under "". Nil: err is no such refusal.
func FieldErrors(err error) map[string]string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return nil
	}
	// Server-side apply refuses a wrong type before validation does, in one text.
	if _, said, ok := strings.Cut(status.Status().Message, "): ."); ok {
		path, what, _ := strings.Cut(said, ": ")
		what, _, _ = strings.Cut(what, ", got &value")
		return map[string]string{path: what}
	}
	if status.Status().Reason != metav1.StatusReasonInvalid {
		return nil
	}
	found := map[string]string{}
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			if strings.Contains(cause.Message, "some validation rules were not checked") {
				continue // the others say why
			}
			field := cause.Field
			if strings.HasPrefix(field, "<") {
				field = "" // <nil>: the object itself
			}
			if was := found[field]; was != "" && was != cause.Message {
				found[field] = was + "; " + cause.Message
			} else {
				found[field] = cause.Message
			}
		}
	}
	if len(found) == 0 {
		found[""] = status.Status().Message
	}
	return found
}

// KeepApplied leaves u those of its labels and annotations that mysdk has applied to
// the live object, which would go if they were not applied again. The others are for
// their own writers to keep.
func KeepApplied(u, live *unstructured.Unstructured) {
	var ours struct {
		Metadata struct {
			Labels      map[string]any `json:"f:labels"`
			Annotations map[string]any `json:"f:annotations"`
		} `json:"f:metadata"`
	}
	for _, m := range live.GetManagedFields() {
		if m.Manager == FieldManager && m.Operation == metav1.ManagedFieldsOperationApply && m.Subresource == "" && m.FieldsV1 != nil {
			_ = json.Unmarshal(m.FieldsV1.Raw, &ours) // the API server writes it
		}
	}
	only := func(all map[string]string, owned map[string]any) map[string]string {
		maps.DeleteFunc(all, func(key, _ string) bool { _, ok := owned["f:"+key]; return !ok })
		if len(all) == 0 {
			return nil
		}
		return all
	}
	u.SetLabels(only(u.GetLabels(), ours.Metadata.Labels))
	u.SetAnnotations(only(u.GetAnnotations(), ours.Metadata.Annotations))
}

// Access is a request that a service account may or may not make.
type Access struct {
	AccountNamespace, Account string // the service account
	Verb, Group, Resource     string
	Subresource               string
	Namespace                 string // empty: in all namespaces, or of a resource without them
	Name                      string // empty: any
}

// Allowed asks the cluster's authorizers whether a service account may make a
// request, as RBAC and whatever else is configured have it.
func (c *Client) Allowed(ctx context.Context, a Access) (bool, error) {
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": map[string]any{},
		"spec": map[string]any{
			"user":   "system:serviceaccount:" + a.AccountNamespace + ":" + a.Account,
			"groups": []any{"system:serviceaccounts", "system:serviceaccounts:" + a.AccountNamespace, "system:authenticated"},
			"resourceAttributes": map[string]any{
				"verb": a.Verb, "group": a.Group, "version": "*", "resource": a.Resource,
				"subresource": a.Subresource, "namespace": a.Namespace, "name": a.Name,
			},
		},
	}}
	endpoint := c.dyn.Resource(schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"})
	answer, err := endpoint.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, c.explain("ask for the rights of", Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, Namespace: a.AccountNamespace, Name: a.Account}, err)
	}
	allowed, _, err := unstructured.NestedBool(answer.Object, "status", "allowed")
	return allowed, err
}

// String is the request in words: "list memcacheds.cache.example.com in
// namespace default".
func (a Access) String() string {
	what := schema.GroupResource{Group: a.Group, Resource: a.Resource}.String()
	if a.Subresource != "" {
		what += "/" + a.Subresource
	}
	if a.Namespace == "" {
		return a.Verb + " " + what
	}
	return a.Verb + " " + what + " in namespace " + a.Namespace
}
