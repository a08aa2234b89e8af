package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/bundle/validate"
	"github.com/example/mysdk/internal/bundle/validate/engine"
)

const csv = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: memcached.v0.1.0
  labels:
    operatorframework.io/arch.amd64: supported
  annotations:
    capabilities: Basic Install
    categories: Database
    alm-examples: |-
      [{"apiVersion":"cache.example.com/v1alpha1","kind":"Memcached","metadata":{"name":"a"},"spec":{"size":1}}]
spec:
  displayName: Memcached Operator
  description: Runs Memcached.
  version: 0.1.0
  minKubeVersion: 1.25.0
  provider:
    name: Example
  maintainers:
  - name: Somebody
    email: somebody@example.com
  links:
  - name: Home
    url: https://example.com
  icon:
  - base64data: PHN2Zy8+
    mediatype: image/svg+xml
  installModes:
  - type: OwnNamespace
    supported: false
  - type: SingleNamespace
    supported: false
  - type: MultiNamespace
    supported: false
  - type: AllNamespaces
    supported: true
  customresourcedefinitions:
    owned:
    - kind: Memcached
      name: memcacheds.cache.example.com
      version: v1alpha1
      description: A Memcached.
  relatedImages:
  - name: manager
    image: ghcr.io/example/memcached:v0.1.0
  install:
    strategy: deployment
    spec:
      deployments:
      - name: memcached-manager
        spec:
          selector:
            matchLabels:
              app: manager
          template:
            metadata:
              labels:
                app: manager
            spec:
              containers:
              - name: manager
                image: ghcr.io/example/memcached:v0.1.0
                resources:
                  requests:
                    cpu: 10m
                    memory: 64Mi
`

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: memcacheds.cache.example.com
spec:
  group: cache.example.com
  names:
    kind: Memcached
    listKind: MemcachedList
    plural: memcacheds
    singular: memcached
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
`

const annotations = `annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: memcached
  operators.operatorframework.io.bundle.channels.v1: stable
  operators.operatorframework.io.bundle.channel.default.v1: stable
`

const (
	csvFile  = "manifests/csv.yaml"
	crdFile  = "manifests/crd.yaml"
	metaFile = "metadata/annotations.yaml"
)

// good are the files of a bundle without a fault.
func good() map[string]string {
	return map[string]string{csvFile: csv, crdFile: crd, metaFile: annotations}
}

func run(t testing.TB, files map[string]string, o validate.Options) *validate.Report {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	if o.Engine == nil {
		o.Engine = engine.Run
	}
	if o.Select.Names == nil {
		o.Select = validate.DefaultSelection()
	}
	r, err := validate.Run(t.Context(), fsys, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// lines are the findings as "level place rule".
func lines(r *validate.Report) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, fmt.Sprintf("%s %s %s", f.Level, f.Place(), f.Rule))
	}
	return out
}

func TestGoodBundle(t *testing.T) {
	for _, target := range append(validate.Targets(), "") {
		if target == validate.Certified {
			continue // it wants digests
		}
		r := run(t, good(), validate.Options{Target: target})
		if len(r.Findings) > 0 || !r.Passed || r.Bundle != "memcached.v0.1.0" {
			t.Errorf("target %q: %+v", target, r)
		}
	}
}

// schemaYAML is a schema whose only field says something more.
func schemaYAML(said string) string {
	return "        type: object\n        properties:\n          name:\n            type: string\n            " + said + "\n"
}

// TestFaults makes one change to a good bundle and looks at what is said of
// it, and where.
func TestFaults(t *testing.T) {
	type edit struct{ file, old, new string }
	tests := map[string]struct {
		edits []edit
		add   map[string]string
		want  []string
	}{
		"name":             {[]edit{{csvFile, "name: memcached.v0.1.0", "name: Memcached.v0.1.0"}}, nil, []string{"error manifests/csv.yaml:4:3 csv/name"}},
		"replaces":         {[]edit{{csvFile, "  version: 0.1.0", "  replaces: A_b\n  version: 0.1.0"}}, nil, []string{"error manifests/csv.yaml:15:3 csv/replaces"}},
		"no install modes": {[]edit{{csvFile, "supported: true", "supported: false"}}, nil, []string{"error manifests/csv.yaml:28:3 csv/install-modes"}},
		"no display name":  {[]edit{{csvFile, "  displayName: Memcached Operator\n", ""}}, nil, []string{"error manifests/csv.yaml:12:1 csv/required"}},
		"examples":         {[]edit{{csvFile, `[{"apiVersion"`, `[{"apiVersion`}}, nil, []string{"error manifests/csv.yaml:10:5 csv/examples"}},
		"minKubeVersion":   {[]edit{{csvFile, "1.25.0", "old"}}, nil, []string{"error manifests/csv.yaml:16:3 csv/min-kube-version"}},
		"no CRD":           {[]edit{{crdFile, "kind: Memcached\n", "kind: Redis\n"}}, nil, []string{"error manifests/csv.yaml:38:5 bundle/crd-missing", "error manifests/csv.yaml:37:3 bundle/crd-unowned"}},
		"CRD":              {[]edit{{crdFile, "scope: Namespaced", "scope: Everywhere"}}, nil, []string{"error manifests/crd.yaml:12:3 crd/field-value-not-supported"}},
		"pattern":          {[]edit{{crdFile, "        type: object\n", schemaYAML("pattern: \"(\"")}}, nil, []string{"error manifests/crd.yaml:23:13 crd/field-value-invalid"}},
		"default":          {[]edit{{crdFile, "        type: object\n", schemaYAML("default: 1")}}, nil, []string{"error manifests/crd.yaml:23:13 crd/field-value-type-invalid"}},
		"rule":             {[]edit{{crdFile, "        type: object\n", schemaYAML("x-kubernetes-validations: [{rule: self.size}]")}}, nil, []string{"error manifests/crd.yaml:23:41 crd/field-value-invalid"}},
		"no schema":        {[]edit{{crdFile, "    schema:\n      openAPIV3Schema:\n        type: object\n", ""}}, nil, []string{"error manifests/crd.yaml:14:5 crd/field-value-required"}},
		"empty icon":       {[]edit{{csvFile, "PHN2Zy8+", `""`}}, nil, []string{"warning manifests/csv.yaml:25:3 operatorhubv2/icon"}},
		"email":            {[]edit{{csvFile, "somebody@example.com", "nobody"}}, nil, []string{"warning manifests/csv.yaml:19:3 operatorhubv2/maintainers"}},
		"capabilities":     {[]edit{{csvFile, "Basic Install", "Everything"}}, nil, []string{"warning manifests/csv.yaml:8:5 capabilities/capabilities"}},
		"categories":       {[]edit{{csvFile, "Database", "Toys"}}, nil, []string{"warning manifests/csv.yaml:9:5 categories/categories"}},
		"channel":          {[]edit{{metaFile, "channels.v1: stable", "channels.v1: stable,new"}}, nil, []string{"warning metadata/annotations.yaml:6:3 good-practices/channels"}},
		"resources":        {[]edit{{csvFile, "                resources:\n                  requests:\n                    cpu: 10m\n                    memory: 64Mi\n", ""}}, nil, []string{"warning manifests/csv.yaml:61:23 good-practices/resources"}},
		"description":      {[]edit{{csvFile, "      description: A Memcached.\n", ""}}, nil, []string{"warning manifests/csv.yaml:40:13 good-practices/crd-description"}},
		"default channel":  {[]edit{{metaFile, "default.v1: stable", "default.v1: fast"}}, nil, []string{"warning metadata/annotations.yaml:7:3 format/annotations"}},
		"media type":       {[]edit{{metaFile, "registry+v1", "plain+v0"}}, nil, []string{"error metadata/annotations.yaml:2:3 format/annotations"}},
		"no channels":      {[]edit{{metaFile, "channels.v1: stable", `channels.v1: ""`}, {metaFile, "  operators.operatorframework.io.bundle.channel.default.v1: stable\n", ""}}, nil, []string{"error metadata/annotations.yaml:6:3 format/annotations"}},
		"missing key":      {[]edit{{metaFile, "  operators.operatorframework.io.bundle.metadata.v1: metadata/\n", ""}}, nil, []string{"error metadata/annotations.yaml:1:1 format/annotations"}},
		"hidden file":      {nil, map[string]string{"manifests/.swp": "x"}, []string{"error manifests/.swp format/layout"}},
		"directory":        {nil, map[string]string{"manifests/more/a.yaml": "kind: A"}, []string{"error manifests/more format/layout"}},
		"no manifest":      {nil, map[string]string{"manifests/README.md": "# Hello"}, []string{"error manifests/README.md format/layout"}},
		"kind":             {nil, map[string]string{"manifests/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n"}, []string{"error manifests/pod.yaml:2:1 bundle/kind"}},
		"metadata":         {nil, map[string]string{"manifests/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    a b: c\n"}, []string{"error manifests/cm.yaml:5:3 bundle/metadata"}},
		"list":             {nil, map[string]string{"manifests/list.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"}, []string{"error manifests/list.yaml:2:1 bundle/kind"}},
		"nothing first":    {nil, map[string]string{"manifests/cm.yaml": "# Of Shop.\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"}, []string{"error manifests/cm.yaml:3:1 format/one-object"}},
		"empty file":       {nil, map[string]string{"manifests/cm.yaml": ""}, []string{"error manifests/cm.yaml format/one-object"}},
		"text":             {nil, map[string]string{"manifests/LICENSE": "Do: what you like"}, []string{"error manifests/LICENSE:1:1 format/layout"}},
		"other name":       {nil, map[string]string{"manifests/pod.txt": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n"}, []string{"error manifests/pod.txt:2:1 bundle/kind"}},
		"no icon in list":  {[]edit{{csvFile, "  icon:\n  - base64data: PHN2Zy8+\n    mediatype: image/svg+xml\n", "  icon: []\n"}}, nil, []string{"warning manifests/csv.yaml:25:3 operatorhubv2/icon"}},
		"number for text":  {[]edit{{csvFile, "displayName: Memcached Operator", "displayName: 5"}}, nil, []string{"error manifests/csv.yaml:13:3 format/parse"}},
		"no package":       {[]edit{{metaFile, "package.v1: memcached", `package.v1: ""`}}, nil, []string{"error metadata/annotations.yaml:5:3 format/annotations"}},
		"no directory":     {[]edit{{metaFile, "manifests.v1: manifests/", `manifests.v1: ""`}}, nil, []string{"error metadata/annotations.yaml:3:3 format/annotations"}},
		"dependencies twice": {nil, map[string]string{"metadata/a.yaml": "dependencies:\n- type: olm.label\n  value: {label: a}\n", "metadata/b.yaml": "dependencies:\n- type: olm.label\n  value: {}\n"},
			[]string{"warning metadata/b.yaml:1:1 format/dependencies"}},
		"second object":     {nil, map[string]string{"manifests/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n"}, []string{"warning manifests/cm.yaml:6:1 format/one-object"}},
		"parse":             {[]edit{{csvFile, "  version: 0.1.0", "  version: [0.1.0"}}, nil, []string{"error manifests/csv.yaml:"}},
		"parse annotations": {[]edit{{metaFile, "annotations:", "annotations: ["}}, nil, []string{"error metadata/annotations.yaml:"}},
		"dependencies": {nil, map[string]string{"metadata/dependencies.yaml": "dependencies:\n- type: olm.package\n  value:\n    packageName: redis\n    version: newest\n- type: olm.gvk\n  value: {group: a}\n- type: olm.nothing\n- type: olm.constraint\n  value: {failureMessage: a, cel: {rule: '1 +'}}\n"},
			[]string{"error metadata/dependencies.yaml:2:3 format/dependencies", "error metadata/dependencies.yaml:6:3 format/dependencies", "error metadata/dependencies.yaml:8:3 format/dependencies", "error metadata/dependencies.yaml:9:3 dependencies/cel"}},
		"service account": {[]edit{{csvFile, "              containers:", "              serviceAccountName: manager\n              containers:"}}, map[string]string{"manifests/sa.yaml": "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: manager\n"},
			[]string{"error manifests/csv.yaml:48:5 bundle/service-account"}},
		"disruption budget": {nil, map[string]string{"manifests/pdb.yaml": "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata:\n  name: a\nspec:\n  maxUnavailable: 0\n"}, []string{"warning manifests/pdb.yaml:6:3 objects/disruption-budget"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			files := good()
			for _, e := range tt.edits {
				if !strings.Contains(files[e.file], e.old) {
					t.Fatalf("there is no %q in %s", e.old, e.file)
				}
				files[e.file] = strings.Replace(files[e.file], e.old, e.new, 1)
			}
			maps.Copy(files, tt.add)
			r := run(t, files, validate.Options{})
			got := lines(r)
			for _, want := range tt.want {
				if !slices.ContainsFunc(got, func(l string) bool { return strings.HasPrefix(l, want) }) {
					t.Errorf("no %q in\n%s", want, strings.Join(got, "\n"))
				}
			}
			if r.Passed != strings.HasPrefix(tt.want[0], "warning") {
				t.Errorf("passed is %v:\n%s", r.Passed, strings.Join(got, "\n"))
			}
			for _, f := range r.Findings {
				if f.Hint == "" && strings.Contains(strings.Join(tt.want, "\n"), f.Rule) {
					t.Errorf("no hint for %+v", f)
				}
			}
		})
	}
}

// TestCSVPassedOver: what keeps OLM from the CSV is all that is said.
func TestCSVPassedOver(t *testing.T) {
	files := good()
	files[csvFile] = "# Of Shop.\n---\n" + files[csvFile]
	if got := lines(run(t, files, validate.Options{})); len(got) != 1 || got[0] != "error manifests/csv.yaml:3:1 format/one-object" {
		t.Errorf("findings %q", got)
	}
}

// TestCSVNotFirst: OLM finds no CSV in a file that begins with another object.
func TestCSVNotFirst(t *testing.T) {
	files := good()
	files[csvFile] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n---\n" + files[csvFile]
	var texts []string
	for range 2 {
		r := run(t, files, validate.Options{})
		if got := lines(r); len(got) != 1 || got[0] != "error manifests/csv.yaml:5:1 format/one-object" || r.Passed {
			t.Errorf("findings %q", got)
		}
		texts = append(texts, r.Findings[0].Text)
	}
	if texts[0] != texts[1] {
		t.Errorf("%q, then %q", texts[0], texts[1])
	}
}

// TestUnreadable: what is said of a bundle does not name the directory that the
// rules read it from, which is another each time.
func TestUnreadable(t *testing.T) {
	for name, manifests := range map[string]map[string][]byte{
		"no CSV":   {"crd.yaml": []byte(crd)},
		"two CSVs": {"a.yaml": []byte(csv), "b.yaml": []byte(csv)},
	} {
		t.Run(name, func(t *testing.T) {
			var said []validate.Result
			for range 2 {
				results, err := engine.Run(t.Context(), validate.Request{Manifests: manifests})
				if err != nil || len(results) != 1 || strings.Contains(results[0].Detail, "mysdk-bundle-") {
					t.Fatalf("results %+v, %v", results, err)
				}
				said = append(said, results...)
			}
			if d := cmp.Diff(said[0], said[1]); d != "" {
				t.Errorf("the second time: %s", d)
			}
		})
	}
}

// TestOrder: rules collect in maps, and a report is the same each time.
func TestOrder(t *testing.T) {
	files := good()
	files[csvFile] = strings.Replace(files[csvFile], "    owned:\n", "    owned:\n    - {kind: B, name: bs.cache.example.com, version: v1}\n    - {kind: C, name: cs.cache.example.com, version: v1}\n    - {kind: D, name: ds.cache.example.com, version: v1}\n", 1)
	first := run(t, files, validate.Options{})
	for range 20 {
		if d := cmp.Diff(first, run(t, files, validate.Options{})); d != "" {
			t.Fatal(d)
		}
	}
}

// TestConstraints: a constraint is of any of the forms that OLM knows, and the
// expressions in it compile, however deep they stand.
func TestConstraints(t *testing.T) {
	const at = "error metadata/dependencies.yaml:2:3 "
	for value, want := range map[string]string{
		"{failureMessage: a, cel: {rule: 'true'}}":                                               "",
		"{gvk: {group: a, version: v1, kind: B}}":                                                "",
		"{package: {packageName: a, versionRange: '>=1.0.0'}}":                                   "",
		"{any: {constraints: [{gvk: {group: a, version: v1, kind: B}}, {cel: {rule: 'true'}}]}}": "",
		"{all: {constraints: [{package: {packageName: a, versionRange: '1.0.0'}}, {not: {constraints: [{gvk: {group: a, version: v1, kind: B}}]}}]}}": "",
		"{all: {constraints: [{any: {constraints: [{cel: {rule: '1 +'}}]}}]}}":                                                                        at + "dependencies/cel",
		"{failureMessage: a}":                         at + "dependencies/constraint",
		"{all: {constraints: [{failureMessage: a}]}}": at + "dependencies/constraint",
		"{cel: {}}":             at + "dependencies/constraint",
		"{sel: {rule: 'true'}}": at + "dependencies/constraint",
		"{cel: 5}":              at + "dependencies/constraint",
	} {
		t.Run(value, func(t *testing.T) {
			files := good()
			files["metadata/dependencies.yaml"] = "dependencies:\n- type: olm.constraint\n  value: " + value + "\n"
			r := run(t, files, validate.Options{})
			if got := strings.Join(lines(r), "\n"); got != want {
				t.Errorf("findings %+v, want %q", r.Findings, want)
			}
			for _, f := range r.Findings {
				if f.Hint == "" {
					t.Errorf("no hint for %+v", f)
				}
			}
		})
	}
}

// TestChannels: the rule collects the channels in a map.
func TestChannels(t *testing.T) {
	files := good()
	files[metaFile] = strings.Replace(files[metaFile], "channels.v1: stable", "channels.v1: stable,e,d,c,b,a", 1)
	for range 5 {
		r := run(t, files, validate.Options{})
		if len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Text, `["a" "b" "c" "d" "e"]`) {
			t.Fatalf("findings %+v", r.Findings)
		}
	}
}

// TestParseIsAlone: what does not parse is all that is said.
func TestParseIsAlone(t *testing.T) {
	files := good()
	files[csvFile] = strings.Replace(files[csvFile], "spec:", "spec: {", 1)
	r := run(t, files, validate.Options{})
	if len(r.Findings) != 1 || r.Findings[0].Rule != "format/parse" || r.Findings[0].Line == 0 {
		t.Errorf("findings %+v", r.Findings)
	}
}

func TestSelected(t *testing.T) {
	files := good()
	files[csvFile] = strings.Replace(files[csvFile], "PHN2Zy8+", `""`, 1)
	for selector, passes := range map[string]bool{"": true, "name=capabilities": true, "name=operatorhubv2": false, "suite=operatorframework": false, "name in (operatorhub)": false} {
		s, err := validate.ParseSelector(selector)
		if err != nil {
			t.Fatal(err)
		}
		if r := run(t, files, validate.Options{Select: s}); r.Passed != passes {
			t.Errorf("%q: passed is %v: %v", selector, r.Passed, lines(r))
		}
	}
	old := good()
	old["manifests/pdb.yaml"] = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata:\n  name: a\nspec:\n  maxUnavailable: 1\n"
	s, err := validate.ParseSelector("name=alpha-deprecated-apis")
	if err != nil {
		t.Fatal(err)
	}
	if r := run(t, old, validate.Options{Select: s, Values: map[string]string{"k8s-version": "1.25"}}); r.Passed || !slices.ContainsFunc(lines(r), func(l string) bool { return strings.HasSuffix(l, "alpha-deprecated-apis/removed-apis") }) {
		t.Errorf("1.25: %v", lines(r))
	}
}

func TestTargets(t *testing.T) {
	const digest = "@sha256:0123456789012345678901234567890123456789012345678901234567890123"
	tests := map[string]struct {
		target    string
		old, new  string
		dependent bool
		want      []string
	}{
		"certified, tags":     {validate.Certified, "", "", false, []string{"error manifests/csv.yaml:45:5 certified/digests", "error manifests/csv.yaml:62:17 certified/digests"}},
		"certified, related":  {validate.Certified, "image: ghcr.io/example/memcached:v0.1.0\n                resources", "image: ghcr.io/example/memcached" + digest + "\n                resources", false, []string{"error manifests/csv.yaml:62:17 certified/related-images"}},
		"olmv1, modes":        {validate.OLMv1, "supported: false\n  - type: SingleNamespace", "supported: true\n  - type: SingleNamespace", false, nil},
		"olmv1, own only":     {validate.OLMv1, "  - type: AllNamespaces\n    supported: true", "  - type: AllNamespaces\n    supported: false\n  - type: OwnNamespace\n    supported: true", false, []string{"error manifests/csv.yaml:28:3 olmv1/install-modes"}},
		"olmv1, dependencies": {validate.OLMv1, "", "", true, []string{"error metadata/dependencies.yaml:1:1 olmv1/dependencies"}},
		"olmv1, webhooks":     {validate.OLMv1, "  install:\n", "  webhookdefinitions:\n  - type: ValidatingAdmissionWebhook\n    generateName: a.example.com\n    admissionReviewVersions: [v1]\n    sideEffects: None\n  install:\n", false, []string{"error manifests/csv.yaml:46:3 olmv1/webhooks"}},
		"operatorhub":         {validate.OperatorHub, "PHN2Zy8+", `""`, false, []string{"error manifests/csv.yaml:25:3 operatorhubv2/icon"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			files := good()
			if !strings.Contains(csv, tt.old) {
				t.Fatalf("there is no %q", tt.old)
			}
			files[csvFile] = strings.Replace(csv, tt.old, tt.new, 1)
			if tt.dependent {
				files["metadata/dependencies.yaml"] = "dependencies:\n- type: olm.package\n  value: {packageName: redis, version: '>1.0.0'}\n"
			}
			s, err := validate.ForTarget(tt.target, validate.DefaultSelection())
			if err != nil {
				t.Fatal(err)
			}
			r := run(t, files, validate.Options{Target: tt.target, Select: s})
			got := lines(r)
			for _, want := range tt.want {
				if !slices.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, strings.Join(got, "\n"))
				}
			}
			if r.Passed != (tt.want == nil) {
				t.Errorf("passed is %v:\n%s", r.Passed, strings.Join(got, "\n"))
			}
		})
	}
}

func TestMultiArch(t *testing.T) {
	affinity := "            spec:\n              affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [s390x]}]}]}}}\n"
	tests := map[string]struct {
		csv  string
		have []validate.Platform
		err  error
		want []string
	}{
		"as labelled": {csv, []validate.Platform{{OS: "linux", Architecture: "amd64"}}, nil, nil},
		"more":        {csv, []validate.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}, nil, []string{"warning manifests/csv.yaml:5:3 multiarch/label"}},
		"missing":     {csv, []validate.Platform{{OS: "linux", Architecture: "arm64"}}, nil, []string{"error manifests/csv.yaml:62:17 multiarch/missing", "warning manifests/csv.yaml:5:3 multiarch/label"}},
		"unreachable": {csv, nil, errors.New("ghcr.io cannot be reached"), []string{"warning manifests/csv.yaml:62:17 multiarch/unknown"}},
		"bound":       {strings.Replace(csv, "            spec:\n", affinity, 1), []validate.Platform{{OS: "linux", Architecture: "amd64"}}, nil, []string{"error manifests/csv.yaml:63:17 multiarch/affinity"}},
		"no label":    {strings.Replace(csv, "  labels:\n    operatorframework.io/arch.amd64: supported\n", "", 1), []validate.Platform{{OS: "linux", Architecture: "amd64"}}, nil, nil},
		"not the os":  {csv, []validate.Platform{{OS: "windows", Architecture: "amd64"}}, nil, []string{"error manifests/csv.yaml:62:17 multiarch/missing", "warning manifests/csv.yaml:5:3 multiarch/label"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			files := good()
			files[csvFile] = tt.csv
			s, err := validate.ParseSelector("name=multiarch")
			if err != nil {
				t.Fatal(err)
			}
			asked := 0
			r := run(t, files, validate.Options{Select: s, Platforms: func(_ context.Context, image string) ([]validate.Platform, error) {
				asked++
				return tt.have, tt.err
			}})
			if d := cmp.Diff(tt.want, lines(r)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if asked != 1 {
				t.Errorf("asked %d times for one image", asked)
			}
		})
	}
}

func TestEngineRefuses(t *testing.T) {
	if _, err := engine.Run(t.Context(), validate.Request{Manifests: map[string][]byte{"../a.yaml": nil}}); err == nil || !strings.Contains(err.Error(), "not below the bundle") {
		t.Errorf("error %v", err)
	}
	if _, err := engine.Run(t.Context(), validate.Request{Manifests: map[string][]byte{"csv.yaml": []byte(csv), "crd.yaml": []byte(crd)}, Validators: []string{"x"}}); err == nil || !strings.Contains(err.Error(), `no validator "x"`) {
		t.Errorf("error %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := engine.Run(ended, validate.Request{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// BenchmarkRun is what 'bundle validate' does after reading the files.
func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		run(b, good(), validate.Options{})
	}
}
