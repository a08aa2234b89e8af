package run

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/kube"
)

// Reader is what looking at a cluster takes; *kube.Client is one.
type Reader interface {
	// Read returns the object of u's kind and name, nil without one.
	Read(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// Serves reports whether the cluster has a kind.
	Serves(ctx context.Context, gvk schema.GroupVersionKind) (bool, error)
	// List returns the objects of a kind; none of a kind that is not served.
	List(ctx context.Context, gvk schema.GroupVersionKind, o kube.ListOptions) ([]*unstructured.Unstructured, error)
	// Logs returns the end of a container's log.
	Logs(ctx context.Context, namespace, pod string, o kube.LogOptions) ([]byte, error)
	// Allowed reports whether a service account may do something.
	Allowed(ctx context.Context, a kube.Access) (bool, error)
}

// logLines is how much of a container's log a finding shows; crashLines how much of
// it is searched for the reason why the container ended, and workLines for what the
// operator does and may not do.
const (
	logLines   = 10
	crashLines = 100
	workLines  = 200
)

// objects is a list of objects of one kind.
type objects []*unstructured.Unstructured

// find returns the object of that name, nil without one.
func (l objects) find(name string) *unstructured.Unstructured {
	i := slices.IndexFunc(l, func(u *unstructured.Unstructured) bool { return u.GetName() == name })
	if i < 0 {
		return nil
	}
	return l[i]
}

func (l objects) in(namespace string) objects {
	return l.where(func(u *unstructured.Unstructured) bool { return u.GetNamespace() == namespace })
}

func (l objects) names() []string {
	var names []string
	for _, u := range l {
		names = append(names, u.GetName())
	}
	return names
}

// where keeps the objects for which ok holds.
func (l objects) where(ok func(*unstructured.Unstructured) bool) objects {
	return slices.DeleteFunc(slices.Clone(l), func(u *unstructured.Unstructured) bool { return !ok(u) })
}

// chain is one look at everything that stands between a Subscription and a
// running operator.
type chain struct {
	namespace string
	pkg       string
	want      string // the CSV to be installed; empty: whatever the Subscription says
	deployed  bool   // the operator was deployed without OLM: hints name its manifests, not a bundle

	subscription *unstructured.Unstructured // nil for a CSV that was applied by hand
	subscribed   objects                    // all Subscriptions of the namespace
	catalogs     objects                    // all CatalogSources; here and below, as far as the user may see them
	plans        objects                    // InstallPlans of the namespace
	csvs         objects                    // of all namespaces, copies left out
	groups       objects                    // OperatorGroups of all namespaces
	jobs         objects                    // that unpack bundles, of the catalog's namespace
	deployments  objects                    // of the operator's and the catalog's namespace, from here on
	replicaSets  objects
	pods         objects
	events       objects
}

// look reads the chain of a package. Without a Subscription of the package,
// the CSV named want is where it begins.
func look(ctx context.Context, r Reader, namespace, pkg, want string) (*chain, error) {
	c := &chain{namespace: namespace, pkg: pkg, want: want}
	var err error
	if c.subscribed, err = list(ctx, r, olmV1alpha1, "Subscription", namespace); err != nil {
		return nil, err
	}
	for _, s := range c.subscribed {
		if text(s, "spec", "name") == pkg && pkg != "" {
			c.subscription = s
		}
	}
	all, here := []string{""}, []string{namespace}
	both := here // with the catalog's
	if ns := text(c.subscription, "spec", "sourceNamespace"); ns != "" && ns != namespace {
		both = []string{namespace, ns}
	}
	// Everything at once, and in the same order each time: what is read later
	// can only be newer, so a cause is never missed for its consequence.
	parts := []part{
		{&c.catalogs, olmV1alpha1, "CatalogSource", all},
		{&c.plans, olmV1alpha1, "InstallPlan", here},
		{&c.csvs, olmV1alpha1, "ClusterServiceVersion", all},
		{&c.groups, olmV1, "OperatorGroup", all},
		{&c.jobs, "batch/v1", "Job", both},
	}
	return c, c.read(ctx, r, append(parts, c.workloads(both)...))
}

// part is objects of one kind to be read, of each of some namespaces.
type part struct {
	into             *objects
	apiVersion, kind string
	namespaces       []string
}

// workloads are the Deployments of the namespaces and what belongs to them.
func (c *chain) workloads(namespaces []string) []part {
	return []part{
		{&c.deployments, "apps/v1", "Deployment", namespaces},
		{&c.replicaSets, "apps/v1", "ReplicaSet", namespaces},
		{&c.pods, "v1", "Pod", namespaces},
		{&c.events, "v1", "Event", namespaces},
	}
}

func (c *chain) read(ctx context.Context, r Reader, parts []part) error {
	for _, p := range parts {
		for _, ns := range p.namespaces {
			found, err := c.visible(ctx, r, p.apiVersion, p.kind, ns)
			if err != nil {
				return err
			}
			*p.into = append(*p.into, found...)
		}
	}
	return nil
}

// visible are the objects of a kind of one namespace, of all for "", that the
// user may list: at least those of the operator's namespace.
func (c *chain) visible(ctx context.Context, r Reader, apiVersion, kind, namespace string) (objects, error) {
	if namespace == "" {
		return everywhere(ctx, r, apiVersion, kind, c.namespace)
	}
	found, err := list(ctx, r, apiVersion, kind, namespace)
	if apierrors.IsForbidden(err) && namespace != c.namespace && !c.deployed {
		return nil, nil // the catalog's, which is for others to look after
	}
	return found, err
}

// everywhere is list for all namespaces, or for home where the user has no right to more.
func everywhere(ctx context.Context, r Reader, apiVersion, kind, home string) (objects, error) {
	found, err := list(ctx, r, apiVersion, kind, "")
	if apierrors.IsForbidden(err) {
		return list(ctx, r, apiVersion, kind, home)
	}
	return found, err
}

// list returns the objects of a kind of one namespace, of all for "". It is
// Reader.List in the form that the walk needs: without OLM's copies of CSVs, of
// which an operator for all namespaces has one in each.
func list(ctx context.Context, r Reader, apiVersion, kind, namespace string) (objects, error) {
	o := kube.ListOptions{Namespace: namespace}
	if kind == "ClusterServiceVersion" {
		o.Selector = "!" + copiedLabel
	}
	found, err := r.List(ctx, gvk(apiVersion, kind), o)
	return objects(found).where(func(u *unstructured.Unstructured) bool { return !isCopied(u) }), err
}

func readAll(ctx context.Context, r Reader, objs objects) (objects, error) {
	var all objects
	for _, u := range objs {
		live, err := r.Read(ctx, u)
		if err != nil {
			return nil, err
		}
		if live != nil {
			all = append(all, live)
		}
	}
	return all, nil
}

// copiedLabel is on OLM's copies of a CSV in other namespaces.
const copiedLabel = "olm.copiedFrom"

// isCopied reports whether a CSV stands in a namespace only because an operator
// of another one watches it.
func isCopied(u *unstructured.Unstructured) bool {
	_, labelled := u.GetLabels()[copiedLabel]
	return labelled || text(u, "status", "reason") == "Copied"
}

// labelled are the objects of a kind with all of these labels, of all namespaces for
// "". Nothing can have a value that is none of a label, and the API server would
// refuse to look for it.
func labelled(ctx context.Context, r Reader, k schema.GroupVersionKind, namespace string, with labels.Set) (objects, error) {
	if _, err := with.AsValidatedSelector(); err != nil {
		return nil, nil //nolint:nilerr // see above
	}
	return r.List(ctx, k, kube.ListOptions{Namespace: namespace, Selector: with.String()})
}

// csvName is the CSV that the chain leads to.
func (c *chain) csvName() string {
	// What will be installed counts before what is: an upgrade that hangs has
	// a healthy old CSV.
	return cmp.Or(c.want, text(c.subscription, "status", "currentCSV"), text(c.subscription, "status", "installedCSV"))
}

// csv is that CSV, nil while there is none. Names of CSVs are unique in a namespace
// only: the same version may be installed in several.
func (c *chain) csv() *unstructured.Unstructured { return c.csvs.in(c.namespace).find(c.csvName()) }

// plan is the InstallPlan that the Subscription waits for.
func (c *chain) plan() *unstructured.Unstructured {
	return c.plans.find(text(c.subscription, "status", "installPlanRef", "name"))
}

// ownedBy keeps the objects that the owner controls or owns.
func (l objects) ownedBy(owner *unstructured.Unstructured) objects {
	return l.where(func(u *unstructured.Unstructured) bool {
		for _, o := range u.GetOwnerReferences() {
			if o.UID == owner.GetUID() && o.Kind == owner.GetKind() {
				return true
			}
		}
		return false
	})
}

// eventOf is the newest Warning about u in one line, "" without one.
func (c *chain) eventOf(u *unstructured.Unstructured) string {
	newest := c.newest(u, func(*unstructured.Unstructured) bool { return true })
	if newest == nil {
		return ""
	}
	return text(newest, "reason") + ": " + oneLine(text(newest, "message"))
}

// newest is the newest warning about u of those that pick picks; nil for none.
func (c *chain) newest(u *unstructured.Unstructured, pick func(*unstructured.Unstructured) bool) *unstructured.Unstructured {
	var newest *unstructured.Unstructured
	for _, e := range c.events {
		about := func(field string) string { return text(e, "involvedObject", field) }
		if text(e, "type") != "Warning" || about("kind") != u.GetKind() || about("name") != u.GetName() ||
			about("namespace") != u.GetNamespace() || !pick(e) {
			continue
		}
		if newest == nil || eventTime(e).After(eventTime(newest)) {
			newest = e
		}
	}
	return newest
}

// eventTime is when an event was last seen. Which field says so depends on who recorded it.
func eventTime(e *unstructured.Unstructured) time.Time {
	for _, f := range []string{"lastTimestamp", "eventTime"} {
		if t, err := time.Parse(time.RFC3339, text(e, f)); err == nil {
			return t
		}
	}
	return e.GetCreationTimestamp().Time
}

// logsOf are the logs of the pods' containers. One may not have started, or may be
// gone: that is for others to find.
func logsOf(ctx context.Context, r Reader, pods objects, o kube.LogOptions) iter.Seq2[*unstructured.Unstructured, string] {
	return func(yield func(*unstructured.Unstructured, string) bool) {
		for _, pod := range pods {
			for _, s := range entries(pod, "spec", "containers") {
				o.Container = text(s, "name")
				log, err := r.Logs(ctx, pod.GetNamespace(), pod.GetName(), o)
				if err == nil && !yield(pod, string(log)) {
					return
				}
			}
		}
	}
}

// logTail is the end of a container's log; of the run before, where the
// container is not running. A log that cannot be read is no reason to fail.
func logTail(ctx context.Context, r Reader, pod *unstructured.Unstructured, container string, previous bool, lines int) []string {
	data, err := r.Logs(ctx, pod.GetNamespace(), pod.GetName(), kube.LogOptions{Container: container, Tail: lines, Previous: previous})
	if err != nil || len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimRight(string(data), "\n"), "\n")
}
