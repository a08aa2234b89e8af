package chart_test

import (
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	helmkube "helm.sh/helm/v4/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kube/kubetest"
)

// release is a chart in a cluster, with helm's actions on it.
type release struct {
	host     host.Host
	cfg      *action.Configuration
	client   *kube.Client
	name, ns string
}

// openCluster gives helm a control plane of the test's own.
func openCluster(t *testing.T, name string) *release {
	t.Helper()
	h := kubetest.World(t)
	kubeconfig := kubetest.StartIn(t, h)
	client, err := kube.Connect(t.Context(), kube.Options{Host: h, Kubeconfig: kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	r := &release{host: h, cfg: action.NewConfiguration(action.ConfigurationSetLogger(slog.NewTextHandler(io.Discard, nil))), client: client, name: name, ns: name + "-system"}
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.Namespace = &kubeconfig, &r.ns
	if err := r.cfg.Init(flags, r.ns, "secret"); err != nil {
		t.Fatal(err)
	}
	return r
}

// live reads an object, nil for none.
func (r *release) live(t *testing.T, apiVersion, kind, ns, name string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(ns)
	u.SetName(name)
	got, err := r.client.Read(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// manager is what the live Deployment has of what the values say.
func (r *release) manager(t *testing.T) map[string]any {
	t.Helper()
	d := r.live(t, "apps/v1", "Deployment", r.ns, r.name+"-controller-manager")
	if d == nil {
		return nil
	}
	_, container := pod(d.Object)
	status, _ := d.Object["status"].(map[string]any)
	return map[string]any{"replicas": d.Object["spec"].(map[string]any)["replicas"], "ready": status["readyReplicas"], "image": container["image"]}
}

const patience = 3 * time.Minute

func (r *release) install(t *testing.T, files map[string][]byte) {
	t.Helper()
	i := action.NewInstall(r.cfg)
	i.ReleaseName, i.Namespace, i.CreateNamespace, i.WaitStrategy, i.Timeout = r.name, r.ns, true, helmkube.StatusWatcherStrategy, patience
	if _, err := i.RunWithContext(t.Context(), load(t, files), map[string]any{}); err != nil {
		t.Fatal(err)
	}
}

func (r *release) upgrade(t *testing.T, files map[string][]byte, values string) {
	t.Helper()
	u := action.NewUpgrade(r.cfg)
	u.Namespace, u.WaitStrategy, u.Timeout = r.ns, helmkube.StatusWatcherStrategy, patience
	if _, err := u.RunWithContext(t.Context(), r.name, load(t, files), parse(t, values).(map[string]any)); err != nil {
		t.Fatal(err)
	}
}

// TestInstall has helm install, upgrade, roll back and uninstall the chart of the
// Memcached project, and install it again over the CRD that is left.
func TestInstall(t *testing.T) {
	r := openCluster(t, "memcached")
	files, _ := render(t, "../../testdata/golden/memcached/want")
	check := func(what string, want map[string]any) {
		t.Helper()
		if d := cmp.Diff(want, r.manager(t)); d != "" {
			t.Errorf("after %s (-want +got):\n%s", what, d)
		}
	}
	first := map[string]any{"replicas": int64(1), "ready": int64(1), "image": "controller:latest"}
	r.install(t, files)
	check("the installation", first)
	sample := &unstructured.Unstructured{Object: parse(t, "{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: sample, namespace: default}, spec: {size: 1}}").(map[string]any)}
	if err := r.client.Edit(t.Context(), sample, func(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return sample, nil }); err != nil {
		t.Fatal(err)
	}

	r.upgrade(t, files, `{manager: {replicas: 2, image: {tag: v2}}, networkPolicy: {enabled: true}, metrics: {enabled: false}}`)
	check("the upgrade", map[string]any{"replicas": int64(2), "ready": int64(2), "image": "controller:v2"})
	policy := func() bool {
		return r.live(t, "networking.k8s.io/v1", "NetworkPolicy", r.ns, r.name+"-allow-metrics-traffic") != nil
	}
	service := func() bool {
		return r.live(t, "v1", "Service", r.ns, r.name+"-controller-manager-metrics-service") != nil
	}
	if !policy() || service() {
		t.Errorf("after the upgrade: network policy %v, metrics service %v", policy(), service())
	}

	b := action.NewRollback(r.cfg)
	b.Version, b.WaitStrategy, b.Timeout, b.ServerSideApply = 1, helmkube.StatusWatcherStrategy, patience, "auto"
	if err := b.Run(r.name); err != nil {
		t.Fatal(err)
	}
	check("the rollback", first)
	if policy() || !service() {
		t.Errorf("after the rollback: network policy %v, metrics service %v", policy(), service())
	}

	x := action.NewUninstall(r.cfg)
	x.WaitStrategy, x.Timeout, x.DeletionPropagation = helmkube.StatusWatcherStrategy, patience, "foreground"
	// In the foreground a Deployment goes when all else that it owned has gone. Helm
	// has been seen not to wait for that, and to call it an error.
	if _, err := x.Run(r.name); err != nil && !strings.Contains(err.Error(), "still exists. status: Terminating") {
		t.Fatal(err)
	}
	until(t, func() error {
		if left := r.manager(t); left != nil {
			return fmt.Errorf("after the uninstallation there is %v", left)
		}
		return nil
	})
	if r.live(t, "v1", "ServiceAccount", r.ns, r.name+"-controller-manager") != nil {
		t.Error("the manager's account is left")
	}
	if r.live(t, "cache.example.com/v1alpha1", "Memcached", "default", "sample") == nil {
		t.Error("the custom resource is gone, and with it the CRD that should be kept")
	}
	r.install(t, files)
	check("the second installation", first)
}

// TestInstall_Webhooks has the webhooks of a chart answer: the API server asks them
// for each new object, and takes none while nobody answers.
func TestInstall_Webhooks(t *testing.T) {
	hosttest.LeaveToNightly(t, "installs a second chart; webhooks answer in other tests, too")
	r := openCluster(t, "webhook-self")
	project := filepath.Join("..", "..", "testdata", "golden", r.name, "want")
	manager := filepath.Join(t.TempDir(), "manager")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", manager, "./cmd")
	build.Dir = project
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	control, err := cluster.Control(t.Context(), r.host, state.DefaultName)
	if err != nil {
		t.Fatal(err)
	}
	if err := control.SetProgram(t.Context(), state.Program{Image: "controller:latest", Path: manager}); err != nil {
		t.Fatal(err)
	}
	files, _ := render(t, project)
	r.install(t, files)
	n := 0
	create := func() error {
		n++
		sample := fmt.Sprintf("{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: m%d, namespace: %s}, spec: {size: 1}}", n, r.ns)
		_, err := r.client.Apply(t.Context(), []*unstructured.Unstructured{{Object: parse(t, sample).(map[string]any)}}, kube.ApplyOptions{})
		return err
	}
	until(t, create)
	r.upgrade(t, files, "{manager: {replicas: 0}}")
	until(t, func() error {
		err := create()
		switch {
		case err == nil:
			return fmt.Errorf("nobody answers, and it succeeds, of the manager there is %v", r.manager(t))
		case !strings.Contains(err.Error(), "failed calling webhook"):
			return fmt.Errorf("nobody answers, and it ends with %w, of the manager there is %v", err, r.manager(t))
		}
		return nil
	})
}

// until tries again until something is so.
func until(t *testing.T, so func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if err = so(); err == nil {
			return
		}
	}
	t.Fatal(err)
}
