package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/kube"
)

// play is a cluster that changes with time.
type play struct {
	*world
	begin  time.Time
	scenes []scene
}

// scene is what the cluster has from a moment on.
type scene struct {
	at    time.Duration
	world string
}

// turn puts the world of the moment in place.
func (p *play) turn(t *testing.T) {
	for _, s := range p.scenes {
		if time.Since(p.begin) < s.at {
			continue
		}
		if p.err = requestErrors[s.world]; p.err == nil {
			p.objects = worldOf(t, s.world).objects
		}
	}
}

// refusing and restarting are scenes in which every request fails.
const refusing, restarting = "refusing", "restarting"

var requestErrors = map[string]error{
	refusing:   clierr.Unavailablef("", "connection refused"),
	restarting: fmt.Errorf("list: %w", apierrors.NewInternalError(errors.New("etcdserver: leader changed"))),
}

const (
	pendingWorld = subWith + "{currentCSV: shop.v1, state: UpgradePending}\n" + sourceYAML + csvYAML + "{phase: Pending, reason: RequirementsUnknown}\n"
	goodSub      = subWith + "{currentCSV: shop.v1, installedCSV: shop.v1, state: AtLatestKnown}\n"
	goodWorld    = goodSub + sourceYAML + csvYAML + succeeded + readyYAML
	flapWorld    = goodSub + sourceYAML + csvYAML + "{phase: Failed, reason: RequirementsNotMet, message: requirements no longer met, requirementStatus: [{kind: ServiceAccount, name: shop, status: NotPresent, message: gone}]}\n" + readyYAML
)

// oldCSV is the one before, on its way out.
var oldCSV = strings.NewReplacer("shop.v1", "shop.v0", "csv-1", "csv-0").Replace(csvYAML) + "{phase: Replacing, reason: BeingReplaced}\n"

// oldBinding gives the account of the one before its rights.
const oldBinding = `
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: shop.v0-abc, labels: {olm.owner: shop.v0, olm.owner.namespace: ns}}
`

// conversionCRD is the bundle's, as it is in the cluster with that clientConfig.
func conversionCRD(client string) string {
	return `
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: carts.shop.example.com}
spec: {conversion: {strategy: Webhook, webhook: {clientConfig: ` + client + `}}}
`
}

// TestWait plays installs and upgrades and compares when they end, and how.
func TestWait(t *testing.T) {
	const unread = "CatalogSource ns/shop-catalog: its catalog cannot be read from image r.example.com/c:1: pull image r.example.com/c:1: UNAUTHORIZED; and OLM resolves nothing in namespace ns until it can"
	unreadWorld := subWith + `{conditions: [{type: ResolutionFailed, status: "True", reason: ErrorPreventedResolution, message: "error using catalogsource ns/shop-catalog: failed to list bundles: rpc error: code = Unavailable desc = catalog ns/shop-catalog: pull image r.example.com/c:1: UNAUTHORIZED"}]}` +
		strings.Replace(sourceYAML, "address: ", "image: r.example.com/c:1, was: ", 1) + `
---
apiVersion: v1
kind: Pod
metadata: {name: shop-catalog-x, namespace: ns, labels: {olm.catalogSource: shop-catalog}}
status: {phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{name: registry-server, image: "r.example.com/c:1", ready: true, state: {running: {}}}]}`
	convertedWorld := strings.Replace(goodWorld, "  customresourcedefinitions:",
		"  webhookdefinitions: [{type: ValidatingAdmissionWebhook, conversionCRDs: [none]}, {type: ConversionWebhook, conversionCRDs: [carts.shop.example.com]}]\n  customresourcedefinitions:", 1)
	tests := map[string]struct {
		old    string
		scenes []scene
		log    string        // of the operator
		took   time.Duration // rounded down to 100 ms
		err    string        // "" is success
		code   int
		said   []string
	}{
		"good": {
			scenes: []scene{{0, subYAML + sourceYAML}, {time.Second, pendingWorld}, {2 * time.Second, goodWorld}},
			took:   3 * time.Second,
			said: []string{
				"Subscription ns/shop: waiting for OLM", "ClusterServiceVersion ns/shop.v1: Pending", "ClusterServiceVersion ns/shop.v1: Succeeded",
			},
		},
		"already there": {scenes: []scene{{0, goodWorld}}, took: time.Second, said: []string{"ClusterServiceVersion ns/shop.v1: Succeeded"}},
		"waits to lead": {
			scenes: []scene{{0, goodWorld + podYAML + "{phase: Running}\n"}}, log: "Attempting to acquire leader lease...\n", took: 15 * time.Second,
		},
		"reads what it watches": {
			scenes: []scene{{0, goodWorld + podYAML + "{phase: Running}\n"}}, took: 15 * time.Second,
			log: `INFO	Starting EventSource	{"controller": "shop", "source": "kind source: *v1.Shop"}` + "\n",
		},
		"one controller of two works": {
			scenes: []scene{{0, goodWorld + podYAML + "{phase: Running}\n"}}, took: 15 * time.Second,
			log: `{"msg":"Starting EventSource","controller":"shop"}` + "\n" + `{"msg":"Starting EventSource","controller":"cart"}` + "\n" + `{"msg":"Starting workers","controller":"cart"}` + "\n",
		},
		"works, and watches more": {
			scenes: []scene{{0, goodWorld + podYAML + "{phase: Running}\n"}}, took: time.Second,
			log: `"Starting EventSource" controller="shop"` + "\n" + `"Starting workers" controller="shop"` + "\n" + `"Starting EventSource" controller="shop"` + "\n",
		},
		"leads": {
			scenes: []scene{{0, goodWorld + podYAML + "{phase: Running}\n"}}, log: "Attempting to acquire leader lease...\nSuccessfully acquired lease\n", took: time.Second,
		},
		"falls back for a moment": {
			scenes: []scene{{0, goodWorld}, {500 * time.Millisecond, flapWorld}, {1500 * time.Millisecond, goodWorld}},
			took:   2500 * time.Millisecond,
			said: []string{
				"ClusterServiceVersion ns/shop.v1: Succeeded", "ClusterServiceVersion ns/shop.v1: Failed", "ClusterServiceVersion ns/shop.v1: Succeeded",
			},
		},
		"loses its conversion for a moment": {
			scenes: []scene{
				{0, convertedWorld + conversionCRD("{caBundle: Y2E=}")}, {500 * time.Millisecond, convertedWorld + conversionCRD("{service: {name: of-the-bundle}}")},
				{3 * time.Second, convertedWorld + conversionCRD("{caBundle: Y2E=}")},
			},
			took: 4 * time.Second,
		},
		"falls back for good": {
			scenes: []scene{{0, goodWorld}, {500 * time.Millisecond, flapWorld}},
			took:   5500 * time.Millisecond, err: "ClusterServiceVersion ns/shop.v1: requirements are missing: ServiceAccount shop: gone", code: clierr.CodeFailed,
		},
		"the old one goes late": {
			old: "shop.v0", scenes: []scene{{0, goodWorld + oldCSV}, {3 * time.Second, goodWorld}},
			took: 4 * time.Second, said: []string{"ClusterServiceVersion ns/shop.v1: Succeeded"},
		},
		"the old one's rights go late": {
			old: "shop.v0", scenes: []scene{{0, goodWorld + oldCSV}, {time.Second, goodWorld + oldBinding}, {3 * time.Second, goodWorld}},
			took: 4 * time.Second, said: []string{"ClusterServiceVersion ns/shop.v1: Succeeded"},
		},
		"the old one's rights stay": {
			old: "shop.v0", scenes: []scene{{0, goodWorld + oldBinding}},
			took: 16 * time.Second, said: []string{"ClusterServiceVersion ns/shop.v1: Succeeded"},
		},
		"catalog comes late": {
			scenes: []scene{{0, subYAML + replaceState(sourceYAML, "CONNECTING")}, {4 * time.Second, goodWorld}},
			took:   5 * time.Second,
		},
		"catalog never comes": {
			scenes: []scene{{0, subYAML + replaceState(sourceYAML, "CONNECTING")}},
			took:   5 * time.Second, err: "CatalogSource ns/shop-catalog: its catalog cannot be reached at shop-catalog.ns.svc:50051 (gRPC connection CONNECTING)", code: clierr.CodeFailed,
		},
		"catalog's pod is there but OLM reads nothing": {
			scenes: []scene{{0, unreadWorld}},
			took:   20 * time.Second, err: "not ready after 20s: " + unread, code: clierr.CodeUnavailable,
		},
		"catalog's pod only stands for what the cluster cannot pull": {
			scenes: []scene{{0, unreadWorld + `
---
apiVersion: v1
kind: Event
metadata: {name: e1, namespace: ns}
involvedObject: {kind: CatalogSource, name: shop-catalog, namespace: ns}
type: Warning
reason: CatalogUnavailable
message: "pull image r.example.com/c:1: UNAUTHORIZED"
`}},
			took: 5 * time.Second, err: unread, code: clierr.CodeFailed,
		},
		"no answer for a while": {
			scenes: []scene{{0, goodWorld}, {300 * time.Millisecond, refusing}, {8 * time.Second, goodWorld}},
			took:   9 * time.Second,
			said:   []string{"ClusterServiceVersion ns/shop.v1: Succeeded", "Warning: still waiting: Subscription ns/shop: the cluster could not be asked: connection refused"},
		},
		"an API server that restarts": {
			scenes: []scene{{0, pendingWorld}, {time.Second, restarting}, {2 * time.Second, goodWorld}}, took: 3 * time.Second,
		},
		"no answer any more": {
			scenes: []scene{{0, refusing}},
			took:   20 * time.Second, err: "not ready after 20s: Subscription ns/shop: the cluster could not be asked: connection refused", code: clierr.CodeUnavailable,
		},
		"never ready": {
			scenes: []scene{{0, goodSub + sourceYAML + csvYAML + installing + deploymentYAML + podYAML + "{phase: Running, conditions: [{type: Ready, status: 'False', reason: ContainersNotReady, message: unready}]}\n"}},
			took:   20 * time.Second, err: "not ready after 20s: Pod ns/shop-manager-abc-1: it is not ready", code: clierr.CodeUnavailable,
			said: []string{"ClusterServiceVersion ns/shop.v1: Installing", "Warning: still waiting: Pod ns/shop-manager-abc-1: it is not ready\n  condition: Ready=False (ContainersNotReady): unready"},
		},
		"nothing happens": {
			scenes: []scene{{0, subYAML + sourceYAML}},
			took:   20 * time.Second, err: "not ready after 20s: Subscription ns/shop: OLM has not made an InstallPlan for it yet", code: clierr.CodeUnavailable,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &play{world: worldOf(t, ""), begin: time.Now(), scenes: tc.scenes}
				if tc.log != "" {
					p.logs["shop-manager-abc-1"] = tc.log
				}
				var said []string
				w := &waiter{
					reader: p, namespace: "ns", pkg: "shop", want: "shop.v1", old: tc.old, timeout: 20 * time.Second,
					watch: watch{
						now: func() time.Time { p.turn(t); return time.Now() },
						say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) },
					},
				}
				err := w.wait(t.Context())
				if got := time.Since(p.begin).Truncate(100 * time.Millisecond); got < tc.took || got > tc.took+600*time.Millisecond {
					t.Errorf("took %s, want %s", got, tc.took)
				}
				switch {
				case tc.err == "" && err != nil:
					t.Fatal(err)
				case tc.err != "":
					if err == nil || err.Error() != tc.err || clierr.CodeOf(err) != tc.code {
						t.Errorf("error %v, code %d", err, clierr.CodeOf(err))
					}
					var f *Failure
					if !errors.As(err, &f) || f.Finding == nil {
						t.Errorf("the error carries no finding: %v", err)
					}
				}
				if tc.said != nil {
					if diff := cmp.Diff(tc.said, said); diff != "" {
						t.Errorf("said (-want +got):\n%s", diff)
					}
				}
			})
		})
	}
}

// TestWaitEndsWithARefusal: what the cluster refuses, it refuses the next time.
func TestWaitEndsWithARefusal(t *testing.T) {
	refusal := apierrors.NewForbidden(schema.GroupResource{Resource: "subscriptions"}, "", errors.New("no"))
	w := &waiter{reader: &world{err: refusal}, watch: watch{now: time.Now, say: func(string, ...any) {}}, namespace: "ns", pkg: "shop", want: "shop.v1", timeout: time.Hour}
	if err := w.wait(t.Context()); !errors.Is(err, refusal) {
		t.Error(err)
	}
}

// TestWaitApproves approves a plan of its own CSV, also with what that depends on, but
// not with an upgrade that another Subscription holds back.
func TestWaitApproves(t *testing.T) {
	plan := func(csvs string) string {
		return subWith + "{installPlanRef: {name: install-1}}\n" + sourceYAML + `
---
apiVersion: operators.coreos.com/v1alpha1
kind: InstallPlan
metadata: {name: install-1, namespace: ns}
spec: {approved: false, clusterServiceVersionNames: [` + csvs + `]}
status: {phase: RequiresApproval}
`
	}
	held := strings.Replace(subYAML, "name: shop,", "name: cart,", 2)
	held = strings.Replace(held, "spec: {", "spec: {installPlanApproval: Manual, ", 1) + "status: {installedCSV: cart.v1, currentCSV: cart.v2}\n"
	for csvs, want := range map[string]bool{"shop.v1": true, "shop.v1, etcd.v1": true, "etcd.v1": false, "shop.v1, cart.v2": false} {
		synctest.Test(t, func(t *testing.T) {
			p := &play{world: worldOf(t, plan(csvs)+held), begin: time.Now()}
			approved := false
			w := &waiter{
				reader: p, watch: watch{now: time.Now, say: func(string, ...any) {}}, namespace: "ns", pkg: "shop", want: "shop.v1", timeout: 5 * time.Second,
				approve: func(context.Context, *unstructured.Unstructured) error {
					approved = true
					p.objects = worldOf(t, goodWorld).objects
					return nil
				},
			}
			err := w.wait(t.Context())
			if approved != want || (err == nil) != want {
				t.Errorf("%s: approved %v, %v", csvs, approved, err)
			}
		})
	}
}

// TestWaitStops ends at once, and with no failure, when the user does not want
// to wait any more.
func TestWaitStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := &waiter{reader: worldOf(t, subYAML), watch: watch{now: time.Now, say: func(string, ...any) {}}, namespace: "ns", pkg: "shop", want: "shop.v1", timeout: time.Hour}
	if err := w.wait(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// turning is a play that goes on at every look.
type turning struct {
	*play
	t *testing.T
}

func (p turning) Read(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	p.turn(p.t)
	return p.play.Read(ctx, u)
}

// TestAwaitCatalog waits for the connection, and for a catalog without one only
// for a while.
func TestAwaitCatalog(t *testing.T) {
	connecting := replaceState(sourceYAML, "CONNECTING")
	const served = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: shop-catalog-x, namespace: ns, labels: {olm.catalogSource: shop-catalog}}\nstatus: "
	for name, tc := range map[string]struct {
		scenes []scene
		took   time.Duration
	}{
		"connected":         {[]scene{{0, sourceYAML}}, 0},
		"connected later":   {[]scene{{0, connecting}, {time.Second, sourceYAML}}, time.Second},
		"never":             {[]scene{{0, connecting}}, fresh},
		"not tried":         {[]scene{{0, replaceState(sourceYAML, "IDLE")}}, connects},
		"no answer":         {[]scene{{0, connecting}, {time.Second, refusing}, {2 * time.Second, sourceYAML}}, 2 * time.Second},
		"a pod that starts": {[]scene{{0, connecting + served + "{phase: Pending}\n"}, {20 * time.Second, sourceYAML + served + "{phase: Running}\n"}}, 20 * time.Second},
		"a pod that cannot": {[]scene{{0, connecting + served + "{phase: Pending, containerStatuses: [{name: registry, state: {waiting: {reason: ErrImagePull}}}]}\n"}}, fresh},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &play{world: worldOf(t, ""), begin: time.Now(), scenes: tc.scenes}
				if err := awaitCatalog(t.Context(), turning{p, t}, kube.Named(olmV1alpha1, "CatalogSource", "ns", "shop-catalog"), connects); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(p.begin).Truncate(200 * time.Millisecond); got != tc.took {
					t.Errorf("took %s, want %s", got, tc.took)
				}
			})
		})
	}
}
