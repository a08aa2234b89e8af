package bundle

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
)

const (
	someAnnotations = `annotations:
  # the package
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: shop
  operators.operatorframework.io.bundle.channels.v1: alpha, stable
  operators.operatorframework.io.bundle.channel.default.v1: stable
`
	someCSV = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: shop.v0.1.0
spec:
  version: 0.1.0
  futureField: kept
`
	someCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: carts.shop.example.com
`
)

// dir makes a file system of alternating names and texts.
func dir(pairs ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return m
}

func TestLoad(t *testing.T) {
	b, err := Load(dir(
		"metadata/annotations.yaml", someAnnotations,
		"metadata/dependencies.yaml", "dependencies: []\n",
		"manifests/shop.clusterserviceversion.yaml", someCSV,
		"manifests/shop.example.com_carts.yaml", someCRD,
		"manifests/sub/ignored.yaml", "kind: [",
		"manifests/.hidden.yaml", "kind: [",
		"tests/scorecard/config.yaml", "kind: Configuration\n",
	))
	if err != nil {
		t.Fatal(err)
	}
	if b.Package != "shop" || b.DefaultChannel != "stable" || b.Name() != "shop.v0.1.0" || b.Version() != "0.1.0" {
		t.Errorf("package %q, default channel %q, name %q, version %q", b.Package, b.DefaultChannel, b.Name(), b.Version())
	}
	if diff := cmp.Diff([]string{"alpha", "stable"}, b.Channels); diff != "" {
		t.Error(diff)
	}
	if crds := b.CRDs(); len(crds) != 1 || crds[0].File != "manifests/shop.example.com_carts.yaml" {
		t.Errorf("CRDs: %v", crds)
	}
	if len(b.Objects) != 2 || b.CSVFile != "manifests/shop.clusterserviceversion.yaml" {
		t.Errorf("%d objects, CSV in %s", len(b.Objects), b.CSVFile)
	}
	if spec, _ := b.CSVObject().Object["spec"].(map[string]any); spec["futureField"] != "kept" {
		t.Errorf("the CSV lost a field: %v", spec)
	}
	var names []string
	for _, f := range b.Files {
		names = append(names, f.Name)
	}
	want := []string{
		"manifests/shop.clusterserviceversion.yaml", "manifests/shop.example.com_carts.yaml", "manifests/sub/ignored.yaml",
		"metadata/annotations.yaml", "metadata/dependencies.yaml", "tests/scorecard/config.yaml",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if f, ok := b.Files.Get("metadata/annotations.yaml"); !ok || string(f.Data) != someAnnotations {
		t.Errorf("annotations: %v %s", ok, f.Data)
	}
	if _, ok := b.Files.Get("nope"); ok {
		t.Error("found a file that is not there")
	}
}

// unreadable is a file system with one file that nobody may look at.
type unreadable struct {
	fstest.MapFS
	name string
}

func (u unreadable) Stat(name string) (fs.FileInfo, error) {
	if name == u.name {
		return nil, fs.ErrPermission
	}
	return u.MapFS.Stat(name)
}

func TestLoad_Unreadable(t *testing.T) {
	const crd = "manifests/crd.yaml"
	files := dir(AnnotationsFile, someAnnotations, "manifests/csv.yaml", someCSV, crd, someCRD)
	_, err := Load(unreadable{files, crd})
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
}

func TestLoadElsewhere(t *testing.T) {
	moved := strings.Replace(someAnnotations, "v1: manifests/", "v1: /deploy/", 1)
	b, err := Load(dir("metadata/other-name.yml", moved, "deploy/csv.yaml", someCSV))
	if err != nil {
		t.Fatal(err)
	}
	if b.ManifestsDir != "deploy" || b.CSVFile != "deploy/csv.yaml" || b.Package != "shop" {
		t.Errorf("manifests in %s, CSV in %s, package %s", b.ManifestsDir, b.CSVFile, b.Package)
	}
}

func TestLoadProblems(t *testing.T) {
	const csv = "manifests/csv.yaml"
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  []string
	}{
		"empty": {dir(), []string{"no metadata/annotations.yaml, which names the package and the channels", "no manifests in manifests/"}},
		"no CSV": {dir(AnnotationsFile, someAnnotations, "manifests/crd.yaml", someCRD),
			[]string{"no ClusterServiceVersion in manifests/"}},
		"two CSVs": {dir(AnnotationsFile, someAnnotations, csv, someCSV, "manifests/second.yaml", someCSV),
			[]string{"manifests/second.yaml: a bundle has one ClusterServiceVersion, and there is one in manifests/csv.yaml already"}},
		"broken YAML": {dir(AnnotationsFile, someAnnotations, csv, someCSV, "manifests/x.yaml", "kind: A\nmetadata: {\n"),
			[]string{"manifests/x.yaml:2: did not find expected node content"}},
		"broken annotations": {dir(AnnotationsFile, "annotations:\n  a: [\n", csv, someCSV),
			[]string{"metadata/annotations.yaml:2: did not find expected node content", "no metadata/annotations.yaml, which names the package and the channels"}},
		"broken dependencies": {dir(AnnotationsFile, someAnnotations, "metadata/dependencies.yaml", "dependencies:\n- [\n", csv, someCSV),
			[]string{"metadata/dependencies.yaml:2: did not find expected node content"}},
		"no annotations": {dir(AnnotationsFile, "annotations: {}\n", csv, someCSV),
			[]string{"metadata/annotations.yaml: there are no annotations in it"}},
		"CSV of another version": {dir(AnnotationsFile, someAnnotations, csv, strings.Replace(someCSV, "operators.coreos.com/v1alpha1", "v1", 1)),
			[]string{"manifests/csv.yaml: the apiVersion of a ClusterServiceVersion is operators.coreos.com/v1alpha1, not v1"}},
		"list for a text": {dir(AnnotationsFile, someAnnotations, csv, strings.Replace(someCSV, "version: 0.1.0", "maturity: []", 1)),
			[]string{"manifests/csv.yaml: spec.maturity has a value that is a list, not a string"}},
		"number for a text": {dir(AnnotationsFile, someAnnotations, csv, strings.Replace(someCSV, "version: 0.1.0", "minKubeVersion: 1.25", 1)),
			[]string{"manifests/csv.yaml: spec.minKubeVersion has a value that is a number: write it in quotes"}},
		"boolean for a text": {dir(AnnotationsFile, someAnnotations, csv, strings.Replace(someCSV, "version: 0.1.0", "description: yes", 1)),
			[]string{"manifests/csv.yaml: spec.description has a value that is a boolean: write it in quotes"}},
		"text for a list": {dir(AnnotationsFile, someAnnotations, csv, strings.Replace(someCSV, "version: 0.1.0", "icon: none", 1)),
			[]string{"manifests/csv.yaml: spec.icon has a value that is a string, not a list"}},
		"text for a mapping": {dir(AnnotationsFile, someAnnotations, csv, strings.Replace(someCSV, "version: 0.1.0", "provider: me", 1)),
			[]string{"manifests/csv.yaml: spec.provider has a value that is a string, not a mapping"}},
		"text for a boolean": {dir(AnnotationsFile, someAnnotations, csv, strings.Replace(someCSV, "version: 0.1.0", "cleanup: {enabled: maybe}", 1)),
			[]string{"manifests/csv.yaml: spec.cleanup.enabled has a value that is a string, not true or false"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems, err := Read(c.files)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range problems {
				got = append(got, p.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if _, err := Load(c.files); err == nil || clierr.HintOf(err) == "" || !strings.Contains(err.Error(), c.want[0]) {
				t.Errorf("Load: %v", err)
			}
		})
	}
}

func TestSupportedKinds(t *testing.T) {
	for kind, want := range map[string]bool{"ConfigMap": true, "ClusterRole": true, CRDKind: true, "Deployment": false, "Namespace": false, "": false} {
		if got := IsSupported(kind); got != want {
			t.Errorf("%s: %v", kind, got)
		}
	}
}

// TestLoadLikeOLM: files count by what they hold and not by their names, and
// links are followed, as by the programs that unpack a bundle on a cluster.
func TestLoadLikeOLM(t *testing.T) {
	t.Run("names", func(t *testing.T) {
		second := strings.Replace(someAnnotations, "package.v1: shop", "package.v1: other", 1)
		b, err := Load(dir("metadata/annotations.json", someAnnotations, "metadata/more.yaml", second, "metadata/NOTES", "a: {",
			"manifests/csv.yaml", someCSV, "manifests/crd", someCRD, "manifests/README.md", "# Shop\n"))
		if err != nil {
			t.Fatal(err)
		}
		if b.Package != "shop" || b.AnnotationsFile != "metadata/annotations.json" || len(b.CRDs()) != 1 {
			t.Errorf("package %q from %s, %d CRDs", b.Package, b.AnnotationsFile, len(b.CRDs()))
		}
	})
	t.Run("links", func(t *testing.T) {
		root := t.TempDir()
		for name, text := range map[string]string{"annotations.yaml": someAnnotations, "manifests/csv.yaml": someCSV, "metadata/properties.yaml": "properties: []\n", "crd.yaml": someCRD} {
			file := filepath.Join(root, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		for name, to := range map[string]string{"metadata/annotations.yaml": "../annotations.yaml", "manifests/crd.yaml": "../crd.yaml", "manifests/gone.yaml": "nowhere", "tests": "metadata"} {
			if err := os.Symlink(filepath.FromSlash(to), filepath.Join(root, filepath.FromSlash(name))); err != nil {
				t.Skipf("no symbolic links here: %v", err)
			}
		}
		b, err := Load(os.DirFS(root))
		if err != nil {
			t.Fatal(err)
		}
		if b.Package != "shop" || len(b.CRDs()) != 1 {
			t.Errorf("package %q, %d CRDs", b.Package, len(b.CRDs()))
		}
	})
	t.Run("no package", func(t *testing.T) {
		files := dir(AnnotationsFile, strings.Replace(someAnnotations, "package.v1: shop", `package.v1: ""`, 1), "manifests/csv.yaml", someCSV)
		if _, problems, err := Read(files); err != nil || len(problems) > 0 {
			t.Errorf("Read: %v %v", problems, err)
		}
		if _, err := Load(files); err == nil || !strings.Contains(err.Error(), PackageKey+" is missing") {
			t.Errorf("Load: %v", err)
		}
	})
}
