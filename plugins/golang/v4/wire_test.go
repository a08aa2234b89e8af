package v4

import (
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
)

// without removes the lines of text that contain part.
func without(text, part string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, part) {
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestMainWithoutAMarker(t *testing.T) {
	for marker, want := range map[string]string{
		"imports": `"example.com/shop/internal/controller"`,
		"scheme":  "utilruntime.Must(cachev1alpha1.AddToScheme(scheme))",
		"builder": "(&controller.MemcachedReconciler{",
	} {
		t.Run(marker, func(t *testing.T) {
			p := newTestProject(t)
			p.write(t, mainPath, without(p.files(t)[mainPath], markerPrefix+marker))
			_, err := p.createAPI(t, "--group=cache", "--kind=Memcached")
			refused(t, err, "cmd/main.go:")
			if err != nil && !strings.Contains(err.Error(), markerPrefix+marker) {
				t.Errorf("the error does not name the marker: %v", err)
			}
			if !strings.Contains(clierr.HintOf(err), want) {
				t.Errorf("the hint does not have the lines to add: %s", clierr.HintOf(err))
			}
		})
	}
}

// What was added by hand counts, and then no marker is needed.
func TestMainWiredByHand(t *testing.T) {
	wired := newTestProject(t)
	wired.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
	byHand := strings.ReplaceAll(without(wired.files(t)[mainPath], markerPrefix), "\t\tClient:   mgr", "\t\tClient: mgr")

	p := newTestProject(t)
	p.write(t, mainPath, byHand)
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
	if got := p.files(t)[mainPath]; strings.Count(got, "MemcachedReconciler") != 1 || strings.Count(got, "AddToScheme(scheme)") != 2 {
		t.Errorf("main.go is wired twice:\n%s", got)
	}
}

// Blocks that the user has edited are not wired a second time.
func TestMainWiredByHand_Webhooks(t *testing.T) {
	p := withAPI(t, 2)
	p.mustCreateWebhook(t, "--group=cache", "--version=v1", "--kind=Memcached", "--defaulting")
	p.mustCreateWebhook(t, "--group=cache", "--version=v1", "--kind=Memcached", "--conversion", "--migrate-storage")
	p.write(t, mainPath, strings.ReplaceAll(p.files(t)[mainPath], "setupLog.Error(err, ", "setupLog.Error(err, \"mine\", "))
	p.mustCreateWebhook(t, "--group=cache", "--version=v1", "--kind=Memcached", "--programmatic-validation")
	p.mustCreateWebhook(t, "--group=cache", "--version=v1", "--kind=Memcached", "--conversion", "--migrate-storage", "--force")
	for _, call := range []string{"webhookv1.SetupMemcachedWebhookWithManager(mgr)", "certs.SetupWithManager(mgr)", path.Base(MigrationPackage) + ".SetupWithManager(mgr)"} {
		if n := strings.Count(p.files(t)[mainPath], call); n != 1 {
			t.Errorf("%s is there %d times", call, n)
		}
	}
}

// The manager is a variable of the user's, who may have renamed it.
func TestMainWithAnotherManager(t *testing.T) {
	p := newTestProject(t)
	text := strings.ReplaceAll(p.files(t)[mainPath], "mgr", "operator")
	p.write(t, mainPath, strings.Replace(text, "func main() {\n", "func main() {\n\tcerts, err := pki.NewManager()\n", 1))
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
	p.mustCreateWebhook(t, "--group=cache", "--kind=Memcached", "--defaulting")
	got := p.files(t)[mainPath]
	for _, call := range []string{"operator.GetClient()", ".SetupWithManager(operator)", ".SetupMemcachedWebhookWithManager(operator)"} {
		if !strings.Contains(got, call) {
			t.Errorf("there is no %s in\n%s", call, got)
		}
	}
}

// Whatever came first, what webhooks share stands above all that needs it, and manifests
// of webhooks above their Service.
func TestMainInAnyOrder(t *testing.T) {
	first := newTestProject(t)
	first.mustCreateAPI(t, "--group=cache", "--kind=First")
	first.mustCreateAPI(t, "--group=cache", "--kind=Second")
	first.mustCreateWebhook(t, "--group=cache", "--kind=First", "--defaulting")
	first.mustCreateAPI(t, "--group=cache", "--version=v1", "--kind=First")
	first.mustCreateWebhook(t, "--group=cache", "--version=v1", "--kind=First", "--conversion", "--migrate-storage")

	second := newTestProject(t)
	second.mustCreateAPI(t, "--group=cache", "--kind=First")
	second.mustCreateAPI(t, "--group=cache", "--version=v1", "--kind=First")
	second.mustCreateWebhook(t, "--group=cache", "--version=v1", "--kind=First", "--conversion", "--migrate-storage")
	second.mustCreateAPI(t, "--group=cache", "--kind=Second")
	second.mustCreateWebhook(t, "--group=cache", "--kind=First", "--defaulting")
	for _, p := range []*project{first, second} {
		_, setup, _ := strings.Cut(p.files(t)[mainPath], "ctrl.NewManager")
		for _, later := range []string{"FirstReconciler", "SecondReconciler", "SetupFirstWebhookWithManager"} {
			if at := strings.Index(setup, later); at >= 0 && at < strings.Index(setup, "certs.SetupWithManager") {
				t.Errorf("the certificates stand below %s:\n%s", later, setup)
			}
		}
		if got := p.files(t)[webhooksPath]; got != "resources:\n- manifests.yaml\n- service.yaml\n" {
			t.Error(got)
		}
	}
}

func TestMainWithASyntaxError(t *testing.T) {
	p := newTestProject(t)
	p.write(t, mainPath, strings.Replace(p.files(t)[mainPath], "func main() {", "func main( {", 1))
	_, err := p.createAPI(t, "--group=cache", "--kind=Memcached")
	refused(t, err, "cmd/main.go:")
}

func TestMainMissing(t *testing.T) {
	p := newTestProject(t)
	if err := p.disk.FS.Remove(mainPath); err != nil {
		t.Fatal(err)
	}
	_, err := p.createAPI(t, "--group=cache", "--kind=Memcached")
	refused(t, err, "cmd/main.go is missing")
}

func TestNamesInMain(t *testing.T) {
	const api, controller = "example.com/shop/api/v1alpha1", "example.com/shop/internal/controller"
	for name, test := range map[string]struct {
		imports, code string
		want          []string
	}{
		"plain": {want: []string{
			`cachev1alpha1 "` + api + `"`, "\t\"" + controller + "\"\n", "cachev1alpha1.AddToScheme", "&controller.MemcachedReconciler{"}},
		"imported under another name": {imports: `mine "` + api + `"`, want: []string{"mine.AddToScheme"}},
		"imported for its init alone": {imports: `_ "` + api + `"`, want: []string{"cachev1alpha1.AddToScheme"}},
		"name taken": {imports: `"sigs.k8s.io/controller-runtime/pkg/controller"`, want: []string{
			`controllerpkg2 "` + controller + `"`, "&controllerpkg2.MemcachedReconciler{"}},
		"alias taken": {imports: `cachev1alpha1 "example.com/other"`, want: []string{
			`cachev1alpha1pkg2 "` + api + `"`, "cachev1alpha1pkg2.AddToScheme"}},
		"names of variables": {code: "\tcontroller, cachev1alpha1 := 1, 2\n\tsetupLog.Info(\"mine\", \"a\", controller, \"b\", cachev1alpha1)\n", want: []string{
			`controllerpkg2 "` + controller + `"`, "&controllerpkg2.MemcachedReconciler{", "cachev1alpha1pkg2.AddToScheme"}},
		"name of a type": {code: "\t_ = struct{ x int }{}.x\n\t_ = controller{}.y\n}\n\ntype controller struct{ y int }\n\nfunc more() {\n", want: []string{
			`controllerpkg2 "` + controller + `"`, "cachev1alpha1.AddToScheme"}},
		"names elsewhere": {code: "\tmore(settings{})\n\tlast()\n}\n\ntype settings struct{ controller string }\n\nfunc more(controller settings) { _ = controller }\n\nfunc last() {\n", want: []string{
			"\t\"" + controller + "\"\n", "&controller.MemcachedReconciler{", "cachev1alpha1.AddToScheme"}},
		"names where the marker is": {code: "\tlast(1)\n}\n\nfunc last(controller int) {\n", want: []string{
			`controllerpkg2 "` + controller + `"`, "&controllerpkg2.MemcachedReconciler{"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestProject(t)
			main := strings.Replace(p.files(t)[mainPath], "import (\n", "import (\n\t"+test.imports+"\n", 1)
			p.write(t, mainPath, strings.Replace(main, "func main() {\n", "func main() {\n"+test.code, 1))
			p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
			got := p.files(t)[mainPath]
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("main.go lacks %s", want)
				}
			}
		})
	}
}

func TestMainWithWindowsLines(t *testing.T) {
	p := newTestProject(t)
	p.write(t, mainPath, strings.ReplaceAll(p.files(t)[mainPath], "\n", "\r\n"))
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
	if got := p.files(t)[mainPath]; !strings.Contains(got, "cachev1alpha1.AddToScheme") || strings.Contains(got, "\r") {
		t.Error("main.go is not wired, or not in LF, from which its line ends are restored")
	}
}

func TestKustomizationsThatCannotBeEdited(t *testing.T) {
	for name, test := range map[string]struct {
		path   string
		damage func(string) string
		want   string
	}{
		"broken YAML":           {crdPath, func(s string) string { return s + "\nresources: [\n" }, crdPath + " is not valid"},
		"no marker":             {crdPath, func(s string) string { return without(s, "crdkustomizeresource") }, crdPath + ":"},
		"no marker, too":        {samplesPath, func(s string) string { return without(s, markerPrefix) }, samplesPath + ":"},
		"no resources":          {rbacPath, func(string) string { return "namePrefix: x\n" }, "found no place"},
		"resources in brackets": {rbacPath, func(string) string { return "resources: [a.yaml]\n" }, "found no place"},
		"not even a map":        {defaultPath, func(string) string { return "- a\n" }, defaultPath + " is not valid"},
		"a tab in a list":       {defaultPath, func(s string) string { return s + "\nx:\n\t- y\n" }, defaultPath + " is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestProject(t)
			p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
			p.write(t, test.path, test.damage(p.files(t)[test.path]))
			_, err := p.createAPI(t, "--group=cache", "--kind=Shelf")
			refused(t, err, test.want)
		})
	}
}

func TestMissingKustomizationIsANote(t *testing.T) {
	p := newTestProject(t)
	for _, name := range []string{rbacPath, defaultPath, networkPath, manifestsPath} {
		if err := p.disk.FS.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	api := p.mustCreateAPI(t, "--group=cache", "--kind=Memcached").Notes()
	webhook := p.mustCreateWebhook(t, "--group=cache", "--kind=Memcached", "--defaulting").Notes()
	for _, notes := range [][]string{api, webhook} {
		all := strings.Join(notes, "\n")
		if !strings.Contains(all, rbacPath) || !strings.Contains(all, defaultPath) || strings.Count(all, "does not exist") != 2 {
			t.Errorf("the notes are %q", notes)
		}
	}
}

func TestEditsOfKustomizations(t *testing.T) {
	for name, test := range map[string]struct {
		edit       func(text string) (string, error)
		text, want string
	}{
		"above a marker": {
			edit: func(s string) (string, error) { return insertAtMarker("k", s, "here", "new") },
			text: "resources:\n- old\n#+kubebuilder:scaffold:here\n", want: "resources:\n- old\n- new\n#+kubebuilder:scaffold:here\n"},
		"above an indented marker": {
			edit: func(s string) (string, error) { return insertAtMarker("k", s, "here", "new") },
			text: "resources:\n  - old\n  # +kubebuilder:scaffold:here\n", want: "resources:\n  - old\n  - new\n  # +kubebuilder:scaffold:here\n"},
		"there with a comment": {
			edit: func(s string) (string, error) { return insertAtMarker("k", s, "here", "new") },
			text: "resources:\n- new # mine\n", want: "resources:\n- new # mine\n"},
		"at the end of the list": {
			edit: func(s string) (string, error) { return appendResources("k", s, "b.yaml") },
			text: "resources:\n- a.yaml\n# end\n\npatches:\n- path: p\n", want: "resources:\n- a.yaml\n- b.yaml\n# end\n\npatches:\n- path: p\n"},
		"at the end of an indented list": {
			edit: func(s string) (string, error) { return appendResources("k", s, "b.yaml") },
			text: "resources:\n  - a.yaml\n", want: "resources:\n  - a.yaml\n  - b.yaml\n"},
		"into an empty list": {
			edit: func(s string) (string, error) { return appendResources("k", s, "b.yaml") },
			text: "resources:\n", want: "resources:\n- b.yaml\n"},
		"into an empty list in brackets": {
			edit: func(s string) (string, error) { return appendResources("k", s, "b.yaml", "c.yaml") },
			text: "resources: []\n", want: "resources:\n- b.yaml\n- c.yaml\n"},
		"at the start of the list": {
			edit: func(s string) (string, error) { return prependItem("k", s, "resources", "a.yaml") },
			text: "patches:\n- path: p\nresources:\n# mine\n  - b.yaml\n", want: "patches:\n- path: p\nresources:\n  - a.yaml\n# mine\n  - b.yaml\n"},
		"at the start of an empty list in brackets": {
			edit: func(s string) (string, error) { return prependItem("k", s, "resources", "a.yaml") },
			text: "resources: []\n", want: "resources:\n- a.yaml\n"},
		"out of a comment, indented": {
			edit: func(s string) (string, error) { return uncommentResource("k", s, "../crd") },
			text: "resources:\n#- ../crd\n  - ../rbac\n", want: "resources:\n  - ../crd\n  - ../rbac\n"},
		"out of a comment elsewhere": {
			edit: func(s string) (string, error) { return uncommentResource("k", s, "../crd") },
			text: "resources:\n- ../rbac\npatches:\n#- ../crd\n", want: "resources:\n- ../rbac\n- ../crd\npatches:\n#- ../crd\n"},
		"out of a comment": {
			edit: func(s string) (string, error) { return uncommentResource("k", s, "../crd") },
			text: "resources:\n# - ../crd\n- ../rbac\n", want: "resources:\n- ../crd\n- ../rbac\n"},
		"into bases, which older scaffolds have": {
			edit: func(s string) (string, error) { return uncommentResource("k", s, "../webhook") },
			text: "bases:\n  - ../crd\n# - ../webhook\n  - metrics.yaml\n", want: "bases:\n  - ../crd\n  - ../webhook\n  - metrics.yaml\n"},
		"beside bases": {
			edit: func(s string) (string, error) { return appendResources("k", s, "../crd", "b.yaml") },
			text: "bases:\n- ../crd\nresources:\n- a.yaml\n", want: "bases:\n- ../crd\nresources:\n- a.yaml\n- b.yaml\n"},
		"without a comment": {
			edit: func(s string) (string, error) { return uncommentResource("k", s, "../crd") },
			text: "resources:\n- ../rbac\n", want: "resources:\n- ../rbac\n- ../crd\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := test.edit(test.text)
			if err != nil || got != test.want {
				t.Errorf("got %q, %v\nwant %q", got, err, test.want)
			}
			if again, err := test.edit(got); err != nil || again != got {
				t.Errorf("the second time: %q, %v", again, err)
			}
		})
	}
}

// The patch of a namespaced project goes into the list as the user has it.
func TestPatchOfNamespacedWebhooks(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"indented":             {"resources:\n  - service.yaml\npatches:\n  - path: mine.yaml\n    target:\n      kind: X\n", "resources:\n  - manifests.yaml\n  - service.yaml\npatches:\n  - path: namespaces_patch.yaml\n  - path: mine.yaml\n    target:\n      kind: X\n"},
		"above the resources":  {"patches:\n- path: mine.yaml\nresources:\n  - service.yaml\n", "patches:\n- path: namespaces_patch.yaml\n- path: mine.yaml\nresources:\n  - manifests.yaml\n  - service.yaml\n"},
		"empty, in brackets":   {"resources: []\npatches: [] # none\n", "resources:\n- manifests.yaml\npatches: # none\n- path: namespaces_patch.yaml\n"},
		"with a comment":       {"resources:\n- manifests.yaml\npatches: # mine\n# more\n  - path: mine.yaml\n", "resources:\n- manifests.yaml\npatches: # mine\n  - path: namespaces_patch.yaml\n# more\n  - path: mine.yaml\n"},
		"there in quotes":      {"resources:\n- manifests.yaml\npatches:\n- path: \"namespaces_patch.yaml\"\n", "resources:\n- manifests.yaml\npatches:\n- path: \"namespaces_patch.yaml\"\n"},
		"no list":              {"resources:\n- manifests.yaml\n", "resources:\n- manifests.yaml\n\npatches:\n- path: namespaces_patch.yaml\n"},
		"items in brackets":    {"resources:\n- manifests.yaml\npatches: [{path: mine.yaml}]\n", ""},
		"a key of nothing yet": {"resources:\n- manifests.yaml\npatches:\nnamePrefix: x\n", "resources:\n- manifests.yaml\npatches:\n- path: namespaces_patch.yaml\nnamePrefix: x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestProject(t, "--namespaced")
			p.mustCreateAPI(t, strings.Fields(memcached)...)
			p.write(t, webhooksPath, test.text)
			if test.want == "" {
				_, err := p.createWebhook(t, strings.Fields(memcached+" --defaulting")...)
				refused(t, err, webhooksPath+":3: found no place for new patches")
				return
			}
			p.mustCreateWebhook(t, strings.Fields(memcached+" --defaulting")...)
			if diff := cmp.Diff(test.want, p.files(t)[webhooksPath]); diff != "" {
				t.Error(diff)
			}
		})
	}
}
