package localrun

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestOverlayOfTwo: an operator finds the namespace of its run, whatever other
// runs of the project have been built since.
func TestOverlayOfTwo(t *testing.T) {
	w := newWorld(t)
	w.write(t, "go.mod", "module example.com/shop\n")
	w.write(t, "cmd/main.go", "package main\n\nconst file = \"/var/run/secrets/kubernetes.io/serviceaccount/namespace\"\n")
	files := map[string]string{}
	for _, namespace := range []string{"a", "b"} {
		r := newRun(Options{Dir: w.Dir, Trace: true}, w.deps())
		r.WatchNamespaces, r.plan.mainPkg = []string{namespace}, "./cmd"
		if err := r.plan.place(w.Host, w.Dir); err != nil {
			t.Fatal(err)
		}
		flags, err := newBuild(r).overlay()
		if err != nil {
			t.Fatal(err)
		}
		list, err := os.ReadFile(strings.TrimPrefix(flags[0], "-overlay="))
		if err != nil {
			t.Fatal(err)
		}
		code, err := os.ReadFile(regexp.MustCompile(`/cmd/main.go":"(.*?)"`).FindStringSubmatch(string(list))[1])
		if err != nil {
			t.Fatal(err)
		}
		files[namespace] = regexp.MustCompile(`file = "(.*)"`).FindStringSubmatch(string(code))[1]
	}
	for namespace, file := range files {
		if got, err := os.ReadFile(file); err != nil || string(got) != namespace {
			t.Errorf("the operator of %s reads %q, %v", namespace, got, err)
		}
	}
}
