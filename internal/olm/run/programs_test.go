package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/host/hosttest"
)

// TestManagerImage finds the operator among the containers.
func TestManagerImage(t *testing.T) {
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {template: {spec: {containers: ["
	for name, tc := range map[string]struct{ manifest, want string }{
		"alone":       {deployment + "{name: x, image: a}]}}}", "a"},
		"manager":     {deployment + "{name: proxy, image: a}, {name: manager, image: b}]}}}", "b"},
		"first":       {deployment + "{name: x, image: a}, {name: y, image: b}]}}}", "a"},
		"none":        {deployment + "]}}}", ""},
		"not a kind":  {"apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: manager, image: a}]}", ""},
		"not a image": {deployment + "{name: manager}]}}}", ""},
	} {
		if got := ManagerImage(worldOf(t, tc.manifest).objects[0]); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
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
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(first), "*.half")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// TestProblem says what to type, and what the project here has.
func TestProblem(t *testing.T) {
	p := Programs{Project: &Project{Image: "controller:latest"}}
	got := p.problem("shop:v9")
	for _, want := range []string{"'mysdk image build --image shop:v9'", "the project here has the image controller:latest"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	if hint := imageHint("shop:v9", got); hint != "build it with 'mysdk image build --image shop:v9'" {
		t.Errorf("hint %q", hint)
	}
}
