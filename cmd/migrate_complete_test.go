package cmd_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host/hosttest"
)

// writeWithLibrary writes the project of operator-sdk v0.19 with a module that
// lies beside it, and one inside.
func writeWithLibrary(t *testing.T) *hosttest.World {
	t.Helper()
	w := hosttest.New(t)
	root := w.Dir
	w.Dir = filepath.Join(root, "work", "memcached-operator")
	writeOldProject(t, w.Dir)
	write := func(name, text string) {
		t.Helper()
		to := filepath.Join(root, "work", name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.Env["GOPRIVATE"], w.Env["GIT_ALLOW_PROTOCOL"] = "example.invalid", "none" // asked for nowhere
	write("lib/go.mod", "module example.com/lib\n\ngo 1.13\n\nrequire example.invalid/gone v1.0.0\n")
	write("lib/lib.go", "package lib\n\n// Size is one.\nconst Size = 1\n")
	write("memcached-operator/third/go.mod", "module example.com/third\n\ngo 1.13\n")
	write("memcached-operator/third/third.go", "package third\n\n// Size is three.\nconst Size = 3\n")
	write("memcached-operator/pkg/sizes/sizes.go", "package sizes\n\nimport (\n\t\"example.com/lib\"\n\t\"example.com/third\"\n)\n\n// Sum is four.\nconst Sum = lib.Size + third.Size\n")
	write("memcached-operator/pkg/sizes/rules.go", "package sizes\n\n// F has a rule for what is not in the group.\n// +kubebuilder:rbac:groups=apps,resources=pods,verbs=get\nconst F = 1\n")
	name := filepath.Join(w.Dir, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, "\nrequire (\n\texample.com/lib v0.0.0\n\texample.com/third v0.0.0\n)\n\nreplace (\n\texample.com/lib => ../lib\n\texample.com/third => ./third\n)\n"...)
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// expectGoMod looks for lines in a go.mod.
func expectGoMod(t *testing.T, w *hosttest.World, name string, want ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range want {
		if !strings.Contains(string(text), line+"\n") {
			t.Errorf("%s has no %q\n%s", name, line, w.Err)
		}
	}
}

// TestMigrateElsewhere holds that modules beside the project are found from
// the directory that the result is written to.
func TestMigrateElsewhere(t *testing.T) {
	w := writeWithLibrary(t)
	for _, output := range []string{"../../far/away/new", "../new"} {
		if code := root.Main(t.Context(), w.Host, []string{"migrate", "--offline", "--output-dir", output}); code != 0 {
			t.Fatalf("exit code %d\n%s", code, w.Err)
		}
	}
	expectGoMod(t, w, "../../far/away/new/go.mod", "\texample.com/lib v0.0.0", "\texample.com/lib => ../../../work/lib", "\texample.com/third => ./third")
	expectGoMod(t, w, "../new/go.mod", "\texample.com/lib => ../lib", "\texample.com/third => ./third")
}

// TestMigrateTidies holds that modules beside the project are found while its
// copy is tidied, that a version which one of them requires and nobody has is
// excluded, and that what the generators warn of is said.
func TestMigrateTidies(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("loads the project's modules")
	}
	w := writeWithLibrary(t)
	if code := root.Main(t.Context(), w.Host, []string{"migrate", "--output-dir", "../../far/new"}); code != 0 {
		t.Fatalf("exit code %d\n%s", code, w.Err)
	}
	expectGoMod(t, w, "../../far/new/go.mod", "\texample.com/lib v0.0.0", "\texample.com/lib => ../../work/lib", "\texample.com/third v0.0.0", "\texample.com/third => ./third", "exclude example.invalid/gone v1.0.0")
	expectGoMod(t, w, "../../far/new/MIGRATION.md", "- CRDs were not compared with the old ones, because mysdk-cluster is not built yet: run 'mysdk cluster start', then 'mysdk generate --check-compat=DIR' with a directory of the old ones")
	if said := w.Err.String(); !strings.Contains(said, "pkg/sizes/rules.go:4:4: ") || strings.Contains(said, "no module has") {
		t.Errorf("it said:\n%s", said)
	}
	if code := root.Main(t.Context(), w.Host, []string{"migrate", "--apply", "--force"}); code != 0 {
		t.Fatalf("exit code %d\n%s", code, w.Err)
	}
	expectGoMod(t, w, "go.mod", "\texample.com/lib v0.0.0", "\texample.com/lib => ../lib")
	run(t, w, "go", "build", "./...")
}

// strictCRD is the CRD of the old project as somebody wrote it by hand.
const strictCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: memcacheds.cache.example.com}
spec:
  group: cache.example.com
  names: {kind: Memcached, listKind: MemcachedList, plural: memcacheds, singular: memcached}
  scope: Namespaced
  versions:
  - name: v1alpha0
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - name: v1alpha1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, format: int32, minimum: 0, nullable: true}
              zone: {type: string}
`

// TestMigrateBroken holds that a controller that does not compile leaves nobody
// without what is generated from the types, that each of the compiler's errors
// is on the page but those that have one remedy, and that the exit code tells.
func TestMigrateBroken(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles the project")
	}
	w := bundleWorld(t)
	writeOldProject(t, w.Dir)
	w.Env["GOPRIVATE"], w.Env["GIT_ALLOW_PROTOCOL"] = "example.invalid", "none" // asked for nowhere
	name := filepath.Join(w.Dir, "pkg/controller/memcached/gone.go")
	if err := os.WriteFile(name, []byte("package memcached\n\nimport \"example.invalid/gone\"\n\n// Box is of a module that is not there.\ntype Box struct{ gone.Box }\n\n// +kubebuilder:rbac:groups=apps,resource=pods,verbs=get\n\nvar n = missing(1)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(w.Dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.Dir, "go.mod"), append(mod, "\nrequire example.invalid/gone v1.0.0\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	claim := "package memcached\n\nimport v1 \"k8s.io/api/core/v1\"\n\nfunc resize(c *v1.PersistentVolumeClaim) {\n\tc = c.DeepCopy()\n\tc.Spec.Resources = v1.%sRequirements{}\n}\n"
	const stays = "pkg/store/claim.go" // where it is, and is as it was until the compiler has read it
	for to, text := range map[string]string{
		"pkg/controller/memcached/claim.go": fmt.Sprintf(claim, "Resource"), stays: strings.Replace(fmt.Sprintf(claim, "Resource"), "memcached", "store", 1),
		"deploy/crds/cache.example.com_memcacheds_crd.yaml": strictCRD,
		"deploy/users.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: metrics-reader, labels: {rbac.authorization.k8s.io/aggregate-to-view: \"true\"}}\n",
	} {
		to = filepath.Join(w.Dir, to)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if code := root.Main(t.Context(), w.Host, []string{"migrate", "--apply", "--force"}); code != clierr.CodeOutOfDate {
		t.Errorf("exit code %d\n%s", code, w.Err)
	}
	expectGoMod(t, w, "internal/controller/memcached/claim.go", "\tc.Spec.Resources = v1.VolumeResourceRequirements{}")
	expectGoMod(t, w, stays, "\tc.Spec.Resources = v1.VolumeResourceRequirements{}")
	expectGoMod(t, w, "api/v1alpha1/memcached_types.go", "\t// +kubebuilder:validation:Minimum=0\n\t// +nullable\n\t// +optional\n\tSize int32 `json:\"size\"`")
	expectGoMod(t, w, "go.mod", "\texample.invalid/gone v1.0.0")
	expectGoMod(t, w, "MIGRATION.md", "- [ ] `go.mod`: cannot read example.invalid/gone@v1.0.0 (required by go.mod): set GOPRIVATE if the module is private, or require another version of it", "- Fields in api/v1alpha1/memcached_types.go are marked +optional or +nullable, as they were in the CRD.",
		"- [ ] `api/v1alpha1/memcached_types.go:12:6`: memcacheds.cache.example.com v1alpha1: spec.zone: the field is removed: values in it would be lost: keep it, with 'Deprecated:' in its comment, or leave it out of a new version of the API",
		"- [ ] `api/v1alpha1/memcached_types.go:36:6`: memcacheds.cache.example.com v1alpha0: the version is no longer served: serve it for another release, marked +kubebuilder:deprecatedversion, so that clients can move",
		"- [ ] `internal/controller/memcached/gone.go:3:8`: no module in go.mod has the package example.invalid/gone", "- [ ] `internal/controller/memcached/gone.go:10:9`: undefined: missing")
	for _, name := range []string{"api/v1alpha1/zz_generated.deepcopy.go", "config/crd/bases/cache.example.com_memcacheds.yaml", "config/rbac/role.yaml"} {
		if _, err := os.Stat(filepath.Join(w.Dir, name)); err != nil {
			t.Errorf("%v\n%s", err, w.Err)
		}
	}
	if said := w.Err.String(); !strings.Contains(said, "does not build: config/default: accumulating resources: ") || !strings.Contains(said, "not everything was generated: ") || !strings.Contains(said, "does not build: internal/controller/memcached/gone.go:10:9: undefined: missing") || strings.Contains(said, "does not build: api/") || !strings.Contains(said, "go vet ./... && mysdk build-installer'") {
		t.Errorf("it said:\n%s", said)
	}
	// Files that come later are corrected, too, whatever is wrong with others.
	const later = "internal/controller/later.go"
	if err := os.WriteFile(filepath.Join(w.Dir, later), fmt.Appendf(nil, strings.Replace(strings.Replace(claim, "memcached", "controller", 1), "resize", "resizeLater", 1), "Resource"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := root.Main(t.Context(), w.Host, []string{"migrate", "--file", later}); code != 0 {
		t.Errorf("--file: exit code %d\n%s", code, w.Err)
	}
	expectGoMod(t, w, later, "\tc.Spec.Resources = v1.VolumeResourceRequirements{}")
}
