package run

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/kube"
)

const (
	// runLabel marks what a run has made; its value is the package.
	runLabel = "mysdk.dev/run"
	// catalogLabel marks the ConfigMaps that hold a catalog, and the pods that
	// serve it; its value is the CatalogSource's name. The embedded cluster
	// serves catalogs by it.
	catalogLabel = "mysdk.dev/catalog"
	// contentAnnotation is a digest of what was installed: it tells a run of
	// the same bundle from one of a changed bundle of the same version.
	contentAnnotation = "mysdk.dev/content"
	// isolateAnnotation keeps catalogs of the global namespace, one of which
	// may be out of reach, away from the resolution in a namespace.
	isolateAnnotation = "olm.operatorframework.io/exclude-global-namespace-resolution"

	// registryCAAnnotation on a CatalogSource names a Secret with the CA of the
	// registries of its image and its bundles, for the embedded cluster.
	registryCAAnnotation = "mysdk.dev/registry-ca"
	// registryTLSAnnotation says there what else they are spoken to by:
	// skip-verify, plain-http, or both with a comma between.
	registryTLSAnnotation = "mysdk.dev/registry-tls"

	// unpackLabel marks OLM's Jobs that unpack a bundle's image.
	unpackLabel = "operatorframework.io/bundle-unpack-ref"

	groupName    = "mysdk-operators"
	registryPort = 50051
	// opmImage serves catalogs on clusters that run containers. The version is
	// that of the operator-registry module that the catalogs are written with.
	opmImage = "quay.io/operator-framework/opm:v1.74.0@sha256:b32d3891616662620da08d7f0ec42c2e69fa2de43427dc975d35b12f7a969a0f"
	// registryUser is any user but root: the image names none by number.
	registryUser = 1001
)

// gvk names a kind.
func gvk(apiVersion, kind string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// The API versions of OLM's kinds.
const (
	olmV1alpha1 = "operators.coreos.com/v1alpha1"
	olmV1       = "operators.coreos.com/v1"
	olmV2       = "operators.coreos.com/v2"
)

// made is an object of a run of pkg.
func made(pkg, apiVersion, kind, namespace, name string, fields map[string]any) *unstructured.Unstructured {
	u := kube.Named(apiVersion, kind, namespace, name)
	u.SetLabels(map[string]string{runLabel: pkg})
	for k, v := range fields {
		u.Object[k] = v
	}
	return u
}

// catalogName is the CatalogSource of a package, named as operator-sdk does.
func catalogName(pkg string) string { return pkg + "-catalog" }

// serverName is the Deployment and the Service that serve a CatalogSource. OLM
// makes a Service of the CatalogSource's own name for a catalog in an image,
// and where one form takes the other's place these two must not meet.
func serverName(source string) string { return source + "-server" }

// operatorGroup makes the OperatorGroup of a namespace.
func operatorGroup(pkg, namespace string, mode Mode, isolated bool) *unstructured.Unstructured {
	spec := map[string]any{}
	if list := mode.namespaces(namespace); len(list) > 0 {
		spec["targetNamespaces"] = anys(list)
	}
	u := made(pkg, olmV1, "OperatorGroup", namespace, groupName, map[string]any{"spec": spec})
	if isolated {
		u.SetAnnotations(map[string]string{isolateAnnotation: "true"})
	}
	return u
}

// subscription makes the Subscription of a package. start is the CSV to begin
// with, and content the digest of its bundle.
func subscription(pkg, namespace, channel, start, content string) *unstructured.Unstructured {
	u := made(pkg, olmV1alpha1, "Subscription", namespace, pkg, map[string]any{"spec": map[string]any{
		"name": pkg, "channel": channel, "startingCSV": start, "installPlanApproval": "Automatic",
		"source": catalogName(pkg), "sourceNamespace": namespace,
	}})
	u.SetAnnotations(map[string]string{contentAnnotation: content})
	return u
}

// catalogObjects is what it takes to make a CatalogSource and what serves it.
type catalogObjects struct {
	pkg, namespace string
	content        string   // digest of the catalog
	secrets        []string // image pull secrets
	account        string   // service account of the pods
	ca, tls        string   // values of the registry's annotations; empty: none
	pullPolicy     string
	opmImage       string
}

// source makes the CatalogSource. How it is served is for spec to say.
func (c catalogObjects) source(spec map[string]any) *unstructured.Unstructured {
	spec["sourceType"] = "grpc"
	spec["displayName"] = c.pkg
	spec["publisher"] = "mysdk run bundle"
	if len(c.secrets) > 0 {
		spec["secrets"] = anys(c.secrets)
	}
	u := made(c.pkg, olmV1alpha1, "CatalogSource", c.namespace, catalogName(c.pkg), map[string]any{"spec": spec})
	notes := map[string]string{contentAnnotation: c.content}
	if c.ca != "" {
		notes[registryCAAnnotation] = c.ca
	}
	if c.tls != "" {
		notes[registryTLSAnnotation] = c.tls
	}
	u.SetAnnotations(notes)
	return u
}

// registryTLS is the value of registryTLSAnnotation.
func registryTLS(o Options) string {
	var ways []string
	if o.SkipVerify {
		ways = append(ways, "skip-verify")
	}
	if o.PlainHTTP {
		ways = append(ways, "plain-http")
	}
	return strings.Join(ways, ",")
}

// byAddress makes a CatalogSource that the Service of that name serves: the
// one of serve, or on the embedded cluster none, which serves a catalog by the
// CatalogSource's own name.
func (c catalogObjects) byAddress(service string) *unstructured.Unstructured {
	return c.source(map[string]any{"address": fmt.Sprintf("%s.%s.svc:%d", service, c.namespace, registryPort)})
}

// byImage makes a CatalogSource whose pods OLM makes itself: its opm serves
// the directory dir of the image, which holds nothing else to run.
func (c catalogObjects) byImage(image, dir string) *unstructured.Unstructured {
	return c.source(map[string]any{"image": image, "grpcPodConfig": map[string]any{
		"securityContextConfig": "restricted", "extractContent": map[string]any{"catalogDir": dir},
	}})
}

// configMaps hold the pieces of the catalog, one each.
func (c catalogObjects) configMaps(pieces []piece) []*unstructured.Unstructured {
	var list []*unstructured.Unstructured
	for i, p := range pieces {
		field, data := "data", p.data
		if strings.HasSuffix(p.file, compressedEnd) {
			field, data = "binaryData", base64.StdEncoding.EncodeToString([]byte(p.data))
		}
		u := made(c.pkg, "v1", "ConfigMap", c.namespace, fmt.Sprintf("%s-%d", catalogName(c.pkg), i), map[string]any{field: map[string]any{p.file: data}})
		u.SetLabels(map[string]string{runLabel: c.pkg, catalogLabel: catalogName(c.pkg)})
		list = append(list, u)
	}
	return list
}

// serve makes the Deployment and the Service that serve the catalog of the
// ConfigMaps on a cluster that runs containers. A drained node or a changed
// catalog brings a new pod.
func (c catalogObjects) serve(pieces []piece) []*unstructured.Unstructured {
	name := catalogName(c.pkg)
	labels := map[string]any{catalogLabel: name}
	pod := map[string]any{
		"metadata": map[string]any{
			"labels":      map[string]any{catalogLabel: name, runLabel: c.pkg},
			"annotations": map[string]any{contentAnnotation: c.content},
		},
		"spec": c.registryPod(pieces),
	}
	return []*unstructured.Unstructured{
		made(c.pkg, "apps/v1", "Deployment", c.namespace, serverName(name), map[string]any{"spec": map[string]any{
			"replicas": int64(1), "selector": map[string]any{"matchLabels": labels}, "template": pod,
		}}),
		made(c.pkg, "v1", "Service", c.namespace, serverName(name), map[string]any{"spec": map[string]any{
			"selector": labels,
			"ports":    []any{map[string]any{"name": "grpc", "port": int64(registryPort), "targetPort": "grpc", "protocol": "TCP"}},
		}}),
	}
}

// registryPod is the spec of the pod that serves the pieces. It passes the
// "restricted" Pod Security Standard.
func (c catalogObjects) registryPod(pieces []piece) map[string]any {
	// Mounted one by one: opm reads the hidden directories of a whole mounted
	// ConfigMap too, and so everything twice.
	mounts := []any{map[string]any{"name": "cache", "mountPath": "/cache"}, map[string]any{"name": "tmp", "mountPath": "/tmp"}}
	volumes := []any{map[string]any{"name": "cache", "emptyDir": map[string]any{}}, map[string]any{"name": "tmp", "emptyDir": map[string]any{}}}
	for i, p := range pieces {
		volume := "piece-" + strconv.Itoa(i)
		volumes = append(volumes, map[string]any{"name": volume, "configMap": map[string]any{"name": fmt.Sprintf("%s-%d", catalogName(c.pkg), i)}})
		mounts = append(mounts, map[string]any{"name": volume, "mountPath": "/configs/" + p.file, "subPath": p.file, "readOnly": true})
	}
	spec := map[string]any{
		"securityContext": map[string]any{
			"runAsNonRoot": true, "runAsUser": int64(registryUser), "fsGroup": int64(registryUser),
			"seccompProfile": map[string]any{"type": "RuntimeDefault"},
		},
		"automountServiceAccountToken": false,
		"containers":                   []any{c.registry(mounts)},
		"volumes":                      volumes,
	}
	if c.account != "" {
		spec["serviceAccountName"] = c.account
	}
	var secrets []any
	for _, s := range c.secrets {
		secrets = append(secrets, map[string]any{"name": s})
	}
	if len(secrets) > 0 {
		spec["imagePullSecrets"] = secrets
	}
	return spec
}

// registry is the container that serves the catalog. The probe is the gRPC
// health service that opm has, so that ready means serving.
func (c catalogObjects) registry(mounts []any) map[string]any {
	probe := func(every, failures int64) map[string]any {
		return map[string]any{"grpc": map[string]any{"port": int64(registryPort)}, "periodSeconds": every, "failureThreshold": failures}
	}
	return map[string]any{
		"name": "registry", "image": c.opmImage, "imagePullPolicy": c.pullPolicy,
		"command": []any{"/bin/opm"},
		// The cache begins empty, which opm would take for a damaged one.
		"args":         []any{"serve", "/configs", "--cache-dir=/cache", "--cache-enforce-integrity=false"},
		"ports":        []any{map[string]any{"name": "grpc", "containerPort": int64(registryPort), "protocol": "TCP"}},
		"startupProbe": probe(1, 60), "readinessProbe": probe(5, 3), "livenessProbe": probe(10, 3),
		"resources": map[string]any{"requests": map[string]any{"cpu": "10m", "memory": "50Mi"}},
		"securityContext": map[string]any{
			"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
			"capabilities": map[string]any{"drop": []any{"ALL"}},
		},
		"terminationMessagePolicy": "FallbackToLogsOnError",
		"volumeMounts":             mounts,
	}
}

// anys is list as an unstructured object has it.
func anys(list []string) []any {
	all := make([]any, len(list))
	for i, s := range list {
		all[i] = s
	}
	return all
}
