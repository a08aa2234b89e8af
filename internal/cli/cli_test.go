package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/kube"
)

func TestAim(t *testing.T) {
	var here host.Host
	aim := func(text string, args ...string) string {
		c := &cobra.Command{}
		(&Target{}).Bind(c.Flags())
		if err := c.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		f := &Factory{Running: c, Host: here, Given: map[string]bool{}}
		c.Flags().Visit(func(flag *pflag.Flag) { f.Given[flag.Name] = true })
		return f.Aim(text)
	}
	const both = "see 'mysdk kubectl --context dev get pods', then mysdk cleanup shop"
	for _, tc := range []struct {
		text, want string
		args       []string
	}{
		{"delete it: mysdk kubectl delete csv -n a b", "delete it: mysdk kubectl --context 'my dev' delete csv -n a b", []string{"--context", "my dev"}},
		{"see 'mysdk olm status', or 'mysdk olm'", "see 'mysdk olm status --context dev', or 'mysdk olm'", []string{"--context", "dev"}},
		{"mysdk generate, then mysdk deploy", "mysdk generate, then mysdk deploy --cluster test", []string{"--cluster", "test"}},
		{"mysdk kubectl --cluster test get pods", "mysdk kubectl --cluster test get pods", []string{"--context", "mysdk-test"}},
		{"mysdk why shop/a -n b", "mysdk why --cluster test shop/a -n b", []string{"--cluster", "test"}},
		{"mysdk deploy", "mysdk deploy --context dev", []string{"--context", "dev", "--cluster", "test"}},
		{both, "see 'mysdk kubectl --context dev get pods', then mysdk cleanup --context dev shop", []string{"--context", "dev"}},
		{both, "see 'mysdk kubectl --context dev --kubeconfig f get pods', then mysdk cleanup --kubeconfig f --context dev shop", []string{"--context", "dev", "--kubeconfig", "f"}},
		{both, both, nil},
		{both, both, []string{"--context", "", "--kubeconfig", "", "--cluster", ""}},
		{"mysdk deploy", "mysdk deploy --cluster test", []string{"--context", "", "--cluster", "test"}},
		{"mysdk deploy", "mysdk deploy --context dev", []string{"--context", "dev", "--kubeconfig="}},
	} {
		got := aim(tc.text, tc.args...)
		if got != tc.want {
			t.Errorf("Aim(%q) with %q = %q, want %q", tc.text, tc.args, got, tc.want)
		}
		if again := aim(got, tc.args...); again != got {
			t.Errorf("a second Aim(%q) with %q = %q", got, tc.args, again)
		}
	}
	here.Dir = t.TempDir()
	if got, want := aim("mysdk deploy", "--kubeconfig", "f"), "mysdk deploy --kubeconfig "+host.ShellQuote(filepath.Join(here.Dir, "f")); got != want {
		t.Errorf("Aim() in %s = %q, want %q", here.Dir, got, want)
	}
}

func TestInstallable(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "v1.2.3", "(devel)": "(devel)", "v0.0.0-20260102030405-0123456789ab": "v0.0.0-20260102030405-0123456789ab",
		"v0.0.0-20260102030405-0123456789ab+dirty": "(devel)",
	} {
		if got := installable(version); got != want {
			t.Errorf("installable(%q) = %q, want %q", version, got, want)
		}
	}
}

func TestMinorVersion(t *testing.T) {
	all := MinorVersions()
	if len(all) != 4 || !strings.HasPrefix(ThisBuild().Kubernetes, "v"+all[0]+".") {
		t.Fatalf("MinorVersions() = %v of Kubernetes %s", all, ThisBuild().Kubernetes)
	}
	for given, want := range map[string]string{all[0]: all[0], "v" + all[3]: all[3], all[3] + ".1": "", "1": "", "": ""} {
		if got, err := MinorVersion(given); got != want || (err == nil) != (want != "") {
			t.Errorf("MinorVersion(%q) = %q, %v, want %q", given, got, err, want)
		}
	}
}

// TestInRepository: what code hosts are told of files counts from the root of the
// repository.
func TestInRepository(t *testing.T) {
	w := hosttest.New(t)
	f := &Factory{Host: w.Host}
	f.Host.Dir = w.Path("operators/shop")
	check := func(want map[string]string) {
		t.Helper()
		for name, in := range want {
			if got := f.InRepository(name); got != in {
				t.Errorf("%q is %q, want %q", name, got, in)
			}
		}
	}
	check(map[string]string{"": "", "api/a.go": "api/a.go"})
	if err := os.WriteFile(w.Path(".git"), nil, 0o600); err != nil { // as in a worktree
		t.Fatal(err)
	}
	check(map[string]string{
		"": "", ".": "operators/shop", "api/a.go": "operators/shop/api/a.go", "../bundle": "operators/bundle",
		w.Path("bundle"): "bundle", "../../../elsewhere": "../../../elsewhere",
	})
}

func TestWrote(t *testing.T) {
	for want, names := range map[string][]string{"Wrote 1 file, removed 0\n": {"a"}, "Wrote 2 files, removed 1\n": {"a", "b", "gone"}} {
		w := hosttest.New(t)
		var set fileset.Set
		for _, name := range names {
			if err := set.Put(name, fileset.File{Removed: name == "gone"}); err != nil {
				t.Fatal(err)
			}
		}
		(&Factory{Host: w.Host}).Wrote(set)
		if d := cmp.Diff(want, w.Err.String()); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}

// TestPlaced: an image that no container has got is refused.
func TestPlaced(t *testing.T) {
	objects, err := kube.ParseManifests([]byte("apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: []}\n---\n"+
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: {containers: [{name: proxy, image: p}, {name: manager, image: 'a.example.com:5000/x:v1'}]}}}\n"), "d")
	if err != nil {
		t.Fatal(err)
	}
	for image, want := range map[string]bool{"": true, "a.example.com:5000/x:v1": true, "a.example.com:5000/x": true, "p": true, "a.example.com:5000/x:v2": false, "controller": false} {
		if err := Placed(image, DeployDir, objects); (err == nil) != want {
			t.Errorf("%q: %v", image, err)
		}
	}
}

// TestUnboundRoles: of the roles that nobody has, only those of markers are meant for
// the operator.
func TestUnboundRoles(t *testing.T) {
	const (
		head    = "apiVersion: rbac.authorization.k8s.io/v1\nkind: "
		account = "\nsubjects: [{kind: ServiceAccount, name: m, namespace: sys}]\n---\n"
		wide    = head + "ClusterRole\nmetadata: {name: shop-manager-role}\n---\n"
		role    = head + "Role\nmetadata: {name: shop-manager-role, namespace: sys}\n---\n"
		far     = head + "Role\nmetadata: {name: shop-manager-role, namespace: far}\n---\n"
		viewer  = head + "ClusterRole\nmetadata: {name: shop-viewer-role}\n---\n"
		all     = head + "ClusterRoleBinding\nmetadata: {name: m}\nroleRef: {kind: ClusterRole, name: shop-manager-role}" + account
		here    = head + "RoleBinding\nmetadata: {name: m, namespace: sys}\nroleRef: {kind: Role, name: shop-manager-role}" + account
		nowhere = head + "RoleBinding\nmetadata: {name: m}\nroleRef: {kind: Role, name: shop-manager-role}" + account
	)
	for name, tc := range map[string]struct {
		objects string
		want    []string
	}{
		"bound":                        {wide + viewer + all, nil},
		"a Role beside":                {wide + role + viewer + all, []string{"Role sys/shop-manager-role"}},
		"a Role elsewhere":             {role + far + here, []string{"Role far/shop-manager-role"}},
		"bound without a namespace":    {role + nowhere, nil},
		"a ClusterRole beside":         {role + wide + here, []string{"ClusterRole shop-manager-role"}},
		"both bound":                   {role + wide + here + all, nil},
		"with bindings somewhere else": {wide + role + viewer, nil},
	} {
		objs, err := kube.ParseManifests([]byte(tc.objects+"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: sys}\nspec: {template: {spec: {serviceAccountName: m}}}\n"), "d")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, u := range UnboundRoles(objs) {
			got = append(got, kube.RefOf(u).String())
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
