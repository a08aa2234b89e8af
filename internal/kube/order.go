package kube

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	crdGroup = "apiextensions.k8s.io"
	crdKind  = "CustomResourceDefinition"
)

// firstKinds are applied before anything else, in this order: each is needed by
// some that follow. Deletion goes the other way round.
func firstKinds() []string {
	return []string{
		"Namespace", crdKind, "PriorityClass", "StorageClass",
		"ResourceQuota", "LimitRange", "ServiceAccount", "Secret", "ConfigMap",
		"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
		"PersistentVolume", "PersistentVolumeClaim", "Service",
	}
}

// lastKinds are applied after everything else: they send requests to what was
// applied before.
func lastKinds() []string {
	return []string{
		"APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
		"MutatingAdmissionPolicy", "ValidatingAdmissionPolicy",
		"MutatingAdmissionPolicyBinding", "ValidatingAdmissionPolicyBinding",
	}
}

// rank is the place of a kind in the order. Between the two lists stand the
// built-in workloads, then custom resources.
func rank(gvk schema.GroupVersionKind) int {
	first := firstKinds()
	if !builtIn(gvk.Group) {
		return len(first) + 1
	}
	if i := slices.Index(first, gvk.Kind); i >= 0 {
		return i
	}
	if i := slices.Index(lastKinds(), gvk.Kind); i >= 0 {
		return len(first) + 2 + i
	}
	return len(first)
}

// isWorkload reports whether u is one of the built-in kinds between the two lists.
func isWorkload(u *unstructured.Unstructured) bool {
	return rank(u.GroupVersionKind()) == len(firstKinds())
}

// builtIn reports whether group is Kubernetes' own: one without a dot, or one
// of those under k8s.io that every API server has.
func builtIn(group string) bool {
	switch group {
	case "", "apps", "autoscaling", "batch", "policy", "extensions",
		"admissionregistration.k8s.io", crdGroup, "apiregistration.k8s.io", "coordination.k8s.io",
		"discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io", "networking.k8s.io",
		"node.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io":
		return true
	}
	return false
}

// inOrder returns objs in the order in which to apply them. Objects of equal
// rank stay as they were.
func inOrder(objs []*unstructured.Unstructured) []*unstructured.Unstructured {
	sorted := slices.Clone(objs)
	slices.SortStableFunc(sorted, func(a, b *unstructured.Unstructured) int {
		return cmp.Compare(rank(a.GroupVersionKind()), rank(b.GroupVersionKind()))
	})
	return sorted
}

// CRD is the kind of CustomResourceDefinitions.
func CRD() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: crdGroup, Version: "v1", Kind: crdKind}
}

func isCRD(u *unstructured.Unstructured) bool {
	return u.GroupVersionKind().GroupKind() == CRD().GroupKind()
}
