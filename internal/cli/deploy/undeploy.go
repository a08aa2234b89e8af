package deploy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/hostprogram"
	"github.com/example/mysdk/internal/kube"
)

const (
	crdKind   = "CustomResourceDefinition"
	claimKind = "PersistentVolumeClaim"
)

// NewUndeploy is 'mysdk undeploy'.
func NewUndeploy(f *cli.Factory) *cobra.Command {
	o := &options{}
	c := &cobra.Command{
		Use: "undeploy", Short: "Delete the operator from a cluster and keep its CRDs", GroupID: "run",
		Long: `Delete the operator from a cluster and keep its CRDs.

What earlier deploys of the project left behind is deleted, too; volume claims
only with --yes. A namespace is kept if it holds anything that deploy did not
bring, such as custom resources, or if that cannot be told because the server of
an API group does not answer.

Custom resources that need the operator are reported: those with finalizers, and
those stored in a version that its webhook converts. --wait deletes the operator
when there are none left, and --crds deletes them while it still runs.`,
		Example: "  mysdk undeploy --context my-cluster\n  mysdk undeploy --context my-cluster --crds",
		RunE:    func(c *cobra.Command, _ []string) error { return runUndeploy(c.Context(), f, o) },
	}
	o.Bind(c.Flags())
	c.Flags().BoolVar(&o.crds, "crds", false, "also delete the CRDs and all custom resources")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "skip confirmation: custom resources are deleted with their CRDs, and volume claims that the project no longer has")
	c.Flags().BoolVar(&o.wait, "wait", false, "wait until no custom resource needs the operator before deleting it")
	cli.ForceFlag(c.Flags(), &o.force)
	cli.DryRunFlag(c.Flags(), &o.dryRun)
	c.Flags().DurationVar(&o.timeout, "timeout", time.Minute, "how long to wait for each object to be deleted, and with --wait for custom resources")
	return c
}

func runUndeploy(ctx context.Context, f *cli.Factory, o *options) error {
	if o.force && !o.crds {
		return clierr.Usagef("add --crds, or leave out --force", "--force requires --crds")
	}
	f.OrAsIs = true // an operator can go while its code is broken
	_, objects, err := f.OperatorManifests(ctx, "")
	if err != nil {
		return err
	}
	client, err := f.Connect(ctx, &o.Target, false)
	if err != nil {
		return err
	}
	set, err := applySet(f, client, objects)
	if err != nil {
		return err
	}
	crds, rest, err := deployed(ctx, client, set, objects)
	if err != nil {
		return err
	}
	opts := kube.DeleteOptions{Timeout: o.timeout, DryRun: o.dryRun, Force: o.force, Progress: f.Teller(o.dryRun)}
	if o.crds {
		// CRDs first: their objects' finalizers need an operator that still runs.
		if done, err := deleteCRDs(ctx, f, client, crds, o.yes, opts); err != nil || !done {
			return err
		}
	} else if err := dependents(ctx, f, client, crds, o); err != nil {
		return err
	}
	if !o.yes {
		rest = withoutClaims(f, rest, objects)
	}
	if rest, err = withoutUsed(ctx, f, client, crds, rest, o.crds); err != nil {
		return err
	}
	// The parent is what an interrupted undeploy finds the others by.
	last := slices.DeleteFunc(slices.Clone(rest), func(u *unstructured.Unstructured) bool {
		return u.GetKind() != "Namespace" && kube.RefOf(u) != kube.RefOf(set.Parent())
	})
	for _, some := range [][]*unstructured.Unstructured{kube.Without(rest, last), last} {
		if _, err := client.Delete(ctx, some, opts); err != nil {
			return err
		}
	}
	if client.Embedded != "" && !o.dryRun {
		p := hostprogram.Programs{Host: f.Host, Cluster: client.Embedded, Say: f.Detail}
		if err := p.ForgetDeployments(ctx, rest); err != nil {
			return err
		}
	}
	return warnElsewhere(ctx, f, client, set)
}

// deployed are the CRDs and all else that this deploy of the project and those
// before have applied. CRDs and claims that were kept outlive the set's parent.
func deployed(ctx context.Context, client *kube.Client, set kube.ApplySet, objects []*unstructured.Unstructured) (crds, rest []*unstructured.Unstructured, err error) {
	parent, members, err := client.InSet(ctx, set)
	if err != nil {
		return nil, nil, err
	}
	if parent != nil {
		objects = append(objects, parent)
	}
	for _, kind := range []schema.GroupVersionKind{kube.CRD(), {Version: "v1", Kind: claimKind}} {
		more, err := client.List(ctx, kind, kube.ListOptions{Selector: set.Selector(), Namespace: set.Namespace})
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, nil, err
		}
		members = append(members, kube.Without(more, members)...)
	}
	for _, u := range append(objects, kube.Without(members, objects)...) {
		// config/default/kustomization.yaml may put the operator into a namespace that no cluster lets go.
		everywhere := u.GetKind() == "Namespace" && (u.GetName() == "default" || strings.HasPrefix(u.GetName(), "kube-"))
		switch {
		case u.GetKind() == crdKind:
			crds = append(crds, u)
		case !everywhere:
			rest = append(rest, u)
		}
	}
	return crds, rest, nil
}

// withoutClaims are those of all without the claims that the project's objects lack:
// deploy has kept them for their data.
func withoutClaims(f *cli.Factory, all, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	claims := slices.DeleteFunc(kube.Without(all, objects), func(u *unstructured.Unstructured) bool {
		ref := kube.RefOf(u)
		ref.Namespace = "" // as in a project that does not set it
		return u.GetKind() != claimKind || slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return kube.RefOf(o) == ref })
	})
	for _, u := range claims {
		warnKept(f, u, "data", "undeploy")
	}
	return kube.Without(all, claims)
}

// withoutUsed are objects without the namespaces that hold what deploy did not
// bring, or may. With gone the custom resources of crds do not count, nor what they own.
func withoutUsed(ctx context.Context, f *cli.Factory, client *kube.Client, crds, objects []*unstructured.Unstructured, gone bool) ([]*unstructured.Unstructured, error) {
	isGone := func(kind schema.GroupKind) bool {
		return gone && slices.ContainsFunc(crds, func(crd *unstructured.Unstructured) bool { return kube.ServedKind(crd).GroupKind() == kind })
	}
	goes := func(u *unstructured.Unstructured) bool {
		if u.GetKind() == "Secret" && strings.HasSuffix(u.GetName(), "webhook-server-cert") {
			return true // an operator that issues the certificate of its webhooks has made it
		}
		return isGone(u.GroupVersionKind().GroupKind()) || slices.ContainsFunc(u.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
			return isGone(schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind())
		})
	}
	var list []*unstructured.Unstructured
	for _, u := range objects {
		if u.GetKind() == "Namespace" {
			why, err := client.Stranger(ctx, u.GetName(), objects, goes)
			if err != nil {
				return nil, err
			}
			if why != "" {
				f.Warn("%s was kept: %s. To delete it with everything in it, run 'mysdk kubectl delete namespace %s'", kube.RefOf(u), why, u.GetName())
				continue
			}
		}
		list = append(list, u)
	}
	return list, nil
}

// dependents warns of custom resources that need the operator, or waits until
// there are none.
func dependents(ctx context.Context, f *cli.Factory, client *kube.Client, crds []*unstructured.Unstructured, o *options) error {
	limited, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	for told := ""; ; {
		counts, err := client.Count(ctx, crds)
		if err != nil {
			return err
		}
		needs := needsOperator(counts)
		switch {
		case needs == "":
			return nil
		case !o.wait || o.dryRun:
			f.Warn("%s. Delete them before the operator, or use --wait to delete it when they are gone", needs)
			return nil
		case needs != told:
			f.Say("Waiting: %s", needs)
			told = needs
		}
		if !host.Pause(limited, 500*time.Millisecond) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return clierr.Unavailablef("delete them with 'mysdk kubectl delete', or leave out --wait", "nothing was deleted after %s: %s", o.timeout, needs)
		}
	}
}

// needsOperator says which custom resources need the operator; "" for none.
func needsOperator(counts []kube.InstanceCount) string {
	var list []string
	for _, n := range counts {
		if n.Held > 0 {
			list = append(list, fmt.Sprintf("%d %s with finalizers that only the operator removes", n.Held, n.Kind))
		}
		if n.Stored != "" {
			list = append(list, fmt.Sprintf("%s objects stored in version %s that only the operator's webhook converts", n.Kind, n.Stored))
		}
	}
	return strings.Join(list, "; ")
}

// applySet is what the cluster knows the objects of this project by.
func applySet(f *cli.Factory, client *kube.Client, objects []*unstructured.Unstructured) (kube.ApplySet, error) {
	p, _, err := f.LoadProject()
	if err != nil {
		return kube.ApplySet{}, err
	}
	set := kube.ApplySet{Namespace: client.Namespace, Name: p.Name + "-deploy"}
	for _, u := range objects {
		if u.GetKind() == "Deployment" && u.GetNamespace() != "" {
			set.Namespace = u.GetNamespace()
		}
	}
	return set, nil
}

// warnElsewhere says which deploys of this project are in other namespaces, and how
// to take them away: their operators go on beside this one. It may be that they are
// meant to. Who may not look into other namespaces hears of none.
func warnElsewhere(ctx context.Context, f *cli.Factory, client *kube.Client, set kube.ApplySet) error {
	sets, err := client.Elsewhere(ctx, set)
	if err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	for _, other := range slices.SortedFunc(maps.Keys(sets), func(a, b kube.ApplySet) int { return cmp.Compare(a.Namespace, b.Namespace) }) {
		kinds := slices.DeleteFunc(sets[other], func(kind string) bool { return strings.HasPrefix(kind, crdKind+".") })
		f.Warn("an earlier deploy of this project is in namespace %[1]s. If that is not meant, remove it: mysdk kubectl delete %[2]s -n %[1]s -l %[3]s && mysdk kubectl delete configmap %[4]s -n %[1]s",
			other.Namespace, strings.Join(kinds, ","), other.Selector(), other.Name)
	}
	return nil
}

// prune deletes what earlier deploys have applied and this one has not, and names
// those in other namespaces. What holds data stays, unless the user agrees.
func prune(ctx context.Context, f *cli.Factory, client *kube.Client, set kube.ApplySet, stale, objects []*unstructured.Unstructured, o *options) error {
	var kept []*unstructured.Unstructured
	for _, u := range stale {
		keep, err := keeps(ctx, f, client, u, o)
		if err != nil {
			return err
		}
		if keep {
			kept = append(kept, u)
		}
	}
	gone := kube.Without(stale, kept)
	if _, err := client.Delete(ctx, gone, kube.DeleteOptions{DryRun: o.dryRun, Progress: f.Teller(o.dryRun)}); err != nil {
		return err
	}
	if !o.dryRun {
		if err := client.KeepInSet(ctx, set, slices.Concat(objects, kept)); err != nil {
			return err
		}
	}
	return warnElsewhere(ctx, f, client, set)
}

// keeps reports whether u, which the project has no more, stays in the cluster
// because of what it holds.
func keeps(ctx context.Context, f *cli.Factory, client *kube.Client, u *unstructured.Unstructured, o *options) (bool, error) {
	holds := "data"
	switch u.GetKind() {
	case crdKind:
		counts, err := client.Count(ctx, []*unstructured.Unstructured{u})
		if err != nil || len(counts) == 0 {
			return false, err
		}
		holds = counts[0].String()
		if counts[0].Held > 0 {
			f.Warn("%s is no longer part of the project, and was kept: %d %s have finalizers, which an operator that has this kind removes. Delete them first", kube.RefOf(u), counts[0].Held, counts[0].Kind)
			return true, nil
		}
		if host.IsTerminal(f.Host.IO.In) && !o.yes && !o.dryRun {
			f.Say("%s is no longer part of the project.", kube.RefOf(u))
			ok, err := confirm(ctx, f, false, false, counts)
			return !ok, err
		}
	case claimKind:
	default:
		return false, nil
	}
	if !o.yes {
		warnKept(f, u, holds, "deploy")
	}
	return !o.yes, nil
}

func warnKept(f *cli.Factory, u *unstructured.Unstructured, holds, command string) {
	f.Warn("%s is no longer part of the project, and was kept because it holds %s: 'mysdk %s --yes' deletes it", kube.RefOf(u), holds, command)
}
