package run

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/catalog"
	"github.com/example/mysdk/internal/cluster/state"
)

// asYAML writes objects as documents.
func asYAML(t *testing.T, objs ...*unstructured.Unstructured) string {
	t.Helper()
	var docs []string
	for _, u := range objs {
		data, err := yaml.Marshal(u.Object)
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, string(data))
	}
	return strings.Join(docs, "---\n")
}

// TestCompressedPiece: what is too large for a ConfigMap is kept compressed, and
// read like the rest.
func TestCompressedPiece(t *testing.T) {
	plain, large := piece{"catalog-0.json", "{}"}, piece{"catalog-1.json", strings.Repeat(`{"type":"string"},`, 1000)}
	small, err := large.compressed()
	if err != nil || len(small.data) > len(large.data)/compression {
		t.Fatalf("%d bytes of %d, %v", len(small.data), len(large.data), err)
	}
	got := map[string]string{}
	for _, u := range (catalogObjects{Options: Options{Namespace: "ns"}, pkg: "shop"}).configMaps([]piece{plain, small}) {
		var m corev1.ConfigMap
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &m); err != nil {
			t.Fatal(err)
		}
		pieces, err := state.CatalogPieces(m.Data, m.BinaryData)
		if err != nil {
			t.Fatal(err)
		}
		for key, data := range pieces {
			got[key] = string(data)
		}
	}
	if diff := cmp.Diff(map[string]string{plain.file: plain.data, large.file: large.data}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPieces: what does not get much smaller is cut into more pieces, so that each fits.
func TestPieces(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	icon := func(size int) json.RawMessage {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		return json.RawMessage(strconv.Quote(base64.StdEncoding.EncodeToString(data)))
	}
	long := json.RawMessage(strconv.Quote(strings.Repeat("type: string, ", 200_000)))
	schema := json.RawMessage(strconv.Quote(strings.Repeat("type: string, ", 100_000)))
	for name, tc := range map[string]struct {
		values []json.RawMessage
		want   int
		err    string
	}{
		"CRDs":         {[]json.RawMessage{schema, schema}, 1, ""},
		"icons":        {[]json.RawMessage{icon(600_000), icon(600_000), icon(600_000), icon(600_000)}, 4, ""},
		"both":         {[]json.RawMessage{schema, icon(600_000), icon(600_000)}, 2, ""},
		"a large icon": {[]json.RawMessage{icon(1_600_000)}, 0, "and 921600 fit into a ConfigMap"},
		"close":        {[]json.RawMessage{icon(1_000_000)}, 1, ""},
		"large CRDs":   {[]json.RawMessage{long, icon(600_000), icon(600_000), icon(600_000), icon(600_000), icon(600_000)}, 5, ""},
	} {
		c := &catalog.Catalog{}
		for i, v := range tc.values {
			c.Bundles = append(c.Bundles, catalog.Bundle{Schema: catalog.SchemaBundle, Name: strconv.Itoa(i), Properties: []catalog.Property{{Type: "x", Value: v}}})
		}
		list, err := pieces(c, true)
		if len(list) != tc.want || (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %d pieces, %v", name, len(list), err)
		}
		for _, p := range list {
			if len(p.data) > 1<<20 {
				t.Errorf("%s: %s has %d bytes", name, p.file, len(p.data))
			}
		}
	}
}

// TestObjects compares the objects of a run with what they are to be.
func TestObjects(t *testing.T) {
	plain := catalogObjects{Options{Namespace: "ns", PullPolicy: "IfNotPresent", OPMImage: "opm:1"}, "shop", "sum"}
	secret := plain
	secret.PullSecrets, secret.ServiceAccount = []string{"pull"}, "reader"
	server, err := secret.serve([]piece{{"catalog-0.json", "{}"}, {"catalog-1.json", "{}"}})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ got, want string }{
		"group for all": {asYAML(t, operatorGroup("shop", "ns", Mode{Type: allNamespaces}, true)), `apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata:
  annotations:
    olm.operatorframework.io/exclude-global-namespace-resolution: "true"
  labels:
    mysdk.dev/run: shop
  name: mysdk-operators
  namespace: ns
spec: {}
`},
		"group for two": {asYAML(t, operatorGroup("shop", "ns", Mode{multiNamespace, []string{"a", "b"}}, false)), `apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata:
  labels:
    mysdk.dev/run: shop
  name: mysdk-operators
  namespace: ns
spec:
  targetNamespaces:
  - a
  - b
`},
		"subscription": {asYAML(t, subscription("shop", "ns", "alpha", "shop.v1", "sum")), `apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata:
  annotations:
    mysdk.dev/content: sum
  labels:
    mysdk.dev/run: shop
  name: shop
  namespace: ns
spec:
  channel: alpha
  installPlanApproval: Automatic
  name: shop
  source: shop-catalog
  sourceNamespace: ns
  startingCSV: shop.v1
`},
		"served by the cluster": {asYAML(t, append(plain.configMaps([]piece{{"catalog-0.json", "{}"}}), plain.byAddress("shop-catalog"))...), `apiVersion: v1
data:
  catalog-0.json: '{}'
kind: ConfigMap
metadata:
  labels:
    mysdk.dev/catalog: shop-catalog
    mysdk.dev/run: shop
  name: shop-catalog-0
  namespace: ns
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata:
  annotations:
    mysdk.dev/content: sum
  labels:
    mysdk.dev/run: shop
  name: shop-catalog
  namespace: ns
spec:
  address: shop-catalog.ns.svc:50051
  displayName: shop
  publisher: mysdk run bundle
  sourceType: grpc
`},
		"served from an image": {asYAML(t, secret.byImage("r/shop-catalog@sha256:1", "/configs")), `apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata:
  annotations:
    mysdk.dev/content: sum
  labels:
    mysdk.dev/run: shop
  name: shop-catalog
  namespace: ns
spec:
  displayName: shop
  grpcPodConfig:
    extractContent:
      catalogDir: /configs
    securityContextConfig: restricted
  image: r/shop-catalog@sha256:1
  publisher: mysdk run bundle
  secrets:
  - pull
  sourceType: grpc
`},
		"served by a Deployment": {asYAML(t, server...), `apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    mysdk.dev/run: shop
  name: shop-catalog-server
  namespace: ns
spec:
  replicas: 1
  selector:
    matchLabels:
      mysdk.dev/catalog: shop-catalog
  template:
    metadata:
      annotations:
        mysdk.dev/content: sum
      labels:
        mysdk.dev/catalog: shop-catalog
        mysdk.dev/run: shop
    spec:
      automountServiceAccountToken: false
      containers:
      - args:
        - serve
        - /configs
        - --cache-dir=/cache
        - --cache-enforce-integrity=false
        command:
        - /bin/opm
        image: opm:1
        imagePullPolicy: IfNotPresent
        livenessProbe:
          failureThreshold: 3
          grpc:
            port: 50051
          periodSeconds: 10
        name: registry
        ports:
        - containerPort: 50051
          name: grpc
          protocol: TCP
        readinessProbe:
          failureThreshold: 3
          grpc:
            port: 50051
          periodSeconds: 5
        resources:
          requests:
            cpu: 10m
            memory: 50Mi
        securityContext:
          allowPrivilegeEscalation: false
          capabilities:
            drop:
            - ALL
          readOnlyRootFilesystem: true
        startupProbe:
          failureThreshold: 60
          grpc:
            port: 50051
          periodSeconds: 1
        terminationMessagePolicy: FallbackToLogsOnError
        volumeMounts:
        - mountPath: /cache
          name: cache
        - mountPath: /tmp
          name: tmp
        - mountPath: /configs/catalog-0.json
          name: piece-0
          readOnly: true
          subPath: catalog-0.json
        - mountPath: /configs/catalog-1.json
          name: piece-1
          readOnly: true
          subPath: catalog-1.json
      imagePullSecrets:
      - name: pull
      securityContext:
        runAsNonRoot: true
        seccompProfile:
          type: RuntimeDefault
      serviceAccountName: reader
      volumes:
      - emptyDir: {}
        name: cache
      - emptyDir: {}
        name: tmp
      - configMap:
          name: shop-catalog-0
        name: piece-0
      - configMap:
          name: shop-catalog-1
        name: piece-1
---
apiVersion: v1
kind: Service
metadata:
  labels:
    mysdk.dev/run: shop
  name: shop-catalog-server
  namespace: ns
spec:
  ports:
  - name: grpc
    port: 50051
    protocol: TCP
    targetPort: grpc
  selector:
    mysdk.dev/catalog: shop-catalog
`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}
