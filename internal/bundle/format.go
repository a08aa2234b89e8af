package bundle

import (
	"fmt"
	"slices"
)

// Kinds that have a place of their own in a bundle.
const (
	CSVKind       = "ClusterServiceVersion"
	CRDKind       = "CustomResourceDefinition"
	ScorecardKind = "Configuration"
)

// Groups of the objects above.
const (
	CSVGroup       = "operators.coreos.com"
	CRDGroup       = "apiextensions.k8s.io"
	ScorecardGroup = "scorecard.operatorframework.io"
)

// Where things stand in a bundle's directory or image, and the two files
// outside it that belong to it.
const (
	ManifestsDir    = "manifests"
	MetadataDir     = "metadata"
	TestsDir        = "tests"
	ScorecardDir    = "tests/scorecard"
	ScorecardFile   = "tests/scorecard/config.yaml"
	AnnotationsFile = "metadata/annotations.yaml"
	DockerfileName  = "bundle.Dockerfile" // beside the bundle's directory
	DefaultDir      = "bundle"            // of the project
	DefaultChannel  = "alpha"
)

// Keys of metadata/annotations.yaml, which are also the labels of the bundle's
// image. They are those of the registry+v1 format of operator-registry.
const (
	MediaTypeKey      = "operators.operatorframework.io.bundle.mediatype.v1"
	ManifestsKey      = "operators.operatorframework.io.bundle.manifests.v1"
	MetadataKey       = "operators.operatorframework.io.bundle.metadata.v1"
	PackageKey        = "operators.operatorframework.io.bundle.package.v1"
	ChannelsKey       = "operators.operatorframework.io.bundle.channels.v1"
	DefaultChannelKey = "operators.operatorframework.io.bundle.channel.default.v1"

	MetricsMediaTypeKey = "operators.operatorframework.io.metrics.mediatype.v1"
	MetricsBuilderKey   = "operators.operatorframework.io.metrics.builder"
	MetricsLayoutKey    = "operators.operatorframework.io.metrics.project_layout"

	TestMediaTypeKey = "operators.operatorframework.io.test.mediatype.v1"
	TestConfigKey    = "operators.operatorframework.io.test.config.v1"
)

// Values of the media type keys.
const (
	MediaType          = "registry+v1"
	MetricsMediaType   = "metrics+v1"
	ScorecardMediaType = "scorecard+v1"
)

// Keys of a CSV's metadata.annotations.
const (
	CreatedAtKey     = "createdAt"
	ExamplesKey      = "alm-examples"
	CapabilitiesKey  = "capabilities"
	CSVBuilderKey    = "operators.operatorframework.io/builder"
	CSVLayoutKey     = "operators.operatorframework.io/project_layout"
	SkipRangeKey     = "olm.skipRange"
	TargetNamespaces = "olm.targetNamespaces" // set by OLM on the operator's pods
)

// IsSupported reports whether OLM takes objects of the kind from a bundle, as
// operator-registry's bundle.IsSupported has it.
func IsSupported(kind string) bool {
	return slices.Contains([]string{
		CSVKind, CRDKind, "Secret", "ConfigMap", "Service", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding",
		"PrometheusRule", "ServiceMonitor", "PodMonitor", "PodDisruptionBudget", "PriorityClass", "VerticalPodAutoscaler", "NetworkPolicy",
		"ConsoleYAMLSample", "ConsoleQuickStart", "ConsoleCLIDownload", "ConsoleLink", "ConsolePlugin",
	}, kind)
}

// Problem is something in a bundle that cannot be read.
type Problem struct {
	File  string // relative to the bundle; empty for the bundle as a whole
	Line  int    // from 1; 0 where it is not known
	Field string // path in the file's first object; empty where it is not known
	Text  string
}

// Error is the problem in the form file:line: text.
func (p Problem) Error() string {
	switch {
	case p.File == "":
		return p.Text
	case p.Line == 0:
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}
