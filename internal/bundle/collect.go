package bundle

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/kube"
)

// Left is an object of the input that is not in the bundle, and why.
type Left struct {
	Object string // such as Namespace shop-system
	Reason string
	Loss   bool // the operator may miss it
}

// collection is the input, sorted by what becomes of each object.
type collection struct {
	csvs, deployments, accounts, services, crds []*unstructured.Unstructured

	roles, clusterRoles, roleBindings, clusterRoleBindings []*unstructured.Unstructured

	webhooks  []*unstructured.Unstructured // webhook configurations
	certs     []*unstructured.Unstructured // Certificates of cert-manager
	scorecard *unstructured.Unstructured
	examples  []*unstructured.Unstructured // of the kinds that the CRDs define
	others    []*unstructured.Unstructured // go into the bundle as they are
	left      []Left
}

// collect sorts the objects. Two that have the same name and differ are an
// error: one of them would be lost.
func collect(objects []*unstructured.Unstructured) (*collection, error) {
	c := &collection{}
	// With the version: samples of two versions of a kind often share a name.
	seen := map[string]*unstructured.Unstructured{}
	var rest []*unstructured.Unstructured
	for _, u := range objects {
		key := u.GroupVersionKind().String() + " " + u.GetNamespace() + "/" + u.GetName()
		if old, ok := seen[key]; ok {
			if reflect.DeepEqual(old.Object, u.Object) {
				continue
			}
			return nil, clierr.Failedf("keep one of them", "there are two different objects %s in the input", kube.RefOf(u))
		}
		seen[key] = u
		u = u.DeepCopy()
		tidy(u)
		if !c.sort(u) {
			rest = append(rest, u)
		}
	}
	c.sortRest(rest)
	return c, nil
}

// tidy takes out what controller-gen and typed clients write into manifests
// although it says nothing.
func tidy(u *unstructured.Unstructured) {
	if meta := mapAt(u.Object, "metadata"); meta != nil && meta["creationTimestamp"] == nil {
		delete(meta, "creationTimestamp")
	}
	if IsCRD(u) {
		delete(u.Object, "status")
	}
	if meta := mapAt(u.Object, "spec", "template", "metadata"); meta != nil && meta["creationTimestamp"] == nil {
		delete(meta, "creationTimestamp")
	}
}

// sort files an object whose kind says where it goes.
func (c *collection) sort(u *unstructured.Unstructured) bool {
	gk := u.GroupVersionKind().GroupKind()
	// The versions do not matter: input for an older cluster is read as well.
	lists := map[string]*[]*unstructured.Unstructured{
		"ClusterServiceVersion.operators.coreos.com":    &c.csvs,
		"CustomResourceDefinition.apiextensions.k8s.io": &c.crds,
		"Deployment.apps":                                             &c.deployments,
		"ServiceAccount":                                              &c.accounts,
		"Service":                                                     &c.services,
		"Role.rbac.authorization.k8s.io":                              &c.roles,
		"ClusterRole.rbac.authorization.k8s.io":                       &c.clusterRoles,
		"RoleBinding.rbac.authorization.k8s.io":                       &c.roleBindings,
		"ClusterRoleBinding.rbac.authorization.k8s.io":                &c.clusterRoleBindings,
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io": &c.webhooks,
		"MutatingWebhookConfiguration.admissionregistration.k8s.io":   &c.webhooks,
	}
	if list, ok := lists[gk.String()]; ok {
		*list = append(*list, u)
		return true
	}
	if gk.Group != ScorecardGroup || gk.Kind != ScorecardKind {
		return false
	}
	if c.scorecard != nil {
		c.leave(u, "a bundle has only one scorecard configuration, which is "+c.scorecard.GetName())
		return true
	}
	c.scorecard = u
	return true
}

// sortRest tells examples, supported objects and the others apart, once all CRDs are known.
func (c *collection) sortRest(rest []*unstructured.Unstructured) {
	owned := map[string]bool{}
	for _, d := range Definitions(c.crds...) {
		owned[d.Group+"/"+d.Version+" "+d.Kind] = true
	}
	for _, u := range rest {
		switch {
		case owned[u.GetAPIVersion()+" "+u.GetKind()]:
			c.examples = append(c.examples, u)
		case IsSupported(u.GetKind()):
			c.others = append(c.others, u)
		case u.GetKind() == "Certificate" && u.GroupVersionKind().Group == "cert-manager.io":
			c.certs = append(c.certs, u)
		default:
			reason, loss := whyNot(u)
			c.left = append(c.left, Left{kube.RefOf(u).String(), reason, loss})
		}
	}
}

// leave notes an object that the operator may miss.
func (c *collection) leave(u *unstructured.Unstructured, reason string) {
	c.left = append(c.left, Left{kube.RefOf(u).String(), reason, true})
}

// whyNot words why OLM has no use for the object, and says whether something is lost with it.
func whyNot(u *unstructured.Unstructured) (reason string, loss bool) {
	group := u.GroupVersionKind().Group
	switch {
	case u.GetKind() == "Namespace":
		return "the installer chooses the namespace", false
	case strings.HasSuffix(group, "cert-manager.io"):
		return "OLM makes the certificates of webhooks itself", false
	}
	return fmt.Sprintf("OLM takes no objects of kind %s from a bundle; let the operator create it", u.GetKind()), true
}

// Definition is a version of a CRD.
type Definition struct {
	Name, Group, Version, Kind string
	schema                     object // its OpenAPI schema, nil without one
}

// Definitions lists the versions of the CRDs in their order.
func Definitions(crds ...*unstructured.Unstructured) []Definition {
	var all []Definition
	for _, crd := range crds {
		spec := mapAt(crd.Object, "spec")
		d := Definition{Name: crd.GetName(), Kind: textAt(spec, "names", "kind"), Group: textAt(spec, "group")}
		for _, v := range objectsAt(spec, "versions") {
			d.Version, d.schema = textAt(v, "name"), mapAt(v, "schema", "openAPIV3Schema")
			all = append(all, d)
		}
		// One version at the top of the spec is how v1beta1 had it.
		if v := textAt(spec, "version"); v != "" && len(listAt(spec, "versions")) == 0 {
			d.Version, d.schema = v, mapAt(spec, "validation", "openAPIV3Schema")
			all = append(all, d)
		}
	}
	return all
}

// isOf reports whether an object is of that version and kind.
func (d Definition) isOf(o object) bool {
	return textAt(o, "apiVersion") == d.Group+"/"+d.Version && textAt(o, "kind") == d.Kind
}

// containers are all containers of a Deployment.
func containers(deployment *unstructured.Unstructured) []object {
	pod := mapAt(deployment.Object, "spec", "template", "spec")
	return slices.Concat(objectsAt(pod, "containers"), objectsAt(pod, "initContainers"))
}
