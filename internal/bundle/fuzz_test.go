package bundle

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/clierr"
)

// FuzzRender: whatever objects there are, a bundle comes out that reads back
// and is the same when made again, or an error that says what to do.
func FuzzRender(f *testing.F) {
	data, err := os.ReadFile("testdata/operator.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	f.Add(authored)
	f.Add("{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {template: {spec: {containers: [1, {env: [x], image: 2}]}}}}")
	f.Add("{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: a.v1, annotations: [1]}, spec: x}")
	f.Add("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, spec: {versions: [{name: 1}], conversion: {webhook: {clientConfig: {service: {}}}}}}")
	f.Add("{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a}, subjects: [1, {kind: ServiceAccount}], roleRef: []}")
	f.Fuzz(func(t *testing.T, text string) {
		objects, err := Parse([]byte(text), "in.yaml")
		if err != nil {
			return
		}
		bundle := func() (*Result, error) {
			r, err := Render(Input{Package: "shop", Version: "0.1.0", Objects: objects})
			if err == nil {
				err = r.Date("shop", nil, time.Unix(0, 0))
			}
			return r, err
		}
		r, err := bundle()
		if err != nil {
			if clierr.HintOf(err) == "" {
				t.Errorf("no hint: %v", err)
			}
			return
		}
		again, err := bundle()
		if err != nil || !sameFiles(r.Files, again.Files) || len(r.Files) != len(again.Files) {
			t.Errorf("the second bundle differs: %v", err)
		}
		checkFiles(t, r)
	})
}

// checkFiles: every manifest parses, has one object, and no two files have one
// name.
func checkFiles(t *testing.T, r *Result) {
	t.Helper()
	seen := map[string]bool{}
	for _, file := range r.Files {
		if seen[file.Name] || path.Clean(file.Name) != file.Name || strings.HasPrefix(file.Name, "..") {
			t.Errorf("file name %q", file.Name)
		}
		seen[file.Name] = true
		if objects, err := Parse(file.Data, file.Name); err != nil || len(objects) != 1 {
			t.Errorf("%d objects, %v\n%s", len(objects), err, file.Data)
		}
	}
}

// FuzzDockerfile: what is written once is written the same again.
func FuzzDockerfile(f *testing.F) {
	for _, s := range []string{"", "FROM scratch\nLABEL a=b \\\n  note=c\nCOPY a b\n", "# Copied from annotations.yaml.\nLABEL a=b\n", "LABEL 'a b'=\"c\\\"\" \\", "FROM a\nFROM b\n", "RUN \\\n# x\n\n"} {
		f.Add(s)
	}
	m := Metadata{Package: "shop", Channels: []string{"alpha"}, Extra: map[string]string{"note": "y"}}
	f.Fuzz(func(t *testing.T, text string) {
		once := m.Dockerfile("bundle", []byte(text))
		if twice := m.Dockerfile("bundle", once); string(once) != string(twice) {
			t.Errorf("the second run: %q, then %q", once, twice)
		}
		if OwnStages(once) {
			t.Errorf("stages are left: %q", once)
		}
	})
}

// FuzzWithResource: what comes out lists the base, once, and everything that
// was there.
func FuzzWithResource(f *testing.F) {
	const entry = "bases/shop.clusterserviceversion.yaml"
	for _, s := range []string{"", "resources:\n", "resources:\n- a\n", "resources: [a]\n", "# resources:\n", "resources:\n#- " + entry + "\n", "a: |\n  #- " + entry + "\n", "resources:\n\n  # x\n  - a\n"} {
		f.Add(s)
	}
	list := func(data []byte) ([]string, error) {
		var k struct {
			Resources []string `json:"resources"`
		}
		err := yaml.Unmarshal(data, &k)
		return k.Resources, err
	}
	f.Fuzz(func(t *testing.T, text string) {
		before, err := list([]byte(text))
		if err != nil {
			return
		}
		data, err := withResource([]byte(text), "k.yaml", entry)
		if err != nil {
			return
		}
		after, err := list(data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if !slices.ContainsFunc(after, func(s string) bool { return path.Clean(s) == entry }) {
			t.Errorf("the base is not listed:\n%s", data)
		}
		for _, r := range before {
			if !slices.Contains(after, r) {
				t.Errorf("%s is lost:\n%s", r, data)
			}
		}
	})
}

// FuzzRead: whatever stands in the files of a bundle, reading ends, and what is
// wrong names a file of the bundle.
func FuzzRead(f *testing.F) {
	f.Add(someAnnotations, someCSV)
	f.Add("annotations: {}", "a: [")
	f.Add("annotations: {a: b}", "{apiVersion: operators.coreos.com/, kind: ClusterServiceVersion, metadata: {name: a}}")
	f.Add("annotations: {operators.operatorframework.io.bundle.manifests.v1: ../..}", "{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: a}, spec: []}")
	f.Fuzz(func(t *testing.T, annotations, csv string) {
		files := fstest.MapFS{AnnotationsFile: {Data: []byte(annotations)}, "manifests/csv.yaml": {Data: []byte(csv)}}
		b, problems, err := Read(files)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			if _, ok := b.Files.Get(p.File); p.File != "" && !ok {
				t.Errorf("problem with %q, which is not there", p.File)
			}
		}
		if len(problems) == 0 && b.CSV == nil {
			t.Error("nothing is wrong, and there is no CSV")
		}
		if _, err := Load(files); (err == nil) != (len(problems) == 0 && b.Package != "") {
			t.Errorf("Load: %v, with the package %q and %d problems", err, b.Package, len(problems))
		}
	})
}
