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

// Stranger is an object in a namespace that would be missed: a workload, what
// workloads are given, or a custom resource. Those among ours are none, nor those
// that incidental accepts. "" means that the namespace may go.
func (c *Client) Stranger(ctx context.Context, namespace string, ours []*unstructured.Unstructured, incidental func(*unstructured.Unstructured) bool) (string, error) {
	kinds, err := c.strangeKinds(ctx)
	if err != nil {
		return "", fmt.Errorf("find what else is in namespace %s: %w", namespace, err)
	}
	for _, gvk := range kinds {
		list, err := c.List(ctx, gvk, ListOptions{Namespace: namespace})
		if answer := apierrors.APIStatus(nil); errors.As(err, &answer) {
			return gvk.Kind + " objects that cannot be read", nil // such as those that nothing converts any more
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

// strangeKinds are those that keep a namespace. Custom resources are also those of
// operators that have gone before and left theirs.
func (c *Client) strangeKinds(ctx context.Context) ([]schema.GroupVersionKind, error) {
	crds, err := c.List(ctx, schema.GroupVersionKind{Group: crdGroup, Version: "v1", Kind: crdKind}, ListOptions{})
	if err != nil {
		return nil, err
	}
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	kinds := []schema.GroupVersionKind{
		apps.WithKind("Deployment"), apps.WithKind("StatefulSet"), apps.WithKind("DaemonSet"), apps.WithKind("ReplicaSet"),
		{Group: "batch", Version: "v1", Kind: "CronJob"}, {Group: "batch", Version: "v1", Kind: "Job"},
	}
	for _, kind := range []string{"PersistentVolumeClaim", "Pod", "Service", "Secret", "ConfigMap"} {
		kinds = append(kinds, schema.GroupVersionKind{Version: "v1", Kind: kind})
	}
	for _, crd := range crds {
		if scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope"); scope == "Namespaced" {
			kinds = append(kinds, ServedKind(crd))
		}
	}
	return kinds, nil
}

// dependent reports whether an object is there for another one of these kinds, or
// in every namespace.
func dependent(u *unstructured.Unstructured, kinds []schema.GroupVersionKind) bool {
	if slices.Contains([]string{"kube-root-ca.crt", "openshift-service-ca.crt", "istio-ca-root-cert"}, u.GetName()) || u.GetAnnotations()["cert-manager.io/certificate-name"] != "" {
		return true
	}
	// OpenShift makes a dockercfg for each service account.
	if of, _, _ := unstructured.NestedString(u.Object, "type"); of == string(corev1.SecretTypeServiceAccountToken) || of == string(corev1.SecretTypeDockercfg) {
		return true
	}
	return slices.ContainsFunc(u.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		owner := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind()
		return slices.ContainsFunc(kinds, func(k schema.GroupVersionKind) bool { return k.GroupKind() == owner })
	})
}
