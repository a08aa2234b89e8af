package v4

import (
	"slices"
	"strings"

	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"
)

// builtin is a stable API that every Kubernetes API server has, with the kinds
// that can be watched.
type builtin struct {
	group   string // as users and PROJECT call it, without domain
	domain  string // what follows it in the qualified name
	version string
	dir     string // below k8s.io/api, where it differs from group
	kinds   string // those of objects in namespaces
	cluster string // the cluster-scoped ones
}

// builtins lists them. Versions that a server leaves out by default are not
// here: --external-api-path reaches them.
func builtins() []builtin {
	return []builtin{
		{"admissionregistration", "k8s.io", "v1", "", "", "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration " +
			"ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration"},
		{"apps", "", "v1", "", "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet", ""},
		{"autoscaling", "", "v1", "", "HorizontalPodAutoscaler", ""},
		{"autoscaling", "", "v2", "", "HorizontalPodAutoscaler", ""},
		{"batch", "", "v1", "", "CronJob Job", ""},
		{"certificates", "k8s.io", "v1", "", "", "CertificateSigningRequest"},
		{"coordination", "k8s.io", "v1", "", "Lease", ""},
		{"core", "", "v1", "", "ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod " +
			"PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount", "Namespace Node PersistentVolume"},
		{"discovery", "k8s.io", "v1", "", "EndpointSlice", ""},
		{"events", "k8s.io", "v1", "", "Event", ""},
		{"flowcontrol.apiserver", "k8s.io", "v1", "flowcontrol", "", "FlowSchema PriorityLevelConfiguration"},
		{"networking", "k8s.io", "v1", "", "Ingress NetworkPolicy", "IPAddress IngressClass ServiceCIDR"},
		{"node", "k8s.io", "v1", "", "", "RuntimeClass"},
		{"policy", "", "v1", "", "PodDisruptionBudget", ""},
		{"rbac.authorization", "k8s.io", "v1", "rbac", "Role RoleBinding", "ClusterRole ClusterRoleBinding"},
		{"resource", "k8s.io", "v1", "", "ResourceClaim ResourceClaimTemplate", "DeviceClass ResourceSlice"},
		{"scheduling", "k8s.io", "v1", "", "", "PriorityClass"},
		{"storage", "k8s.io", "v1", "", "CSIStorageCapacity", "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass"},
	}
}

// all lists the kinds of both scopes.
func (b builtin) all() []string {
	kinds := strings.Fields(b.kinds + " " + b.cluster)
	slices.Sort(kinds)
	return kinds
}

// ClusterScoped says whether a kind, by what PROJECT calls its group, is built into
// Kubernetes and cluster-scoped.
func ClusterScoped(group, domain, kind string) bool {
	return slices.ContainsFunc(builtins(), func(b builtin) bool {
		return b.group == group && b.domain == domain && slices.Contains(strings.Fields(b.cluster), kind)
	})
}

// BuiltInGroup returns what users and PROJECT call a group that is built into
// Kubernetes: networking for networking.k8s.io. ok is false for any other group.
func BuiltInGroup(qualified string) (group string, ok bool) {
	for _, b := range builtins() {
		if qualified == strings.TrimSuffix(b.group+"."+b.domain, ".") {
			return b.group, true
		}
	}
	return "", false
}

// BuiltInVersions lists the versions in which Kubernetes has a kind, by what
// users call its group.
func BuiltInVersions(group, kind string) []string {
	var versions []string
	for _, b := range builtins() {
		if b.group == group && slices.Contains(b.all(), kind) {
			versions = append(versions, b.version)
		}
	}
	return versions
}

// path is the Go package of the API.
func (b builtin) path() string { return "k8s.io/api/" + or(b.dir, b.group) + "/" + b.version }

// findBuiltin returns the built-in API of a kind, or says what is wrong with
// its name.
func findBuiltin(gvk resource.GVK) (builtin, error) {
	var versions []string
	for _, b := range builtins() {
		if b.group != gvk.Group {
			continue
		}
		versions = append(versions, b.version)
		if b.version != gvk.Version {
			continue
		}
		if !slices.Contains(b.all(), gvk.Kind) {
			return b, usage("kinds of "+b.group+"/"+b.version+": "+strings.Join(b.all(), ", "),
				"Kubernetes has no kind %q in %s/%s", gvk.Kind, b.group, b.version)
		}
		return b, nil
	}
	if len(versions) > 0 {
		return builtin{}, usage("use --version "+strings.Join(versions, " or ")+", or name another Go package with --external-api-path",
			"%s/%s is not a stable API of Kubernetes", gvk.Group, gvk.Version)
	}
	return builtin{}, usage("name its Go package with --external-api-path, or leave out --resource=false",
		"%s is neither in this project nor built into Kubernetes", describe(gvk))
}
