package hostprogram

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/image"
	"github.com/example/mysdk/internal/kube/kubetest"
)

// TestOnACluster tells a cluster of programs, one test after the other: each
// starts with a cluster that knows none.
func TestOnACluster(t *testing.T) {
	p := Programs{Host: kubetest.World(t), Cluster: state.DefaultName, Say: func(string, ...any) {}}
	p.Host.Now = time.Now
	kubetest.StartIn(t, p.Host)
	t.Run("two projects", p.testTwoProjects) // first: it counts what is kept
	for name, test := range map[string]func(*testing.T){"missing": p.testMissing, "project": p.testRegisterProject} {
		t.Run(name, func(t *testing.T) {
			p.forgetAll(t)
			test(t)
		})
	}
}

// forgetAll has the cluster simulate all pods again.
func (p Programs) forgetAll(t *testing.T) {
	t.Helper()
	control, list, err := p.registered(t.Context())
	for _, known := range list {
		err = errors.Join(err, control.RemoveProgram(t.Context(), known.Image, known.Workload))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// moveSocket has the cluster listen elsewhere, and at the next time where it did.
func (p Programs) moveSocket(t *testing.T) {
	t.Helper()
	dir, err := p.Host.StateDir()
	if err != nil {
		t.Fatal(err)
	}
	l := state.New(dir, p.Cluster)
	s, err := l.Read()
	if err != nil {
		t.Fatal(err)
	}
	was := s.Socket
	if s.Socket = strings.TrimSuffix(was, "2"); s.Socket == was {
		s.Socket += "2"
	}
	if err := errors.Join(os.Rename(was, s.Socket), l.Write(s)); err != nil {
		t.Fatal(err)
	}
}

// testTwoProjects tells a cluster of programs whose images have the same name,
// and takes them back again.
func (p Programs) testTwoProjects(t *testing.T) {
	// A build puts the project that it was built from beside the image.
	build := func(dir, content string) {
		t.Helper()
		p.Host.Dir = dir
		if _, err := image.BuildFiles(t.Context(), p.Host, image.FilesOptions{Image: "controller:latest", Files: image.Files{"manager": []byte(content)}}); err != nil {
			t.Fatal(err)
		}
	}
	deployments := func(names ...string) []Deployment {
		var all []Deployment
		for _, n := range names {
			all = append(all, Deployment{n, "", []Container{{"manager", "controller:latest"}, {"proxy", "proxy:1"}}, nil})
		}
		return all
	}
	knows := func(want ...string) {
		t.Helper()
		_, list, err := p.registered(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, k := range list {
			what := k.Problem
			if k.Path != "" {
				data, err := os.ReadFile(k.Path)
				if err != nil {
					t.Fatal(err)
				}
				what = string(data)
			}
			got = append(got, k.Image+" "+k.Workload+": "+what)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("the cluster knows (-want +got):\n%s", d)
		}
	}
	register := func(namespace string, names ...string) func(context.Context) error {
		t.Helper()
		undo, err := p.Register(t.Context(), namespace, deployments(names...))
		if err != nil {
			t.Fatal(err)
		}
		return undo
	}
	one, two := t.TempDir(), t.TempDir()
	build(one, "one")
	register("one", "op")
	build(two, "two")
	undo := register("two", "op", "helper")
	knows("controller:latest : two", "controller:latest one/Deployment/op: one", "controller:latest two/Deployment/helper: two", "controller:latest two/Deployment/op: two")
	if err := undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	knows("controller:latest : one", "controller:latest one/Deployment/op: one")

	// What was told before an error is taken back.
	broken := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(broken, "cmd"), 0o755), os.WriteFile(filepath.Join(broken, "go.mod"), []byte("module x\n"), 0o644),
		os.WriteFile(filepath.Join(broken, "cmd", "main.go"), []byte("package main\n\nfunc main() { oops }\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	failing := p
	failing.Project = &Project{Dir: broken, Image: "proxy:1"}
	if _, err := failing.Register(t.Context(), "three", deployments("op")); err == nil || !strings.Contains(err.Error(), "oops") {
		t.Errorf("with a project that does not compile: %v", err)
	}
	knows("controller:latest : one", "controller:latest one/Deployment/op: one")

	// A cluster that is started again while a program is built has another socket.
	restarted := p
	restarted.Say = func(string, ...any) { p.moveSocket(t) }
	undo, err := restarted.Register(t.Context(), "four", deployments("op"))
	p.moveSocket(t)
	if err == nil {
		err = undo(t.Context())
	}
	if err != nil {
		t.Errorf("with a cluster that was started again: %v", err)
	}
	knows("controller:latest : one", "controller:latest one/Deployment/op: one")

	// A new build of a project goes to its own pods, and to those of nobody.
	register("two", "op")
	build(one, "one again")
	if err := p.RegisterImage(t.Context(), "controller:latest"); err != nil {
		t.Fatal(err)
	}
	knows("controller:latest : one again", "controller:latest one/Deployment/op: one again", "controller:latest two/Deployment/op: two")

	if err := p.Forget(t.Context(), []ServedImage{{"controller:latest", "two/Deployment/op"}, {"proxy:1", "two/Deployment/op"}}); err != nil {
		t.Fatal(err)
	}
	knows("controller:latest : one again", "controller:latest one/Deployment/op: one again")
	if err := p.Forget(t.Context(), []ServedImage{{"controller:latest", "one/Deployment/op"}}); err != nil {
		t.Fatal(err)
	}
	knows("controller:latest : one again") // the image is on this machine
	p.forgetAll(t)
	// What is new stays: another process may be about to tell the cluster of it.
	kept, _, err := p.keep([]byte("one again"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("a program that has just been kept: %v", err)
	}
	dir, err := p.dir()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "built-0"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	collects := func(after time.Duration, want int) {
		t.Helper()
		p.Host.Now = func() time.Time { return time.Now().Add(after) }
		if err := p.collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != want {
			t.Errorf("after %s there are %v, %v", after, left, err)
		}
	}
	collects(2*collecting, 1) // the build of a project
	collects(2*unbuilt, 0)
}

// testMissing says in the pods of an image that no program is there, until it is
// built.
func (p Programs) testMissing(t *testing.T) {
	const img = "r.example.com/shop:v0.0.1"
	register := func(containers ...Container) {
		t.Helper()
		first := Deployment{"first", "", []Container{{"manager", "first:1"}, {"helper", img}}, nil}
		if _, err := p.Register(t.Context(), "shop", []Deployment{first, {"shop-manager", "", containers, []Container{{"init", "init:1"}}}}); err != nil {
			t.Fatal(err)
		}
	}
	// A program for an init container does not make up for the operator's.
	if _, err := image.BuildFiles(t.Context(), p.Host, image.FilesOptions{Image: "init:1", Files: image.Files{"manager": []byte("x")}}); err != nil {
		t.Fatal(err)
	}
	problems := func() []string {
		t.Helper()
		_, list, err := p.registered(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, k := range list {
			if k.Problem != "" {
				all = append(all, k.Workload+": "+k.Problem)
			}
		}
		return all
	}
	for name, containers := range map[string][]Container{
		"alone": {{"operator", img}}, "manager": {{"proxy", "proxy:1"}, {"manager", img}}, "first": {{"operator", img}, {"proxy", "proxy:1"}},
	} {
		p.forgetAll(t)
		register(containers...)
		got := problems()
		if len(got) != 2 || !strings.HasPrefix(got[1], "shop/Deployment/shop-manager: ") || !strings.Contains(got[1], "mysdk image build --image ") || !strings.Contains(got[1], img) {
			t.Errorf("%s: problems %q", name, got)
		}
	}
	if err := p.RegisterImage(t.Context(), img); err != nil {
		t.Errorf("an image that is nowhere: %v", err)
	}
	if _, err := image.BuildFiles(t.Context(), p.Host, image.FilesOptions{Image: img, Files: image.Files{"manager": []byte("x")}}); err != nil {
		t.Fatal(err)
	}
	if err := p.RegisterImage(t.Context(), img); err != nil {
		t.Fatal(err)
	}
	if got := problems(); len(got) != 1 || strings.Contains(got[0], img) {
		t.Errorf("problems after the build %q", got)
	}
	// A sidecar that was not built is simulated beside an operator of any name.
	register(Container{"proxy", "proxy:1"}, Container{"operator", img})
	if got := problems(); len(got) != 1 || strings.Contains(got[0], "proxy:1") {
		t.Errorf("problems with a sidecar %q", got)
	}
	// Nor is a Deployment waited for beside that of the operator.
	register(Container{"redis", "redis:7"})
	if got := problems(); len(got) != 1 || strings.Contains(got[0], "redis:7") {
		t.Errorf("problems with another Deployment %q", got)
	}
	// What is here but does not run on this machine is not missing.
	if _, err := image.BuildFiles(t.Context(), p.Host, image.FilesOptions{Image: "tool:1", Files: image.Files{"other": []byte("x")}}); err != nil {
		t.Fatal(err)
	}
	register(Container{"manager", "tool:1"})
	if got := problems(); len(got) != 2 || !strings.Contains(got[1], ": image tool:1 cannot be used: it has no program /manager: ") {
		t.Errorf("problems with an image without a program %q", got)
	}
}

// testRegisterProject builds a project and has the pods of its Deployments run
// it, and no others.
func (p Programs) testRegisterProject(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{"go.mod": "module example.com/tiny\n\ngo 1.26\n", "cmd/main.go": "package main\n\nfunc main() {}\n"} {
		path := filepath.Join(dir, filepath.FromSlash(file))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	manifests := []*unstructured.Unstructured{
		object(t, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: redis, namespace: ns}\nspec: {template: {spec: {containers: [{name: redis, image: redis:7, command: [redis-server]}]}}}"),
		object(t, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop-manager, namespace: ns}\nspec: {template: {spec: {containers: [{name: manager, image: controller:latest}]}}}"),
		object(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: ns}"),
	}
	var said []string
	p.Project = &Project{Dir: dir}
	p.Say = func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	if err := p.RegisterProject(t.Context(), manifests); err != nil {
		t.Fatal(err)
	}
	_, list, err := p.registered(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("the cluster knows %v, %v", list, err)
	}
	for i, workload := range []string{"", "ns/Deployment/shop-manager"} {
		got := list[i]
		if got.Workload != workload || got.Project != dir || got.Image != "controller:latest" || got.Source != "project "+dir || got.Path == "" {
			t.Errorf("for %q: %+v", workload, got)
		}
	}
	if len(said) != 1 || !strings.HasPrefix(said[0], "Image controller:latest: the operator of this project, built in ") {
		t.Errorf("said %q", said)
	}

	// What does not compile is shown, and what runs goes on.
	if err := os.WriteFile(filepath.Join(dir, "cmd", "main.go"), []byte("package main\n\nfunc main() { oops }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := p.RegisterProject(t.Context(), manifests); err == nil || !strings.Contains(err.Error(), "oops") {
		t.Errorf("of a broken project: %v", err)
	}
	if _, now, err := p.registered(t.Context()); err != nil || len(now) != 2 || now[0].ID != list[0].ID {
		t.Errorf("the cluster knows %v, %v", now, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.RegisterProject(ctx, manifests); err == nil {
		t.Error("it went on after Ctrl-C")
	}
}
