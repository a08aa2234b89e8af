package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/csaupgrade"
	"k8s.io/client-go/util/retry"

	"github.com/example/mysdk/internal/clierr"
)

// ApplyOptions say how to apply. The zero value is a plain apply that takes no
// field from another manager.
type ApplyOptions struct {
	FieldManager string       // owner of the fields; empty: FieldManager
	Force        bool         // take fields over that another manager owns
	TakeOver     bool         // what client-side kubectl apply has put there counts as applied by FieldManager before
	DryRun       bool         // the server checks everything and keeps nothing
	Namespace    string       // for objects that name none; empty: the context's
	Progress     func(Result) // called after each object; nil is fine
	// OnCreate are annotations of what is created, not of what is there already. An
	// object that was created with them keeps them until it is applied without.
	OnCreate map[string]string
}

// Apply brings objs to the cluster by server-side apply, in an order that suits
// their kinds: CRDs first, and the objects of their kinds once they are served.
// Nothing is applied if the cluster does not know a kind that no CRD among objs
// brings. After an object's error it goes on and returns all of them joined, but
// gives up when ctx ends or the server is gone. The results are those that
// succeeded.
//
// Nothing is kept in annotations, so that objects larger than their 256 KiB,
// as some CRDs are, apply like any other.
func (c *Client) Apply(ctx context.Context, objs []*unstructured.Unstructured, o ApplyOptions) ([]Result, error) {
	a := applier{Client: c, options: o, pending: map[schema.GroupKind]*unstructured.Unstructured{}, failed: map[schema.GroupKind]bool{}, going: map[schema.GroupKind]bool{}, namespaces: map[string]bool{}}
	a.options.FieldManager = cmp.Or(a.options.FieldManager, FieldManager)
	if err := c.knows(ctx, objs); err != nil {
		return nil, err
	}
	var results []Result
	var errs []error
	for _, u := range inOrder(objs) {
		if a.failed[u.GroupVersionKind().GroupKind()] {
			continue // its CRD's error says it all
		}
		r, err := a.one(ctx, u)
		if err != nil {
			errs = append(errs, err)
			if fatal(ctx, err) {
				break
			}
			continue
		}
		results = append(results, r)
		if o.Progress != nil {
			o.Progress(r)
		}
	}
	return results, errors.Join(errs...)
}

// knows returns an error for each object of a kind that the cluster does not
// serve and that no CRD among objs brings.
func (c *Client) knows(ctx context.Context, objs []*unstructured.Unstructured) error {
	brought := map[schema.GroupKind]bool{}
	for _, u := range objs {
		if isCRD(u) {
			brought[ServedKind(u).GroupKind()] = true
		}
	}
	var errs []error
	for _, u := range objs {
		gvk := u.GroupVersionKind()
		if brought[gvk.GroupKind()] {
			continue
		}
		_, err := c.kinds.find(ctx, gvk)
		if _, ok := errors.AsType[*noKindError](err); ok {
			errs = append(errs, c.explain("apply", RefOf(u), err))
		} else if err != nil {
			return c.explain("apply", RefOf(u), err)
		}
	}
	return errors.Join(errs...)
}

// applier is one Apply call: the kinds that its own CRDs bring.
type applier struct {
	*Client
	options ApplyOptions
	pending map[schema.GroupKind]*unstructured.Unstructured // applied, not yet seen to be served
	failed  map[schema.GroupKind]bool
	going   map[schema.GroupKind]bool // the cluster is deleting the CRD

	namespaces map[string]bool // pretended to be created in a dry run
}

// one applies u, after waiting for the CRDs of this call that it needs: its own,
// and as a workload all of them, since many operators end where a kind is missing.
// It does not wait for one whose deletion an operator may have to finish.
func (a *applier) one(ctx context.Context, u *unstructured.Unstructured) (Result, error) {
	u = clean(u)
	for gk, crd := range a.pending {
		if a.options.DryRun || gk != u.GroupVersionKind().GroupKind() && (!isWorkload(u) || a.going[gk]) {
			continue
		}
		delete(a.pending, gk)
		if err := a.WaitEstablished(ctx, []*unstructured.Unstructured{crd}); err != nil {
			a.failed[gk] = true
			return Result{}, err
		}
	}
	r, err := a.send(ctx, u)
	if isCRD(u) {
		a.noteCRD(u, r, err)
	}
	return r, err
}

// noteCRD remembers what became of a CRD for the objects of its kind.
func (a *applier) noteCRD(u *unstructured.Unstructured, r Result, err error) {
	k := ServedKind(u).GroupKind()
	switch {
	case err != nil:
		a.failed[k] = true
	case r.Action != Unchanged:
		a.kinds.forget(k.Group)
		a.pending[k] = u
	}
}

// pretended reports whether ref needs a CRD or a namespace that this dry run has
// only pretended to create, so that the server cannot check it. err is why its
// kind was not found.
func (a *applier) pretended(ref Ref, err error) bool {
	if _, ok := errors.AsType[*noKindError](err); ok {
		return a.pending[ref.GroupKind()] != nil
	}
	return a.namespaces[ref.Namespace]
}

func (a *applier) send(ctx context.Context, u *unstructured.Unstructured) (Result, error) {
	endpoint, ref, err := a.resource(ctx, u, a.options.Namespace)
	if a.options.DryRun && a.pretended(ref, err) {
		return Result{Ref: ref, Action: Created}, nil
	}
	if err != nil {
		return Result{}, a.explain("apply", ref, err)
	}
	u.SetNamespace(ref.Namespace)
	action := Configured
	before, err := endpoint.Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		action = Created
		a.annotate(u, a.options.OnCreate)
	case err != nil:
		return Result{}, a.explain("read", ref, err)
	default:
		if isCRD(u) {
			a.going[ServedKind(u).GroupKind()] = before.GetDeletionTimestamp() != nil
		}
		stayInSet(before, u)
		a.annotate(u, before.GetAnnotations())
		if err := a.takeOver(ctx, endpoint, before); err != nil {
			return Result{}, a.explain("take over", ref, err)
		}
	}
	opts := metav1.ApplyOptions{FieldManager: a.options.FieldManager, Force: a.options.Force}
	if a.options.DryRun {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	after, err := endpoint.Apply(ctx, ref.Name, u, opts)
	if leftConverting(before, u, err) {
		if a.options.DryRun {
			return Result{Ref: ref, Action: Configured}, nil
		}
		if err = a.stopConverting(ctx, u, true); err == nil {
			after, err = endpoint.Apply(ctx, ref.Name, u, opts)
		}
	}
	if err != nil {
		return Result{}, a.explain("apply", ref, err)
	}
	if a.options.DryRun && action == Created && ref.Group == "" && ref.Kind == "Namespace" {
		a.namespaces[ref.Name] = true
	}
	if action == Configured && same(before, after) {
		action = Unchanged
	}
	return Result{Ref: ref, Action: action}, nil
}

// leftConverting reports whether err is only of what would be left of the live CRD's
// conversion, which u has no more: an operator with certificates of its own owns the
// caBundle there, and server-side apply takes nothing away that others own.
func leftConverting(live, u *unstructured.Unstructured, err error) bool {
	if live == nil || !isCRD(u) || !apierrors.IsInvalid(err) || !Converts(live) || Converts(u) {
		return false
	}
	for field := range FieldErrors(err) {
		if !strings.HasPrefix(field, "spec.conversion.") {
			return false
		}
	}
	return true
}

// takeOver makes FieldManager the owner of what client-side kubectl apply has put
// there, as kubectl apply --server-side does: fields that the manifests no longer
// have would stay for good otherwise. A dry run cannot show that. What
// administrators say of a namespace is not the manifests' to remove.
func (a *applier) takeOver(ctx context.Context, endpoint dynamic.ResourceInterface, live *unstructured.Unstructured) error {
	if !a.options.TakeOver || a.options.DryRun || live.GetKind() == "Namespace" {
		return nil
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New("kubectl-client-side-apply"), a.options.FieldManager)
		if err != nil || patch == nil {
			return err
		}
		_, err = endpoint.Patch(ctx, live.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{})
		if apierrors.IsConflict(err) {
			if now, again := endpoint.Get(ctx, live.GetName(), metav1.GetOptions{}); again == nil {
				live = now
			}
		}
		return err
	})
}

// annotate gives u what has has of the annotations of created objects.
func (a *applier) annotate(u *unstructured.Unstructured, has map[string]string) {
	all := map[string]string{}
	for key := range a.options.OnCreate {
		if value, ok := has[key]; ok {
			all[key] = value
		}
	}
	if len(all) > 0 {
		maps.Copy(all, u.GetAnnotations())
		u.SetAnnotations(all)
	}
}

// same compares what a user can see of the two. The resource version is not
// enough: it stays the same in a dry run, and moves when only bookkeeping or,
// by a controller at the same moment, the status changes.
func same(before, after *unstructured.Unstructured) bool {
	a, b := before.DeepCopy(), after.DeepCopy()
	for _, u := range []*unstructured.Unstructured{a, b} {
		for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
			unstructured.RemoveNestedField(u.Object, "metadata", field)
		}
		unstructured.RemoveNestedField(u.Object, "status")
	}
	return equality.Semantic.DeepEqual(a.Object, b.Object)
}

// clean copies u without the fields that only the server sets: manifests that
// were read back from a cluster carry them, and they are refused or conflict.
func clean(u *unstructured.Unstructured) *unstructured.Unstructured {
	u = u.DeepCopy()
	for _, field := range []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	if isCRD(u) {
		unstructured.RemoveNestedField(u.Object, "status")
	}
	return u
}

// fatal reports whether the objects that follow would fail in the same way.
func fatal(ctx context.Context, err error) bool {
	return ctx.Err() != nil || clierr.CodeOf(err) == clierr.CodeUnavailable
}

// explain turns what the server said about ref into what to do about it.
func (c *Client) explain(doing string, ref Ref, err error) error {
	_, unknown := errors.AsType[*noKindError](err)
	if unknown || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s %s: %w", doing, ref, err)
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		// No answer of the API server's: the connection is at fault.
		return clierr.Unavailablef(c.reachHint(), "%s %s: %s does not answer: %w", doing, ref, c.Server, cause(err))
	}
	switch {
	case apierrors.IsConflict(err) && status.Status().Details != nil:
		if fields := conflicts(status.Status().Details.Causes); fields != "" {
			return clierr.Failedf("take these fields out of the manifest", "%s %s: fields belong to others: %s", doing, ref, fields)
		}
	case apierrors.IsForbidden(err) && status.Status().Details != nil && strings.Contains(err.Error(), "cannot "):
		return clierr.Failedf("use a context whose user has the right to do this", "%s %s: %w", doing, ref, err)
	case apierrors.IsNotFound(err) && ref.Namespace != "" && doing == "apply":
		return clierr.Failedf("create the namespace: "+c.Kubectl()+" create namespace "+ref.Namespace, "%s %s: %w", doing, ref, err)
	}
	return fmt.Errorf("%s %s: %w", doing, ref, err)
}

// conflicts lists field and owner of server-side apply's conflicts.
func conflicts(causes []metav1.StatusCause) string {
	var list []string
	for _, c := range causes {
		if c.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		owner := strings.TrimPrefix(c.Message, "conflict with ")
		list = append(list, fmt.Sprintf("%s (%s)", strings.TrimPrefix(c.Field, "."), owner))
	}
	return strings.Join(list, ", ")
}
