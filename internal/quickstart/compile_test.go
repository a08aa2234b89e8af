package main

import (
	"strings"
	"testing"
)

// TestPackages: paths of packages are counted, however they arrive, and what
// else the go command says is passed on.
func TestPackages(t *testing.T) {
	var rest strings.Builder
	p := &packages{to: &rest}
	for _, part := range []string{"go: downloading k8s.io/api v0.36.3\nk8s.io/ap", "i/core/v1\nerrors\n", "# example.com/a\na.go:1:1: no such thing\n"} {
		if n, err := p.Write([]byte(part)); err != nil || n != len(part) {
			t.Fatal(n, err)
		}
	}
	if got := p.done.Load(); got != 2 {
		t.Errorf("%d packages, want 2", got)
	}
	if want := "go: downloading k8s.io/api v0.36.3\n# example.com/a\na.go:1:1: no such thing\n"; rest.String() != want {
		t.Errorf("passed on %q, want %q", rest.String(), want)
	}
}
