package v4

import (
	"testing"
)

// What is accepted gives Go and YAML that parse, inside of the project; what
// is refused writes nothing, which createAPI checks.
func FuzzNames(f *testing.F) {
	f.Add("cache", "v1alpha1", "Memcached", "", "", "memcached", false, true, "deployment")
	f.Add("func", "v1", "Type", "types", "", "", true, true, "deployment")
	f.Add("cache.x-y", "v2beta3", "M", "ms", "m-backup", "a/b:c@sha256:0", true, false, "blank")
	f.Add("internal", "v1", "Status", "status", "", "", false, true, "blank")
	f.Add("", "v1", "PriceList", "", "", "", true, false, "deployment")
	f.Add("9cache", "v1", "MEMCACHED", "", "suite", "", true, true, "deployment")
	f.Add("apps", "v1", "Deployment", "", "", "", true, true, "watch")
	f.Fuzz(func(t *testing.T, group, version, kind, plural, controller, image string, multi, namespaced bool, pattern string) {
		var flags []string
		if multi {
			flags = append(flags, "--multigroup")
		}
		p := newTestProject(t, flags...)
		args := []string{"--group=" + group, "--version=" + version, "--kind=" + kind, "--plural=" + plural, "--controller-name=" + controller}
		switch {
		case pattern == "watch":
			args = append(args, "--resource=false")
		case !namespaced:
			args = append(args, "--namespaced=false", "--pattern="+pattern)
		default:
			args = append(args, "--pattern="+pattern, "--image="+image)
		}
		if _, err := p.createAPI(t, args...); err == nil {
			p.checkFiles(t)
		}
	})
}

// Whatever main.go holds, the edit gives Go that parses, and giving it twice
// is giving it once.
func FuzzWireMain(f *testing.F) {
	p := newTestProject(f)
	f.Add(p.files(f)[mainPath])
	f.Add("package main\n\nimport (\n\t// +kubebuilder:scaffold:imports\n)\n\nfunc init() {\n\t// +kubebuilder:scaffold:scheme\n}\n\nfunc main() {\n\t//+kubebuilder:scaffold:builder\n}\n")
	f.Add("package main; import `a`")
	w := mainWiring{
		repo: "example.com/shop", apiPath: "example.com/shop/api/v1", apiAlias: "cachev1",
		controllerPath: "example.com/shop/internal/controller", controllerAlias: "controller", reconciler: "MReconciler", controllerName: "m",
		certsPath: "example.com/shop/internal/certs", migrationPath: "example.com/shop/internal/storageversion",
	}
	f.Fuzz(func(t *testing.T, text string) {
		once, err := wireMain(text, w)
		if err != nil {
			return
		}
		twice, err := wireMain(once, w)
		if err != nil || twice != once {
			t.Errorf("the second time: %v\n%s\n--- was\n%s", err, twice, once)
		}
	})
}

// Whatever a kustomization holds, an edit gives YAML that parses.
func FuzzKustomization(f *testing.F) {
	f.Add("resources:\n- a\n# +kubebuilder:scaffold:x\n")
	f.Add("resources:\n  - a\n#- ../crd\npatches: []\n")
	f.Add("resources: []\n")
	f.Add("a: |\n  resources:\n  # +kubebuilder:scaffold:x\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, edit := range []func(string) (string, error){
			func(s string) (string, error) { return insertAtMarker("k", s, "x", "new") },
			func(s string) (string, error) { return appendResources("k", s, "new") },
			func(s string) (string, error) { return prependItem("k", s, "resources", "new") },
			func(s string) (string, error) { return prependItem("k", s, "patches", "path: new") },
			func(s string) (string, error) { return uncommentResource("k", s, "../crd") },
		} {
			got, err := edit(text)
			if err != nil {
				continue
			}
			if _, err := resources("k", got); err != nil {
				t.Errorf("%q became %q: %v", text, got, err)
			}
			if again, err := edit(got); err != nil || again != got {
				t.Errorf("%q became %q and then %q, %v", text, got, again, err)
			}
		}
	})
}
