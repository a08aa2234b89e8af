package run

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/catalog"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/olm"
)

const (
	// runLabel marks what a run has made; its value is the package.
	runLabel = olm.RunLabel
	// contentAnnotation is a digest of what was installed: it tells a run of
	// the same bundle from one of a changed bundle of the same version.
	contentAnnotation = "mysdk.dev/content"
	// isolateAnnotation keeps catalogs of the global namespace, one of which
	// may be out of reach, away from the resolution in a namespace.
	isolateAnnotation = "olm.operatorframework.io/exclude-global-namespace-resolution"

	// unpackLabel marks OLM's Jobs that unpack a bundle's image.
	unpackLabel = "operatorframework.io/bundle-unpack-ref"

	groupName    = "mysdk-operators"
	registryPort = 50051
	// opmImage serves catalogs on clusters that run containers. The version is
	// that of the operator-registry module that the catalogs are written with.
	opmImage = "quay.io/operator-framework/opm:v1.74.0@sha256:b32d3891616662620da08d7f0ec42c2e69fa2de43427dc975d35b12f7a969a0f"
)

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
	maps.Copy(u.Object, fields)
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
	Options
	pkg     string
	content string // digest of the catalog
}

// source makes the CatalogSource. How it is served is for spec to say.
func (c catalogObjects) source(spec map[string]any) *unstructured.Unstructured {
	spec["sourceType"] = "grpc"
	spec["displayName"] = c.pkg
	spec["publisher"] = "mysdk run bundle"
	if len(c.PullSecrets) > 0 {
		spec["secrets"] = anys(c.PullSecrets)
	}
	u := made(c.pkg, olmV1alpha1, "CatalogSource", c.Namespace, catalogName(c.pkg), map[string]any{"spec": spec})
	notes := map[string]string{contentAnnotation: c.content}
	var ways []string
	if c.SkipVerify {
		ways = append(ways, "skip-verify")
	}
	if c.PlainHTTP {
		ways = append(ways, "plain-http")
	}
	if c.Embedded && len(ways) > 0 {
		notes[state.RegistryTLSAnnotation] = strings.Join(ways, ",")
	}
	if c.Embedded && c.CASecret != "" {
		notes[state.RegistryCAAnnotation] = c.CASecret
	}
	u.SetAnnotations(notes)
	return u
}

// byAddress makes a CatalogSource that the Service of that name serves: the
// one of serve, or on the embedded cluster none, which serves a catalog by the
// CatalogSource's own name.
func (c catalogObjects) byAddress(service string) *unstructured.Unstructured {
	return c.source(map[string]any{"address": fmt.Sprintf("%s.%s.svc:%d", service, c.Namespace, registryPort)})
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
		if strings.HasSuffix(p.file, state.CompressedEnd) {
			field, data = "binaryData", base64.StdEncoding.EncodeToString([]byte(p.data))
		}
		u := made(c.pkg, "v1", "ConfigMap", c.Namespace, fmt.Sprintf("%s-%d", catalogName(c.pkg), i), map[string]any{field: map[string]any{p.file: data}})
		u.SetLabels(map[string]string{runLabel: c.pkg, state.CatalogLabel: catalogName(c.pkg)})
		list = append(list, u)
	}
	return list
}

//go:embed server.yaml.tmpl
var serverText string

// serve makes the Deployment and the Service that serve the catalog of the
// ConfigMaps on a cluster that runs containers.
func (c catalogObjects) serve(pieces []piece) ([]*unstructured.Unstructured, error) {
	var files []string
	for _, p := range pieces {
		files = append(files, p.file)
	}
	return kube.RenderManifests(serverText, "server.yaml", map[string]any{
		"Package": c.pkg, "Namespace": c.Namespace, "Catalog": catalogName(c.pkg), "Content": c.content, "Files": files,
		"Image": cmp.Or(c.OPMImage, opmImage), "PullPolicy": cmp.Or(c.PullPolicy, "IfNotPresent"), "Account": c.ServiceAccount,
		"Secrets": c.PullSecrets, "Port": registryPort,
	})
}

// anys is list as an unstructured object has it.
func anys(list []string) []any {
	all := make([]any, len(list))
	for i, s := range list {
		all[i] = s
	}
	return all
}

// piece is a part of a catalog that fits into a ConfigMap.
type piece struct {
	file string // its name for opm, such as catalog-0.json
	data string
}

// compression is how many times smaller a piece gets in most cases. Manifests of
// large CRDs, which repeat themselves, get 10 to 20 times smaller, icons hardly.
const compression = 4

// pieces are a catalog in parts that fit into a ConfigMap each, those that would
// not otherwise compressed where the cluster reads that.
func pieces(c *catalog.Catalog, compress bool) ([]piece, error) {
	size, hint := catalog.PieceSize, "leave out --no-push: the catalog is pushed as an image then"
	if compress {
		size, hint = size*compression, "shorten the CRDs, as with the option crd:maxDescLen=0 of controller-gen, or make the icon smaller"
	}
	parts, err := c.Partition(size)
	var list []piece
	for err == nil && len(parts) > 0 {
		data := parts[0]
		one := piece{file: fmt.Sprintf("catalog-%d.json", len(list)), data: string(data)}
		if len(data) > catalog.PieceSize {
			if one, err = one.compressed(); err != nil {
				return nil, fmt.Errorf("compress the catalog: %w", err)
			}
		}
		if len(one.data) <= 1<<20 { // all that a ConfigMap takes
			list, parts = append(list, one), parts[1:]
			continue
		}
		if c, err = catalog.Parse(data, one.file); err != nil {
			return nil, err
		}
		smaller, uneven := c.Partition(len(data) * 3 / 4)
		if uneven != nil { // most of it is one object
			smaller, err = c.Partition(len(data) - 1)
		}
		parts = append(smaller, parts[1:]...)
	}
	return list, clierr.WithHint(err, hint)
}

func (p piece) compressed() (piece, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, p.data)
	err = errors.Join(err, w.Close())
	return piece{p.file + state.CompressedEnd, b.String()}, err
}
