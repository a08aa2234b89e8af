package olm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
)

const (
	// managedLabel is on what OLM makes.
	managedLabel = "olm.managed=true"
	// copiedLabel is on the copies of a ClusterServiceVersion in other
	// namespaces, which go with it.
	copiedLabel = "olm.copiedFrom"
)

// UninstallOptions say how to uninstall.
type UninstallOptions struct {
	Force    bool              // also while operators are installed, which go with their ClusterServiceVersions
	Timeout  time.Duration     // for an object to be gone; 0: a minute
	Progress func(kube.Result) // called for each object that is gone; nil is fine
}

// Uninstalled is what Uninstall did.
type Uninstalled struct {
	Version    string     // that was there; "" for none
	Kept       []string   // CRDs of operators that went: objects of their kinds may be there
	Catalogs   []kube.Ref // CatalogSources of others that went
	Namespaces []string   // that stay, and why: "operators: it also contains Secret operators/db"
}

// Uninstall takes OLM out of the cluster, with everything that it has made for
// itself. While OLM still runs, the ClusterServiceVersions go: their finalizers
// need it. Without OLM in the cluster only what an interrupted Uninstall has left
// goes, and no namespace: it may be somebody else's.
func Uninstall(ctx context.Context, c *kube.Client, m Manifests, o UninstallOptions) (Uninstalled, error) {
	there, err := Find(ctx, c)
	if err == nil {
		err = there.refuse()
	}
	if err != nil {
		return Uninstalled{}, err
	}
	if there.Version != "" && there.Namespace != m.Namespace {
		return Uninstalled{}, clierr.Usagef("add --olm-namespace "+there.Namespace, "OLM %s is in namespace %s, not in %s", there.Version, there.Namespace, m.Namespace)
	}
	u := &uninstaller{Client: c, options: kube.DeleteOptions{Timeout: o.Timeout, Progress: progress(o.Progress)}, done: Uninstalled{Version: there.Version}}
	if there.Version != "" {
		if err := u.operators(ctx, o.Force); err != nil {
			return u.done, err
		}
	}
	err = u.rest(ctx, m)
	return u.done, err
}

// progress leaves out what was not there: an older OLM has fewer objects.
func progress(tell func(kube.Result)) func(kube.Result) {
	return func(r kube.Result) {
		if tell != nil && r.Action != kube.Absent {
			tell(r)
		}
	}
}

type uninstaller struct {
	*kube.Client
	options kube.DeleteOptions
	done    Uninstalled
}

// operators deletes all ClusterServiceVersions, and what would bring them back before.
func (u *uninstaller) operators(ctx context.Context, force bool) error {
	csvs, plans, err := u.installed(ctx)
	if err != nil {
		return err
	}
	if others := operatorNames(csvs, plans); len(others) > 0 && !force {
		return clierr.Failedf("remove them first with 'mysdk cleanup PACKAGE', or add --force to delete them with OLM",
			"nothing was deleted: OLM has installed operators: %s", strings.Join(others, ", "))
	}
	// Until nothing comes back: what OLM was busy with it still makes, and a CSV
	// that is made later has a finalizer that nobody would take off.
	for still, rounds := 0, 0; still < 2 && rounds < maxRounds; rounds++ {
		if still++; len(csvs)+len(plans) > 0 {
			still = 0
		}
		u.keep(csvs)
		if _, err := u.Delete(ctx, plans, u.options); err != nil {
			return err
		}
		if _, err := u.Delete(ctx, csvs, u.options); err != nil {
			return clierr.WithHint(err, "see with 'mysdk olm status' whether OLM runs: it takes the finalizers off")
		}
		if !host.Pause(ctx, stillness) {
			return ctx.Err()
		}
		if csvs, plans, err = u.installed(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stillness is the pause between two looks at whether OLM still makes
// something, and maxRounds how many there are at most.
const (
	stillness = 200 * time.Millisecond
	maxRounds = 20
)

// installed are all ClusterServiceVersions but for copies, and what OLM makes them by.
func (u *uninstaller) installed(ctx context.Context) (csvs, plans []*unstructured.Unstructured, err error) {
	for _, name := range []string{"Subscription", "InstallPlan"} {
		list, err := u.List(ctx, kind(name), kube.ListOptions{})
		if err != nil {
			return nil, nil, err
		}
		plans = append(plans, list...)
	}
	csvs, err = u.List(ctx, kind("ClusterServiceVersion"), kube.ListOptions{Selector: "!" + copiedLabel})
	return csvs, plans, err
}

// keep notes the CRDs of operators that go.
func (u *uninstaller) keep(csvs []*unstructured.Unstructured) {
	for _, csv := range csvs {
		if csv.GetName() == packageServer {
			continue
		}
		for _, crd := range OwnedCRDs(csv) {
			if !slices.Contains(u.done.Kept, crd) {
				u.done.Kept = append(u.done.Kept, crd)
			}
		}
	}
}

// operatorNames are the operators that OLM has installed, and those that it is
// about to install: of these there are only Subscriptions yet.
func operatorNames(csvs, plans []*unstructured.Unstructured) []string {
	var names []string
	for _, csv := range csvs {
		if csv.GetName() != packageServer {
			names = append(names, csv.GetNamespace()+"/"+csv.GetName())
		}
	}
	for _, sub := range plans {
		installed := slices.ContainsFunc(csvs, func(csv *unstructured.Unstructured) bool {
			status, _, _ := unstructured.NestedMap(sub.Object, "status") // absent until OLM has seen it
			return csv.GetNamespace() == sub.GetNamespace() && (csv.GetName() == status["installedCSV"] || csv.GetName() == status["currentCSV"])
		})
		if sub.GetKind() == "Subscription" && !installed {
			names = append(names, sub.GetNamespace()+"/"+sub.GetName()+" (to be installed)")
		}
	}
	return names
}

// OwnedCRDs are the names of the CRDs that a CSV provides, sorted, each once.
func OwnedCRDs(csv *unstructured.Unstructured) []string {
	var names []string
	owned, _, _ := unstructured.NestedSlice(csv.Object, "spec", "customresourcedefinitions", "owned")
	for _, item := range owned {
		crd, _ := item.(map[string]any)
		if name, _ := crd["name"].(string); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// rest deletes the catalogs, what OLM has made outside of its namespaces, its own
// objects, and those of its namespaces that nothing else is in.
func (u *uninstaller) rest(ctx context.Context, m Manifests) error {
	catalogs, err := u.List(ctx, kind("CatalogSource"), kube.ListOptions{})
	if err != nil {
		return err
	}
	if _, err := u.Delete(ctx, catalogs, u.options); err != nil {
		return err
	}
	for _, c := range catalogs {
		if ref := kube.RefOf(c); ref.Name != defaultCatalog && c.GetLabels()[RunLabel] == "" {
			u.done.Catalogs = append(u.done.Catalogs, ref)
		}
	}
	objects, err := u.ownObjects(ctx, m)
	if err != nil {
		return err
	}
	// In one go, and what it left a second time: the APIService has to go before
	// namespaces can, and the roles of OperatorGroups come back until these are gone.
	for range 2 {
		left, err := u.leftovers(ctx)
		if err != nil {
			return fmt.Errorf("find what OLM has left: %w", err)
		}
		if _, err := u.Delete(ctx, append(objects, left...), u.options); err != nil {
			return err
		}
		objects = nil
	}
	return nil
}

// ownObjects are the objects of the manifests, without the namespaces that stay.
func (u *uninstaller) ownObjects(ctx context.Context, m Manifests) ([]*unstructured.Unstructured, error) {
	left, err := u.leftovers(ctx) // such as the APIService of a packageserver that is gone
	if err != nil {
		return nil, fmt.Errorf("find what OLM has made: %w", err)
	}
	var objects []*unstructured.Unstructured
	for _, o := range m.All() {
		if o.GetKind() != "Namespace" {
			objects = append(objects, o)
			continue
		}
		if u.done.Version == "" {
			continue
		}
		why, err := u.Stranger(ctx, o.GetName(), slices.Concat(m.Objects, left), incidental)
		if err != nil {
			return nil, err
		}
		if why != "" {
			u.done.Namespaces = append(u.done.Namespaces, o.GetName()+": "+why)
			continue
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// incidental reports whether OLM has made an object, or has it made.
func incidental(o *unstructured.Unstructured) bool {
	return o.GetName() == packageServer || o.GetLabels()["olm.managed"] == "true" || o.GroupVersionKind().Group == group
}

// leftovers are the objects without an owner that OLM has made for operators
// and groups of them, and what served the catalogs that runs have made. The
// operators' CRDs are not among them.
func (u *uninstaller) leftovers(ctx context.Context) ([]*unstructured.Unstructured, error) {
	var left []*unstructured.Unstructured
	for _, of := range []struct {
		label string
		group string
		kinds []string
	}{
		{managedLabel, "apiregistration.k8s.io", []string{"APIService"}},
		{managedLabel, "admissionregistration.k8s.io", []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}},
		{managedLabel, "rbac.authorization.k8s.io", []string{"ClusterRoleBinding", "ClusterRole", "RoleBinding", "Role"}},
		{RunLabel, "apps", []string{"Deployment"}},
		{RunLabel, "", []string{"Service", "ConfigMap", "Secret"}},
	} {
		for _, name := range of.kinds {
			list, err := u.List(ctx, schema.GroupVersionKind{Group: of.group, Version: "v1", Kind: name}, kube.ListOptions{Selector: of.label})
			if err != nil {
				return nil, err
			}
			left = append(left, list...)
		}
	}
	return left, nil
}
