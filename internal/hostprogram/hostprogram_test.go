package hostprogram

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/image"
)

// TestOperatorImage finds the operator among the containers.
func TestOperatorImage(t *testing.T) {
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {template: {spec: {containers: ["
	for name, tc := range map[string]struct{ manifest, want string }{
		"alone":       {deployment + "{name: x, image: a}]}}}", "a"},
		"manager":     {deployment + "{name: proxy, image: a}, {name: manager, image: b}]}}}", "b"},
		"first":       {deployment + "{name: x, image: a}, {name: y, image: b}]}}}", "a"},
		"none":        {deployment + "]}}}", ""},
		"not a kind":  {"apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: manager, image: a}]}", ""},
		"not a image": {deployment + "{name: manager}]}}}", ""},
	} {
		if got := OperatorImage([]*unstructured.Unstructured{object(t, tc.manifest)}); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	two := []*unstructured.Unstructured{object(t, deployment+"{name: redis, image: redis:7}]}}}"), object(t, deployment+"{name: manager, image: b}]}}}")}
	if got := OperatorImage(two); got != "b" {
		t.Errorf("of two Deployments: %q", got)
	}
}

// object reads a manifest.
func object(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// TestUnusable: a program for another architecture, or another system, is none.
func TestUnusable(t *testing.T) {
	program, here := image.Files{binaryName: []byte("x")}, runtime.GOOS+"/"+runtime.GOARCH
	const no, then = "image shop:v9 cannot be used: ", ": run 'mysdk run bundle' or 'mysdk deploy' in the operator's project, which builds it from source"
	for name, tc := range map[string]struct {
		contents image.Contents
		err      error
		want     string
	}{
		"for this machine":     {contents: image.Contents{Files: program, Platform: here}},
		"for another one":      {image.Contents{Files: program, Platform: "linux/pdp11"}, nil, no + "it is for linux/pdp11, and this machine runs " + here + then},
		"without any":          {image.Contents{Platform: here}, nil, no + "it has no program /manager" + then},
		"for another one's OS": {image.Contents{Files: program, Platform: "plan9/" + runtime.GOARCH}, nil, no + "it is for plan9/" + runtime.GOARCH + ", and this machine runs " + here + then},
		"damaged":              {image.Contents{}, clierr.Failedf("build it again", "the blob is broken"), no + "the blob is broken: build it again"},
	} {
		if got := unusable("shop:v9", &tc.contents, tc.err); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestKeep stores a program once, where its content says, and can run it.
func TestKeep(t *testing.T) {
	p := Programs{Host: hosttest.New(t).Host, Cluster: "dev"}
	first, sum, err := p.keep([]byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	again, same, err := p.keep([]byte("one"))
	if err != nil || again != first || same != sum {
		t.Errorf("the same program: %s and %s, %v", first, again, err)
	}
	other, _, err := p.keep([]byte("two"))
	if err != nil || other == first {
		t.Errorf("another program: %s, %v", other, err)
	}
	info, err := os.Stat(first)
	if err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("%v, %v", info, err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(first), "*.tmp")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// TestCompileAtOnce: commands that compile the same project at the same time each
// get a whole program.
func TestCompileAtOnce(t *testing.T) {
	h := hosttest.New(t).Host
	h.Exec = slowGo{}
	p := Programs{Host: h, Cluster: "dev", Project: &Project{Dir: h.Dir}, Say: func(string, ...any) {}}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			program, err := p.compile(t.Context(), "./cmd")
			if err != nil || string(program) != "program" {
				t.Errorf("compile() = %q, %v", program, err)
			}
		})
	}
	all.Wait()
}

// slowGo is a go command that writes its output in two steps.
type slowGo struct{ output string }

func (slowGo) LookPath(name string) (string, error) { return "/usr/bin/" + name, nil }
func (slowGo) Start(_ context.Context, c host.Cmd) (host.Process, error) {
	return slowGo{c.Args[slices.Index(c.Args, "-o")+1]}, nil
}
func (slowGo) Pid() int         { return 1 }
func (slowGo) Interrupt() error { return nil }
func (slowGo) Kill() error      { return nil }
func (g slowGo) Wait() error {
	err := os.WriteFile(g.output, []byte("pro"), 0o600)
	time.Sleep(20 * time.Millisecond)
	return errors.Join(err, os.WriteFile(g.output, []byte("program"), 0o600))
}

// TestProjectCommands are what a container's command may name.
func TestProjectCommands(t *testing.T) {
	for name, tc := range map[string]struct {
		dockerfile string
		want       []string
	}{
		"none":      {"", []string{"/manager"}},
		"scaffold":  {"FROM golang AS builder\nCOPY cmd/main.go cmd/main.go\nFROM distroless\nCOPY --from=builder /workspace/manager .\nENTRYPOINT [\"/manager\"]\n", []string{"/manager"}},
		"wrapper":   {"FROM ubi\nCOPY bin/shop /usr/bin/\nENTRYPOINT [\"/usr/bin/tini\", \"--\", \"/usr/bin/shop\"]\n", []string{"/usr/bin/tini", "/usr/bin/shop", "shop", "bin", "/manager"}},
		"not known": {"FROM shop\n", nil},
	} {
		h := hosttest.New(t).Host
		if tc.dockerfile != "" {
			if err := os.WriteFile(filepath.Join(h.Dir, "Dockerfile"), []byte(tc.dockerfile), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := Project{Dir: h.Dir}.commands(h.Files)
		if d := cmp.Diff(tc.want, got); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, d)
		}
	}
}

// TestProblem says what to type, and what the project here has.
func TestProblem(t *testing.T) {
	p := Programs{Project: &Project{Image: "controller:latest"}}
	got := p.problem([]string{"shop:v9"}, nil) + p.problem([]string{"proxy:1", "shop:v9"}, nil) + p.problem([]string{"r/shop@sha256:0"}, nil)
	for _, want := range []string{"no image shop:v9: build it with 'mysdk image build --image shop:v9'; the project here has the image controller:latest", "no image r/shop@sha256:0: build it with 'mysdk image build --image r/shop' and use its new digest", "no image proxy:1 or shop:v9: build the operator's with 'mysdk image build --image IMAGE' and install the operator again"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	found := map[string]state.Program{"shop:v9": {Problem: "image shop:v9 cannot be used: it is broken"}}
	if got := p.problem([]string{"proxy:1", "shop:v9"}, found); got != found["shop:v9"].Problem+"; the project here has the image controller:latest" {
		t.Errorf("of an image that is here: %q", got)
	}
}

// TestMissing is the operator's image where it was not built, or those of which one is it.
func TestMissing(t *testing.T) {
	proxy, shop, manager := Container{"kube-rbac-proxy", "proxy:1"}, Container{"operator", "shop:1"}, Container{"manager", "shop:1"}
	for name, tc := range map[string]struct {
		containers []Container
		built      string
		anywhere   bool
		want       []string
	}{
		"any of them":               {[]Container{proxy, shop}, "", false, []string{"proxy:1", "shop:1"}},
		"one of another Deployment": {[]Container{proxy, shop}, "", true, nil},
		"the manager":               {[]Container{proxy, manager}, "", true, []string{"shop:1"}},
		"a built manager":           {[]Container{proxy, manager}, "shop:1", true, nil},
		"a manager beside a helper": {[]Container{proxy, manager}, "proxy:1", true, []string{"shop:1"}},
		"no name of an image":       {[]Container{{"operator", ""}}, "", false, nil},
	} {
		got := Deployment{Containers: tc.containers}.missing(map[string]state.Program{tc.built: {Image: tc.built}}, tc.anywhere)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
