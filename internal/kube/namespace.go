package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// readsAtOnce bounds how many kinds are read at a time: clusters have hundreds.
const readsAtOnce = 16

// Stranger says why a namespace has to stay: an object in it would be missed, or what
// is in it cannot be told. Objects among ours are not missed, nor what is there for
// something else or in every namespace, nor those that incidental accepts, which is
// called for several kinds at a time. "" means that the namespace may go.
func (c *Client) Stranger(ctx context.Context, namespace string, ours []*unstructured.Unstructured, incidental func(*unstructured.Unstructured) bool) (string, error) {
	groups, err := c.groups(ctx)
	if err != nil {
		return "", fmt.Errorf("find what else is in namespace %s: %w", namespace, err)
	}
	kinds, down := readable(groups, ours)
	if down != "" {
		return "objects of " + down + " cannot be read: its server does not answer", nil
	}
	if len(kinds) == 0 {
		return "what it contains cannot be told before Kubernetes 1.27", nil
	}
	missed := func(u *unstructured.Unstructured) bool {
		return !slices.ContainsFunc(ours, func(o *unstructured.Unstructured) bool { return sameObject(o, u) }) && !dependent(u, kinds) && !incidental(u)
	}
	reasons := make([]string, len(kinds))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(readsAtOnce)
	for i, k := range kinds {
		if k.Namespaced && !passing(k) {
			reads.Go(func() (err error) {
				reasons[i], err = c.strangerOf(ctx, k, namespace, missed)
				return err
			})
		}
	}
	if err := reads.Wait(); err != nil {
		return "", fmt.Errorf("find what else is in namespace %s: %w", namespace, err)
	}
	return cmp.Or(reasons...), nil
}

func (c *Client) strangerOf(ctx context.Context, k Kind, namespace string, missed func(*unstructured.Unstructured) bool) (string, error) {
	list, err := c.list(ctx, k, ListOptions{Namespace: namespace})
	if answer := apierrors.APIStatus(nil); errors.As(err, &answer) {
		return k.Kind + " objects cannot be read", nil // such as those that nothing converts any more
	}
	if i := slices.IndexFunc(list, missed); i >= 0 {
		return "it also contains " + RefOf(list[i]).String(), nil
	}
	return "", err
}

// readable are the kinds whose objects can be read, or the group whose server does not
// answer: until it does, the cluster deletes no namespace. It may go itself with ours.
func readable(groups []apiGroup, ours []*unstructured.Unstructured) (kinds []Kind, down string) {
	for i, g := range groups {
		groups[i].Versions = slices.DeleteFunc(g.Versions, func(v apiVersion) bool {
			if v.Freshness != "Stale" {
				return false
			}
			if !slices.ContainsFunc(ours, func(o *unstructured.Unstructured) bool {
				return o.GetKind() == "APIService" && o.GetName() == v.Version+"."+g.Metadata.Name
			}) {
				down = g.Metadata.Name
			}
			return true
		})
	}
	return listable(groups), down
}

// passing reports whether objects of a kind come and go with others, and say nothing
// that anybody would miss.
func passing(k Kind) bool {
	return builtIn(k.Group) && slices.Contains([]string{"ControllerRevision", "CSIStorageCapacity", "Endpoints", "EndpointSlice", "Event", "Lease"}, k.Kind)
}

// sameObject compares the names of two objects, whatever versions they are in.
func sameObject(a, b *unstructured.Unstructured) bool {
	return a.GroupVersionKind().GroupKind() == b.GroupVersionKind().GroupKind() && a.GetNamespace() == b.GetNamespace() && a.GetName() == b.GetName()
}

// everywhere are objects that clusters put into every namespace.
func everywhere() []string {
	return []string{
		"ConfigMap kube-root-ca.crt", "ConfigMap openshift-service-ca.crt", "ConfigMap istio-ca-root-cert",
		"ConfigMap config-trusted-cabundle", "ConfigMap config-service-cabundle",
		"ServiceAccount default", "ServiceAccount builder", "ServiceAccount deployer", "ServiceAccount pipeline",
		"RoleBinding system:image-pullers", "RoleBinding system:image-builders", "RoleBinding system:deployers",
		"RoleBinding pipelines-scc-rolebinding", "RoleBinding openshift-pipelines-edit",
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
