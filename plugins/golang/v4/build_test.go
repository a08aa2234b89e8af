package v4

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// Scaffolds build, vet clean and need no tidying, with the go.mod and go.sum
// they were written with.
func TestScaffoldsBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles whole projects")
	}
	for name, test := range map[string]struct{ init, apis, webhooks []string }{
		"init alone":   {},
		"one API":      {apis: []string{"--group=cache --kind=Memcached"}},
		"blank":        {apis: []string{"--group=cache --kind=Memcached --pattern=blank"}, init: []string{"--license=none"}},
		"types alone":  {apis: []string{"--group=cache --kind=Memcached --controller=false"}},
		"built in":     {apis: []string{"--group=core --version=v1 --kind=Pod --resource=false"}},
		"awkward":      {apis: awkwardAPIs, init: []string{"--multigroup"}},
		"single group": {apis: []string{"--group=internal --kind=Type", "--group=internal --kind=Interface --namespaced=false", "--group=internal --version=v1 --kind=Type"}, init: []string{"--namespaced=false"}},
		"webhooks": {
			init: []string{"--multigroup"},
			apis: []string{"--group=internal-x --kind=Namespace", "--group=internal-x --version=v1 --kind=Namespace", "--group=internal-x --kind=Hub --pattern=blank"},
			webhooks: []string{
				"--group=internal-x --kind=Namespace --defaulting --programmatic-validation", "--group=internal-x --version=v1 --kind=Namespace --conversion",
				"--group=internal-x --kind=Hub --defaulting", "--group=internal-x --kind=Hub --programmatic-validation --conversion",
				"--group=certificates --version=v1 --kind=CertificateSigningRequest --programmatic-validation",
			},
		},
		"external": {apis: []string{"--group=apiextensions --version=v1 --kind=CustomResourceDefinition --resource=false --external-api-domain=k8s.io " +
			"--external-api-path=k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTestProject(t, test.init...)
			for _, args := range test.apis {
				p.mustCreateAPI(t, strings.Fields(args)...)
			}
			for _, args := range test.webhooks {
				p.mustCreateWebhook(t, strings.Fields(args)...)
			}
			p.addDeepCopies(t)
			dir := t.TempDir()
			p.export(t, dir)

			run(t, dir, "-mod=readonly", "vet", "./...")
			if name == "init alone" || name == "webhooks" { // the least and the most that main.go is wired with
				run(t, dir, "-mod=readonly", "test", "./cmd/...")
			}
			if name != "external" { // there a module becomes a direct one, of which a note tells
				run(t, dir, "-mod=mod", "mod", "tidy", "-diff")
			}
		})
	}
}

// run runs the go command, offline. What one project has compiled is in the
// cache for the others, wherever their directories are.
func run(t *testing.T, dir, flags string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath "+flags, "GOWORK=off", "GOPROXY=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// addDeepCopies stands in for the generator, as far as the compiler can tell.
func (p *project) addDeepCopies(t *testing.T) {
	t.Helper()
	resources, err := p.config.GetResources()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range resources {
		if !r.HasAPI() {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "package %s\n\nimport \"k8s.io/apimachinery/pkg/runtime\"\n", r.Version)
		for _, kind := range []string{r.Kind, r.Kind + "List"} {
			fmt.Fprintf(&b, "\nfunc (in *%[1]s) DeepCopy() *%[1]s { out := *in; return &out }\nfunc (in *%[1]s) DeepCopyObject() runtime.Object { return in.DeepCopy() }\n", kind)
		}
		dir := strings.TrimPrefix(r.Path, p.config.GetRepository()+"/")
		p.write(t, path.Join(dir, "zz_generated_"+strings.ToLower(r.Kind)+".go"), b.String())
	}
}

// Without an API server the tests of a project say what to do, in one line. They
// never take the current cluster of ~/.kube/config.
func TestSuiteWithoutAssets(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a project's tests")
	}
	p := newTestProject(t)
	p.mustCreateAPI(t, "--group=cache", "--kind=Memcached")
	p.mustCreateWebhook(t, "--group=cache", "--kind=Memcached", "--defaulting")
	p.addDeepCopies(t)
	dir := t.TempDir()
	p.export(t, dir)
	// Linked once: tests that fail are not in the cache of the go command.
	bin := t.TempDir() + string(filepath.Separator)
	run(t, dir, "-mod=readonly", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", bin, "./internal/controller", "./internal/webhook/v1alpha1")
	for existing, want := range map[string]string{"": "run 'mysdk test', or set KUBEBUILDER_ASSETS", "true": "set KUBECONFIG", "True": "set KUBECONFIG"} {
		for _, pkg := range []string{"internal/controller", "internal/webhook/v1alpha1"} {
			cmd := exec.Command(bin + path.Base(pkg) + ".test")
			cmd.Dir = filepath.Join(dir, filepath.FromSlash(pkg))
			cmd.Env = append(os.Environ(), "KUBEBUILDER_ASSETS=", "KUBECONFIG=", "USE_EXISTING_CLUSTER="+existing)
			out, err := cmd.CombinedOutput()
			first, _, _ := strings.Cut(string(out), "\n")
			if err == nil || !strings.Contains(first, want) || strings.Count(string(out), want) != 1 {
				t.Errorf("the tests of %s: %v\n%s", pkg, err, out)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "bin")); !os.IsNotExist(err) {
		t.Errorf("the tests left something behind: %v", err)
	}
}
