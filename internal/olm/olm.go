// Package olm installs the Operator Lifecycle Manager into a cluster, tells
// how it is, and removes it. It knows OLM's objects and the order in
// which they come and go, and speaks to the cluster through internal/kube. On
// the embedded cluster the same objects bring up OLM inside the control plane,
// which is internal/controlplane's business; bundles that OLM installs are
// internal/olm/run's.
package olm

import (
	"strings"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/clierr"
)

const (
	// Version is the version of OLM whose objects this package makes: the one
	// of the module operator-lifecycle-manager in go.mod.
	Version = "0.46.0"
	// DefaultNamespace is where OLM's own manifests put it.
	DefaultNamespace = "olm"
	// RunLabel is on what 'mysdk run bundle' makes.
	RunLabel = "mysdk.dev/run"
)

const (
	group           = "operators.coreos.com"
	packageServer   = "packageserver"
	versionLabel    = "olm.version"
	platformLabel   = "olm.clusteroperator.name" // on the packageserver where OpenShift brings OLM
	catalog         = "catalog-operator"
	defaultCatalog  = "operatorhubio-catalog"
	globalNamespace = "operators" // of OLM's own manifests, for operators for all namespaces
	csvCRD          = "clusterserviceversions." + group
)

// kind names one of OLM's kinds of v1alpha1.
func kind(name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: "v1alpha1", Kind: name}
}

// NamespaceFlag is what a command of a hint needs to find the OLM of a namespace.
func NamespaceFlag(namespace string) string {
	if namespace == DefaultNamespace {
		return ""
	}
	return " --olm-namespace " + namespace
}

// CleanVersion returns version without a leading "v". It is a usage error if
// that is no version, with the one exception of "latest" for Version.
func CleanVersion(version string) (string, error) {
	clean := strings.TrimPrefix(version, "v")
	if clean == "latest" || clean == "" {
		return Version, nil
	}
	if _, err := semver.Parse(clean); err != nil {
		return "", clierr.Usagef("use a version such as "+Version, "version %q of OLM: %w", version, err)
	}
	return clean, nil
}
