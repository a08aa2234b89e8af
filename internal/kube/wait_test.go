package kube

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
)

// TestMissing judges statuses as controllers write them.
func TestMissing(t *testing.T) {
	tests := map[string]struct {
		text string // after the type and the name
		want string
	}{
		"deployment, ready":           {"apps/v1 Deployment\nspec: {replicas: 2}\nstatus: {updatedReplicas: 2, availableReplicas: 2}", ""},
		"deployment, default size":    {"apps/v1 Deployment\nspec: {}\nstatus: {updatedReplicas: 1, availableReplicas: 1}", ""},
		"deployment, scaled to zero":  {"apps/v1 Deployment\nspec: {replicas: 0}\nstatus: {}", ""},
		"deployment, no status":       {"apps/v1 Deployment\nspec: {replicas: 2}", "0 of 2 replicas updated"},
		"deployment, rolling out":     {"apps/v1 Deployment\nspec: {replicas: 3}\nstatus: {updatedReplicas: 1, availableReplicas: 3}", "1 of 3 replicas updated"},
		"deployment, old pods left":   {"apps/v1 Deployment\nspec: {replicas: 1}\nstatus: {replicas: 2, updatedReplicas: 1, availableReplicas: 1}", "old replicas are still there: 1"},
		"deployment, pods not ready":  {"apps/v1 Deployment\nspec: {replicas: 3}\nstatus: {updatedReplicas: 3, availableReplicas: 1}", "1 of 3 ready"},
		"deployment, quota exceeded":  {"apps/v1 Deployment\nspec: {replicas: 1}\nstatus: {updatedReplicas: 1, conditions: [{type: ReplicaFailure, status: 'True', message: exceeded quota}]}", "0 of 1 ready, exceeded quota"},
		"deployment, stale status":    {"apps/v1 Deployment\nspec: {replicas: 1}\nstatus: {observedGeneration: 1, updatedReplicas: 1, availableReplicas: 1}", "its controller has not seen the last change"},
		"replica set":                 {"apps/v1 ReplicaSet\nspec: {replicas: 2}\nstatus: {availableReplicas: 1}", "1 of 2 ready"},
		"stateful set":                {"apps/v1 StatefulSet\nspec: {replicas: 2}\nstatus: {updatedReplicas: 2, readyReplicas: 1}", "1 of 2 ready"},
		"stateful set, ready":         {"apps/v1 StatefulSet\nspec: {replicas: 2}\nstatus: {updatedReplicas: 2, readyReplicas: 2}", ""},
		"stateful set, on delete":     {"apps/v1 StatefulSet\nspec: {replicas: 2, updateStrategy: {type: OnDelete}}\nstatus: {updatedReplicas: 0, readyReplicas: 2}", ""},
		"stateful set, partition":     {"apps/v1 StatefulSet\nspec: {replicas: 3, updateStrategy: {rollingUpdate: {partition: 2}}}\nstatus: {updatedReplicas: 1, readyReplicas: 3}", ""},
		"stateful set, in partition":  {"apps/v1 StatefulSet\nspec: {replicas: 3, updateStrategy: {rollingUpdate: {partition: 1}}}\nstatus: {updatedReplicas: 1, readyReplicas: 3}", "1 of 2 replicas updated"},
		"daemon set":                  {"apps/v1 DaemonSet\nstatus: {desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 2}", "2 of 3 ready"},
		"daemon set, rolling out":     {"apps/v1 DaemonSet\nstatus: {desiredNumberScheduled: 3, updatedNumberScheduled: 1, numberAvailable: 3}", "1 of 3 pods updated"},
		"daemon set, on delete":       {"apps/v1 DaemonSet\nspec: {updateStrategy: {type: OnDelete}}\nstatus: {desiredNumberScheduled: 3, numberAvailable: 3}", ""},
		"job, running":                {"batch/v1 Job\nstatus: {active: 1}", "not complete"},
		"job, complete":               {"batch/v1 Job\nstatus: {conditions: [{type: Complete, status: 'True'}]}", ""},
		"job, failed":                 {"batch/v1 Job\nstatus: {conditions: [{type: Failed, status: 'True', message: too many retries}]}", "failed: too many retries"},
		"CRD, new":                    {"apiextensions.k8s.io/v1 CustomResourceDefinition", "the API server has not processed it yet"},
		"CRD, established":            {"apiextensions.k8s.io/v1 CustomResourceDefinition\nstatus: {conditions: [{type: Established, status: 'True'}]}", ""},
		"CRD, names taken":            {"apiextensions.k8s.io/v1 CustomResourceDefinition\nstatus: {conditions: [{type: NamesAccepted, status: 'False', message: taken}, {type: Established, status: 'False', reason: NotAccepted}]}", "NamesAccepted: taken; Established: NotAccepted"},
		"CRD, not structural":         {"apiextensions.k8s.io/v1 CustomResourceDefinition\nstatus: {conditions: [{type: NonStructuralSchema, status: 'True', message: no type}]}", "no type"},
		"claim, pending":              {"v1 PersistentVolumeClaim\nstatus: {phase: Pending}", "phase Pending"},
		"claim, bound":                {"v1 PersistentVolumeClaim\nstatus: {phase: Bound}", ""},
		"namespace":                   {"v1 Namespace\nstatus: {phase: Terminating}", "phase Terminating"},
		"pod, new":                    {"v1 Pod\nstatus: {phase: Pending}", "phase Pending"},
		"pod, starting":               {"v1 Pod\nstatus: {phase: Pending, conditions: [{type: Ready, status: 'False', reason: ContainersNotReady}]}", "ContainersNotReady"},
		"pod, ready":                  {"v1 Pod\nstatus: {phase: Running, conditions: [{type: Ready, status: 'True'}]}", ""},
		"pod, done":                   {"v1 Pod\nstatus: {phase: Succeeded, conditions: [{type: Ready, status: 'False', reason: PodCompleted}]}", ""},
		"custom resource, unknown":    {"example.com/v1 Thing\nstatus: {conditions: [{type: Available, status: Unknown, message: looking}]}", "looking"},
		"custom resource, available":  {"example.com/v1 Thing\nstatus: {conditions: [{type: Available, status: 'True'}]}", ""},
		"custom resource, no status":  {"example.com/v1 Thing", ""},
		"conditions of another shape": {"example.com/v1 Thing\nstatus: {conditions: [Ready, 3]}", ""},
		"a condition without words":   {"example.com/v1 Thing\nstatus: {conditions: [{type: Ready, status: 'False'}]}", "Ready"},
		"a kind that only exists":     {"v1 ConfigMap", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			head, rest, _ := strings.Cut(tc.text, "\n")
			apiVersion, kind, _ := strings.Cut(head, " ")
			u := parse(t, "apiVersion: %s\nkind: %s\nmetadata: {name: a, generation: 2}\n%s\n", apiVersion, kind, rest)[0]
			if got := NotReady(u); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestPoll(t *testing.T) {
	boom := errors.New("boom")
	tests := map[string]struct {
		timeout time.Duration
		done    func(call int, ctx context.Context) (bool, error)
		cancel  bool
		want    error
		calls   int // 0: any number
	}{
		"at once":       {time.Hour, func(int, context.Context) (bool, error) { return true, nil }, false, nil, 1},
		"later":         {time.Hour, func(n int, _ context.Context) (bool, error) { return n == 3, nil }, false, nil, 3},
		"error":         {time.Hour, func(int, context.Context) (bool, error) { return false, boom }, false, boom, 1},
		"never":         {20 * time.Millisecond, func(int, context.Context) (bool, error) { return false, nil }, false, errTimeout, 0},
		"cut off":       {20 * time.Millisecond, func(_ int, ctx context.Context) (bool, error) { <-ctx.Done(); return false, ctx.Err() }, false, errTimeout, 1},
		"by the caller": {time.Hour, func(int, context.Context) (bool, error) { return false, nil }, true, context.Canceled, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tc.cancel {
				cancel()
			}
			calls := 0
			err := poll(ctx, tc.timeout, func(ctx context.Context) (bool, error) {
				calls++
				return tc.done(calls, ctx)
			})
			if !errors.Is(err, tc.want) || tc.calls > 0 && calls != tc.calls {
				t.Errorf("%d calls, error %v; want %d, %v", calls, err, tc.calls, tc.want)
			}
		})
	}
}

// TestExplain: what API servers answer, and what the user is told.
func TestExplain(t *testing.T) {
	gr := schema.GroupResource{Group: "apps", Resource: "deployments"}
	ref := Ref{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "shop", Name: "web"}
	conflict := apierrors.NewConflict(gr, "web", errors.New("field"))
	conflict.ErrStatus.Details.Causes = []metav1.StatusCause{
		{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.replicas", Message: `conflict with "hpa" using autoscaling/v1`},
		{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.paused", Message: `conflict with "kubectl"`},
		{Type: metav1.CauseTypeFieldValueInvalid, Field: "ignored"},
	}
	tests := map[string]struct {
		doing string
		err   error
		want  string
		hint  string
		code  int
	}{
		"conflict":      {"apply", conflict, `apply Deployment shop/web: fields belong to others: spec.replicas ("hpa" using autoscaling/v1), spec.paused ("kubectl")`, "take these fields out of the manifest", clierr.CodeFailed},
		"old version":   {"apply", apierrors.NewConflict(gr, "web", errors.New("the object has been modified")), "the object has been modified", "", clierr.CodeFailed},
		"no rights":     {"apply", apierrors.NewForbidden(gr, "web", errors.New(`User "u" cannot patch resource`)), `User "u" cannot patch`, "right to do this", clierr.CodeFailed},
		"quota":         {"apply", apierrors.NewForbidden(gr, "web", errors.New("exceeded quota")), "exceeded quota", "", clierr.CodeFailed},
		"no namespace":  {"apply", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"), `"shop" not found`, "create the namespace: mysdk kubectl --context mysdk-default create namespace shop", clierr.CodeFailed},
		"server is off": {"read", errors.New("connection refused"), "read Deployment shop/web: https://x does not answer: connection refused", "mysdk cluster start", clierr.CodeUnavailable},
		"interrupted":   {"apply", context.Canceled, "apply Deployment shop/web: context canceled", "", clierr.CodeFailed},
	}
	c := &Client{Target: Target{Context: "mysdk-default", Server: "https://x", own: state.State{Name: "default"}}}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := c.explain(tc.doing, ref, tc.err)
			if !strings.Contains(err.Error(), tc.want) || clierr.CodeOf(err) != tc.code {
				t.Errorf("code %d, %v; want %d, %s", clierr.CodeOf(err), err, tc.code, tc.want)
			}
			if hint := clierr.HintOf(err); !strings.Contains(hint, tc.hint) || strings.Contains(hint, "--force") || tc.hint == "" && hint != "" {
				t.Errorf("hint %q, want %q", hint, tc.hint)
			}
		})
	}
}

// TestClean: an object as `kubectl get -o yaml` prints it applies as if it had
// been written by hand, and the caller's copy is left alone.
func TestClean(t *testing.T) {
	u := parse(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: a
  uid: "1"
  resourceVersion: "2"
  generation: 3
  creationTimestamp: null
  selfLink: /x
  managedFields: []
  labels: {keep: me}
spec: {group: g}
status: {conditions: []}
`)[0]
	want := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": crdKind,
		"metadata": map[string]any{"name": "a", "labels": map[string]any{"keep": "me"}},
		"spec":     map[string]any{"group": "g"},
	}
	if diff := cmp.Diff(want, clean(u).Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if u.GetUID() != "1" {
		t.Error("the caller's object was changed")
	}
}

func TestSame(t *testing.T) {
	base := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, resourceVersion: %q}\ndata: {k: %s}\nstatus: {seen: %d}\n"
	before := parse(t, base, "1", "x", 1)[0]
	for name, tc := range map[string]struct {
		after *unstructured.Unstructured
		want  bool
	}{
		"only the bookkeeping": {parse(t, base, "2", "x", 2)[0], true},
		"the data":             {parse(t, base, "1", "y", 1)[0], false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := same(before, tc.after); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

func TestKindOf(t *testing.T) {
	u := parse(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: a}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  versions: [{name: v1alpha1, served: false}, odd, {name: v1beta1, served: true}, {name: v1, served: true}]
`)[0]
	n := kindOf(u)
	if n.gvr().String() != "example.com/v1beta1, Resource=things" || n.GroupKind().String() != "Thing.example.com" {
		t.Errorf("%+v", n)
	}
	if n := kindOf(parse(t, "apiVersion: v1\nkind: X\nmetadata: {name: a}\nspec: {group: 3, versions: x}\n")[0]); n != (Kind{}) {
		t.Errorf("from another shape: %+v", n)
	}
}

func TestReachHint(t *testing.T) {
	for cluster, want := range map[string]string{
		"default": "run 'mysdk cluster start'", "dev": "run 'mysdk cluster start --cluster dev'", "": "start that cluster",
	} {
		if got := (Target{Context: "mysdk-default", own: state.State{Name: cluster}}).reachHint(); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s", cluster, got)
		}
	}
}

func TestBuiltIn(t *testing.T) {
	for group, want := range map[string]bool{
		"": true, "apps": true, "batch": true, "rbac.authorization.k8s.io": true, "apiextensions.k8s.io": true,
		"example.com": false, "snapshot.storage.k8s.io": false, "gateway.networking.k8s.io": false, "k8s.io": false,
	} {
		if got := builtIn(group); got != want {
			t.Errorf("%q: %v", group, got)
		}
	}
}
