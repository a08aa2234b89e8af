package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/example/mysdk/internal/clierr"
)

// deleteTimeout is DeleteOptions.Timeout's default.
const deleteTimeout = time.Minute

// blockersShown bounds how many objects a timeout names.
const blockersShown = 5

// DeleteOptions say how to delete.
type DeleteOptions struct {
	Timeout   time.Duration // for an object to be gone; 0: a minute
	Namespace string        // for objects that name none; empty: the context's
	DryRun    bool          // the server checks everything and deletes nothing
	Progress  func(Result)  // called when an object is gone; nil is fine
	Force     bool          // Uninstall removes finalizers and conversions first
	Orphan    bool          // what the objects own stays
}

// Delete removes objs in the reverse of the order of Apply, and waits for each
// to be gone before what it stands on goes. What is not there, or whose kind the
// cluster does not know, counts as Absent. When an object does not go in time,
// the error says which finalizers hold it.
func (c *Client) Delete(ctx context.Context, objs []*unstructured.Unstructured, o DeleteOptions) ([]Result, error) {
	o.Timeout = cmp.Or(o.Timeout, deleteTimeout)
	var results []Result
	ordered := inOrder(objs)
	slices.Reverse(ordered)
	for len(ordered) > 0 {
		// Those of the same rank may go at the same time.
		first := rank(ordered[0].GroupVersionKind())
		n := slices.IndexFunc(ordered, func(u *unstructured.Unstructured) bool { return rank(u.GroupVersionKind()) != first })
		if n < 0 {
			n = len(ordered)
		}
		done, err := c.deleteAll(ctx, ordered[:n], o)
		results = append(results, done...)
		if err != nil {
			return results, err
		}
		ordered = ordered[n:]
	}
	return results, nil
}

// Deleting returns those of objs, as they are in the cluster, that it is
// deleting: finalizers keep them.
func (c *Client) Deleting(ctx context.Context, objs []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var list []*unstructured.Unstructured
	for _, u := range objs {
		live, err := c.Read(ctx, u)
		if err != nil {
			return nil, err
		}
		if live != nil && live.GetDeletionTimestamp() != nil {
			list = append(list, live)
		}
	}
	return list, nil
}

// WaitGone waits until objs are gone, for up to timeout each. When one stays,
// the error says which finalizers hold it.
func (c *Client) WaitGone(ctx context.Context, objs []*unstructured.Unstructured, timeout time.Duration) error {
	for _, u := range objs {
		endpoint, ref, err := c.resource(ctx, u, "")
		if err == nil {
			err = c.waitGone(ctx, going{ref: ref, endpoint: endpoint, uid: u.GetUID()}, timeout)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// going is an object whose deletion was asked for.
type going struct {
	ref      Ref
	endpoint dynamic.ResourceInterface
	uid      types.UID // an object of the same name made since is another one
}

// deleteAll asks for the deletion of all objs before it waits for any.
func (c *Client) deleteAll(ctx context.Context, objs []*unstructured.Unstructured, o DeleteOptions) ([]Result, error) {
	var results []Result
	report := func(ref Ref, action Action) {
		results = append(results, Result{Ref: ref, Action: action})
		if o.Progress != nil {
			o.Progress(results[len(results)-1])
		}
	}
	var waiting []going
	for _, u := range objs {
		g, err := c.startDelete(ctx, u, o)
		if err != nil {
			return results, err
		}
		switch {
		case g.endpoint == nil:
			report(g.ref, Absent)
		case o.DryRun:
			report(g.ref, Deleted)
		default:
			waiting = append(waiting, g)
		}
	}
	for _, g := range waiting {
		if err := c.waitGone(ctx, g, o.Timeout); err != nil {
			return results, err
		}
		report(g.ref, Deleted)
	}
	return results, nil
}

// startDelete asks for u's deletion. The endpoint is nil if there is no u.
func (c *Client) startDelete(ctx context.Context, u *unstructured.Unstructured, o DeleteOptions) (going, error) {
	endpoint, ref, err := c.resource(ctx, u, o.Namespace)
	if _, ok := errors.AsType[*noKindError](err); ok {
		return going{ref: ref}, nil
	}
	if err != nil {
		return going{}, c.explain("delete", ref, err)
	}
	live, err := c.get(ctx, endpoint, ref)
	if err != nil || live == nil {
		return going{ref: ref}, err
	}
	// Background: dependents go by the garbage collector, and finalizers hold
	// the object itself no longer than they must.
	propagation := metav1.DeletePropagationBackground
	if o.Orphan {
		propagation = metav1.DeletePropagationOrphan
	}
	uid := live.GetUID()
	opts := metav1.DeleteOptions{PropagationPolicy: &propagation, Preconditions: &metav1.Preconditions{UID: &uid}}
	if o.DryRun {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	err = endpoint.Delete(ctx, ref.Name, opts)
	if err != nil && !apierrors.IsNotFound(err) {
		return going{}, c.explain("delete", ref, err)
	}
	return going{ref: ref, endpoint: endpoint, uid: uid}, nil
}

func (c *Client) waitGone(ctx context.Context, g going, timeout time.Duration) error {
	var last *unstructured.Unstructured
	err := poll(ctx, timeout, func(ctx context.Context) (bool, error) {
		live, err := c.get(ctx, g.endpoint, g.ref)
		if err != nil {
			return false, err
		}
		last = cmp.Or(live, last)
		return live == nil || live.GetUID() != g.uid, nil
	})
	if errors.Is(err, errTimeout) {
		hint := "run what removes the finalizers, or remove them with 'mysdk kubectl edit'"
		if g.ref.Kind == crdKind {
			hint = "run the operator with 'mysdk run local', which finishes the deletion, or skip its cleanup with 'mysdk uninstall --force'"
		}
		return clierr.Failedf(hint, "%s is not gone after %s: %s", g.ref, timeout, c.blockers(ctx, last))
	}
	return err
}

// blockers says what keeps u, if it was ever seen: its finalizers, what its conditions
// tell, and for a CRD the objects of its kind that have finalizers of their own.
func (c *Client) blockers(ctx context.Context, u *unstructured.Unstructured) string {
	if u == nil {
		u = &unstructured.Unstructured{}
	}
	var why []string
	if isCRD(u) {
		why = c.heldInstances(ctx, u)
	}
	if f := u.GetFinalizers(); len(f) > 0 && len(why) == 0 {
		why = append(why, "finalizers "+strings.Join(f, ", "))
	}
	for _, kind := range []string{"NamespaceContentRemaining", "NamespaceFinalizersRemaining", "NamespaceDeletionContentFailure", "NamespaceDeletionDiscoveryFailure"} {
		if m := condition(u, kind, "True"); m != "" {
			why = append(why, m)
		}
	}
	if len(why) == 0 {
		return "the server gave no reason"
	}
	return strings.Join(why, "; ")
}

// heldInstances lists objects of crd's kind that have finalizers.
func (c *Client) heldInstances(ctx context.Context, crd *unstructured.Unstructured) []string {
	list, err := c.dyn.Resource(kindOf(crd).gvr()).List(ctx, metav1.ListOptions{Limit: 100})
	if err != nil {
		return nil // only a detail of another error, which is reported
	}
	var held []string
	for i := range list.Items {
		u := &list.Items[i]
		if f := u.GetFinalizers(); len(f) > 0 {
			held = append(held, fmt.Sprintf("%s has finalizers %s", RefOf(u), strings.Join(f, ", ")))
		}
	}
	if more := len(held) - blockersShown; more > 0 {
		held = append(held[:blockersShown], fmt.Sprintf("and %d more", more))
	}
	return held
}
