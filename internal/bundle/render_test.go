package bundle

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
)

var update = flag.Bool("update", false, "rewrite testdata/bundle from what the code does")

// input reads the operator in testdata, with more documents behind it.
func input(t testing.TB, more ...string) Input {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "operator.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return Input{Package: "shop", Version: "0.1.0", Layout: []string{"go.kubebuilder.io/v4"},
		Objects: append(parse(t, string(data)), parse(t, strings.Join(more, "\n---\n"))...)}
}

func parse(t testing.TB, text string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := Parse([]byte(text), "input.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// render makes a bundle that must come out.
func render(t testing.TB, in Input) *Result {
	t.Helper()
	r, err := Render(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Date(in.Package, nil, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	return r
}

// file is a file of the result, or "".
func (r *Result) file(name string) string {
	for _, f := range r.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func (r *Result) names() []string {
	var names []string
	for _, f := range r.Files {
		names = append(names, f.Name)
	}
	return names
}

// spec parses what stands at a path of the CSV as YAML, for comparisons.
func (r *Result) yaml(t testing.TB, path ...string) string {
	t.Helper()
	v := at(r.csv.Object, path...)
	if v == nil {
		return ""
	}
	data, err := marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestRenderGolden compares a whole bundle with testdata/bundle.
func TestRenderGolden(t *testing.T) {
	in := input(t)
	before := fmt.Sprint(in.Objects)
	r := render(t, in)
	if fmt.Sprint(in.Objects) != before {
		t.Error("Render has changed its input")
	}
	m := Metadata{Package: "shop", Channels: []string{"alpha", "beta"}, DefaultChannel: "beta", Layout: in.Layout, Scorecard: r.Scorecard}
	annotations, err := m.Annotations()
	if err != nil {
		t.Fatal(err)
	}
	files := append(r.Files, File{AnnotationsFile, annotations}, File{DockerfileName, m.Dockerfile(DefaultDir, nil)})
	golden := filepath.Join("testdata", "bundle")
	if *update {
		writeGolden(t, golden, files)
	}
	want := map[string]string{}
	err = filepath.WalkDir(golden, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		rel, relErr := filepath.Rel(golden, name)
		want[filepath.ToSlash(rel)] = string(data)
		return first(err, relErr)
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range files {
		got[f.Name] = string(f.Data)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if b, err := Load(os.DirFS(golden)); err != nil || b.Name() != "shop.v0.1.0" || b.DefaultChannel != "beta" {
		t.Errorf("the bundle reads back as %v, %v", b, err)
	}
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func writeGolden(t *testing.T, dir string, files []File) {
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := first(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, f.Data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEverythingIsSomewhere: each object of the input is in a file, in the CSV
// or in the list of what is left out.
func TestEverythingIsSomewhere(t *testing.T) {
	r := render(t, input(t,
		"{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: ca, namespace: shop-system}}",
		"{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: metrics}, spec: {secretName: metrics-cert}}",
		"{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: unused}, spec: {secretName: unused-cert}}",
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: second}, spec: {template: {spec: {containers: [{name: a, image: b}], volumes: [{name: c, secret: {secretName: metrics-cert}}]}}}}",
		"{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop-system}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: elsewhere}}",
		"{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: another.v1.0.0}}",
		"{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: shop.v0.0.0}, spec: {displayName: Mine}}",
		"{apiVersion: scorecard.operatorframework.io/v1alpha3, kind: Configuration, metadata: {name: second}}",
		"{apiVersion: v1, kind: ServiceAccount, metadata: {name: idle}}",
	))
	want := []Left{
		{"Certificate metrics", "Deployment second mounts its Secret metrics-cert, and OLM makes certificates of webhooks only: leave both out of the bundle, as by switching [METRICS-WITH-CERTS] off", true},
		{"Certificate unused", "OLM makes the certificates of webhooks itself", false},
		{"ClusterServiceVersion another.v1.0.0", "a bundle has one ClusterServiceVersion, and this is not that of the package shop", true},
		{"Configuration second", "a bundle has only one scorecard configuration, which is config", true},
		{"CronJob nightly", "OLM takes no objects of kind CronJob from a bundle; let the operator create it", true},
		{"Issuer shop-system/ca", "OLM makes the certificates of webhooks itself", false},
		{"Namespace shop-system", "the installer chooses the namespace", false},
	}
	sorted := map[string]Left{}
	for _, l := range r.Left {
		sorted[l.Object] = l
	}
	var got []Left
	for _, key := range sortedKeys(sorted) {
		got = append(got, sorted[key])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{
		"manifests/settings_v1_configmap.yaml", "manifests/settings_v1_configmap-2.yaml", "manifests/idle_v1_serviceaccount.yaml",
		"manifests/shop-metrics-reader_rbac.authorization.k8s.io_v1_clusterrole.yaml", "manifests/shop.example.com_carts.yaml", ScorecardFile,
	} {
		text := r.file(name)
		if text == "" {
			t.Errorf("no %s among %q", name, r.names())
		}
		if strings.Contains(text, "namespace:") && strings.Contains(name, "configmap") {
			t.Errorf("%s has a namespace:\n%s", name, text)
		}
	}
	if got := textAt(r.csv.Object, "spec", "displayName"); got != "Mine" {
		t.Errorf("displayName %q is not that of the base", got)
	}
}

const binding = `{apiVersion: rbac.authorization.k8s.io/v1, kind: %s, metadata: {name: extra%s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: %s, name: %s}, subjects: [%s]}`

func subject(name string) string {
	return "{kind: ServiceAccount, name: " + name + ", namespace: shop-system}"
}

func TestRBAC(t *testing.T) {
	const extraRole = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: extra}, rules: [{apiGroups: [""], resources: [nodes], verbs: [get]}]}`
	for name, c := range map[string]struct {
		more        []string
		accounts    []string
		cluster     string // accounts with rights everywhere
		permissions string // accounts with rights in namespaces
		files, not  string
		note        string
	}{
		"as scaffolded": {cluster: "shop-controller-manager", permissions: "shop-controller-manager", not: "shop-manager-role"},
		"a ClusterRole in namespaces": {more: []string{extraRole, fmt.Sprintf(binding, "RoleBinding", ", namespace: shop-system", "ClusterRole", "extra", subject("shop-controller-manager"))},
			cluster: "shop-controller-manager", permissions: "shop-controller-manager", not: "extra_"},
		"another account": {more: []string{extraRole, fmt.Sprintf(binding, "ClusterRoleBinding", "", "ClusterRole", "extra", subject("agent"))},
			cluster: "shop-controller-manager", permissions: "shop-controller-manager", files: "extra_rbac.authorization.k8s.io_v1_clusterrolebinding"},
		"an extra account": {more: []string{extraRole, fmt.Sprintf(binding, "ClusterRoleBinding", "", "ClusterRole", "extra", subject("agent"))}, accounts: []string{"agent"},
			cluster: "agent shop-controller-manager", permissions: "shop-controller-manager", not: "extra_"},
		"an extra account without rights": {accounts: []string{"nobody"}, cluster: "shop-controller-manager", permissions: "shop-controller-manager", note: "service account nobody: no binding"},
		"both in one binding": {more: []string{extraRole, fmt.Sprintf(binding, "ClusterRoleBinding", "", "ClusterRole", "extra", subject("agent")+","+subject("shop-controller-manager"))},
			cluster: "shop-controller-manager", permissions: "shop-controller-manager", files: "extra_rbac.authorization.k8s.io_v1_clusterrole.yaml"},
		"a role that is not there": {more: []string{fmt.Sprintf(binding, "ClusterRoleBinding", "", "ClusterRole", "view", subject("shop-controller-manager"))},
			cluster: "shop-controller-manager", permissions: "shop-controller-manager", files: "extra_rbac", note: "ClusterRoleBinding extra: its role view is not in the input"},
		"elsewhere": {more: []string{extraRole, fmt.Sprintf(binding, "RoleBinding", ", namespace: kube-system", "ClusterRole", "extra", subject("shop-controller-manager"))},
			cluster: "shop-controller-manager", permissions: "shop-controller-manager", note: "OLM grants its role in the namespaces that the operator watches, not in kube-system"},
		"an account of that name in another namespace": {more: []string{extraRole, fmt.Sprintf(binding, "ClusterRoleBinding", "", "ClusterRole", "extra", "{kind: ServiceAccount, name: shop-controller-manager, namespace: monitoring}")},
			cluster: "shop-controller-manager", permissions: "shop-controller-manager", files: "extra_rbac.authorization.k8s.io_v1_clusterrole.yaml manifests/extra_rbac.authorization.k8s.io_v1_clusterrolebinding"},
		"that account itself": {more: []string{"{apiVersion: v1, kind: ServiceAccount, metadata: {name: shop-controller-manager, namespace: monitoring}}"},
			cluster: "shop-controller-manager", permissions: "shop-controller-manager", files: "shop-controller-manager_v1_serviceaccount"},
		"a Deployment's account without rights": {more: []string{
			"{apiVersion: v1, kind: ServiceAccount, metadata: {name: idle}}",
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: idle}, spec: {template: {spec: {serviceAccountName: idle, containers: [{name: a, image: b}]}}}}",
		}, cluster: "shop-controller-manager", permissions: "idle shop-controller-manager", not: "idle_v1_serviceaccount"},
		"the account of every namespace": {more: []string{
			"{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}",
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: idle}, spec: {template: {spec: {containers: [{name: a, image: b}]}}}}",
		}, cluster: "shop-controller-manager", permissions: "shop-controller-manager", files: "default_v1_serviceaccount"},
		"a group": {more: []string{extraRole, fmt.Sprintf(binding, "ClusterRoleBinding", "", "ClusterRole", "extra", "{kind: Group, name: shop-controller-manager}")},
			cluster: "shop-controller-manager", permissions: "shop-controller-manager", files: "extra_rbac"},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t, c.more...)
			in.ExtraServiceAccounts = c.accounts
			r := render(t, in)
			names := func(field string) string {
				var list []string
				for _, e := range objectsAt(r.csv.Object, "spec", "install", "spec", field) {
					list = append(list, textAt(e, "serviceAccountName"))
					if _, ok := e["rules"].([]any); !ok {
						t.Errorf("%s: %s has no rules, not even an empty list", field, textAt(e, "serviceAccountName"))
					}
				}
				return strings.Join(list, " ")
			}
			if got := names("clusterPermissions"); got != c.cluster {
				t.Errorf("clusterPermissions of %s", got)
			}
			if got := names("permissions"); got != c.permissions {
				t.Errorf("permissions of %s", got)
			}
			files, notes := strings.Join(r.names(), " "), strings.Join(r.Notes, "\n")
			if !strings.Contains(files, c.files) || c.not != "" && strings.Contains(files, c.not) {
				t.Errorf("files %s", files)
			}
			if !strings.Contains(notes, c.note) {
				t.Errorf("notes:\n%s", notes)
			}
		})
	}
}

func TestCSVFields(t *testing.T) {
	const base = "{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: shop.v9.9.9%s}, spec: {%s}}"
	env := func(list string) func(*Input) {
		return func(in *Input) {
			for _, u := range in.Objects {
				if u.GetKind() == "Deployment" {
					put(containers(u)[0], parseYAML(list), "env")
				}
			}
		}
	}
	for name, c := range map[string]struct {
		base   string
		change func(*Input)
		path   []string
		want   string
		note   string
	}{
		"fields of the base stay":  {base: fmt.Sprintf(base, "", "replaces: shop.v0.0.9, minKubeVersion: 1.30.0, futureField: {a: 1}"), path: []string{"spec", "futureField"}, want: "a: 1\n"},
		"replaces":                 {base: fmt.Sprintf(base, "", "replaces: shop.v0.0.9"), path: []string{"spec", "replaces"}, want: "shop.v0.0.9\n"},
		"name by --version":        {base: fmt.Sprintf(base, "", "version: 9.9.9"), path: []string{"metadata", "name"}, want: "shop.v0.1.0\n"},
		"name by the base":         {base: fmt.Sprintf(base, "", "version: 9.9.9"), change: func(in *Input) { in.Version = "" }, path: []string{"metadata", "name"}, want: "shop.v9.9.9\n"},
		"version by the base":      {base: fmt.Sprintf(base, "", "version: 9.9.9"), change: func(in *Input) { in.Version = "" }, path: []string{"spec", "version"}, want: "9.9.9\n"},
		"name of older scaffolds":  {base: "{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: shop.vX.Y.Z}, spec: {version: 1.2.3}}", change: func(in *Input) { in.Version = "" }, path: []string{"metadata", "name"}, want: "shop.v1.2.3\n"},
		"no version anywhere":      {base: fmt.Sprintf(base, "", ""), change: func(in *Input) { in.Version = "" }, path: []string{"spec", "version"}, want: "0.0.0\n"},
		"createdAt of the base":    {base: fmt.Sprintf(base, ", annotations: {createdAt: mine}", ""), path: []string{"metadata", "annotations", "createdAt"}, want: "mine\n"},
		"createdAt":                {path: []string{"metadata", "annotations", "createdAt"}, want: "\"2026-01-02T03:04:05Z\"\n"},
		"capabilities of the base": {base: fmt.Sprintf(base, ", annotations: {capabilities: Seamless Upgrades}", ""), path: []string{"metadata", "annotations", "capabilities"}, want: "Seamless Upgrades\n"},
		"an empty icon":            {base: fmt.Sprintf(base, "", "icon: [{base64data: '', mediatype: ''}]"), path: []string{"spec", "icon"}, note: "its icon is empty"},
		"an icon":                  {base: fmt.Sprintf(base, "", "icon: [{base64data: eA==, mediatype: image/png}]"), path: []string{"spec", "icon"}, want: "- base64data: eA==\n  mediatype: image/png\n"},
		"owned, described and not": {base: fmt.Sprintf(base, "", "customresourcedefinitions: {required: [{kind: A}], owned: [{name: gone.x, version: v1, kind: Gone}, {name: carts.shop.example.com, version: v1, kind: Cart, displayName: C}]}"), path: []string{"spec", "customresourcedefinitions"}, want: "owned:\n- displayName: C\n  kind: Cart\n  name: carts.shop.example.com\n  version: v1\n- kind: Cart\n  name: carts.shop.example.com\n  version: v1alpha1\nrequired:\n- kind: A\n"},
		"related images":           {change: env("[{name: RELATED_IMAGE_My_DB, value: 'db:v1'}, {name: OTHER, value: x}]"), path: []string{"spec", "relatedImages"}, want: "- image: db:v1\n  name: my-db\n"},
		"related images, of both":  {base: fmt.Sprintf(base, "", "relatedImages: [{name: cli, image: 'cli:v1'}, {name: db, image: 'db:v0'}]"), change: env("[{name: RELATED_IMAGE_DB, value: 'db:v1'}]"), path: []string{"spec", "relatedImages"}, want: "- image: cli:v1\n  name: cli\n- image: db:v0\n  name: db\n", note: "related image db: the base has db:v0, and the Deployment db:v1"},
		"watched namespaces":       {change: env("[{name: WATCH_NAMESPACE, value: default}]"), path: []string{"spec", "install", "spec", "deployments"}, want: "fieldPath: metadata.annotations['olm.targetNamespaces']"},
		"digests": {change: func(in *Input) {
			in.Digests = map[string]string{"example.com/shop:v0.1.0": "example.com/shop@sha256:aa"}
		}, path: []string{"spec", "relatedImages"}, want: "- image: example.com/shop@sha256:aa\n  name: manager\n"},
		"digests in the Deployment": {change: func(in *Input) {
			in.Digests = map[string]string{"example.com/shop:v0.1.0": "example.com/shop@sha256:aa"}
		}, path: []string{"spec", "install", "spec", "deployments"}, want: "image: example.com/shop@sha256:aa\n"},
		"digests of the base": {base: fmt.Sprintf(base, ", annotations: {containerImage: 'example.com/shop:v0.1.0'}", ""), change: func(in *Input) {
			in.Digests = map[string]string{"example.com/shop:v0.1.0": "example.com/shop@sha256:aa"}
		}, path: []string{"metadata", "annotations", "containerImage"}, want: "example.com/shop@sha256:aa\n"},
		"no Deployment": {change: func(in *Input) {
			for i, u := range in.Objects {
				if u.GetKind() == "Deployment" {
					in.Objects[i] = u.DeepCopy()
					in.Objects[i].SetKind("ConfigMap")
					in.Objects[i].SetAPIVersion("v1")
				}
			}
		}, path: []string{"spec", "install", "spec", "deployments"}, want: "[]\n", note: "installs nothing that runs"},
		"modes for conversion": {base: fmt.Sprintf(base, "", "installModes: [{type: OwnNamespace, supported: true}]"), path: []string{"spec", "installModes"}, want: "OwnNamespace", note: "a conversion webhook needs the install mode AllNamespaces"},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t, c.base)
			if c.change != nil {
				c.change(&in)
			}
			r := render(t, in)
			if got := r.yaml(t, c.path...); !strings.Contains(got, c.want) || c.want == "" && got != "" {
				t.Errorf("%s:\n%s", strings.Join(c.path, "."), got)
			}
			if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, c.note) {
				t.Errorf("notes:\n%s", notes)
			}
		})
	}
}

func parseYAML(text string) any {
	objects, err := Parse([]byte("{apiVersion: v1, kind: A, metadata: {name: a}, v: "+text+"}"), "x")
	if err != nil {
		return err
	}
	return objects[0].Object["v"]
}

func TestExamples(t *testing.T) {
	const base = "{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: shop.v0.0.0, annotations: {alm-examples: '%s'}}}"
	for name, c := range map[string]struct {
		more []string
		want string // kind/name: spec of each
		note string
		err  string
	}{
		"the sample":           {want: "Cart/sample:map[size:3]", note: "Cart v1alpha1: there is no sample"},
		"a sample without one": {more: []string{"{apiVersion: shop.example.com/v1alpha1, kind: Cart, metadata: {name: bare}}"}, want: "Cart/sample:map[size:3] Cart/bare:map[]"},
		"another of the base":  {more: []string{fmt.Sprintf(base, `[{"apiVersion":"shop.example.com/v1","kind":"Cart","metadata":{"name":"mine"},"spec":{"size":9}}]`)}, want: "Cart/sample:map[size:3] Cart/mine:map[size:9]"},
		"the base wins":        {more: []string{fmt.Sprintf(base, `[{"apiVersion":"shop.example.com/v1","kind":"Cart","metadata":{"name":"sample"},"spec":{"size":9}}]`)}, want: "Cart/sample:map[size:9]"},
		"none in the base":     {more: []string{fmt.Sprintf(base, `[]`)}, want: "Cart/sample:map[size:3]"},
		"large numbers":        {more: []string{fmt.Sprintf(base, `[{"apiVersion":"shop.example.com/v1","kind":"Cart","metadata":{"name":"mine"},"spec":{"size":9007199254740993}}]`)}, want: "Cart/sample:map[size:3] Cart/mine:map[size:9007199254740993]"},
		"no JSON":              {more: []string{fmt.Sprintf(base, `[{]`)}, err: "alm-examples is not a JSON list of objects"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Render(input(t, c.more...))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || clierr.HintOf(err) == "" {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			list, ok := parseYAML(textAt(r.csv.Object, "metadata", "annotations", ExamplesKey)).([]any)
			if !ok {
				t.Fatalf("no list: %s", textAt(r.csv.Object, "metadata", "annotations", ExamplesKey))
			}
			var got []string
			for _, v := range list {
				o := v.(object)
				got = append(got, fmt.Sprintf("%s/%s:%v", o["kind"], textAt(o, "metadata", "name"), o["spec"]))
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(strings.Join(r.Notes, "\n"), c.note) {
				t.Errorf("notes %q", r.Notes)
			}
		})
	}
}

// TestSameNames: each of many objects of one name has its own file.
func TestSameNames(t *testing.T) {
	var more []string
	for i := range 12 {
		more = append(more, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: n%d}\n", i))
	}
	r := render(t, input(t, more...))
	names := slices.Sorted(slices.Values(r.names()))
	if n := len(slices.Compact(slices.Clone(names))); n != len(names) {
		t.Errorf("%d files have %d names: %v", len(names), n, names)
	}
}
