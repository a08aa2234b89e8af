package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/hostprogram"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/olm"
)

// CleanupOptions say what goes with a package.
type CleanupOptions struct {
	Namespace      string
	CRDs           bool          // the CRDs that the operator owns, and with them all objects of their kinds
	OperatorGroups bool          // the OperatorGroup even if mysdk did not make it, unless another operator needs it
	Timeout        time.Duration // for an object to be gone
	Say            func(format string, args ...any)
	Progress       func(kube.Result)
}

// Cleaned is what a cleanup has removed.
type Cleaned struct {
	CSVs   []string
	Images []hostprogram.ServedImage // of the operator's pods
}

type cleaner struct {
	CleanupOptions
	client    *kube.Client
	reader    Reader // the client, for what only looks
	pkg       string
	sub       *unstructured.Unstructured
	csvs      objects  // of the package
	planned   []string // names of CSVs of the package that OLM has, or is about to make
	others    []string
	crds      []string // owned by the CSVs
	unshared  objects  // those of them to be deleted
	elsewhere []string // names of CSVs in other namespaces
	leases    objects
	kinds     []schema.GroupVersionKind // of the objects that OLM has made from the bundles
	roles     []kube.Ref                // Roles and RoleBindings among them, which OLM gives no owner
}

// Cleanup removes a package that OLM has installed, whoever asked for it: the
// Subscription, the CSV with all that OLM made for it, the catalog if a run made it,
// and the OperatorGroup if a run made it and no operator needs it any more. CRDs and
// their objects stay unless asked for. It returns when all is gone.
func Cleanup(ctx context.Context, c *kube.Client, pkg string, o CleanupOptions) (Cleaned, error) {
	cl := &cleaner{CleanupOptions: o, client: c, reader: c, pkg: pkg}
	if err := requireOLM(ctx, c); err != nil {
		return Cleaned{}, err
	}
	if err := cl.find(ctx); err != nil {
		return Cleaned{}, err
	}
	shared, err := cl.sharedPlans(ctx)
	if err != nil {
		return Cleaned{}, err
	}
	// The plans know what they have made: they go last, for a cleanup after one that was
	// interrupted. Those that others wait for need their owners.
	opts := kube.DeleteOptions{Timeout: o.Timeout, Progress: o.Progress}
	keeping := opts
	keeping.Orphan = len(shared) == 0
	if err := endPlans(ctx, c, cl.sub, o.Namespace, cl.csvNames(), keeping); err != nil {
		return Cleaned{}, err
	}
	if err := cl.tellShared(ctx); err != nil {
		return Cleaned{}, err
	}
	for _, step := range []func(context.Context, kube.DeleteOptions) error{
		cl.deleteCRDs, // and their objects, while the operator still runs: their finalizers need it
		func(ctx context.Context, opts kube.DeleteOptions) error {
			_, err := c.Delete(ctx, cl.csvs, opts)
			return err
		},
		cl.deleteGroup, cl.awaitGone,
		cl.deleteCatalog, // the last thing, by which a cleanup that was interrupted is found again
	} {
		if err := step(ctx, opts); err != nil {
			return Cleaned{}, err
		}
	}
	if !o.CRDs && len(cl.crds) > 0 {
		cl.Say("Kept with their objects: %s (--delete-crds deletes them, too)", strings.Join(cl.crds, ", "))
	}
	return cl.cleaned(), nil
}

// sharedPlans are those that stay for the sake of others.
func (cl *cleaner) sharedPlans(ctx context.Context) (objects, error) {
	mine := cl.csvNames()
	plans, err := unfinishedPlans(ctx, cl.reader, cl.Namespace, mine)
	return plans.where(func(p *unstructured.Unstructured) bool { return shared(p, mine) }), err
}

func (cl *cleaner) tellShared(ctx context.Context) error {
	plans, err := cl.sharedPlans(ctx)
	for _, p := range plans {
		others := slices.DeleteFunc(texts(p, "spec", "clusterServiceVersionNames"), func(name string) bool { return slices.Contains(cl.csvNames(), name) })
		cl.Say("%s was kept: %s needs it", kube.RefOf(p), strings.Join(others, ", "))
	}
	return err
}

func (cl *cleaner) cleaned() Cleaned {
	out := Cleaned{CSVs: cl.csvs.names()}
	for _, u := range cl.csvs {
		for _, w := range workloadsOf(u) {
			for _, c := range slices.Concat(w.Containers, w.Init) {
				out.Images = append(out.Images, hostprogram.ServedImage{Image: c.Image, Workload: state.WorkloadName(cl.Namespace, "Deployment", w.Name)})
			}
		}
	}
	return out
}

// find reads what there is of the package. That there is nothing is an error,
// which knows where the package is.
func (cl *cleaner) find(ctx context.Context) error {
	subs, err := everywhere(ctx, cl.reader, olmV1alpha1, "Subscription", cl.Namespace)
	if err != nil {
		return err
	}
	if cl.sub, err = subscriptionOf(subs.in(cl.Namespace), cl.pkg); err != nil {
		return err
	}
	all, err := everywhere(ctx, cl.reader, olmV1alpha1, "ClusterServiceVersion", cl.Namespace)
	if err != nil {
		return err
	}
	cl.elsewhere = all.where(func(u *unstructured.Unstructured) bool { return u.GetNamespace() != cl.Namespace }).names()
	all = all.in(cl.Namespace)
	cl.csvs = all.where(cl.owns)
	source, err := cl.reader.Read(ctx, kube.Named(olmV1alpha1, "CatalogSource", cl.Namespace, catalogName(cl.pkg)))
	if err != nil {
		return err
	}
	content, err := labelled(ctx, cl.reader, gvk("v1", "ConfigMap"), cl.Namespace, labels.Set{state.CatalogLabel: catalogName(cl.pkg), runLabel: cl.pkg})
	if err != nil {
		return err
	}
	plans, err := list(ctx, cl.reader, olmV1alpha1, "InstallPlan", cl.Namespace)
	if err != nil {
		return err
	}
	cl.findPlanned(plans)
	if cl.sub == nil && len(cl.csvs) == 0 && len(cl.planned) == 0 && !isOurs(source) && len(content) == 0 {
		return cl.notFound(subs)
	}
	cl.findKinds(plans)
	mine := cl.csvNames()
	for _, u := range cl.csvs {
		cl.crds = append(cl.crds, olm.OwnedCRDs(u)...)
	}
	if cl.leases, err = leaderLeases(ctx, cl.reader, cl.Namespace, cl.csvs.names()...); err != nil {
		return err
	}
	slices.Sort(cl.crds)
	cl.crds = slices.Compact(cl.crds)
	cl.others = otherOperators(all, mine...)
	if cl.CRDs {
		return cl.findUnshared(ctx)
	}
	return nil
}

// findPlanned reads what OLM makes by the plans: of a CSV that is to come, or that an
// interrupted cleanup has removed, nothing else says that it is the package's.
func (cl *cleaner) findPlanned(plans objects) {
	cl.planned = csvsOfSubscription(cl.sub)
	for _, plan := range plans {
		for _, u := range csvsOf(plan) {
			if packageOf(u) == cl.pkg {
				cl.planned = append(cl.planned, u.GetName())
			}
		}
		// What OLM has to unpack first is known by its properties.
		for _, lookup := range entries(plan, "status", "bundleLookups") {
			if propertyOf(text(lookup, "properties"), "olm.package").PackageName == cl.pkg {
				cl.planned = append(cl.planned, text(lookup, "identifier"))
			}
		}
	}
}

// findKinds reads what objects the InstallPlans have made.
func (cl *cleaner) findKinds(plans objects) {
	cl.kinds = []schema.GroupVersionKind{
		gvk("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"), gvk("rbac.authorization.k8s.io/v1", "ClusterRole"),
	}
	mine := cl.csvNames()
	for _, p := range plans {
		for _, step := range entries(p, "status", "plan") {
			if !slices.Contains(mine, text(step, "resolving")) {
				continue
			}
			of := func(part string) string { return text(step, "resource", part) }
			k := schema.GroupVersionKind{Group: of("group"), Version: of("version"), Kind: of("kind")}
			if strings.HasPrefix(k.Kind, "Role") {
				cl.roles = append(cl.roles, kube.Ref{GroupVersionKind: k, Namespace: cl.Namespace, Name: of("name")})
			}
			// CRDs are for --delete-crds; OLM's own kinds have been dealt with.
			if k.Kind != "CustomResourceDefinition" && k.Group != "operators.coreos.com" && !slices.Contains(cl.kinds, k) {
				cl.kinds = append(cl.kinds, k)
			}
		}
	}
}

// owns reports whether a CSV is of the package: the Subscription names it, or
// OLM has marked it so, which is there after the Subscription has gone too.
func (cl *cleaner) owns(u *unstructured.Unstructured) bool {
	_, labelled := u.GetLabels()[cl.componentLabel()]
	return slices.Contains(csvsOfSubscription(cl.sub), u.GetName()) || labelled || cl.pkg != "" && packageOf(u) == cl.pkg // no package: it was applied by hand
}

// csvNames are the names of the package's CSVs, with those that are to come.
func (cl *cleaner) csvNames() []string {
	names := slices.Concat(cl.planned, cl.csvs.names())
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// componentLabel is what OLM puts on everything that belongs to a package in a
// namespace. The name part of a label has 63 characters.
func (cl *cleaner) componentLabel() string {
	name := cl.pkg + "." + cl.Namespace
	if len(name) > 63 {
		name = strings.TrimRight(name[:63], ".-_")
	}
	return "operators.coreos.com/" + name
}

// notFound says where the package is, or what there is instead.
func (cl *cleaner) notFound(subs objects) error {
	var elsewhere, packages []string
	for _, s := range subs {
		if text(s, "spec", "name") == cl.pkg {
			elsewhere = append(elsewhere, s.GetNamespace())
		}
		packages = append(packages, text(s, "spec", "name"))
	}
	hint := "see what is installed with 'mysdk olm explain'"
	if len(elsewhere) > 0 {
		hint = "it is installed in another namespace: add -n " + strings.Join(elsewhere, " or -n ")
	} else if near := clierr.Closest(cl.pkg, packages); near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	return clierr.Failedf(hint, "package %s is not installed in namespace %s", cl.pkg, cl.Namespace)
}

// findUnshared reads the CRDs to be deleted. Those that another operator provides too stay.
func (cl *cleaner) findUnshared(ctx context.Context) error {
	all, err := list(ctx, cl.reader, olmV1alpha1, "ClusterServiceVersion", "")
	if err != nil {
		return err
	}
	// Two operators may own the same CRD in namespaces that do not overlap.
	shared := map[string]string{}
	for _, u := range all {
		if cl.csvs.find(u.GetName()) != nil && u.GetNamespace() == cl.Namespace {
			continue
		}
		for _, crd := range olm.OwnedCRDs(u) {
			shared[crd] = kube.RefOf(u).String()
		}
	}
	if len(cl.csvs) == 0 { // a cleanup was interrupted after them
		left, err := cl.reader.List(ctx, gvk("apiextensions.k8s.io/v1", "CustomResourceDefinition"), kube.ListOptions{Selector: cl.componentLabel()})
		if err != nil {
			return err
		}
		cl.crds = append(cl.crds, objects(left).names()...)
		if len(left) == 0 {
			cl.Say("No CRDs are deleted: no ClusterServiceVersion of %s says which ones it owns", cl.pkg)
		}
	}
	for _, name := range cl.crds {
		if other := shared[name]; other != "" {
			cl.Say("CustomResourceDefinition %s was kept: %s provides it too", name, other)
			continue
		}
		live, err := cl.reader.Read(ctx, crdObject(name))
		if err != nil {
			return err
		}
		if live != nil {
			cl.unshared = append(cl.unshared, live)
		}
	}
	return nil
}

// deleteCRDs deletes CRDs that the operator owns, and their objects.
func (cl *cleaner) deleteCRDs(ctx context.Context, opts kube.DeleteOptions) error {
	_, err := kube.Uninstall(ctx, cl.client, cl.unshared, func(counts []kube.InstanceCount) (bool, error) {
		for _, n := range counts {
			cl.Say("Deleting %d %s with their CRD", n.Count, n.Kind)
		}
		return true, nil
	}, opts)
	return err
}

// deleteGroup deletes the OperatorGroup of the namespace unless an operator needs it.
func (cl *cleaner) deleteGroup(ctx context.Context, opts kube.DeleteOptions) error {
	groups, err := list(ctx, cl.reader, olmV1, "OperatorGroup", cl.Namespace)
	if err != nil {
		return err
	}
	subs, err := list(ctx, cl.reader, olmV1alpha1, "Subscription", cl.Namespace)
	if err != nil {
		return err
	}
	users := slices.Clone(cl.others)
	for _, s := range subs {
		users = append(users, kube.RefOf(s).String())
	}
	for _, g := range groups {
		if !isOurs(g) && !cl.OperatorGroups {
			continue
		}
		if len(users) > 0 {
			cl.Say("%s was kept: %s needs it", kube.RefOf(g), strings.Join(users, ", "))
			continue
		}
		if _, err := cl.client.Delete(ctx, []*unstructured.Unstructured{g}, opts); err != nil {
			return err
		}
	}
	return nil
}

// awaitGone waits for what OLM and the garbage collector take away, and removes
// what they leave behind: the Operator, a summary that OLM makes again as long
// as anything has the package's label.
func (cl *cleaner) awaitGone(ctx context.Context, opts kube.DeleteOptions) error {
	// As long as a CRD has the label, OLM would make the Operator again.
	if err := cl.unlabelCRDs(ctx); err != nil {
		return err
	}
	for _, k := range append(cl.kinds, gvk("apps/v1", "Deployment"), gvk(olmV2, "OperatorCondition")) {
		left, err := cl.leftOf(ctx, k)
		if err != nil {
			return err
		}
		if _, err := cl.client.Delete(ctx, left, quiet(opts)); err != nil {
			return err
		}
	}
	plans, err := cl.plansLeft(ctx)
	if err != nil {
		return err
	}
	if _, err := cl.client.Delete(ctx, plans, quiet(opts)); err != nil {
		return err
	}
	// A CSV once more: an InstallPlan that OLM was busy with as it was deleted
	// brings it back, or makes it only then.
	if _, err := cl.client.Delete(ctx, slices.Concat(cl.leases, namedCSVs(cl.Namespace, cl.csvNames())), quiet(opts)); err != nil {
		return err
	}
	_, err = cl.client.Delete(ctx, []*unstructured.Unstructured{kube.Named(olmV1, "Operator", "", cl.pkg+"."+cl.Namespace)}, quiet(opts))
	if apierrors.IsForbidden(err) {
		return nil // it is in nobody's way
	}
	return err
}

// plansLeft are the package's InstallPlans but those that others wait for.
func (cl *cleaner) plansLeft(ctx context.Context) (objects, error) {
	mine := cl.csvNames()
	plans, err := plansOf(ctx, cl.reader, cl.Namespace, mine)
	return plans.where(func(p *unstructured.Unstructured) bool { return !shared(p, mine) }), err
}

// leftOf are the objects of a kind that OLM has made for the package and not
// taken away, as it does with what has no namespace.
func (cl *cleaner) leftOf(ctx context.Context, k schema.GroupVersionKind) ([]*unstructured.Unstructured, error) {
	for _, ns := range []string{"", cl.Namespace} {
		if left, err := cl.leftIn(ctx, k, ns); !apierrors.IsForbidden(err) {
			return left, err
		}
	}
	cl.Say("%s objects left by OLM were kept: you do not have permission to list them", k.Kind)
	return nil, nil
}

// leftIn are those of them in a namespace, in all for "".
func (cl *cleaner) leftIn(ctx context.Context, k schema.GroupVersionKind, namespace string) ([]*unstructured.Unstructured, error) {
	left, err := cl.reader.List(ctx, k, kube.ListOptions{Namespace: namespace, Selector: cl.componentLabel()})
	if err != nil {
		return nil, err
	}
	mine := cl.csvNames()
	managed, err := cl.reader.List(ctx, k, kube.ListOptions{Namespace: namespace, Selector: "olm.managed=true"})
	if err != nil {
		return nil, err
	}
	for _, o := range managed {
		owner, ns := o.GetLabels()["olm.owner"], o.GetLabels()["olm.owner.namespace"]
		// The same version in another namespace has objects of its own,
		// except for what has no namespace: that it goes on needing.
		owned := slices.Contains(mine, owner) && (ns == cl.Namespace || o.GetNamespace() == cl.Namespace ||
			ns == "" && o.GetNamespace() == "" && !slices.Contains(cl.elsewhere, owner))
		if owned || slices.Contains(cl.roles, kube.RefOf(o)) {
			left = append(left, o)
		}
	}
	return left, nil
}

// quiet deletes without a line for each object: they are OLM's, not the user's.
func quiet(o kube.DeleteOptions) kube.DeleteOptions { o.Progress = nil; return o }

// unlabelCRDs takes OLM's label off CRDs that stay.
func (cl *cleaner) unlabelCRDs(ctx context.Context) error {
	left, err := cl.reader.List(ctx, gvk("apiextensions.k8s.io/v1", "CustomResourceDefinition"), kube.ListOptions{Selector: cl.componentLabel()})
	if apierrors.IsForbidden(err) {
		return nil // the Operator stays, too
	}
	if err != nil {
		return err
	}
	for _, crd := range left {
		err := cl.client.Edit(ctx, crd, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			if live == nil || live.GetDeletionTimestamp() != nil {
				return nil, nil
			}
			labels := live.GetLabels()
			delete(labels, cl.componentLabel())
			live.SetLabels(labels)
			return live, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
