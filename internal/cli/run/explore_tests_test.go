package run

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/host/hosttest"
)

// TestTestsForFindsTheProgram: the main package is the one that is built, wherever
// it is, in a module that may be that of a directory further up.
func TestTestsForFindsTheProgram(t *testing.T) {
	w := hosttest.New(t)
	for file, text := range map[string]string{
		"../go.mod":                  "module example.com/shop\n\nrequire sigs.k8s.io/controller-runtime v0.22.0\n",
		"config/crd/bases/shop.yaml": "",
		"cmd/main.go":                "package main\n\nfunc main() {}\n",
		"cmd/operator/main.go": `package main

import "example.com/shop/controller"

func main() {
	if err := (&controller.ShopReconciler{Client: mgr.GetClient()}).SetupWithManager(mgr); err != nil {
		panic(err)
	}
}
`,
	} {
		file = filepath.Join(w.Dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o750), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := (&exploreOptions{tests: "test/explore"}).testsFor(&cli.Factory{Host: w.Host})
	if err != nil || len(p.Setup.Setups) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}
