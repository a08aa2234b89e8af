package kube

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

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
