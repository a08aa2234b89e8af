package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// InstanceCount is what there is of a CRD's kind.
type InstanceCount struct {
	CRD    string // metadata.name
	Kind   string
	Count  int    // of objects; -1 where they cannot be read, since nothing converts them
	Held   int    // objects with finalizers, some of which somebody has to remove
	Stored string // the other versions that objects may be stored in and a webhook converts, "v1alpha1, v1beta1"
}

// String is the number and the kind.
func (n InstanceCount) String() string {
	if n.Count < 0 {
		return "unreadable " + n.Kind + " objects"
	}
	return fmt.Sprintf("%d %s", n.Count, n.Kind)
}

// Count looks for the objects of each CRD's kind. CRDs that are not in the
// cluster, or have no objects, are left out.
func (c *Client) Count(ctx context.Context, crds []*unstructured.Unstructured) ([]InstanceCount, error) {
	var counts []InstanceCount
	for _, crd := range crds {
		live, err := c.getCRD(ctx, crd.GetName())
		if err != nil {
			return nil, err
		}
		if live == nil {
			continue
		}
		n := InstanceCount{CRD: live.GetName(), Kind: ServedKind(live).Kind}
		objs, err := c.instances(ctx, live)
		// The second is how Kubernetes 1.37 calls it.
		if err != nil && Converts(live) && (apierrors.IsInternalError(err) || apierrors.IsStoreReadError(err)) {
			n.Count, objs, err = -1, nil, nil
		}
		if err != nil {
			return nil, c.explain("count the objects of", RefOf(live), err)
		}
		n.Count += len(objs)
		for _, u := range objs {
			if len(u.GetFinalizers()) > 0 {
				n.Held++
			}
		}
		if Converts(live) {
			n.Stored = otherStored(live)
		}
		if n.Count != 0 {
			counts = append(counts, n)
		}
	}
	return counts, nil
}

// instances are the objects of a CRD's kind in the version that they are stored
// in, which takes no conversion. There are none of one that was never served, as
// another CRD has its names.
func (c *Client) instances(ctx context.Context, crd *unstructured.Unstructured) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	opts := metav1.ListOptions{Limit: 500}
	for {
		found, err := c.dyn.Resource(kindOf(crd).gvr()).List(ctx, opts)
		if apierrors.IsNotFound(err) && condition(crd, "Established", "True") == "" {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, found.Items...)
		if opts.Continue = found.GetContinue(); opts.Continue == "" {
			return all, nil
		}
	}
}

// Invalid names the objects of a CRD's kind that its schema does not allow, and says
// why: one line each. Nothing judges what is stored when a schema changes, and updates
// are judged by what they change. So each is created again as a dry run, which an
// API server refuses for its contents before it sees that it is there.
func (c *Client) Invalid(ctx context.Context, crd *unstructured.Unstructured) ([]string, error) {
	objs, err := c.instances(ctx, crd)
	if err != nil {
		return nil, c.explain("list the objects of", RefOf(crd), err)
	}
	var list []string
	for _, u := range objs {
		_, err := c.dyn.Resource(kindOf(crd).gvr()).Namespace(u.GetNamespace()).Create(ctx, clean(&u), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if found := FieldErrors(err); len(found) > 0 {
			path := slices.Min(slices.Collect(maps.Keys(found)))
			list = append(list, fmt.Sprintf("%s: %s: %s", RefOf(&u), path, found[path]))
		}
	}
	return list, nil
}

// Converts reports whether a webhook converts the versions of a CRD.
func Converts(crd *unstructured.Unstructured) bool {
	strategy, _, _ := unstructured.NestedString(crd.Object, "spec", "conversion", "strategy")
	return strategy == "Webhook"
}

// otherStored are the versions besides today's that objects may be stored in.
func otherStored(crd *unstructured.Unstructured) string {
	stored, _, _ := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
	var others []string
	for _, v := range stored {
		if v != ServedKind(crd).Version {
			others = append(others, v)
		}
	}
	return strings.Join(others, ", ")
}

// WorkingConversions returns crds with conversions that work in the cluster as
// it is: that of the cluster where a URL or a Service of today does it, else the
// CRD's own if its Service is there, else none. off are those without: the API
// server would refuse requests for their other versions.
func (c *Client) WorkingConversions(ctx context.Context, crds []*unstructured.Unstructured) (list, off []*unstructured.Unstructured, err error) {
	for _, crd := range crds {
		if !Converts(crd) {
			list = append(list, crd)
			continue
		}
		live, err := c.getCRD(ctx, crd.GetName())
		if err != nil {
			return nil, nil, err
		}
		conversion := map[string]any{"strategy": "None"}
		for _, u := range []*unstructured.Unstructured{crd, live} {
			if works, err := c.conversionWorks(ctx, u); err != nil {
				return nil, nil, err
			} else if works {
				conversion, _, _ = unstructured.NestedMap(u.Object, "spec", "conversion") // it is one, or it would not work
			}
		}
		crd = crd.DeepCopy()
		if err := unstructured.SetNestedMap(crd.Object, conversion, "spec", "conversion"); err != nil {
			return nil, nil, err
		}
		list = append(list, crd)
		if !Converts(crd) {
			off = append(off, crd)
		}
	}
	return list, off, nil
}

// conversionWorks reports whether a webhook converts the versions of crd, nil
// included, and its Service exists.
func (c *Client) conversionWorks(ctx context.Context, crd *unstructured.Unstructured) (bool, error) {
	if crd == nil || !Converts(crd) {
		return false, nil
	}
	service, _, _ := unstructured.NestedMap(crd.Object, "spec", "conversion", "webhook", "clientConfig", "service")
	name, _ := service["name"].(string)
	namespace, _ := service["namespace"].(string)
	if name == "" {
		return true, nil // at a URL
	}
	live, err := c.Read(ctx, Named("v1", "Service", namespace, name))
	return live != nil, err
}

// stopConverting turns the conversion of a CRD off where it cannot work, or in
// any case with force: the deletion of the CRD would wait for it for ever.
func (c *Client) stopConverting(ctx context.Context, crd *unstructured.Unstructured, force bool) error {
	return c.Edit(ctx, crd, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if live == nil || !Converts(live) {
			return nil, nil
		}
		if works, err := c.conversionWorks(ctx, live); err != nil || works && !force {
			return nil, err
		}
		return live, unstructured.SetNestedMap(live.Object, map[string]any{"strategy": "None"}, "spec", "conversion")
	})
}

// settleTime is how long objects with finalizers get to go before their CRD.
const settleTime = 2 * time.Second

// deleteHeld deletes the objects of each CRD's kind if some have finalizers, and
// gives what removes those a moment: of a CRD that goes while one is left, the
// API server looks again after five seconds. Errors end the attempt only: the
// deletion of the CRD, which no webhook refuses, takes what stays, or names it.
func (c *Client) deleteHeld(ctx context.Context, crds []*unstructured.Unstructured, counts []InstanceCount, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, min(timeout, settleTime))
	defer cancel()
	for _, crd := range crds {
		if !slices.ContainsFunc(counts, func(n InstanceCount) bool { return n.CRD == crd.GetName() && n.Held > 0 }) {
			continue
		}
		live, err := c.getCRD(ctx, crd.GetName())
		if err != nil || live == nil || c.deleteInstances(ctx, live) != nil {
			continue
		}
		_ = poll(ctx, settleTime, func(ctx context.Context) (bool, error) {
			objs, err := c.instances(ctx, live)
			return len(objs) == 0, err
		})
	}
}

func (c *Client) deleteInstances(ctx context.Context, crd *unstructured.Unstructured) error {
	objs, err := c.instances(ctx, crd)
	namespaces := map[string]bool{}
	for i := range objs {
		namespaces[objs[i].GetNamespace()] = true
	}
	background := metav1.DeletePropagationBackground
	for ns := range namespaces {
		err = errors.Join(err, c.dyn.Resource(kindOf(crd).gvr()).Namespace(ns).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{}))
	}
	return err
}

// dropFinalizers takes all finalizers from the objects of a CRD's kind, so that
// nothing that they stand for is cleaned up.
func (c *Client) dropFinalizers(ctx context.Context, crd *unstructured.Unstructured) error {
	live, err := c.getCRD(ctx, crd.GetName())
	if err != nil || live == nil {
		return err
	}
	objs, err := c.instances(ctx, live)
	if err != nil {
		return c.explain("list the objects of", RefOf(live), err)
	}
	for i := range objs {
		u := &objs[i]
		if len(u.GetFinalizers()) == 0 {
			continue
		}
		_, err := c.dyn.Resource(kindOf(live).gvr()).Namespace(u.GetNamespace()).Patch(ctx, u.GetName(), types.MergePatchType,
			[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{FieldManager: FieldManager})
		if err != nil && !apierrors.IsNotFound(err) {
			return c.explain("remove the finalizers of", RefOf(u), err)
		}
	}
	return nil
}
