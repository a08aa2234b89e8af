package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Stranger is an object in a namespace that would be missed. Those among ours are
// none, nor what is there for something else or in every namespace, nor those that
// incidental accepts. "" means that the namespace may go.
func (c *Client) Stranger(ctx context.Context, namespace string, ours []*unstructured.Unstructured, incidental func(*unstructured.Unstructured) bool) (string, error) {
	kinds, err := c.Kinds(ctx)
	if err != nil {
		return "", fmt.Errorf("find what else is in namespace %s: %w", namespace, err)
	}
	if len(kinds) == 0 {
		return "objects of unknown kinds", nil // before Kubernetes 1.27
	}
	for _, k := range kinds {
		if !k.Namespaced || builtIn(k.Group) && slices.Contains([]string{"Event", "Lease", "Endpoints", "EndpointSlice"}, k.Kind) {
			continue
		}
		list, err := c.List(ctx, k.GroupVersionKind, ListOptions{Namespace: namespace})
		if answer := apierrors.APIStatus(nil); errors.As(err, &answer) {
			return k.Kind + " objects that cannot be read", nil // such as those that nothing converts any more
		}
		if err != nil {
			return "", fmt.Errorf("find what else is in namespace %s: %w", namespace, err)
		}
		for _, u := range list {
			if !slices.ContainsFunc(ours, func(o *unstructured.Unstructured) bool { return sameObject(o, u) }) && !dependent(u, kinds) && !incidental(u) {
				return RefOf(u).String(), nil
			}
		}
	}
	return "", nil
}

// sameObject compares the names of two objects, whatever versions they are in.
func sameObject(a, b *unstructured.Unstructured) bool {
	return a.GroupVersionKind().GroupKind() == b.GroupVersionKind().GroupKind() && a.GetNamespace() == b.GetNamespace() && a.GetName() == b.GetName()
}

// everywhere are objects that clusters put into every namespace.
func everywhere() []string {
	return []string{
		"ConfigMap kube-root-ca.crt", "ConfigMap openshift-service-ca.crt", "ConfigMap istio-ca-root-cert",
		"ServiceAccount default", "ServiceAccount builder", "ServiceAccount deployer",
		"RoleBinding system:image-pullers", "RoleBinding system:image-builders", "RoleBinding system:deployers",
	}
}

// dependent reports whether an object is there for another one in its namespace, or
// in every namespace.
func dependent(u *unstructured.Unstructured, kinds []Kind) bool {
	if slices.Contains(everywhere(), u.GetKind()+" "+u.GetName()) || u.GetLabels()["olm.copiedFrom"] != "" || u.GetAnnotations()["cert-manager.io/certificate-name"] != "" {
		return true
	}
	// OpenShift makes a dockercfg for each service account.
	if of, _, _ := unstructured.NestedString(u.Object, "type"); of == string(corev1.SecretTypeServiceAccountToken) || of == string(corev1.SecretTypeDockercfg) {
		return true
	}
	return slices.ContainsFunc(u.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		owner := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind()
		return slices.ContainsFunc(kinds, func(k Kind) bool { return k.Namespaced && k.GroupKind() == owner })
	})
}
