package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
)

// errTimeout is poll's own error, apart from the deadline of a caller's ctx.
var errTimeout = errors.New("timed out")

// poll calls done until it says so, fails, or the time is up. The pauses grow
// from 10 ms, so that what is quick stays quick, to half a second.
func poll(ctx context.Context, timeout time.Duration, done func(context.Context) (bool, error)) error {
	limited, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	for pause := 10 * time.Millisecond; ; pause = min(pause*3/2, 500*time.Millisecond) {
		ok, err := done(limited)
		if ctx.Err() == nil && limited.Err() != nil {
			return errTimeout // the request was cut off by the timeout itself
		}
		if ok || err != nil {
			return err
		}
		if !host.Pause(limited, pause) {
			return context.Cause(limited)
		}
	}
}

// WaitReady waits until every object is ready: workloads have rolled out, jobs
// are complete, CRDs are established, and whatever has a Ready or Available
// condition has it True. Kinds without any of these are ready when they exist.
// On timeout the error, with clierr.CodeUnavailable, says what is missing.
func (c *Client) WaitReady(ctx context.Context, objs []*unstructured.Unstructured, timeout time.Duration) error {
	waiting, why := objs, map[Ref]string{}
	err := poll(ctx, timeout, func(ctx context.Context) (bool, error) {
		var still []*unstructured.Unstructured
		for _, u := range waiting {
			reason, err := c.notReady(ctx, u)
			if err != nil {
				return false, err
			}
			if reason != "" {
				why[RefOf(u)] = reason
				still = append(still, u)
			}
		}
		waiting = still
		return len(waiting) == 0, nil
	})
	if !errors.Is(err, errTimeout) {
		return err
	}
	var lines []string
	for _, u := range waiting {
		lines = append(lines, fmt.Sprintf("%s: %s", RefOf(u), why[RefOf(u)]))
	}
	return clierr.Unavailablef("see "+c.kubectl("describe", waiting[0]), "not ready after %s: %s", timeout, strings.Join(lines, "; "))
}

// notReady says what is missing; "" when nothing is.
func (c *Client) notReady(ctx context.Context, u *unstructured.Unstructured) (string, error) {
	endpoint, ref, err := c.resource(ctx, u, "")
	if err != nil {
		return "", err
	}
	live, err := c.get(ctx, endpoint, ref)
	if err != nil {
		return "", err
	}
	if live == nil {
		return "does not exist", nil
	}
	return NotReady(live), nil
}

// NotReady says what an object, judged by its status alone, lacks to be ready:
// "" is nothing.
func NotReady(u *unstructured.Unstructured) string {
	// Until then the status reports an older spec.
	if observed, ok, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration"); ok && observed < u.GetGeneration() {
		return "its controller has not seen the last change"
	}
	switch u.GroupVersionKind().GroupKind().String() {
	case "Deployment.apps", "ReplicaSet.apps":
		return replicas(u, "availableReplicas", "updatedReplicas")
	case "StatefulSet.apps":
		return replicas(u, "readyReplicas", "updatedReplicas")
	case "DaemonSet.apps":
		want, updated := status(u, "desiredNumberScheduled"), status(u, "updatedNumberScheduled")
		if updated < want && !onDelete(u) {
			return fmt.Sprintf("%d of %d pods updated", updated, want)
		}
		return fewer(status(u, "numberAvailable"), want)
	case "Job.batch":
		if m := condition(u, "Failed", "True"); m != "" {
			return "failed: " + m
		}
		return unless(condition(u, "Complete", "True") != "", "not complete")
	case crdKind + "." + crdGroup:
		return unless(condition(u, "Established", "True") != "", notTrue(u))
	case "Pod":
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		if phase == "Succeeded" || condition(u, "Ready", "True") != "" {
			return "" // a pod that has done its work is never Ready again
		}
		// A new one has no conditions yet.
		return cmp.Or(condition(u, "Ready", "False"), condition(u, "Ready", "Unknown"), "phase "+phase)
	case "PersistentVolumeClaim", "Namespace":
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		return unless(phase == "Bound" || phase == "Active", "phase "+phase)
	}
	for _, kind := range []string{"Ready", "Available"} {
		if m := condition(u, kind, "False") + condition(u, kind, "Unknown"); m != "" {
			return m
		}
	}
	return ""
}

// replicas compares the wanted number with what the status has under ready, and
// under updated where the kind rolls out revisions.
func replicas(u *unstructured.Unstructured, ready, updated string) string {
	want, ok, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
	if !ok {
		want = 1
	}
	// Pods below the partition of a StatefulSet stay as they are.
	partition, _, _ := unstructured.NestedInt64(u.Object, "spec", "updateStrategy", "rollingUpdate", "partition")
	if renew := want - partition; u.GetKind() != "ReplicaSet" && !onDelete(u) && status(u, updated) < renew {
		return fmt.Sprintf("%d of %d replicas updated", status(u, updated), renew)
	}
	// What is available may be of the revision before, which goes only when the
	// new one is.
	if old := status(u, "replicas") - status(u, updated); u.GetKind() == "Deployment" && old > 0 {
		return fmt.Sprintf("old replicas are still there: %d", old)
	}
	if m := fewer(status(u, ready), want); m != "" {
		if detail := condition(u, "Progressing", "False") + condition(u, "ReplicaFailure", "True"); detail != "" {
			return m + ", " + detail
		}
		return m
	}
	return ""
}

// onDelete reports whether pods become new only when somebody deletes them.
func onDelete(u *unstructured.Unstructured) bool {
	strategy, _, _ := unstructured.NestedString(u.Object, "spec", "updateStrategy", "type")
	return strategy == "OnDelete"
}

// fewer says how many of the wanted replicas are there, while some are missing.
func fewer(got, want int64) string {
	return unless(got >= want, fmt.Sprintf("%d of %d ready", got, want))
}

// unless is the reason, or "" when all is well.
func unless(ok bool, reason string) string {
	if ok {
		return ""
	}
	return reason
}

// status reads a number of the status; absent is 0, as the API's omitempty means.
func status(u *unstructured.Unstructured, field string) int64 {
	n, _, _ := unstructured.NestedInt64(u.Object, "status", field)
	return n
}

// condition returns the message of u's condition of that type if it has that
// status, the reason or the type where there is no message, and "" otherwise.
func condition(u *unstructured.Unstructured, kind, status string) string {
	for _, m := range conditions(u) {
		if m["type"] != kind || m["status"] != status {
			continue
		}
		for _, field := range []string{"message", "reason", "type"} {
			if s, ok := m[field].(string); ok && s != "" {
				return s
			}
		}
	}
	return ""
}

// conditions are those of the status; what has another shape is left out.
func conditions(u *unstructured.Unstructured) []map[string]any {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	var all []map[string]any
	for _, c := range list {
		if m, ok := c.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

// notTrue joins the messages of conditions that speak against a CRD.
func notTrue(u *unstructured.Unstructured) string {
	var list []string
	for _, m := range conditions(u) {
		kind, _ := m["type"].(string)
		if msg := condition(u, kind, "False"); msg != "" && kind != "Terminating" {
			list = append(list, fmt.Sprintf("%s: %s", kind, msg))
		}
	}
	if s := condition(u, "NonStructuralSchema", "True"); s != "" {
		list = append(list, s)
	}
	if len(list) == 0 {
		return "the API server has not processed it yet"
	}
	return strings.Join(list, "; ")
}
