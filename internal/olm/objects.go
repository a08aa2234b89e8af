package olm

import (
	"fmt"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Images of OLM, and of what it starts. Only the first belongs to a version.
const (
	olmImage        = "quay.io/operator-framework/olm:v" + Version
	opmImage        = "quay.io/operator-framework/opm:latest"
	configMapImage  = "quay.io/operator-framework/configmap-operator-registry:latest"
	catalogImage    = "quay.io/operatorhubio/catalog:latest"
	serviceAccount  = "olm-operator-serviceaccount"
	operatorRole    = "system:controller:operator-lifecycle-manager"
	minKubeVersion  = "1.11.0"
	catalogGRPCPort = 50051
	packagePort     = 5443
	metricsPort     = 8080
)

// typed is an object of Go's types with its kind.
type typed struct {
	gvk    schema.GroupVersionKind
	object runtime.Object
	unset  []string // fields of the spec that the Go type writes although they are empty
}

// Objects are OLM's objects without its CRDs, in the order of OLM's own
// manifests, with the catalog of operatorhub.io. namespace is OLM's.
func Objects(namespace string) ([]*unstructured.Unstructured, error) {
	objects := namespaces(namespace)
	objects = append(objects, networkPolicies(namespace)...)
	objects = append(objects, access(namespace)...)
	objects = append(objects, typed{gvk: kind("v1", "OLMConfig"), object: &operatorsv1.OLMConfig{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}})
	objects = append(objects, deployments(namespace)...)
	objects = append(objects, aggregatedRoles()...)
	objects = append(objects, operatorGroups(namespace)...)
	objects = append(objects, packageServerCSV(namespace))
	objects = append(objects, operatorHub(namespace))
	var list []*unstructured.Unstructured
	for _, o := range objects {
		u, err := convert(o)
		if err != nil {
			return nil, err
		}
		list = append(list, u)
	}
	return list, nil
}

// convert drops what Go's types write although nobody has said it: the status,
// and creation times of null.
func convert(o typed) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o.object)
	if err != nil {
		return nil, fmt.Errorf("convert a %s: %w", o.gvk.Kind, err)
	}
	delete(content, "status")
	for _, field := range o.unset {
		unstructured.RemoveNestedField(content, "spec", field)
	}
	dropNull(content)
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(o.gvk)
	return u, nil
}

// dropNull takes nulls out.
func dropNull(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			if field == nil {
				delete(v, key)
				continue
			}
			dropNull(field)
		}
	case []any:
		for _, item := range v {
			dropNull(item)
		}
	}
}

func namespaces(namespace string) []typed {
	restricted := func(name, enforced string) typed {
		labels := map[string]string{}
		for mode, level := range map[string]string{"enforce": enforced, "audit": "restricted", "warn": "restricted"} {
			labels["pod-security.kubernetes.io/"+mode] = level
			labels["pod-security.kubernetes.io/"+mode+"-version"] = "latest"
		}
		return typed{gvk: corev1.SchemeGroupVersion.WithKind("Namespace"), object: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}}
	}
	return []typed{restricted(namespace, "restricted"), restricted(OperatorsNamespace, "baseline")}
}

// access is the service account of all of OLM, with every right: it grants the
// rights that operators ask for.
func access(namespace string) []typed {
	rbac := rbacv1.SchemeGroupVersion
	create := []string{"create"}
	return []typed{
		{gvk: rbac.WithKind("ClusterRole"), object: &rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: operatorRole},
			Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{
					"watch", "list", "get", "create", "update", "patch", "delete", "deletecollection", "escalate", "bind"}},
				{NonResourceURLs: []string{"*"}, Verbs: []string{"*"}},
				{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: create},
				{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: create},
			},
		}},
		{gvk: corev1.SchemeGroupVersion.WithKind("ServiceAccount"), object: &corev1.ServiceAccount{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: serviceAccount},
		}},
		{gvk: rbac.WithKind("ClusterRoleBinding"), object: &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "olm-operator-binding-" + namespace},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: operatorRole},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: serviceAccount}},
		}},
	}
}

// aggregatedRoles let the cluster's editors and viewers use OLM's kinds.
func aggregatedRoles() []typed {
	read := []string{"get", "list", "watch"}
	role := func(name string, to []string, rules ...rbacv1.PolicyRule) typed {
		labels := map[string]string{}
		for _, t := range to {
			labels["rbac.authorization.k8s.io/aggregate-to-"+t] = "true"
		}
		return typed{gvk: rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), object: &rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Rules: rules,
		}}
	}
	return []typed{
		role("aggregate-olm-edit", []string{"admin", "edit"},
			rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{"subscriptions"}, Verbs: []string{"create", "update", "patch", "delete"}},
			rbacv1.PolicyRule{
				APIGroups: []string{group}, Verbs: []string{"delete"},
				Resources: []string{"clusterserviceversions", "catalogsources", "installplans", "subscriptions"},
			}),
		role("aggregate-olm-view", []string{"admin", "edit", "view"},
			rbacv1.PolicyRule{
				APIGroups: []string{group}, Verbs: read,
				Resources: []string{"clusterserviceversions", "catalogsources", "installplans", "subscriptions", "operatorgroups"},
			},
			rbacv1.PolicyRule{APIGroups: []string{"packages." + group}, Resources: []string{"packagemanifests", "packagemanifests/icon"}, Verbs: read}),
	}
}

func operatorGroups(namespace string) []typed {
	return []typed{
		{gvk: kind("v1", "OperatorGroup"), object: &operatorsv1.OperatorGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: OperatorsNamespace, Name: "global-operators"},
		}},
		{gvk: kind("v1", "OperatorGroup"), object: &operatorsv1.OperatorGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "olm-operators"},
			Spec:       operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{namespace}},
		}},
	}
}

// operatorHub is the catalog of the community's operators.
func operatorHub(namespace string) typed {
	return typed{unset: []string{"icon"}, gvk: kind("v1alpha1", "CatalogSource"), object: &operatorsv1alpha1.CatalogSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: defaultCatalog},
		Spec: operatorsv1alpha1.CatalogSourceSpec{
			SourceType: operatorsv1alpha1.SourceTypeGrpc, Image: catalogImage,
			DisplayName: "Community Operators", Publisher: "OperatorHub.io",
			GrpcPodConfig:  &operatorsv1alpha1.GrpcPodConfig{SecurityContextConfig: operatorsv1alpha1.Restricted},
			UpdateStrategy: &operatorsv1alpha1.UpdateStrategy{RegistryPoll: &operatorsv1alpha1.RegistryPoll{RawInterval: "60m"}},
		},
	}}
}
