// Package kubetest gives tests a real control plane.
package kubetest

import (
	"context"
	"os"
	"testing"

	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

// Start starts an embedded cluster of the test's own, which ends with the test,
// and returns the path of its kubeconfig. Under -short the test is skipped. The
// binary is the one that MYSDK_CLUSTER_BIN names, or is built, which takes
// minutes the first time.
func Start(t testing.TB) string {
	t.Helper()
	return StartIn(t, World(t))
}

// StartIn is Start in h's state directory: to h the cluster is an embedded one.
func StartIn(t testing.TB, h host.Host) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a control plane")
	}
	info, err := cluster.Start(t.Context(), h, cluster.Options{DieWithParent: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's context has ended when cleanups run.
		if _, err := cluster.Stop(context.WithoutCancel(t.Context()), h, state.DefaultName); err != nil {
			t.Error(err)
		}
	})
	return info.Kubeconfig
}

// World is a host for a cluster of the test's own. Its cache for binaries is
// the user's, so that the control plane is not linked for each test.
func World(t testing.TB) host.Host {
	t.Helper()
	w := hosttest.New(t)
	for _, name := range []string{cluster.BinaryEnv, "MYSDK_CACHE_DIR", "XDG_CACHE_HOME"} {
		delete(w.Env, name)
		if v, ok := os.LookupEnv(name); ok {
			w.Env[name] = v
		}
	}
	return w.Host
}
