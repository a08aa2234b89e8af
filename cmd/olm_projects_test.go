package cmd_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host/hosttest"
)

// TestTwoProjectsOfOneImageName brings two projects to one cluster whose images
// have the same name, as all scaffolds' have: each pod runs its own operator,
// also after it has restarted.
func TestTwoProjectsOfOneImageName(t *testing.T) {
	t.Parallel()
	hosttest.LeaveToNightly(t, "two operators are built and deployed, as one is in other tests")
	r := newOLMRun(t)
	r.mysdk("olm install --timeout 10m")
	shop := r.h.Dir
	r.scaffold()
	r.mysdk("deploy")
	depot := filepath.Join(filepath.Dir(shop), "depot-operator")
	if err := os.Mkdir(depot, 0o755); err != nil {
		t.Fatal(err)
	}
	r.h.Dir = depot
	r.mysdk("init --domain example.com --repo example.com/depot", "create api --group store --kind Shelf",
		"bundle generate --version 0.0.1", "run bundle ./bundle -n depot")

	logs := func(namespace, deployment string) string {
		t.Helper()
		if r.try("kubectl logs --namespace "+namespace+" deployment/"+deployment) != 0 {
			return "" // its pod may be starting, or going
		}
		return strings.ReplaceAll(r.out.String(), `": "`, `":"`)
	}
	own := func() bool {
		return strings.Contains(logs("shop-operator-system", "shop-operator-controller-manager"), `"controllerKind":"Memcached"`) &&
			strings.Contains(logs("depot", "depot-operator-controller-manager"), `"controllerKind":"Shelf"`)
	}
	r.until("each runs its own", own)
	restart := "kubectl rollout restart --namespace shop-operator-system deployment/shop-operator-controller-manager"
	r.mysdk(restart, "kubectl rollout status --namespace shop-operator-system deployment/shop-operator-controller-manager")
	r.until("each runs its own after a restart", own)

	// An image of that name, built here, is for the pods of this project.
	r.edit("internal/controller/shelf_controller.go", "pods are available", "pods are up")
	r.mysdk("image build --base scratch --offline")
	var from []string
	control, err := cluster.Control(t.Context(), r.h, state.DefaultName)
	if err != nil {
		t.Fatal(err)
	}
	programs, err := control.Programs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		from = append(from, p.Workload+" "+p.Project+" "+p.Source)
	}
	for _, want := range []string{
		" " + depot + " image controller:latest of this machine",
		"depot/Deployment/depot-operator-controller-manager " + depot + " image controller:latest of this machine",
		"shop-operator-system/Deployment/shop-operator-controller-manager " + shop + " project " + shop,
	} {
		if !slices.Contains(from, want) {
			t.Errorf("%q is missing in %q", want, from)
		}
	}
	r.until("each runs its own after a build", own)

	// One goes, the other stays.
	r.mysdk("cleanup depot-operator -n depot --delete-all")
	if programs, err = control.Programs(t.Context()); err != nil || len(programs) != 1 || programs[0].Project != shop {
		t.Errorf("the cluster knows %v, %v", programs, err)
	}
	r.mysdk(restart, "kubectl rollout status --namespace shop-operator-system deployment/shop-operator-controller-manager")
	r.until("the other one still runs", func() bool {
		return strings.Contains(logs("shop-operator-system", "shop-operator-controller-manager"), `"controllerKind":"Memcached"`)
	})
}
