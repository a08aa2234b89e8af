package cmd_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/example/mysdk/cmd"
	"github.com/example/mysdk/internal/host"
)

var update = flag.Bool("update", false, "rewrite golden trees, scripts and the reference from what the code does")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mysdk": func() { os.Exit(mysdk()) }})
}

func mysdk() int {
	h, err := host.System()
	if err != nil {
		return 1
	}
	return cmd.Main(context.Background(), h, os.Args[1:])
}

// TestScripts runs every script below testdata/script. A folder named cluster
// there needs a control plane and is left out of the short lane.
func TestScripts(t *testing.T) {
	dirs, err := filepath.Glob("../testdata/script/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			if testing.Short() && filepath.Base(dir) == "cluster" {
				t.Skip("needs the control plane")
			}
			testscript.Run(t, testscript.Params{Dir: dir, Setup: setUp, UpdateScripts: *update, RequireUniqueNames: true})
		})
	}
}

// setUp gives each script a home of its own and the real module and build
// caches.
func setUp(env *testscript.Env) error {
	w := env.WorkDir
	for _, k := range []string{"GOPATH", "GOMODCACHE", "GOCACHE", "GOFLAGS", "GOPROXY", "GOSUMDB", "GOTOOLCHAIN", "MYSDK_CLUSTER_BIN", "MYSDK_SOURCE"} {
		if v := os.Getenv(k); v != "" {
			env.Setenv(k, v)
		}
	}
	if home, err := os.UserHomeDir(); err == nil && os.Getenv("GOPATH") == "" {
		env.Setenv("GOPATH", filepath.Join(home, "go"))
	}
	if cache, err := os.UserCacheDir(); err == nil && os.Getenv("GOCACHE") == "" {
		env.Setenv("GOCACHE", filepath.Join(cache, "go-build"))
	}
	env.Setenv("HOME", filepath.Join(w, ".home"))
	env.Setenv("MYSDK_STATE_DIR", filepath.Join(w, ".state"))
	env.Setenv("MYSDK_CACHE_DIR", filepath.Join(w, ".cache"))
	env.Setenv("CGO_ENABLED", "0")
	return os.Mkdir(filepath.Join(w, ".home"), 0o755)
}
