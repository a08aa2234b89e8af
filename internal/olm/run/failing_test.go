package run

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/catalog"
	"github.com/example/mysdk/internal/kube"
)

// errCut is the failure of a request.
var errCut = errors.New("the connection was cut")

// cut is a cluster whose connection fails at one request.
type cut struct {
	*world
	at, asked int
}

func (c *cut) fails() bool { c.asked++; return c.asked == c.at }

func (c *cut) Read(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if c.fails() {
		return nil, errCut
	}
	return c.world.Read(ctx, u)
}

func (c *cut) List(ctx context.Context, gvk schema.GroupVersionKind, o kube.ListOptions) ([]*unstructured.Unstructured, error) {
	if c.fails() {
		return nil, errCut
	}
	return c.world.List(ctx, gvk, o)
}

func (c *cut) Serves(ctx context.Context, gvk schema.GroupVersionKind) (bool, error) {
	if c.fails() {
		return false, errCut
	}
	return c.world.Serves(ctx, gvk)
}

// tenant is a cluster for a user who has no rights outside of namespace ns.
type tenant struct{ *world }

var errForbidden = apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no rights outside of the namespace"))

func (c tenant) Read(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if u.GetNamespace() != "ns" && u.GetName() != "ns" {
		return nil, fmt.Errorf("read: %w", errForbidden)
	}
	return c.world.Read(ctx, u)
}

func (c tenant) List(ctx context.Context, gvk schema.GroupVersionKind, o kube.ListOptions) ([]*unstructured.Unstructured, error) {
	if o.Namespace != "ns" || gvk.Kind == "ClusterRole" {
		return nil, fmt.Errorf("list: %w", errForbidden)
	}
	return c.world.List(ctx, gvk, o)
}

func (tenant) Allowed(context.Context, kube.Access) (bool, error) {
	return false, fmt.Errorf("ask: %w", errForbidden)
}

// TestTenant: rights in one namespace are enough for what is in it.
func TestTenant(t *testing.T) {
	const refusal = `pods is forbidden: User "system:serviceaccount:ns:shop" cannot list resource "pods" in API group "" in the namespace "ns"`
	far := strings.Replace(subYAML, "sourceNamespace: ns", "sourceNamespace: far", 1)
	w := worldOf(t, nsYAML+subYAML+sourceYAML+csvYAML+succeeded+readyYAML+podYAML+"{phase: Running}\n")
	w.objects = append(w.objects, crdObject("clusterserviceversions.operators.coreos.com"))
	w.logs["shop-manager-abc-1"] = refusal
	user := tenant{w}
	if found, err := diagnoseOnce(t.Context(), user, "ns", "", "shop.v1"); err != nil || found != nil {
		t.Errorf("a healthy operator: %v, %v", found, err)
	}
	if _, err := Operators(t.Context(), user, "ns", ""); err != nil {
		t.Errorf("explain: %v", err)
	}
	if f, err := diagnoseOnce(t.Context(), tenant{worldOf(t, far)}, "ns", "shop", ""); err != nil || f == nil || f.Object.Kind != "Subscription" {
		t.Errorf("a catalog out of sight: %v, %v", f, err)
	}
	in := running(t, nsYAML, Options{})
	in.reader = tenant{in.reader.(*world)}
	if err := in.plan(t.Context()); err != nil || !in.before.crds["carts.shop.example.com"] {
		t.Errorf("run: %v", err)
	}
	cl := &cleaner{CleanupOptions: CleanupOptions{Namespace: "ns", Say: func(string, ...any) {}}, reader: user, pkg: "shop"}
	if err := cl.find(t.Context()); err != nil {
		t.Errorf("cleanup: %v", err)
	}
	if _, _, err := cl.catalog(t.Context()); err != nil {
		t.Errorf("cleanup of the catalog: %v", err)
	}
	for _, kind := range []string{"Role", "ClusterRole"} {
		if _, err := cl.leftOf(t.Context(), gvk("rbac.authorization.k8s.io/v1", kind)); err != nil {
			t.Errorf("cleanup of each %s: %v", kind, err)
		}
	}
	if err := cl.unlabelCRDs(t.Context()); err != nil {
		t.Errorf("cleanup of labels: %v", err)
	}
}

// TestNoFailureIsTakenForAnAnswer cuts the connection at every request in turn:
// what cannot be read must not look like what is not there.
func TestNoFailureIsTakenForAnAnswer(t *testing.T) {
	const installed = "{installedCSV: shop.v0.0.1, currentCSV: shop.v0.0.1, installPlanRef: {name: install-1}}"
	source := strings.Replace(sourceYAML, "namespace: ns}", "namespace: ns, labels: {"+runLabel+": shop}}", 1)
	everything := nsYAML + ours(installed) + liveCSV("1", "Succeeded") + source + groupYAML + deploymentYAML + podYAML + "{phase: Running}\n" +
		secretYAML("pull", "kubernetes.io/dockerconfigjson", ".dockerconfigjson: e30=")
	for name, do := range map[string]func(Reader) error{
		"require OLM": func(r Reader) error { return requireOLM(t.Context(), r) },
		"survey": func(r Reader) error {
			_, err := takeSurvey(t.Context(), r, "ns", "shop", []string{"carts.shop.example.com"})
			return err
		},
		"plan": func(r Reader) error {
			in := &installer{Options: Options{Namespace: "ns", PullSecrets: []string{"pull"}, ServiceAccount: "none"}, reader: r, bundle: makeBundle(t, "0.0.2", "")}
			err := in.plan(t.Context())
			if err != nil && strings.Contains(err.Error(), "has no ServiceAccount none") {
				return nil // as far as it can go
			}
			return err
		},
		"first plan": func(r Reader) error {
			in := &installer{Options: Options{Namespace: "new"}, reader: r, bundle: makeBundle(t, "0.0.2", "")}
			return in.plan(t.Context())
		},
		"look": func(r Reader) error { _, err := look(t.Context(), r, "ns", "shop", ""); return err },
		"cleanup": func(r Reader) error {
			return (&cleaner{CleanupOptions: CleanupOptions{Namespace: "ns"}, reader: r, pkg: "shop"}).find(t.Context())
		},
		"left over": func(r Reader) error {
			cl := &cleaner{CleanupOptions: CleanupOptions{Namespace: "ns"}, reader: r, pkg: "shop", csvs: objects{kube.Named(olmV1alpha1, "ClusterServiceVersion", "ns", "shop.v1")}}
			_, err := cl.leftOf(t.Context(), gvk("apps/v1", "Deployment"))
			return err
		},
		"glance": func(r Reader) error {
			w := &waiter{reader: r, watch: watch{now: time.Now, say: func(string, ...any) {}}, namespace: "ns", pkg: "shop", want: "shop.v0.0.1", old: "shop.v0.0.0"}
			_, err := w.glance(t.Context())
			return err
		},
		"explain":     func(r Reader) error { _, err := Operators(t.Context(), r, "ns", ""); return err },
		"failed jobs": func(r Reader) error { _, err := failedJobs(t.Context(), r, "ns"); return err },
		"pull secret": func(r Reader) error { _, _, err := PullSecret(t.Context(), r, "ns", "pull"); return err },
		"leases":      func(r Reader) error { _, err := leaderLeases(t.Context(), r, "ns", "shop.v0.0.1"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			c := &cut{world: worldOf(t, everything)}
			c.objects = append(c.objects, crdObject("clusterserviceversions.operators.coreos.com"))
			if err := do(c); err != nil || c.asked == 0 {
				t.Fatalf("with a good connection: %d requests, %v", c.asked, err)
			}
			for c.at = range c.asked {
				c.asked = 0
				c.at++
				if err := do(c); !errors.Is(err, errCut) {
					t.Errorf("request %d failed, and the error is %v", c.at, err)
				}
			}
		})
	}
}

// TestCheckPod judges pods by their conditions and their containers.
func TestCheckPod(t *testing.T) {
	waiting := func(reason, message string) string {
		return "{phase: Pending, containerStatuses: [{name: manager, image: 'shop:v1', state: {waiting: {reason: " + reason + ", message: \"" + message + "\"}}}]}"
	}
	for name, tc := range map[string]struct {
		status, want, hint string
		after              time.Duration
	}{
		"done":             {status: "{phase: Succeeded}"},
		"ready":            {status: "{phase: Running, conditions: [{type: Ready, status: 'True'}]}"},
		"starting":         {status: waiting("ContainerCreating", ""), want: "it is not ready", after: waitOnly},
		"private image":    {status: waiting("ErrImagePull", "401 unauthorized"), want: "the image shop:v1 of container manager cannot be pulled", hint: "--pull-secret-name", after: soon},
		"unknown CA":       {status: waiting("ImagePullBackOff", "tls: x509: certificate signed by unknown authority"), want: "the image shop:v1", hint: "trust the registry's CA", after: soon},
		"plain registry":   {status: waiting("ErrImagePull", "http: server gave HTTP response to HTTPS client"), want: "the image shop:v1", hint: "list it as insecure", after: soon},
		"no such image":    {status: waiting("InvalidImageName", "x"), want: "the image shop:v1", hint: "mysdk image push shop:v1", after: soon},
		"no ConfigMap":     {status: waiting("CreateContainerConfigError", "configmap \\\"x\\\" not found"), want: `container manager cannot be started: configmap "x" not found`, hint: "correct the container", after: patient},
		"crashes for long": {status: "{phase: Running, containerStatuses: [{name: manager, restartCount: 2, state: {terminated: {reason: Error, exitCode: 4}}}]}", want: "container manager ends with exit code 4 again and again", hint: "--previous", after: atOnce},
		"crashed once":     {status: "{phase: Running, containerStatuses: [{name: manager, restartCount: 1, state: {terminated: {reason: Error, exitCode: 4}}}]}", want: "it is not ready", after: waitOnly},
		"ended well":       {status: "{phase: Running, containerStatuses: [{name: manager, restartCount: 5, state: {terminated: {reason: Completed, exitCode: 0}}}]}", want: "it is not ready", after: waitOnly},
		"in its init":      {status: "{phase: Pending, initContainerStatuses: [{name: setup, image: 'x:1', state: {waiting: {reason: ErrImageNeverPull}}}]}", want: "the image x:1 of container setup cannot be pulled", after: soon},
	} {
		t.Run(name, func(t *testing.T) {
			w := worldOf(t, podYAML+tc.status)
			f := (&chain{}).checkPod(t.Context(), w, w.objects[0])
			if tc.want == "" {
				if f != nil {
					t.Errorf("found %s", f)
				}
				return
			}
			if f == nil || !strings.HasPrefix(f.Problem, tc.want) || !strings.Contains(f.Hint, tc.hint) || f.after != tc.after {
				t.Errorf("found %+v", f)
			}
		})
	}
}

// TestLastError is short, and the last one.
func TestLastError(t *testing.T) {
	for want, log := range map[string][]string{
		"": {"starting", "serving"}, "panic: two": {"error: one", "panic: two", "goroutine 1", "\t/src/errors.go:1"},
		"flag provided but not defined: -x": {"flag provided but not defined: -x", "Usage of manager:", "  -level", "    \tone of 'info', 'error'"}, "Error  of   many": nil,
		strings.Repeat("error ", 33) + "er…": {strings.Repeat("error ", 100)},
	} {
		if log == nil {
			want, log = "Error of many", []string{want}
		}
		if got := lastError(log); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestComposeLeadsToEveryHead adds versions one after the other, each with
// replaces and skips of its own choice: the channel stays one that OLM takes,
// and leads from what is installed to what was added last.
func TestComposeLeadsToEveryHead(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		c, installed := &catalog.Catalog{}, ""
		var added []string
		for n := range 8 {
			spec := ""
			if len(added) > 0 {
				pick := func() string { return added[random.IntN(len(added))] }
				switch random.IntN(4) {
				case 0:
					spec = "  replaces: " + pick() + "\n"
				case 1:
					spec = "  replaces: shop.v0.0.99\n"
				case 2:
					spec = fmt.Sprintf("  replaces: %s\n  skips: [%s]\n", pick(), pick())
				}
			}
			b := makeBundle(t, fmt.Sprintf("0.1.%d", n), spec)
			if err := compose(c, b, "beta", installed); err != nil {
				t.Fatalf("%v, then %s with %q after %s: %v", added, b.Name(), spec, installed, err)
			}
			entries := c.Channels[0].Entries
			if head := c.Channels[0].Head(); head != b.Name() {
				t.Fatalf("the head is %s, not %s: %v", head, b.Name(), entries)
			}
			if installed != "" && !leadsTo(entries, entries[len(entries)-1], installed) {
				t.Fatalf("there is no way from %s to %s: %v", installed, b.Name(), entries)
			}
			added, installed = append(added, b.Name()), b.Name()
		}
		again := makeBundle(t, "0.1.7", "")
		before := fmt.Sprint(c.Channels)
		if err := compose(c, again, "beta", ""); err != nil || len(c.Bundles) != 8 {
			t.Fatalf("the last one again: %d bundles, %v\n%s", len(c.Bundles), err, before)
		}
	}
}

// TestModeOf reads the mode off an OperatorGroup.
func TestModeOf(t *testing.T) {
	group := func(rest string) *unstructured.Unstructured {
		return worldOf(t, "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: g, namespace: ns}\n"+rest).objects[0]
	}
	for rest, want := range map[string]struct{ mode, words string }{
		"spec: {}":                         {"AllNamespaces", "all namespaces"},
		"spec: {targetNamespaces: ['']}":   {"AllNamespaces", "all namespaces"},
		"spec: {targetNamespaces: [ns]}":   {"OwnNamespace", "namespace ns"},
		"spec: {targetNamespaces: [a]}":    {"SingleNamespace=a", "namespace a"},
		"spec: {targetNamespaces: [b, a]}": {"MultiNamespace=a,b", "namespaces a, b"},
		"spec: {selector: {matchLabels: {x: y}}}\nstatus: {namespaces: [c]}": {"SingleNamespace=c", "namespace c"},
	} {
		mode := modeOf("ns", targetsOf(group(rest)))
		if d := cmp.Diff([]string{want.mode, want.words}, []string{mode.String(), mode.describe("ns")}); d != "" {
			t.Errorf("%s (-want +got):\n%s", rest, d)
		}
	}
}
