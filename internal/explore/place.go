package explore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/mysdk/internal/kube"
)

// goneTimeout bounds how long the end of a trial waits for an object to go.
const goneTimeout = 5 * time.Second

// clearTimeout bounds how long the end of a trial without a namespace waits for all
// that it has made to go. The next trial does not count what is older than it.
const clearTimeout = time.Minute

// place has the operator ready, and the trial a place of its own: a namespace, or
// else a time, as objects know the second that they were made in.
func (t *trial) place(ctx context.Context) error {
	if t.namespace != "" {
		if _, err := t.Cluster.EnsureNamespace(ctx, t.namespace); err != nil {
			return err
		}
	}
	if err := t.furnish(ctx); err != nil {
		return err
	}
	if err := t.ready(ctx); err != nil || t.namespace != "" {
		return err
	}
	t.since = t.Now().Truncate(time.Second).Add(time.Second)
	for t.Now().Before(t.since) {
		if _, err := t.look(ctx); err != nil {
			return err
		}
	}
	t.log.takeWrites()
	return nil
}

// furnish makes what samples refer to: in the trial's namespace, or where it says itself.
func (t *trial) furnish(ctx context.Context) error {
	var list []*unstructured.Unstructured
	for _, u := range t.Beside {
		u = u.DeepCopy()
		u.SetNamespace(cmp.Or(t.namespace, u.GetNamespace(), metav1.NamespaceDefault))
		if t.namespace == "" { // else it is there
			if _, err := t.Cluster.EnsureNamespace(ctx, u.GetNamespace()); err != nil {
				return err
			}
		}
		list = append(list, u)
	}
	if len(list) == 0 {
		return nil
	}
	if _, err := t.Cluster.Apply(ctx, list, kube.ApplyOptions{Force: true}); err != nil {
		return fmt.Errorf("make what the samples refer to: %w", err)
	}
	return nil
}

// snapshot reads the objects of the trial, and returns their keys as namesOf does.
func (t *trial) snapshot(ctx context.Context, s Step) (State, map[string]string, error) {
	t.kinds[s.in("").GroupVersionKind()] = true
	all, err := t.objects(ctx)
	keys, _ := namesOf(t.namespace, all)
	return stateOf(t.namespace, all), keys, err
}

// objects are those of kinds that anybody has written in the trial's namespace, or
// made in the cluster since it began; each in one version, that of the plan first.
func (t *trial) objects(ctx context.Context) ([]*unstructured.Unstructured, error) {
	var own schema.GroupVersionKind
	if len(t.plan.Steps) > 0 {
		own = t.plan.Steps[0].in("").GroupVersionKind()
	}
	first := map[schema.GroupVersionKind]int{own: -1}
	kinds := slices.SortedFunc(maps.Keys(t.kinds), func(a, b schema.GroupVersionKind) int {
		return cmp.Or(cmp.Compare(first[a], first[b]), cmp.Compare(a.String(), b.String()))
	})
	var all []*unstructured.Unstructured
	seen := map[types.UID]bool{}
	for _, gvk := range kinds {
		if ignored(gvk.Kind) {
			continue
		}
		list, err := t.Cluster.List(ctx, gvk, kube.ListOptions{Namespace: t.namespace})
		if err != nil {
			return nil, err
		}
		list = slices.DeleteFunc(list, func(u *unstructured.Unstructured) bool { return !t.made(u) || seen[u.GetUID()] })
		for _, u := range list {
			seen[u.GetUID()] = true
		}
		all = append(all, list...)
	}
	return all, nil
}

// made reports whether an object that was listed is of the trial.
func (t *trial) made(u *unstructured.Unstructured) bool {
	beside := func(b *unstructured.Unstructured) bool {
		return b.GetKind() == u.GetKind() && b.GetName() == u.GetName()
	}
	switch {
	case slices.ContainsFunc(t.Beside, beside):
		return false
	case t.namespace != "":
		return u.GetNamespace() != ""
	}
	return t.log.covers(u.GetNamespace()) && !u.GetCreationTimestamp().Time.Before(t.since)
}

// clear deletes what the trial leaves, by force. What is left in a namespace of its
// own disturbs nobody.
func (t *trial) clear(ctx context.Context) error {
	for _, s := range t.plan.Steps {
		if err := t.remove(ctx, s.in(t.namespace)); err != nil {
			return err
		}
	}
	if t.namespace != "" {
		return nil
	}
	for until := t.Now().Add(clearTimeout); t.Now().Before(until); {
		left, err := t.objects(ctx)
		if err != nil || len(left) == 0 {
			return err
		}
		for _, u := range left {
			if len(u.GetOwnerReferences()) > 0 && u.GetDeletionTimestamp() == nil {
				continue // it goes with its owner
			}
			if err := t.remove(ctx, u); err != nil {
				return err
			}
		}
		if _, err := t.look(ctx); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes an object, if it is there, without its finalizers where they keep it.
func (t *trial) remove(ctx context.Context, obj *unstructured.Unstructured) error {
	live, err := t.Cluster.Read(ctx, obj)
	if err != nil || live == nil {
		return err
	}
	if live.GetDeletionTimestamp() == nil {
		if _, err := t.Cluster.Delete(ctx, []*unstructured.Unstructured{obj}, kube.DeleteOptions{Timeout: goneTimeout}); err == nil {
			return nil
		}
	}
	return t.Cluster.Edit(ctx, obj, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if live != nil {
			live.SetFinalizers(nil)
		}
		return live, nil
	})
}
