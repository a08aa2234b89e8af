package cmd_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/shell"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host/hosttest"
)

// TestOldVerbs types old verbs where nothing can be done, and looks at what
// they say their names are today: lines that can be typed.
func TestOldVerbs(t *testing.T) {
	t.Setenv("PATH", "") // no go command: every verb ends before it does much
	for typed, want := range map[string]string{
		"new op":                         "mkdir op && cd op && mysdk init",
		"new op --repo=example.com/x/op": "mkdir op && cd op && mysdk init --repo example.com/x/op",
		"new op --domain acme.io --skip-validation": "mkdir op && cd op && mysdk init --domain acme.io --skip-go-version-check",
		"new op --header-file=no.txt":               "mkdir op && cd op && mysdk init --license-file ../no.txt",
		"new op --header-file=/no.txt":              "mkdir op && cd op && mysdk init --license-file /no.txt",

		"add api --api-version=cache.example.com/v1 --kind=B":                               "mysdk create api --group cache --version v1 --kind B --controller=false",
		"add api --api-version=example.com/v1 --kind=B --skip-generation":                   "mysdk edit --multigroup && mysdk create api --version v1 --kind B --controller=false --make=false",
		"add api --api-version=a.b.example.com/v1 --kind=B":                                 "mysdk edit --multigroup && mysdk create api --group a.b --version v1 --kind B --controller=false",
		"add crd --api-version=cache.example.com/v1 --kind=B":                               "mysdk create api --group cache --version v1 --kind B --controller=false",
		"add crd --api-version=cache.example.com/v1 --kind=Cache":                           "mysdk generate crds",
		"add controller --api-version=cache.example.com/v1 --kind=Cache":                    "mysdk create api --group cache --version v1 --kind Cache --resource=false",
		"add controller --api-version=apps/v1 --kind=Deployment":                            "mysdk create api --group apps --version v1 --kind Deployment --resource=false",
		"add controller --api-version=v1 --kind=Pod":                                        "mysdk create api --group core --version v1 --kind Pod --resource=false",
		"add controller --api-version=networking.k8s.io/v1 --kind=Ingress":                  "mysdk create api --group networking --version v1 --kind Ingress --resource=false",
		"add controller --api-version=apps/v1 --kind=D --custom-api-import=k8s.io/api/apps": "mysdk create api --group apps --version v1 --kind D --resource=false",
		"add controller --api-version=route.openshift.io/v1 --kind=Route --custom-api-import=github.com/openshift/api/route=r": "mysdk create api --group route --version v1 --kind Route" +
			" --external-api-domain openshift.io --external-api-path github.com/openshift/api/route/v1 --resource=false",

		"generate k8s":                            "mysdk generate deepcopy",
		"build quay.io/x/op:v1":                   "mysdk image build --image quay.io/x/op:v1",
		"build op:v1 --base scratch":              "mysdk image build --image op:v1 --base scratch",
		"build op:v1 --go-build-args=-ldflags=-s": "mysdk image build --image op:v1 --go-ldflags -s",

		"generate csv": "mysdk bundle generate",
		"generate csv --csv-version 0.0.1 --operator-name op":    "mysdk bundle generate --version 0.0.1 --package op",
		"generate csv --csv-channel a --default-channel":         "mysdk bundle generate --channels a --default-channel a",
		"generate csv --deploy-dir=d --crd-dir=c --output-dir=o": "mysdk bundle generate --output-dir o --deploy-dir d --crds-dir c",
		"olm-catalog gen-csv --csv-version 0.0.1":                "mysdk bundle generate --version 0.0.1",

		"alpha scorecard -o json no-bundle": "mysdk scorecard -o json no-bundle",
		"alpha olm install --timeout 1m":    "mysdk olm install --timeout 1m",
		"alpha olm status":                  "mysdk olm status",

		"up local":              "mysdk run local --watch-namespace default",
		"up local --namespace=": "mysdk run local --watch-namespace=",
		"up local --namespace=a --kubeconfig=k.yaml": "mysdk run local --watch-namespace a --kubeconfig k.yaml",
		"up local --kubeconfig=k.yaml --context=dev": "mysdk run local --watch-namespace default --kubeconfig k.yaml --context dev",
		"up local --enable-delve --go-ldflags=-s":    "mysdk run local --watch-namespace default --go-ldflags -s --debug",
		"up local --operator-flags=--a#1":            "mysdk run local --watch-namespace default --operator-flags '--a 1'",
		"run --local":                                "mysdk run local",
		"run --local --context=dev":                  "mysdk run local --context dev",
		"run --local --namespace=":                   "mysdk run local --watch-namespace=",
		"run --local --watch-namespace=":             "mysdk run local --watch-namespace=",
		"run --local --watch-namespace=a,b":          "mysdk run local --watch-namespace a,b",
		"run --local --namespace=a --enable-delve":   "mysdk run local --watch-namespace a --debug",
	} {
		t.Run(typed, func(t *testing.T) {
			w := oldProject(t)
			args := strings.Fields(typed)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "#", " ")
			}
			root.Main(t.Context(), w.Host, args)
			note, _, _ := strings.Cut(w.Err.String()[strings.Index(w.Err.String(), "' is now: ")+1:], "\n")
			got := strings.TrimPrefix(note, " is now: ")
			if got != want {
				t.Fatalf("now:  %s\nwant: %s\n%s", got, want, w.Err)
			}
			for _, line := range strings.Split(got, " && ") {
				if strings.HasPrefix(line, "mysdk ") {
					checkShown(t, "the note", line)
				}
			}
		})
	}
}

// oldProject is a world with a project of which there is a PROJECT file only,
// and with a bundle and package manifests of other people's.
func oldProject(t *testing.T) *hosttest.World {
	t.Helper()
	w := hosttest.New(t)
	const file = `domain: example.com
layout:
- go.kubebuilder.io/v4
projectName: op
repo: example.com/op
resources:
- api: {crdVersion: v1, namespaced: true}
  domain: example.com
  group: cache
  kind: Cache
  path: example.com/op/api/v1
  version: v1
version: "3"
`
	for name, text := range map[string]string{
		"PROJECT":                       file,
		"old/etcd/etcd.package.yaml":    "packageName: etcd\n",
		"two/a/a.package.yaml":          "packageName: a\n",
		"two/b/b.package.yaml":          "packageName: b\n",
		"new/metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.package.v1: shop}\n",
		"new/manifests/shop.yaml":       "kind: ClusterServiceVersion\n",
	} {
		name = filepath.Join(w.Dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// TestOldVerbsThatCannotBe refuses, changes nothing, and says what to use.
func TestOldVerbsThatCannotBe(t *testing.T) {
	for typed, want := range map[string]struct{ err, hint string }{
		"new":                   {`needs the name of the project`, "mysdk new memcached-operator"},
		"new a b":               {`takes the name of the project and nothing more, and got "a b"`, "mysdk new memcached-operator"},
		"new ../up":             {`project name "../up"`, "mysdk new"},
		"new op --type=ansible": {"--type ansible: mysdk writes operators in Go", "operator-sdk init --plugins=ansible"},
		"new op --type=rust":    {"must be one of go, ansible, helm", "--help"},

		"add":                                  {"needs a subcommand", "api, controller, crd"},
		"add apis":                             {`unknown command "apis"`, `did you mean "api"`},
		"add api":                              {"no --kind was given", "mysdk add api --api-version=cache.example.com/v1alpha1 --kind=Memcached"},
		"add api --kind=A":                     {"no --api-version was given", "--api-version=cache.example.com/v1alpha1"},
		"add api --kind=A --api-version=cache": {`--api-version "cache"`, "cache.example.com/v1alpha1"},
		"add api --kind=A --api-version=cache.example.com/v1/x":  {"with a / between them", "cache.example.com/v1alpha1"},
		"add api --kind=A --api-version=cache.acme.io/v1":        {"the API groups of this project end in example.com", "--api-version=cache.example.com/VERSION"},
		"add api --kind=lower --api-version=shop.example.com/v1": {`kind "lower"`, "--kind Lower"},
		"add api --kind=A --api-version=Shop.example.com/v1":     {`group "Shop"`, "--group shop"},
		"add api --kind=A --api-version=shop.example.com/one":    {`version "one"`, "v1alpha1"},
		"add api --kind=A --api-version=v1":                      {"with a / between them", "cache.example.com/v1alpha1"},
		"add crd --kind=A --api-version=v1":                      {"with a / between them", "cache.example.com/v1alpha1"},
		"add controller --kind=A --api-version=a.acme.io/v1":     {"the project has no API a.acme.io/v1 A", "mysdk add api --api-version=a.acme.io/v1 --kind=A"},

		"add controller --kind=Gateway --api-version=gateway.networking.k8s.io/v1": {"the project has no API gateway.networking.k8s.io/v1 Gateway", "--custom-api-import"},

		"build":                            {"needs the name of the image", "mysdk build quay.io/example/"},
		"olm-catalog":                      {"needs a subcommand", "gen-csv"},
		"scorecard a b":                    {"a bundle", "mysdk scorecard --help"},
		"cleanup":                          {"needs a package", "mysdk cleanup"},
		"build op --go-build-args=-tags=x": {"-tags x cannot be passed on", "GOFLAGS"},
		"build op --go-build-args=-ldflags#-s#-trimpath": {"-ldflags -s -trimpath cannot be passed on", "GOFLAGS"},
		"build op --go-build-args=-ldflags":              {"-ldflags cannot be passed on", "linker options"},
		"build op --go-build-args=-ldflags#\"-s":         {"--go-build-args", "quote the whole"},
		"generate csv --default-channel":                 {"--default-channel requires", "--csv-channel"},
		"completion zsh x":                               {"takes no arguments", "mysdk completion zsh --help"},
		"completion":                                     {"needs a subcommand", "bash, fish"},
		"completion tcsh":                                {`unknown command "tcsh"`, "bash"},
		"alpha":                                          {"needs a subcommand", "olm, scorecard"},
		"up":                                             {"needs a subcommand", "local"},
		"run":                                            {"needs a subcommand", "local"},
	} {
		t.Run(typed, func(t *testing.T) {
			w := oldProject(t)
			before := hosttest.Snapshot(t, w.Dir)
			args := strings.Fields(typed)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "#", " ")
			}
			code := root.Main(t.Context(), w.Host, args)
			said := w.Err.String()
			if code != clierr.CodeUsage || !strings.Contains(said, want.err) || !strings.Contains(said, want.hint) {
				t.Errorf("code %d, said\n%s\nwant %q and %q", code, said, want.err, want.hint)
			}
			if after := hosttest.Snapshot(t, w.Dir); len(after) != len(before) {
				t.Errorf("files: %v", after)
			}
		})
	}
}

// TestGone: each verb of old that has nothing to become says why, and what to use.
func TestGone(t *testing.T) {
	for typed, want := range map[string]struct{ err, hint string }{
		"new op --git-init":                         {"unknown flag --git-init", "--help"},
		"generate crd --kind=B":                     {"a CRD is made of Go types", "did you mean \"crds\"?"},
		"generate packagemanifests --version 1.0.0": {"generate packagemanifests: package manifests are read, and no longer written", "mysdk bundle generate"},
		"bundle create x:v1 --channels a":           {"bundle create: it is two commands", "mysdk bundle build --image IMAGE"},
		"run ansible --watches-file x":              {"run ansible: mysdk writes operators in Go", "--plugins=ansible"},
		"exec-entrypoint ansible":                   {"exec-entrypoint: mysdk writes operators in Go", "operator-sdk"},
		"cleanup packagemanifests":                  {"cleanup packagemanifests: the package is named", "mysdk cleanup PACKAGE"},
		"test local ./a":                            {"test local: tests start the manager", "mysdk test ./DIR"},
		"test cluster quay.io/x/tests":              {"test cluster: tests are no longer built into images", "mysdk test --controllers"},
		"print-deps":                                {"print-deps: dependencies are listed in the project's go.mod", "go list -m all"},
		"generate csv --no-such-flag":               {"unknown flag --no-such-flag", "--help"},
	} {
		t.Run(typed, func(t *testing.T) {
			w := oldProject(t)
			code := root.Main(t.Context(), w.Host, strings.Fields(typed))
			if said := w.Err.String(); code != clierr.CodeUsage || !strings.Contains(said, want.err) || !strings.Contains(said, want.hint) {
				t.Errorf("code %d, said\n%s\nwant %q and %q", code, said, want.err, want.hint)
			}
		})
	}
}

// TestOldVerbsAim: hints of what an old verb runs keep to the cluster that was named.
func TestOldVerbsAim(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/version" {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, `{"gitVersion":"v1.36.3"}`)
	}))
	defer s.Close()
	w := oldProject(t)
	file := w.Path("k.yaml")
	if err := os.WriteFile(file, []byte((&contacts{Server: s}).kubeconfig("dev")), 0o600); err != nil {
		t.Fatal(err)
	}
	code := root.Main(t.Context(), w.Host, []string{"alpha", "olm", "status", "--kubeconfig=k.yaml", "--context=dev"})
	if want := "run 'mysdk install --kubeconfig " + file + " --context dev'"; code != clierr.CodeFailed || !strings.Contains(w.Err.String(), want) {
		t.Errorf("code %d, said\n%s\nwant %q", code, w.Err, want)
	}
}

// TestOldVerbsAreNotInHelp: the main help shows the verbs of today only.
func TestOldVerbsAreNotInHelp(t *testing.T) {
	w := hosttest.New(t)
	if code := root.Main(t.Context(), w.Host, []string{"--help"}); code != 0 {
		t.Fatal(w.Err)
	}
	for line := range strings.Lines(w.Out.String()) {
		for _, verb := range []string{"new", "add", "build", "up", "print-deps", "olm-catalog"} {
			if words := strings.Fields(line); len(words) > 1 && words[0] == verb {
				t.Errorf("the help shows %s", line)
			}
		}
	}
	w.Out.Reset()
	if code := root.Main(t.Context(), w.Host, []string{"add", "--help"}); code != 0 || !strings.Contains(w.Out.String(), "controller") {
		t.Errorf("code %d, help of add:\n%s", code, w.Out)
	}
}

// FuzzOldAPIVersion gives add controller any group and version: it never gets
// far enough to write, and what it says can be typed.
func FuzzOldAPIVersion(f *testing.F) {
	for _, seed := range []string{"cache.example.com/v1", "v1", "apps/v1", "/", "a/b/c", "", "x.k8s.io/v1", "a b/'\"", ".example.com/v1", "$HOME/v1", "-x/v1"} {
		f.Add(seed, "Kind")
	}
	f.Add("cache.example.com/v1", "Cache")
	f.Fuzz(func(t *testing.T, apiVersion, kind string) {
		if strings.Contains(apiVersion+kind, "\x00") || !utf8.ValidString(apiVersion) || !utf8.ValidString(kind) {
			t.Skip("nobody can type that")
		}
		w := oldProject(t)
		before := hosttest.Snapshot(t, w.Dir)
		code := root.Main(t.Context(), w.Host, []string{"add", "controller", "--api-version=" + apiVersion, "--kind=" + kind})
		if code != clierr.CodeFailed && code != clierr.CodeUsage {
			t.Errorf("exit code %d", code)
		}
		if d := cmp.Diff(before, hosttest.Snapshot(t, w.Dir)); d != "" {
			t.Errorf("files (-before +after):\n%s", d)
		}
		_, rest, noted := strings.Cut(w.Err.String(), "' is now: ")
		if !noted {
			return
		}
		line, _, _ := strings.Cut(rest, "\nError: ")
		words, err := shell.Fields(line, func(string) string { return "expanded" })
		if err != nil || !slices.Contains(words, kind) {
			t.Errorf("the kind %q is not a word of %s: %q, %v", kind, line, words, err)
		}
	})
}
