package bundle

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
)

func TestExplain(t *testing.T) {
	in := input(t)
	in.Base, in.BaseName = withOwned(object{"name": "carts.shop.example.com", "version": "v1", "kind": "Cart", "displayName": "Trolley", "description": "Mine"}), "base.yaml"
	in.Described = map[string]string{"carts.shop.example.com/v1 Cart displayName": "the comment at types.go:1"}
	r := render(t, in)
	for field, want := range map[string][]string{
		"displayName":                    {"spec.displayName from base.yaml: Shop"},
		"spec.version":                   {"spec.version from --version: 0.1.0"},
		"metadata.annotations.createdAt": {"metadata.annotations.createdAt from generated: now: 2026-01-02T03:04:05Z"},
		"metadata.annotations[operators.operatorframework.io/builder]": {"metadata.annotations[operators.operatorframework.io/builder] from generated: mysdk"},
		"spec.install.spec.permissions[0].serviceAccountName":          {"spec.install.spec.permissions.0.serviceAccountName from generated: RoleBinding shop-system/shop-leader-election-rolebinding: shop-controller-manager"},
		"spec.replaces": {"spec.replaces from nowhere, it is not set; base.yaml may set it: "},
		"spec.customresourcedefinitions.owned.0.description": {"spec.customresourcedefinitions.owned.0.description from generated: the CRDs; descriptions from base.yaml: Mine"},
		"spec.customresourcedefinitions.owned.0": {
			"spec.customresourcedefinitions.owned.0 from generated: the CRDs; descriptions from base.yaml: \ndescription: Mine\ndisplayName: Trolley\nkind: Cart\nname: carts.shop.example.com\nversion: v1",
			"spec.customresourcedefinitions.owned.0.displayName from the comment at types.go:1: Trolley",
		},
	} {
		t.Run(field, func(t *testing.T) {
			list, err := r.Explain(field)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range list {
				got = append(got, e.Field+" from "+e.From+": "+e.Text())
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	for field, hint := range map[string]string{"spec.replces": "did you mean spec.replaces?", "zzz": "the fields of the spec are "} {
		if _, err := r.Explain(field); clierr.CodeOf(err) != clierr.CodeUsage || !strings.HasPrefix(clierr.HintOf(err), hint) {
			t.Errorf("%s: %v, hint %q", field, err, clierr.HintOf(err))
		}
	}
}

// FuzzExplain: a path is taken apart and put together again the same, and
// asking for any is answered.
func FuzzExplain(f *testing.F) {
	in := input(f)
	r, err := Render(in)
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"spec", "spec.install[0]", "metadata.annotations[a.b/c].d", "..", "[", "]", "a[b]c", "spec.install.spec.deployments.99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, field string) {
		// No key of an object has a closing bracket.
		if path := SplitField(field); !strings.Contains(strings.Join(path, ""), "]") && !slices.Equal(SplitField(join(path)), path) {
			t.Errorf("%q: %q", field, path)
		}
		if _, err := r.Explain(field); err != nil && clierr.HintOf(err) == "" {
			t.Errorf("%q: no hint: %v", field, err)
		}
	})
}

// TestDate: createdAt moves only together with something else.
func TestDate(t *testing.T) {
	old := render(t, input(t)).Files
	later := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		version string
		old     []File
		want    string
	}{
		"nothing before":   {"0.1.0", nil, "2027-01-01T00:00:00Z"},
		"the same":         {"0.1.0", old, "2026-01-02T03:04:05Z"},
		"another version":  {"0.2.0", old, "2027-01-01T00:00:00Z"},
		"a CRD is missing": {"0.1.0", old[1:], "2027-01-01T00:00:00Z"},
		"old is broken":    {"0.1.0", []File{{"manifests/shop.clusterserviceversion.yaml", []byte("{")}}, "2027-01-01T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t)
			in.Version = c.version
			r, err := Render(in)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Date("shop", c.old, later); err != nil {
				t.Fatal(err)
			}
			if got := textAt(r.csv.Object, "metadata", "annotations", CreatedAtKey); got != c.want {
				t.Errorf("createdAt %s", got)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Input)
		err    string
		hint   string
	}{
		"a number for version": {func(in *Input) {
			in.Version, in.Base = "", NewBase("shop", false)
			put(in.Base.Object, 1.0, "spec", "version")
		}, `"1" is not a semantic version`, "use a version such as 0.1.0"},
		"v before the version": {func(in *Input) { in.Version = "v0.1.0" }, `"v0.1.0" is not a semantic version`, "write it as 0.1.0"},
		"half a version":       {func(in *Input) { in.Version = "1.0" }, `"1.0" is not a semantic version`, "use a version such as 0.1.0"},
		"leading zero":         {func(in *Input) { in.Version = "01.0.0" }, "is not a semantic version", "use a version"},
		"build metadata":       {func(in *Input) { in.Version = "1.0.0+build" }, "no cluster accepts a ClusterServiceVersion named shop.v1.0.0+build", "write it as 1.0.0"},
		"upper case":           {func(in *Input) { in.Version = "1.0.0-RC.1" }, "no cluster accepts a ClusterServiceVersion named shop.v1.0.0-RC.1", "write it as 1.0.0-rc.1"},
		"package":              {func(in *Input) { in.Package = "Shop" }, `package "Shop" is not a DNS label`, "use lower-case"},
		"two that differ": {func(in *Input) {
			in.Objects = append(in.Objects, parse(t, "{apiVersion: v1, kind: Namespace, metadata: {name: shop-system, labels: {a: b}}}")...)
		}, "two different objects Namespace shop-system", "keep one"},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t)
			c.change(&in)
			_, err := Render(in)
			if err == nil || !strings.Contains(err.Error(), c.err) || !strings.HasPrefix(clierr.HintOf(err), c.hint) {
				t.Errorf("error %v, hint %q", err, clierr.HintOf(err))
			}
		})
	}
	in := input(t)
	in.Objects = append(in.Objects, in.Objects[0]) // twice the same is no matter
	in.Version, in.Base = "", NewBase("shop", false)
	in.Base.SetName("shop.v1.0.0") // and the name is not made from the version here
	put(in.Base.Object, "1.0.0+build", "spec", "version")
	if _, err := Render(in); err != nil {
		t.Error(err)
	}
}
