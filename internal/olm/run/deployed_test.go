package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/kube"
)

// TestDeployedWait plays deployments without OLM and compares when the wait for
// them ends, and how.
func TestDeployedWait(t *testing.T) {
	const (
		roleYAML  = "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: shop}\n"
		forbidden = `failed to list *v1.Cart: carts.shop.example.com is forbidden: User "system:serviceaccount:ns:shop" cannot list resource "carts" in API group "shop.example.com" at the cluster scope` + "\n"
		running   = "{phase: Running, conditions: [{type: Ready, status: 'True'}]}\n"
		crashing  = "{phase: Running, containerStatuses: [{name: manager, image: 'shop:v1', restartCount: 2, lastState: {terminated: {exitCode: 2}}, state: {waiting: {reason: CrashLoopBackOff, message: back-off}}}]}\n"
		mount     = `
---
apiVersion: v1
kind: Event
metadata: {name: e1, namespace: ns}
involvedObject: {kind: Pod, name: shop-manager-abc-1, namespace: ns}
type: Warning
reason: FailedMount
message: 'MountVolume.SetUp failed for volume "conf": configmap "shop-conf" not found'
`
	)
	good := roleYAML + readyYAML + podYAML + running
	unseen := strings.NewReplacer("uid: dep-1, owner", "uid: dep-1, generation: 2, owner", "status: {available", "status: {observedGeneration: 1, available").Replace(deploymentYAML)
	for name, tc := range map[string]struct {
		scenes []scene
		log    string
		took   time.Duration
		err    string // "" is success
		hint   string // a part of it
		code   int
		warned string // a part of it
	}{
		"good":       {scenes: []scene{{0, good}}, took: time.Second},
		"comes late": {scenes: []scene{{0, roleYAML + deploymentYAML + podYAML + "{phase: Pending}\n"}, {3 * time.Second, good}}, took: 4 * time.Second},
		"lacks a right once it leads": {
			scenes: []scene{{0, good}}, log: "attempting to acquire leader lease\nsuccessfully acquired lease\n" + forbidden, took: 2 * time.Second,
			err:  "Pod ns/shop-manager-abc-1: the operator may not list carts.shop.example.com: its service account shop has no permission for it",
			hint: "//+kubebuilder:rbac:groups=shop.example.com,resources=carts,verbs=list to the controller, then run 'mysdk deploy' again", code: clierr.CodeFailed,
		},
		"lacks two rights": {
			scenes: []scene{{0, good}}, log: forbidden + strings.Replace(forbidden, `resource "carts" in API group "shop.example.com"`, `resource "pods" in API group ""`, 1), took: 2 * time.Second,
			err:  "Pod ns/shop-manager-abc-1: the operator may not list carts.shop.example.com, list pods: its service account shop has no permission for it",
			hint: `resources=carts,verbs=list and //+kubebuilder:rbac:groups="",resources=pods,verbs=list to the controller`, code: clierr.CodeFailed,
		},
		"is not the leader yet":                 {scenes: []scene{{0, good}}, log: "attempting to acquire leader lease\n", took: begins},
		"is not the leader when the time is up": {scenes: []scene{{0, roleYAML + deploymentYAML}, {18 * time.Second, good}}, log: "attempting to acquire leader lease\n", took: 20 * time.Second, warned: "0 of 1 replicas are available"},
		"crashes": {
			scenes: []scene{{0, roleYAML + deploymentYAML + podYAML + crashing}}, log: "panic: no database\n", took: 2 * time.Second,
			err: "Pod ns/shop-manager-abc-1: container manager ends with exit code 2 again and again: panic: no database", hint: "--previous", code: clierr.CodeFailed,
		},
		"has crashed before the change": {scenes: []scene{{0, roleYAML + unseen + podYAML + crashing}, {3 * time.Second, good}}, took: 4 * time.Second},
		"needs a ConfigMap": {
			scenes: []scene{{0, roleYAML + deploymentYAML + podYAML + "{phase: Pending}\n" + mount}}, took: 5 * time.Second,
			err: "Pod ns/shop-manager-abc-1: a volume needs configmap shop-conf, which does not exist", hint: "the Deployment below config/", code: clierr.CodeFailed,
		},
		"waits for a Secret": {
			scenes: []scene{{0, roleYAML + deploymentYAML + podYAML + "{phase: Pending}\n" + strings.Replace(mount, "configmap", "secret", 1)}, {10 * time.Second, good}}, took: 11 * time.Second,
			warned: "Warning: still waiting: Pod ns/shop-manager-abc-1: a volume needs secret shop-conf, which does not exist",
		},
		"is never ready": {
			scenes: []scene{{0, roleYAML + deploymentYAML + podYAML + "{phase: Running, conditions: [{type: Ready, status: 'False', reason: ContainersNotReady, message: unready}]}\n"}}, log: "serving\n", took: 20 * time.Second,
			err: "not ready after 20s: Pod ns/shop-manager-abc-1: it is not ready", hint: "mysdk kubectl describe pod shop-manager-abc-1 -n ns", code: clierr.CodeUnavailable,
			warned: "Warning: still waiting: Pod ns/shop-manager-abc-1: it is not ready\n  condition: Ready=False (ContainersNotReady): unready\n",
		},
		"no answer for a while": {scenes: []scene{{0, good}, {500 * time.Millisecond, refusing}, {3 * time.Second, good}}, took: 4 * time.Second},
		"no answer any more": {
			scenes: []scene{{0, refusing}}, took: 20 * time.Second,
			err: "not ready after 20s: ClusterRole shop: the cluster could not be asked: connection refused", hint: "wait longer", code: clierr.CodeUnavailable,
		},
		"is taken away": {
			scenes: []scene{{0, readyYAML + podYAML + running}}, took: 20 * time.Second,
			err: "not ready after 20s: ClusterRole shop: does not exist", hint: "wait longer", code: clierr.CodeUnavailable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &play{world: worldOf(t, ""), begin: time.Now(), scenes: tc.scenes}
				if tc.log != "" {
					p.logs["shop-manager-abc-1"] = tc.log
				}
				var said strings.Builder
				d := &Deployed{
					Reader: turning{p, t}, Timeout: 20 * time.Second, Now: time.Now,
					Objects: []*unstructured.Unstructured{kube.Named("rbac.authorization.k8s.io/v1", "ClusterRole", "", "shop"), kube.Named("apps/v1", "Deployment", "ns", "shop-manager")},
					Say:     func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) },
				}
				err := d.Wait(t.Context())
				if got := time.Since(p.begin).Truncate(100 * time.Millisecond); got < tc.took || got > tc.took+600*time.Millisecond {
					t.Errorf("took %s, want %s", got, tc.took)
				}
				var f *Failure
				switch {
				case tc.err == "" && err != nil:
					t.Fatal(err)
				case tc.err != "" && (err == nil || err.Error() != tc.err || clierr.CodeOf(err) != tc.code || !strings.Contains(clierr.HintOf(err), tc.hint) || !errors.As(err, &f)):
					t.Errorf("error %v, code %d, hint %s", err, clierr.CodeOf(err), clierr.HintOf(err))
				}
				if tc.warned == "" && said.Len() > 0 && tc.code != clierr.CodeUnavailable || strings.Count(said.String(), tc.warned) != 1 && tc.warned != "" {
					t.Errorf("said:\n%s", &said)
				}
			})
		})
	}
}

// hanging is a cluster that does not answer.
type hanging struct{ *world }

func (hanging) Read(ctx context.Context, _ *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestDeployedWaitHangs ends with the time.
func TestDeployedWaitHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Deployed{Reader: hanging{}, Timeout: time.Minute, Now: time.Now, Objects: []*unstructured.Unstructured{kube.Named("v1", "Namespace", "", "ns")}}
		if err := d.Wait(t.Context()); err == nil || err.Error() != "not ready after 1m0s: Namespace ns: the cluster did not answer in time" {
			t.Error(err)
		}
	})
}

// leaving is a cluster that after a while refuses a user who has just left.
type leaving struct {
	*world
	at    time.Time
	leave func()
}

func (l leaving) Read(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if time.Now().Before(l.at) {
		return l.world.Read(ctx, u)
	}
	l.leave()
	return nil, errForbidden
}

// TestDeployedWaitIsLeft while the operator is good and only has to become the
// leader: that is fine when the time is up, and not before.
func TestDeployedWaitIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := worldOf(t, readyYAML+podYAML+"{phase: Running, conditions: [{type: Ready, status: 'True'}]}\n")
		w.logs["shop-manager-abc-1"] = "attempting to acquire leader lease\n"
		d := &Deployed{
			Reader: leaving{w, time.Now().Add(3 * time.Second), cancel}, Timeout: time.Minute, Now: time.Now,
			Objects: []*unstructured.Unstructured{kube.Named("apps/v1", "Deployment", "ns", "shop-manager")},
		}
		if err := d.Wait(ctx); err == nil || d.goodSince.IsZero() {
			t.Errorf("%v, good since %v", err, d.goodSince)
		}
	})
}

// TestDeployedWaitStops is no failure of the operator.
func TestDeployedWaitStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := &Deployed{Reader: worldOf(t, ""), Timeout: time.Hour, Now: time.Now, Objects: []*unstructured.Unstructured{kube.Named("v1", "Namespace", "", "ns")}}
	if err := d.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
