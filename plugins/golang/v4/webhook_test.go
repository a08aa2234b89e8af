package v4

import (
	"fmt"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

const (
	memcached   = "--group=cache --kind=Memcached"
	memcachedV1 = "--group=cache --version=v1 --kind=Memcached"
	webhookFile = "internal/webhook/v1alpha1/memcached_webhook.go"
)

// withAPI is a project with the kind Memcached in one version, or in two.
func withAPI(t testing.TB, versions int) *project {
	t.Helper()
	p := newTestProject(t)
	for _, args := range []string{memcached, memcachedV1}[:versions] {
		p.mustCreateAPI(t, strings.Fields(args)...)
	}
	return p
}

func TestWebhookFlagsThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		args string
		want string
	}{
		"nothing":               {memcached, "no webhook is asked for"},
		"not there":             {"--group=cache --kind=Redis --defaulting", "is not in this project"},
		"another version":       {"--group=cache --version=v2 --kind=Memcached --defaulting", "is not in this project"},
		"bad kind":              {"--group=cache --kind=memcached --defaulting", `kind "memcached"`},
		"another plural":        {memcached + " --defaulting --plural=mems", "the plural of Memcached is memcacheds"},
		"spoke alone":           {memcached + " --defaulting --spoke=v1", "no conversion is asked for"},
		"spoke is the hub":      {memcached + " --conversion --spoke=v1alpha1", "is the hub itself"},
		"spoke is not there":    {memcached + " --conversion --spoke=v3", `no version "v3"`},
		"path of nothing":       {memcached + " --validation-path=/x --defaulting", "not asked for"},
		"path of nothing too":   {memcached + " --defaulting-path=/x --programmatic-validation", "not asked for"},
		"path without a slash":  {memcached + " --defaulting --defaulting-path=x", "is not a URL path"},
		"path with a comma":     {memcached + " --defaulting --defaulting-path=/x,y", "is not a URL path"},
		"path upwards":          {memcached + " --defaulting --defaulting-path=/a/../b", "is not a URL path"},
		"path of conversions":   {memcached + " --defaulting --defaulting-path=/convert", "is not a URL path"},
		"one path for both":     {memcached + " --defaulting --programmatic-validation --defaulting-path=/x --validation-path=/x", "both webhooks"},
		"certs":                 {memcached + " --defaulting --certs=openssl", `certs "openssl"`},
		"external without path": {"--group=x --kind=Y --defaulting --external-api-domain=io", "Go package of the external API"},
		"conversion of a Pod":   {"--group=core --version=v1 --kind=Pod --conversion", "is not this project's"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := withAPI(t, 2).createWebhook(t, strings.Fields(test.args)...)
			refused(t, err, test.want)
		})
	}
}

func TestWebhookOfEveryShape(t *testing.T) {
	const both = " --defaulting --programmatic-validation"
	external := "--group=cert-manager --version=v1 --kind=Issuer --external-api-domain=io " +
		"--external-api-path=github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	for name, test := range map[string]struct {
		init []string
		apis []string
		args string
		want map[string][]string // file -> parts of it
	}{
		"defaulting": {
			apis: []string{memcached}, args: memcached + " --defaulting",
			want: map[string][]string{
				webhookFile: {"WithDefaulter(&MemcachedDefaulter{}).", "mutating=true,failurePolicy=fail", "name=mmemcached-v1alpha1.kb.io", "obj.Spec.Size = 1"},
				mainPath:    {`webhookv1alpha1 "example.com/shop/internal/webhook/v1alpha1"`, "certs.SetupWithManager(mgr)", `os.Getenv("ENABLE_WEBHOOKS") != "false"`},
				defaultPath: {"\n- ../webhook\n", "\n- path: manager_webhook_patch.yaml\n", "\n#- ../certmanager\n"},
				targetsPath: {`"shop-mutating-webhook-configuration"},`},
			},
		},
		"cert-manager": {
			apis: []string{memcached}, args: memcached + both + " --certs=cert-manager",
			want: map[string][]string{
				defaultPath: {"\n- ../webhook\n", "\n- ../certmanager\n", "\nreplacements:\n# - source: # Uncomment the following block to enable certificates for metrics", "\n     - select:\n         kind: MutatingWebhookConfiguration"},
				"config/default/manager_webhook_patch.yaml": {"secretName: webhook-server-cert"},
			},
		},
		"OLM": {
			apis: []string{memcached}, args: memcached + both + " --certs=olm",
			want: map[string][]string{"config/default/manager_webhook_patch.yaml": {"--webhook-port=9443"}, "config/webhook/service.yaml": {"name: webhook-service"}},
		},
		"paths": {
			apis: []string{memcached}, args: memcached + both + " --defaulting-path=/a --validation-path=/b",
			want: map[string][]string{webhookFile: {`WithDefaulterCustomPath("/a").`, `WithValidatorCustomPath("/b").`, "webhook:path=/a,", "webhook:path=/b,"}},
		},
		"blank": {
			apis: []string{memcached + " --pattern=blank"}, args: memcached + both,
			want: map[string][]string{webhookFile: {"return nil // nothing yet"}},
		},
		"core group": {
			args: "--group=core --version=v1 --kind=Pod" + both,
			want: map[string][]string{"internal/webhook/v1/pod_webhook.go": {"path=/mutate--v1-pod,", `groups="",`, "failurePolicy=ignore", `corev1 "k8s.io/api/core/v1"`}},
		},
		"external": {
			args: external + " --programmatic-validation",
			want: map[string][]string{
				"internal/webhook/v1/issuer_webhook.go": {"groups=cert-manager.io,", "path=/validate-cert-manager-io-v1-issuer,"},
				mainPath:                                {"utilruntime.Must(certmanagerv1.AddToScheme(scheme))"},
			},
		},
		"by group": {
			init: []string{"--multigroup"}, apis: []string{"--group=ship --kind=Memcached", memcached}, args: memcached + both,
			want: map[string][]string{
				"internal/webhook/cache/v1alpha1/memcached_webhook.go":      {"name=mmemcached-v1alpha1.cache.example.com.kb.io"},
				"internal/webhook/cache/v1alpha1/webhook_suite_test.go":     {`root = "../../../.."`},
				"internal/webhook/cache/v1alpha1/memcached_webhook_test.go": {"cache_v1alpha1_memcached.yaml"},
				mainPath: {"webhookcachev1alpha1.SetupMemcachedWebhookWithManager(mgr)"},
			},
		},
		"namespaced": {
			init: []string{"--namespaced"}, apis: []string{memcached}, args: memcached + both,
			want: map[string][]string{
				NamespacesPatch: {"- name: mmemcached-v1alpha1.kb.io\n", "- name: vmemcached-v1alpha1.kb.io\n", "kubernetes.io/metadata.name: shop-system"},
				webhooksPath:    {"patches:\n- path: namespaces_patch.yaml\n"},
				"config/rbac/webhook_certs_role_binding.yaml": {"kind: ClusterRoleBinding"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestProject(t, test.init...)
			for _, args := range test.apis {
				p.mustCreateAPI(t, strings.Fields(args)...)
			}
			p.mustCreateWebhook(t, strings.Fields(test.args)...)
			p.checkFiles(t)
			files := p.files(t)
			for name, parts := range test.want {
				for _, part := range parts {
					if !strings.Contains(files[name], part) {
						t.Errorf("%s lacks %q:\n%s", name, part, files[name])
					}
				}
			}
		})
	}
}

// kubebuilder's main.go has no --webhook-port, and an unknown flag ends the manager.
func TestWebhookPatchWithoutThePortFlag(t *testing.T) {
	for _, certs := range []string{certsSelf, certsCertManager, certsOLM} {
		t.Run(certs, func(t *testing.T) {
			p := withAPI(t, 1)
			p.write(t, mainPath, without(p.files(t)[mainPath], `"webhook-port"`))
			p.mustCreateWebhook(t, strings.Fields(memcached+" --defaulting --certs="+certs)...)
			p.checkFiles(t)
			patch := p.files(t)[ManagerPatch]
			if strings.Contains(patch, "--webhook-port") || !strings.Contains(patch, "containerPort: 9443") {
				t.Errorf("the patch is\n%s", patch)
			}
		})
	}
}

// lost lists the lines of before that after does not have as often.
func lost(before, after string) []string {
	count := map[string]int{}
	for line := range strings.Lines(after) {
		count[strings.TrimSpace(line)]++
	}
	var out []string
	for line := range strings.Lines(before) {
		line = strings.TrimSpace(line)
		if count[line]--; count[line] < 0 {
			out = append(out, line)
		}
	}
	return out
}

// One webhook after the other gives the same as both at once, and what the
// user wrote in between stays.
func TestWebhooksAreAdded(t *testing.T) {
	atOnce := withAPI(t, 1)
	atOnce.mustCreateWebhook(t, strings.Fields(memcached+" --defaulting --programmatic-validation")...)
	p := withAPI(t, 1)
	p.mustCreateWebhook(t, strings.Fields(memcached+" --defaulting")...)
	edited := strings.Replace(p.files(t)[webhookFile], "\treturn nil\n", "\tobj.Spec.Size++ // mine\n\treturn nil\n", 1) + "\n// Mine is mine.\nfunc Mine() {}\n"
	p.write(t, webhookFile, edited)
	before := p.files(t)
	p.mustCreateWebhook(t, strings.Fields(memcached+" --programmatic-validation")...)
	after := p.files(t)
	p.checkFiles(t)

	for _, name := range []string{webhookFile, mainPath, "internal/webhook/v1alpha1/memcached_webhook_test.go", targetsPath, webhooksPath} {
		if gone := lost(before[name], after[name]); len(gone) > 0 {
			t.Errorf("%s lost the lines %q", name, gone)
		}
	}
	got := strings.Replace(after[webhookFile], "\tobj.Spec.Size++ // mine\n", "", 1)
	got = strings.Replace(got, "\n// Mine is mine.\nfunc Mine() {}\n", "", 1)
	want := atOnce.files(t)
	if diff := cmp.Diff(want[webhookFile], got); diff != "" {
		t.Errorf("one after the other (-both at once +got):\n%s", diff)
	}
	for name, text := range want {
		if name != webhookFile && after[name] != text {
			t.Errorf("%s (-both at once +one after the other):\n%s", name, cmp.Diff(text, after[name]))
		}
	}
}

// The user may have moved the code to another file of the package.
func TestWebhookInAnotherFile(t *testing.T) {
	const other = "internal/webhook/v1alpha1/all.go"
	p := withAPI(t, 1)
	p.mustCreateWebhook(t, strings.Fields(memcached+" --defaulting")...)
	before := p.files(t)[webhookFile]
	if err := p.disk.FS.Rename(webhookFile, other); err != nil {
		t.Fatal(err)
	}
	p.mustCreateWebhook(t, strings.Fields(memcached+" --programmatic-validation")...)
	p.checkFiles(t)
	after := p.files(t)
	if gone := lost(before, after[other]); len(gone) > 0 || after[webhookFile] != "" {
		t.Errorf("lost the lines %q; %s has\n%s", gone, webhookFile, after[webhookFile])
	}
	if !strings.Contains(after[other], "WithValidator(&MemcachedValidator{}).") {
		t.Errorf("the validator is missing:\n%s", after[other])
	}
}

// What came first does not show in the files.
func TestWebhooksInAnyOrder(t *testing.T) {
	for name, pattern := range map[string]string{"sized": "deployment", "blank": "blank", "namespaced": "blank"} {
		t.Run(name, func(t *testing.T) {
			var trees []map[string]string
			for _, steps := range [][]string{
				{" --defaulting --programmatic-validation --defaulting-path=/fill-in"},
				{" --defaulting --defaulting-path=/fill-in", " --programmatic-validation"},
				{" --programmatic-validation", " --defaulting --defaulting-path=/fill-in"},
			} {
				p := newTestProject(t, fmt.Sprintf("--namespaced=%t", name == "namespaced"))
				p.mustCreateAPI(t, strings.Fields(memcached+" --pattern="+pattern)...)
				for _, flags := range steps {
					p.mustCreateWebhook(t, strings.Fields(memcached+flags)...)
				}
				trees = append(trees, p.files(t))
			}
			for _, tree := range trees[1:] {
				if diff := cmp.Diff(trees[0], tree); diff != "" {
					t.Errorf("(-both at once +one after the other):\n%s", diff)
				}
			}
		})
	}
}

func TestARepeatedWebhookIsRefused(t *testing.T) {
	for name, test := range map[string]struct{ first, again, want string }{
		"defaulting":  {memcached + " --defaulting", memcached + " --defaulting", "--defaulting already"},
		"one of two":  {memcached + " --defaulting", memcached + " --defaulting --programmatic-validation", "--defaulting already"},
		"conversion":  {memcachedV1 + " --conversion", memcachedV1 + " --conversion", "--conversion already"},
		"another hub": {memcachedV1 + " --conversion", memcached + " --conversion", "v1 is the hub of Memcached already"},
		"other path":  {memcached + " --defaulting --defaulting-path=/x", memcached + " --programmatic-validation --validation-path=/x", "both webhooks cannot be at /x"},
		"usual path":  {memcached + " --programmatic-validation", memcached + " --defaulting --defaulting-path=/validate-cache-example-com-v1alpha1-memcached", "both webhooks cannot be"},
		"other certs": {memcached + " --defaulting", memcached + " --programmatic-validation --certs=olm", "come from self"},
	} {
		t.Run(name, func(t *testing.T) {
			p := withAPI(t, 2)
			p.mustCreateWebhook(t, strings.Fields(test.first)...)
			_, err := p.createWebhook(t, strings.Fields(test.again)...)
			refused(t, err, test.want)
			if strings.HasPrefix(test.want, "both") != strings.Contains(clierr.HintOf(err), "validationPath in PROJECT") { // which may have both
				t.Errorf("hint %q", clierr.HintOf(err))
			}
		})
	}
}

// --force puts back what is missing and leaves the rest.
func TestForcedWebhook(t *testing.T) {
	p := withAPI(t, 1)
	p.mustCreateWebhook(t, strings.Fields(memcached+" --defaulting --programmatic-validation --defaulting-path=/fill-in")...)
	before := p.files(t)
	p.mustCreateWebhook(t, strings.Fields(memcached+" --defaulting --programmatic-validation --force")...)
	if diff := cmp.Diff(before, p.files(t)); diff != "" {
		t.Errorf("where nothing was missing (-before +after):\n%s", diff)
	}
	if err := p.disk.FS.Remove(webhookFile); err != nil {
		t.Fatal(err)
	}
	p.mustCreateWebhook(t, strings.Fields(memcached+" --defaulting --programmatic-validation --force")...)
	if diff := cmp.Diff(before, p.files(t)); diff != "" {
		t.Errorf("where the file was missing (-before +after):\n%s", diff)
	}
}

func TestWebhookInAFileThatItCannotBeAddedTo(t *testing.T) {
	const code = "package v1alpha1\n\nimport _ \"example.com/shop/api/v1alpha1\"\n\nfunc SetupMemcachedWebhookWithManager() {}\n"
	for name, test := range map[string]struct{ file, text, want string }{
		"syntax error":    {webhookFile, "package v1alpha1\n\nfunc (", webhookFile + ":3:"},
		"no builder":      {webhookFile, code, "found no call of Complete in SetupMemcachedWebhookWithManager"},
		"no block":        {defaultPath, "resources:\n- ../crd\n", "found no block"},
		"no marker":       {mainPath, "package main\n\nfunc main() {}\n", "cmd/main.go:1: the marker"},
		"broken manifest": {defaultPath, "resources: [", "is not valid"},
		"old runtime":     {moduleFile, "module x\n\nrequire sigs.k8s.io/controller-runtime v0.19.0\n", "webhooks need v0.23"},
	} {
		t.Run(name, func(t *testing.T) {
			p := withAPI(t, 1)
			p.write(t, test.file, test.text)
			_, err := p.createWebhook(t, strings.Fields(memcached+" --defaulting")...)
			refused(t, err, test.want)
		})
	}
}

func TestWebhookExtras(t *testing.T) {
	for name, test := range map[string]struct {
		args string
		want map[string]any
	}{
		"plain": {memcached + " --defaulting", map[string]any{}},
		"paths": {memcached + " --defaulting --defaulting-path=/a --programmatic-validation --validation-path=/b",
			map[string]any{"webhooks": map[string]any{"defaultingPath": "/a", "validationPath": "/b"}}},
		"all spokes": {memcachedV1 + " --conversion", map[string]any{"webhooks": map[string]any{"spoke": []any{"v1alpha1"}}}},
		"built in":   {"--group=apps --version=v1 --kind=Deployment --defaulting", map[string]any{"core": true}},
	} {
		t.Run(name, func(t *testing.T) {
			p := withAPI(t, 2)
			sub := p.mustCreateWebhook(t, strings.Fields(test.args)...)
			if diff := cmp.Diff(test.want, sub.ResourceExtras()); diff != "" {
				t.Errorf("extras (-want +got):\n%s", diff)
			}
			got, err := p.config.GetResource(sub.resource.GVK)
			if err != nil || got.Webhooks == nil || got.Webhooks.WebhookVersion != "v1" {
				t.Errorf("PROJECT has %+v (%v)", got.Webhooks, err)
			}
		})
	}
}

// A spoke that comes later is added to the hub's list.
func TestSpokesAreAdded(t *testing.T) {
	p := withAPI(t, 2)
	p.mustCreateWebhook(t, strings.Fields(memcachedV1+" --conversion")...)
	before := p.files(t)
	p.mustCreateAPI(t, strings.Fields("--group=cache --version=v2 --kind=Memcached")...)
	sub := p.mustCreateWebhook(t, strings.Fields(memcachedV1+" --conversion --spoke=v2")...)
	if got := sub.allSpokes(); !slices.Equal(got, []string{"v1alpha1", "v2"}) {
		t.Errorf("the spokes are %q", got)
	}
	p.checkFiles(t)
	after := p.files(t)
	for _, name := range []string{"api/v1/memcached_conversion.go", "api/v1alpha1/memcached_conversion.go", crdPath, targetsPath} {
		if before[name] == "" || after[name] != before[name] {
			t.Errorf("%s (-before +after):\n%s", name, cmp.Diff(before[name], after[name]))
		}
	}
	if !strings.Contains(after["api/v2/memcached_conversion.go"], "func (src *Memcached) ConvertTo(") {
		t.Error("v2 is not converted")
	}
	stored := 0
	for _, version := range []string{"v1alpha1", "v1", "v2"} {
		stored += strings.Count(after["api/"+version+"/memcached_types.go"], storageMarker)
	}
	if stored != 1 {
		t.Errorf("%d versions are stored", stored)
	}
}

// The package of the certificates lists each object once.
func TestTargetsAreListedOnce(t *testing.T) {
	p := withAPI(t, 2)
	p.mustCreateAPI(t, "--group=cache", "--kind=Redis", "--pattern=blank")
	p.mustCreateWebhook(t, strings.Fields(memcached+" --defaulting")...)
	p.mustCreateWebhook(t, strings.Fields("--group=cache --kind=Redis --defaulting")...)
	p.mustCreateWebhook(t, strings.Fields(memcachedV1+" --conversion")...)
	text := p.files(t)[targetsPath]
	for _, once := range []string{`"shop-mutating-webhook-configuration"},`, `"memcacheds.cache.example.com"},`, "resourceNames=memcacheds.cache.example.com,"} {
		if strings.Count(text, once) != 1 {
			t.Errorf("%q is there %d times:\n%s", once, strings.Count(text, once), text)
		}
	}
	if strings.Count(p.files(t)[mainPath], "certs.SetupWithManager") != 1 {
		t.Error("main.go sets the certificates up more than once")
	}
}

// Projects whose tests are Ginkgo's get ours beside them.
func TestWebhookBesideAnotherSuite(t *testing.T) {
	const suite = "package v1alpha1\n\nvar testEnv, cfg, k8sClient int\n"
	p := withAPI(t, 1)
	p.write(t, "internal/webhook/v1alpha1/webhook_suite_test.go", suite)
	p.mustCreateWebhook(t, strings.Fields(memcached+" --defaulting")...)
	files := p.files(t)
	if files["internal/webhook/v1alpha1/webhook_suite_test.go"] != suite {
		t.Error("the suite was changed")
	}
	ours := files["internal/webhook/v1alpha1/mysdk_suite_test.go"]
	if !strings.Contains(ours, "testClient.Create(") || !strings.Contains(files["internal/webhook/v1alpha1/memcached_webhook_test.go"], "testClient.Create(") {
		t.Errorf("our suite does not stand beside it:\n%s", ours)
	}
}

// Whatever a Go file holds, merging gives Go that parses, and giving it twice
// is giving it once.
func FuzzMergeGo(f *testing.F) {
	f.Add("package v1\n")
	f.Add("package v1\n\nimport \"fmt\"\n\nfunc X() { fmt.Println() }\n")
	f.Add("package v1\n\nimport (\n\t\"context\"\n\n\t\"sigs.k8s.io/controller-runtime/pkg/webhook/admission\"\n)\n\ntype Defaulter struct{} // mine\n")
	f.Add("package v1; import (); var a, Validator int")
	const add = "package v1\n\nimport (\n\t\"context\"\n\n\tadm \"sigs.k8s.io/controller-runtime/pkg/webhook/admission\"\n)\n\n// +marker\n\n// Validator is new.\ntype Validator struct{ adm.Warnings }\n\nfunc (Validator) Do(context.Context) {}\n"
	from, err := parseGo("from.go", add)
	if err != nil {
		f.Fatal(err)
	}
	of := func(g *goedit.File) *goPackage {
		p := &goPackage{types: map[string]goType{}, names: map[string]bool{}, files: map[string]*goedit.File{}}
		p.add(g)
		return p
	}
	f.Fuzz(func(t *testing.T, text string) {
		into, err := parseGo("into.go", text)
		if err != nil {
			return
		}
		once, err := mergeGo(into, from, of(into).declares, "example.com/shop")
		if err != nil {
			return
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "", string(once.Src), 0); err != nil {
			t.Fatalf("%v\n%s", err, string(once.Src))
		}
		twice, err := mergeGo(once, from, of(once).declares, "example.com/shop")
		if err != nil || string(twice.Src) != string(once.Src) {
			t.Errorf("the second time: %v\n%s", err, cmp.Diff(string(once.Src), string(twice.Src)))
		}
	})
}

// What a webhook of a built-in kind is asked about depends on what the manager watches.
func TestWebhookNotesOfBuiltinKinds(t *testing.T) {
	for args, want := range map[string]string{
		"--namespaced=false --kind=Pod": "every object of the cluster", "--namespaced=true --kind=Pod": "every object in the namespace shop-system",
		"--namespaced=true --kind=Node": "every object of the cluster",
	} {
		scope, kind, _ := strings.Cut(args, " ")
		sub := newTestProject(t, scope).mustCreateWebhook(t, "--group=core", "--version=v1", kind, "--defaulting")
		if notes := strings.Join(sub.Notes(), "\n"); !strings.Contains(notes, want) {
			t.Errorf("%s: the notes are %q", args, notes)
		}
	}
}

// controller-runtime wants to convert all versions of a kind, or none.
func TestConversionNamesWhatIsLeft(t *testing.T) {
	p := newTestProject(t)
	for _, version := range []string{"v1alpha1", "v1beta1", "v1"} {
		p.mustCreateAPI(t, "--group=cache", "--version="+version, "--kind=Memcached")
	}
	const left = "The operator does not start until v1beta1 is converted: " +
		"mysdk create webhook --group cache --version v1 --kind Memcached --conversion --spoke v1beta1"
	sub := p.mustCreateWebhook(t, "--group=cache", "--version=v1", "--kind=Memcached", "--conversion", "--spoke=v1alpha1")
	if !slices.Contains(sub.Notes(), left) {
		t.Errorf("the notes are %q", sub.Notes())
	}
	sub = p.mustCreateWebhook(t, "--group=cache", "--version=v1", "--kind=Memcached", "--conversion", "--spoke=v1beta1")
	if notes := strings.Join(sub.Notes(), "\n"); strings.Contains(notes, "does not start") {
		t.Errorf("the notes are %q", notes)
	}
}

// What comes later does not change a name.
func TestWebhookNamesStay(t *testing.T) {
	p := newTestProject(t, "--multigroup")
	for _, group := range []string{"a", "b"} {
		p.mustCreateAPI(t, "--group="+group, "--kind=Memcached")
	}
	for group, want := range map[string]string{"a": "name=mmemcached-v1alpha1.kb.io,", "b": "name=mmemcached-v1alpha1.b.example.com.kb.io,"} {
		p.mustCreateWebhook(t, "--group="+group, "--kind=Memcached", "--defaulting")
		if got := p.files(t)["internal/webhook/"+group+"/v1alpha1/memcached_webhook.go"]; !strings.Contains(got, want) {
			t.Errorf("the webhook of group %s lacks %s:\n%s", group, want, got)
		}
	}
}
