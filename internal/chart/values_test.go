package chart_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/chart"
)

// parse reads the YAML of a test.
func parse(t testing.TB, text string) (v any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// put gives the field at a path of an object a value, or with nil takes it away.
// Of lists the path names the entry's number.
func put(t testing.TB, o any, path string, value any) {
	t.Helper()
	head, rest, more := strings.Cut(path, "/")
	head = strings.ReplaceAll(head, "~1", "/")
	m, ok := o.(map[string]any)
	switch {
	case !ok && head == "0":
		put(t, o.([]any)[0], rest, value)
	case !ok && head == "1":
		put(t, o.([]any)[1], rest, value)
	case !ok:
		t.Fatalf("no field %s in %v", path, o)
	case more:
		if m[head] == nil {
			m[head] = map[string]any{}
		}
		put(t, m[head], rest, value)
	case value == nil:
		if _, is := m[head]; !is {
			t.Fatalf("no field %s in %v", path, o)
		}
		delete(m, head)
	default:
		m[head] = value
	}
}

// remove takes the objects away whose key has one of the words in it.
func (all objects) remove(t testing.TB, words ...string) {
	t.Helper()
	for _, w := range words {
		n := len(all)
		for key := range all {
			if strings.Contains(key, w) {
				delete(all, key)
			}
		}
		if len(all) == n {
			t.Errorf("there is no %s", w)
		}
	}
}

// TestRender_Values: each set of values changes what it is for, and nothing else.
func TestRender_Values(t *testing.T) {
	const (
		op         = "webhook-cert-manager"
		ns         = op + "-system"
		deployment = "Deployment " + ns + "/" + op + "-controller-manager"
		account    = "ServiceAccount " + ns + "/" + op + "-controller-manager"
		service    = "Service " + ns + "/" + op + "-controller-manager-metrics-service"
		crd        = "CustomResourceDefinition /memcacheds.cache.example.com"
		container  = "spec/template/spec/containers/0/"
		args       = `["--metrics-bind-address=:8443", "--leader-elect", "--health-probe-bind-address=:8081",
			"--webhook-cert-path=/tmp/k8s-webhook-server/serving-certs", "--webhook-port=9443"]`
		podNamespace = `{name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}`
	)
	// edit sets fields of an object to YAML; - takes a field away.
	type edit struct{ object, path, value string }
	for name, c := range map[string]struct {
		values  string
		edits   []edit
		removed []string
		added   string // objects
	}{
		"image": {values: `{manager: {image: {repository: example.com/op, tag: "1.10", pullPolicy: Always}, imagePullSecrets: [{name: key}]}}`, edits: []edit{
			{deployment, container + "image", "example.com/op:1.10"}, {deployment, container + "imagePullPolicy", "Always"},
			{deployment, "spec/template/spec/imagePullSecrets", "[{name: key}]"},
		}},
		"image by digest":              {values: `{manager: {image: {repository: "example.com/op@sha256:abc"}}}`, edits: []edit{{deployment, container + "image", "example.com/op@sha256:abc"}}},
		"image of the chart's version": {values: `{manager: {image: {tag: ""}}}`, edits: []edit{{deployment, container + "image", "controller:0.1.0"}}},
		"size": {values: `{manager: {replicas: 0, terminationGracePeriodSeconds: 0, strategy: {type: Recreate}, resources: {requests: {cpu: 1}}}}`, edits: []edit{
			{deployment, "spec/replicas", "0"}, {deployment, "spec/strategy", "{type: Recreate}"}, {deployment, container + "resources/requests/cpu", "1"},
			{deployment, "spec/template/spec/terminationGracePeriodSeconds", "0"},
		}},
		"arguments and environment": {
			values: `{manager: {args: ["--a={{ .Release.Name }}", "--b=\"c\""], healthProbe: {port: 8082}, env: [{name: A, value: "b\nc\n"}, {name: C, value: d}], envOverrides: {C: e, F: 1000000, G: "h\n\n"}}}`,
			edits: []edit{
				{deployment, container + "args", `["--metrics-bind-address=:8443", "--a=webhook-cert-manager", '--b="c"', "--health-probe-bind-address=:8082",
					"--webhook-cert-path=/tmp/k8s-webhook-server/serving-certs", "--webhook-port=9443"]`},
				{deployment, container + "env", `[{name: A, value: "b\nc\n"}, {name: C, value: e}, {name: F, value: "1000000"}, {name: G, value: "h\n\n"}]`},
				{deployment, container + "ports/0/containerPort", "8082"}, {deployment, container + "livenessProbe/httpGet/port", "8082"}, {deployment, container + "readinessProbe/httpGet/port", "8082"},
			},
		},
		"neither arguments nor environment": {values: `{manager: {args: [], env: []}}`, edits: []edit{
			{deployment, container + "args", strings.Replace(args, `"--leader-elect",`, "", 1)}, {deployment, container + "env", "-"},
		}},
		"placement": {
			values: `{manager: {nodeSelector: {disk: ssd}, tolerations: [{key: a, operator: Exists}], affinity: {nodeAffinity: {x: [1]}},
				topologySpreadConstraints: [{maxSkew: 1}], priorityClassName: high, podSecurityContext: {runAsUser: 7}, securityContext: null}}`,
			edits: []edit{
				{deployment, "spec/template/spec/nodeSelector", "{disk: ssd}"}, {deployment, "spec/template/spec/tolerations", "[{key: a, operator: Exists}]"},
				{deployment, "spec/template/spec/affinity", "{nodeAffinity: {x: [1]}}"}, {deployment, "spec/template/spec/topologySpreadConstraints", "[{maxSkew: 1}]"},
				{deployment, "spec/template/spec/priorityClassName", "high"}, {deployment, "spec/template/spec/securityContext/runAsUser", "7"}, {deployment, container + "securityContext", "-"},
			},
		},
		"labels and annotations": {
			values: `{manager: {labels: {a: b, control-plane: other}, annotations: {c: d}, pod: {labels: {e: f, app.kubernetes.io/name: other}, annotations: {g: "1"}}}, serviceAccount: {labels: {h: i}, annotations: {j: k}}}`,
			edits: []edit{
				{deployment, "metadata/labels/a", "b"}, {deployment, "metadata/annotations", "{c: d}"},
				{deployment, "spec/template/metadata/labels/e", "f"}, {deployment, "spec/template/metadata/annotations/g", `"1"`},
				{account, "metadata/labels/h", "i"}, {account, "metadata/annotations", "{j: k}"},
			},
		},
		"volumes": {
			values: `{manager: {extraVolumes: [{name: a, emptyDir: {}}], extraVolumeMounts: [{name: a, mountPath: /a}]}}`,
			edits: []edit{
				{deployment, container + "volumeMounts", "[{mountPath: /tmp/k8s-webhook-server/serving-certs, name: webhook-certs, readOnly: true}, {name: a, mountPath: /a}]"},
				{deployment, "spec/template/spec/volumes", "[{name: webhook-certs, secret: {secretName: webhook-server-cert}}, {name: a, emptyDir: {}}]"},
			},
		},
		"no webhooks": {
			values: `{webhook: {enabled: false}}`, removed: []string{"WebhookConfiguration", "webhook-service", "serving-cert"},
			edits: []edit{
				{deployment, container + "args", `["--metrics-bind-address=:8443", "--leader-elect", "--health-probe-bind-address=:8081"]`},
				{deployment, container + "env", "[" + podNamespace + `, {name: ENABLE_WEBHOOKS, value: "false"}]`},
				{deployment, container + "ports", "[{containerPort: 8081, name: health, protocol: TCP}]"},
				{deployment, container + "volumeMounts", "-"}, {deployment, "spec/template/spec/volumes", "-"},
			},
		},
		"webhooks on another port": {values: `{webhook: {port: 9500}}`, edits: []edit{
			{deployment, container + "args", strings.Replace(args, "9443", "9500", 1)}, {deployment, container + "ports/1/containerPort", "9500"},
			{"Service " + ns + "/" + op + "-webhook-service", "spec/ports/0/targetPort", "9500"},
		}},
		"no cert-manager": {values: `{certManager: {enabled: false}}`, removed: []string{"Certificate ", "Issuer "}, edits: []edit{
			{"MutatingWebhookConfiguration /" + op + "-mutating-webhook-configuration", "metadata/annotations", "-"},
			{"ValidatingWebhookConfiguration /" + op + "-validating-webhook-configuration", "metadata/annotations", "-"},
		}},
		"no metrics": {values: `{metrics: {enabled: false}}`, removed: []string{"metrics-service", "metrics-auth", "metrics-reader", "metrics-certs"}, edits: []edit{
			{deployment, container + "args", strings.Replace(args, ":8443", "0", 1)},
		}},
		"metrics over http, on another port": {values: `{metrics: {secure: false, port: 8080}}`, removed: []string{"metrics-auth", "metrics-reader", "metrics-certs"}, edits: []edit{
			{deployment, container + "args", strings.Replace(args, `:8443",`, `:8080", "--metrics-secure=false",`, 1)},
			{service, "spec/ports/0/port", "8080"}, {service, "spec/ports/0/targetPort", "8080"}, {service, "spec/ports/0/name", "http"},
		}},
		"ServiceMonitor and network policies": {values: `{prometheus: {enabled: true}, networkPolicy: {enabled: true}, metrics: {port: 8444}}`, edits: []edit{
			{deployment, container + "args", strings.Replace(args, "8443", "8444", 1)}, {service, "spec/ports/0/port", "8444"}, {service, "spec/ports/0/targetPort", "8444"},
		}, added: `apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: webhook-cert-manager-controller-manager-metrics-monitor, namespace: webhook-cert-manager-system, labels: {LABELS, control-plane: controller-manager}}
spec:
  endpoints: [{path: /metrics, port: https, scheme: https, bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token, tlsConfig: {insecureSkipVerify: true}}]
  selector: {matchLabels: {control-plane: controller-manager, app.kubernetes.io/name: webhook-cert-manager}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: webhook-cert-manager-allow-metrics-traffic, namespace: webhook-cert-manager-system, labels: {LABELS}}
spec:
  podSelector: {matchLabels: {control-plane: controller-manager, app.kubernetes.io/name: webhook-cert-manager}}
  policyTypes: [Ingress]
  ingress: [{from: [{namespaceSelector: {matchLabels: {metrics: enabled}}}], ports: [{port: 8444, protocol: TCP}]}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: webhook-cert-manager-allow-webhook-traffic, namespace: webhook-cert-manager-system, labels: {LABELS}}
spec:
  podSelector: {matchLabels: {control-plane: controller-manager, app.kubernetes.io/name: webhook-cert-manager}}
  policyTypes: [Ingress]
  ingress: [{ports: [{port: 9443, protocol: TCP}]}]
`},
		"CRDs that go with the release": {values: `{crd: {keep: false}}`, edits: []edit{{crd, "metadata/annotations/helm.sh~1resource-policy", "-"}}},
		"no CRDs":                       {values: `{crd: {enabled: false}}`, removed: []string{"CustomResourceDefinition"}},
		"no helpers":                    {values: `{rbac: {helpers: {enabled: false}}}`, removed: []string{"admin-role", "editor-role", "viewer-role"}},
		"no manager":                    {values: `{manager: {enabled: false}}`, removed: []string{"Deployment"}},
		"account of somebody else": {values: `{serviceAccount: {enabled: false, name: mine}}`, removed: []string{"ServiceAccount"}, edits: []edit{
			{deployment, "spec/template/spec/serviceAccountName", "mine"},
			{"ClusterRoleBinding /" + op + "-manager-rolebinding", "subjects/0/name", "mine"}, {"ClusterRoleBinding /" + op + "-metrics-auth-rolebinding", "subjects/0/name", "mine"},
			{"RoleBinding " + ns + "/" + op + "-leader-election-rolebinding", "subjects/0/name", "mine"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			files, in := render(t, "../../testdata/golden/"+op+"/want")
			want := expected(t, in)
			want.remove(t, c.removed...)
			labels := "app.kubernetes.io/managed-by: Helm, app.kubernetes.io/instance: " + op + ", app.kubernetes.io/name: " + op + ", helm.sh/chart: " + op + "-0.1.0"
			if c.added != "" {
				want.add(t, "added", strings.ReplaceAll(c.added, "LABELS", labels))
			}
			for _, e := range c.edits {
				if want[e.object] == nil {
					t.Fatalf("there is no %s", e.object)
				}
				var value any
				if e.value != "-" {
					value = parse(t, e.value)
				}
				put(t, want[e.object], e.path, value)
			}
			values, ok := parse(t, c.values).(map[string]any)
			if !ok {
				t.Fatal("values are a mapping")
			}
			if d := cmp.Diff(want, template(t, op, load(t, files), values)); d != "" {
				t.Errorf("(-want +helm):\n%s", d)
			}
		})
	}
}

// Names follow the release, so that two of them can be in one cluster.
func TestRender_Names(t *testing.T) {
	files, in := render(t, "../../testdata/golden/webhook-cert-manager/want")
	in.Objects = []byte(strings.NewReplacer("webhook-cert-manager-system", "shop-system", "webhook-cert-manager-", "shop-", "secretName: ", "secretName: shop-").Replace(string(in.Objects)))
	want := expected(t, in)
	delete(want, "Namespace /shop-system")
	for _, o := range want {
		meta := o["metadata"].(map[string]any)
		if labels, ok := meta["labels"].(map[string]any); ok && labels["app.kubernetes.io/instance"] != nil {
			labels["app.kubernetes.io/instance"] = "shop"
		}
	}
	got := template(t, "shop", load(t, files), map[string]any{"fullnameOverride": "shop"})
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +helm):\n%s", d)
	}
	for key := range template(t, "shop", load(t, files), nil) {
		if !strings.Contains(key, "/shop-webhook-cert-manager-") && !strings.HasPrefix(key, "CustomResourceDefinition") {
			t.Errorf("%s does not have the release's name", key)
		}
	}
	// A Secret that cert-manager does not make has a name that can be known.
	got = template(t, "shop", load(t, files), map[string]any{"certManager": map[string]any{"enabled": false}})
	spec, _ := pod(got["Deployment shop-system/shop-webhook-cert-manager-controller-manager"])
	if d := cmp.Diff(parse(t, "[{name: webhook-certs, secret: {secretName: webhook-server-cert}}]"), spec["volumes"]); d != "" {
		t.Errorf("(-want +helm):\n%s", d)
	}
}

// What other projects have in config/default is what the chart has.
func TestRender_Foreign(t *testing.T) {
	for name, edits := range map[string][]string{
		"metrics over http, with roles":   {"- --leader-elect", "- --leader-elect\n        - --metrics-secure=false"},
		"metrics over https, as a switch": {"- --leader-elect", "- --leader-elect\n        - --metrics-secure"},
		"a Secret with the prefix":        {"secretName: ", "secretName: webhook-cert-manager-"},
		"a role with a rather long name":  {"webhook-cert-manager-memcached-admin-role", "webhook-cert-manager-" + strings.Repeat("long", 15) + "-admin-role"},
		"selectors with more labels":      {"      control-plane: controller-manager\n", "      control-plane: controller-manager\n      app.kubernetes.io/managed-by: kustomize\n"},
		"a Certificate of somebody else":  {"apiVersion: cert-manager.io/v1", "apiVersion: x.io/v1"},
		"a Secret that nobody else names": {"secretName: webhook-server-cert\n---", "secretName: other\n---"},
	} {
		t.Run(name, func(t *testing.T) {
			_, in := render(t, "../../testdata/golden/webhook-cert-manager/want")
			in.Objects, in.Optional = []byte(strings.NewReplacer(edits...).Replace(string(in.Objects))), nil
			files, err := chart.Render(in)
			if err != nil {
				t.Fatal(err)
			}
			want, got := expected(t, in), template(t, in.Name, load(t, files), nil)
			for key, o := range want {
				if short := strings.Replace(key, "webhook-cert-manager-long", "webhook-ce-long", 1); short != key { // what is left of the prefix
					delete(want, key)
					want[short] = o
					put(t, o, "metadata/name", strings.TrimPrefix(short, "ClusterRole /"))
				}
			}
			for _, o := range []objects{want, got} {
				_, container := pod(o["Deployment webhook-cert-manager-system/webhook-cert-manager-controller-manager"])
				for i, arg := range container["args"].([]any) {
					container["args"].([]any)[i] = strings.TrimSuffix(arg.(string), "=true")
				}
				slices.SortFunc(container["args"].([]any), func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-kustomize +helm):\n%s", d)
			}
			plain := template(t, in.Name, load(t, files), parse(t, "{metrics: {secure: false}}").(map[string]any))
			_, container := pod(plain["Deployment webhook-cert-manager-system/webhook-cert-manager-controller-manager"])
			if args := container["args"].([]any); slices.Contains(args, any("--metrics-secure")) || !slices.Contains(args, any("--metrics-secure=false")) {
				t.Errorf("metrics.secure=false is not among %v", args)
			}
		})
	}
}

// A CRD that has an annotation of cert-manager's alone is kept without that, too.
func TestRender_KeptCRD(t *testing.T) {
	const inject, keep = "cert-manager.io/inject-ca-from", "helm.sh/resource-policy"
	_, in := render(t, "../../testdata/golden/webhook-cert-manager/want")
	in.Objects = []byte(strings.Replace(string(in.Objects), "controller-gen.kubebuilder.io/version", inject, 1))
	files, err := chart.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	for values, want := range map[string][]string{
		"{}":                              {inject, keep},
		"{crd: {keep: false}}":            {inject},
		"{webhook: {enabled: false}}":     {keep},
		"{certManager: {enabled: false}}": {keep},
		"{crd: {keep: false}, webhook: {enabled: false}}": nil,
	} {
		crd := template(t, in.Name, load(t, files), parse(t, values).(map[string]any))["CustomResourceDefinition /memcacheds.cache.example.com"]
		annotations, there := crd["metadata"].(map[string]any)["annotations"]
		got, _ := annotations.(map[string]any)
		if d := cmp.Diff(want, slices.Sorted(maps.Keys(got))); d != "" || there != (want != nil) {
			t.Errorf("%s: there are annotations: %v (-want +helm):\n%s", values, there, d)
		}
	}
}

// A manager that has its names in its code keeps them, whatever the release's.
func TestRender_FixedNames(t *testing.T) {
	for _, op := range []string{"webhook-self", "webhook-olm"} {
		files, _ := render(t, "../../testdata/golden/"+op+"/want")
		for key := range template(t, "other", load(t, files), nil) {
			if fixed := strings.Contains(key, "/"+op+"-"); fixed != (op == "webhook-self") && !strings.HasPrefix(key, "CustomResourceDefinition") {
				t.Errorf("%s: %s", op, key)
			}
		}
	}

	// Conversion alone has no webhook configurations.
	_, in := render(t, "../../testdata/golden/webhook-self/want")
	docs := slices.DeleteFunc(strings.Split(string(in.Objects), "\n---\n"), func(doc string) bool {
		return strings.Contains(doc, "kind: MutatingWebhook") || strings.Contains(doc, "kind: ValidatingWebhook")
	})
	in.Objects = []byte(strings.Join(docs, "\n---\n"))
	files, err := chart.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(files["values.yaml"]), "fullnameOverride: webhook-self") {
		t.Error("the name is not fixed without webhook configurations")
	}
}

// What config/default could switch on is off, whatever it is, and goes with the
// ServiceMonitor.
func TestRender_Optional(t *testing.T) {
	_, in := render(t, "../../testdata/golden/webhook-cert-manager/want")
	const role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: webhook-cert-manager-prometheus-k8s, namespace: webhook-cert-manager-system}\nrules: []\n---\n"
	in.Optional = append([]byte(role), in.Optional...)
	files, err := chart.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	c := load(t, files)
	if d := cmp.Diff(expected(t, in), template(t, in.Name, c, nil)); d != "" {
		t.Errorf("(-kustomize +helm):\n%s", d)
	}
	on := template(t, in.Name, c, parse(t, "{prometheus: {enabled: true}}").(map[string]any))
	if on["Role webhook-cert-manager-system/webhook-cert-manager-prometheus-k8s"] == nil {
		t.Error("the Role is not there with the ServiceMonitor")
	}
}

// allOn is the project with everything that config/default can switch on: the
// blocks that are commented out there are not.
func allOn(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../testdata/golden/webhook-cert-manager/want")); err != nil {
		t.Fatal(err)
	}
	edit := func(name string, change func(string) string) {
		t.Helper()
		name = filepath.Join(dir, name)
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		after := change(string(data))
		if err := os.WriteFile(name, []byte(after), 0o644); err != nil || after == string(data) {
			t.Fatalf("%s is as it was: %v", name, err)
		}
	}
	edit("config/default/kustomization.yaml", func(s string) string {
		s = strings.NewReplacer("#- ../prometheus", "- ../prometheus", "#- ../network-policy", "- ../network-policy",
			"#- path: cert_metrics_manager_patch.yaml\n#  target:\n#    kind: Deployment", "- path: cert_metrics_manager_patch.yaml\n  target:\n    kind: Deployment").Replace(s)
		from := strings.Index(s, "# - source: # Uncomment the following block to enable certificates for metrics")
		to := strings.Index(s, " - source: # Uncomment the following block if you have any webhook")
		return s[:from] + strings.ReplaceAll("\n"+s[from:to], "\n# ", "\n ")[1:] + s[to:]
	})
	edit("config/prometheus/kustomization.yaml", func(s string) string {
		return strings.NewReplacer("#patches", "patches", "#  -", "  -", "#    target", "    target", "#      kind", "      kind").Replace(s)
	})
	return dir
}

// TestRender_AllOn: what config/default switches on is on by default, and
// without cert-manager nothing refers to its certificates for metrics.
func TestRender_AllOn(t *testing.T) {
	const op, metrics = "webhook-cert-manager", "metrics-server-cert"
	files, in := render(t, allOn(t))
	for _, kind := range []string{"ServiceMonitor", "NetworkPolicy", metrics} {
		if !strings.Contains(string(in.Objects), kind) {
			t.Fatalf("the build has no %s", kind)
		}
	}
	c := load(t, files)
	if d := cmp.Diff(expected(t, in), template(t, op, c, nil)); d != "" {
		t.Errorf("(-kustomize +helm):\n%s", d)
	}
	monitor := "ServiceMonitor " + op + "-system/" + op + "-controller-manager-metrics-monitor"
	for name, want := range map[string]string{
		"{certManager: {enabled: false}}": "{path: /metrics, port: https, scheme: https, bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token, tlsConfig: {insecureSkipVerify: true}}",
		"{metrics: {secure: false}}":      "{path: /metrics, port: http, scheme: http}",
	} {
		got := template(t, op, c, parse(t, name).(map[string]any))
		if d := cmp.Diff([]any{parse(t, want)}, got[monitor]["spec"].(map[string]any)["endpoints"]); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if text, err := yaml.Marshal(got); err != nil || strings.Contains(string(text), metrics) {
			t.Errorf("%s: the Secret %s is still referred to (%v)", name, metrics, err)
		}
	}
}

// TestRender_Texts: what looks like a directive, or like mysdk's marks, is text.
func TestRender_Texts(t *testing.T) {
	const manifests = `apiVersion: apps/v1
kind: Deployment
metadata: {name: odd, namespace: odd-ns}
spec: {template: {metadata: {labels: {a: b}}, spec: {containers: [{image: "a/b:{{ x }}", name: any, args: ["--x={{ .Values }}"]}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: texts}
data:
  braces: "{{ .Values.a }} }} {{"
  lines: |
    {{- if eq 1 2 }}
    qTMPL0q: null
    qTMPLL99q: null
    - qTMPL999q
    {{ end }}
  quoted: "a\u0007 {{ \"b\" }}"
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crds.example.com}
spec: {versions: [{schema: {description: "say {{ .x }} to odd-manager-role"}}]}
`
	in := chart.Input{Name: "odd", Objects: []byte(manifests)}
	files, err := chart.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	want := expected(t, in)
	put(t, want["Deployment odd-ns/odd"], "metadata/namespace", "odd-system")
	put(t, want["Deployment odd-ns/odd"], "spec/replicas", 1.0)
	want["Deployment odd-system/odd"] = want["Deployment odd-ns/odd"]
	delete(want, "Deployment odd-ns/odd")
	if d := cmp.Diff(want, template(t, "odd", load(t, files), nil)); d != "" {
		t.Errorf("(-want +helm):\n%s", d)
	}
}

// FuzzRender: no manifests make it panic, and what they make is YAML or templates
// that can be read.
func FuzzRender(f *testing.F) {
	for _, dir := range golden(f)[:2] {
		_, in := render(f, dir)
		f.Add(in.Objects)
	}
	f.Add([]byte("kind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{}]}}}\n"))
	f.Fuzz(func(t *testing.T, manifests []byte) {
		files, err := chart.Render(chart.Input{Name: "op", Objects: manifests})
		if err == nil && len(files["values.yaml"]) == 0 {
			t.Error("no values")
		}
	})
}
