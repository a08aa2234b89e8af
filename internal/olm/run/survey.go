package run

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/catalog"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/olm"
)

// survey is what the cluster has of a package before a run.
type survey struct {
	subscription *unstructured.Unstructured // of the package; nil: it is not installed
	subscribed   objects                    // Subscriptions of the namespace
	source       *unstructured.Unstructured // our CatalogSource
	contents     objects                    // ConfigMaps of our catalog
	servers      objects                    // Deployment and Service of our catalog
	secrets      objects                    // pull secrets of ours that the run makes again
	groups       objects                    // OperatorGroups of the namespace
	csvs         objects                    // CSVs of the namespace, copies and stalled left out
	stalled      *unstructured.Unstructured // CSV of an upgrade that has not worked: all else is as before it
	plan         *unstructured.Unstructured // the Subscription's InstallPlan
	crds         map[string]bool            // which of the bundle's CRDs there are
}

// installed is the CSV that the Subscription has installed; nil without one.
func (s *survey) installed() *unstructured.Unstructured {
	return s.csvs.find(text(s.subscription, "status", "installedCSV"))
}

func crdObject(name string) *unstructured.Unstructured {
	return kube.Named("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name)
}

// requireOLM is an error with the next step where OLM is not installed.
func requireOLM(ctx context.Context, r Reader) error {
	// Everybody may ask for kinds, but not for CRDs.
	served, err := r.Serves(ctx, gvk(olmV1alpha1, "ClusterServiceVersion"))
	if err != nil || served {
		return err
	}
	return clierr.Failedf("run 'mysdk olm install' first, with the same flags for the cluster", "OLM is not installed on this cluster")
}

// takeSurvey reads it. owned are the names of the bundle's CRDs.
func takeSurvey(ctx context.Context, r Reader, namespace, pkg string, owned []string) (*survey, error) {
	s := &survey{crds: map[string]bool{}}
	ns, err := r.Read(ctx, kube.Named("v1", "Namespace", "", namespace))
	if err != nil {
		return nil, err
	}
	for _, name := range owned {
		crd, err := r.Read(ctx, crdObject(name))
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
		s.crds[name] = crd != nil || err != nil // one that may be there is not the run's to delete
	}
	if ns == nil {
		return s, nil
	}
	return s, s.readNamespace(ctx, r, namespace, pkg)
}

func (s *survey) readNamespace(ctx context.Context, r Reader, namespace, pkg string) error {
	var err error
	if s.subscribed, err = list(ctx, r, olmV1alpha1, "Subscription", namespace); err != nil {
		return err
	}
	if s.subscription, err = subscriptionOf(s.subscribed, pkg); err != nil {
		return err
	}
	if s.groups, err = list(ctx, r, olmV1, "OperatorGroup", namespace); err != nil {
		return err
	}
	if s.csvs, err = list(ctx, r, olmV1alpha1, "ClusterServiceVersion", namespace); err != nil {
		return err
	}
	if s.source, err = r.Read(ctx, kube.Named(olmV1alpha1, "CatalogSource", namespace, catalogName(pkg))); err != nil {
		return err
	}
	if s.contents, err = labelled(ctx, r, gvk("v1", "ConfigMap"), namespace, labels.Set{state.CatalogLabel: catalogName(pkg)}); err != nil {
		return err
	}
	server := serverName(catalogName(pkg))
	s.servers, err = readAll(ctx, r, objects{
		kube.Named("apps/v1", "Deployment", namespace, server), kube.Named("v1", "Service", namespace, server),
	})
	if err != nil {
		return err
	}
	s.servers = s.servers.where(isOurs)
	if name := text(s.subscription, "status", "installPlanRef", "name"); name != "" {
		if s.plan, err = r.Read(ctx, kube.Named(olmV1alpha1, "InstallPlan", namespace, name)); err != nil {
			return err
		}
	}
	return s.beforeUpgrade()
}

// beforeUpgrade finds an upgrade that has not worked, and turns the survey into
// what it was before. OLM calls a CSV installed as soon as it is there, while
// the one that it replaces still runs.
func (s *survey) beforeUpgrade() error {
	live := s.installed()
	old := s.csvs.find(text(live, "spec", "replaces"))
	if live == nil || old == nil || text(live, "status", "phase") == "Succeeded" {
		return nil
	}
	s.stalled, s.plan = live, nil
	s.csvs = s.csvs.where(func(u *unstructured.Unstructured) bool { return u != live })
	s.subscription = s.subscription.DeepCopy()
	for _, f := range []string{"installedCSV", "currentCSV"} {
		if err := unstructured.SetNestedField(s.subscription.Object, old.GetName(), "status", f); err != nil {
			return err
		}
	}
	return nil
}

// subscriptionOf finds the Subscription of a package. OLM takes more than one for none.
func subscriptionOf(subs objects, pkg string) (*unstructured.Unstructured, error) {
	mine := subs.where(func(u *unstructured.Unstructured) bool { return text(u, "spec", "name") == pkg })
	switch len(mine) {
	case 0:
		return nil, nil
	case 1:
		return mine[0], nil
	}
	return nil, clierr.Failedf("delete all of them but one", "namespace %s has several Subscriptions of package %s: %s",
		mine[0].GetNamespace(), pkg, strings.Join(mine.names(), ", "))
}

// What a run does.
const (
	// Installed is a package that was not there.
	Installed = "installed"
	// Upgraded is an older CSV that OLM has replaced by the new one.
	Upgraded = "upgraded"
	// Reinstalled is a CSV that was removed first: it was not healthy, the new one
	// has its name, or it is to watch other namespaces.
	Reinstalled = "reinstalled"
	// Unchanged is a bundle that is installed already, just so.
	Unchanged = "unchanged"
)

// decide says what a run of b has to do, and refuses what would do harm.
func (s *survey) decide(b *bundle.Bundle, o Options, content string) (string, error) {
	sub := s.subscription
	if sub == nil {
		if o.Upgrade {
			return "", clierr.Failedf(fmt.Sprintf("install it with '%s'", o.command("bundle", o.Namespace)), "package %s is not installed in namespace %s", b.Package, o.Namespace)
		}
		if lone := s.csvs.find(b.Name()); lone != nil {
			if packageOf(lone) == b.Package {
				return Reinstalled, nil // left behind by one that was removed
			}
			// OLM would not install the bundle beside it.
			return "", clierr.Failedf(fmt.Sprintf("delete it if you do not need it: mysdk kubectl delete csv -n %s %s", o.Namespace, b.Name()),
				"%s already exists, without a Subscription: it was applied by hand", kube.RefOf(lone))
		}
		return Installed, nil
	}
	if !isOurs(sub) && !o.Upgrade {
		return "", clierr.Failedf(fmt.Sprintf("upgrade it with '%s', or remove it with 'mysdk cleanup %s -n %s'", o.command("bundle-upgrade", o.Namespace), b.Package, o.Namespace),
			"package %s is already installed, from CatalogSource %s by %s, which was not created by mysdk", b.Package, text(sub, "spec", "source"), kube.RefOf(sub))
	}
	live := s.installed()
	// A plan that has failed is never tried again, and a CSV that is not healthy
	// is not upgraded: both need a new beginning.
	healthy := live != nil && text(live, "status", "phase") == "Succeeded" && text(s.plan, "status", "phase") != "Failed"
	if s.stalled != nil || s.abandoned(live) { // what it was to replace can be upgraded again, but is not as it was
		healthy = live.GetName() != b.Name() && text(live, "status", "phase") != "Failed"
	}
	same := live != nil && live.GetName() == b.Name()
	switch {
	case same && healthy && sub.GetAnnotations()[contentAnnotation] == content:
		return Unchanged, nil
	case same || !healthy:
		return Reinstalled, nil
	}
	if olm.Older(b.Version(), text(live, "spec", "version")) {
		return "", clierr.Failedf(fmt.Sprintf("remove the newer one first: mysdk cleanup %s -n %s", b.Package, o.Namespace),
			"%s is older than %s, which is installed, and OLM does not downgrade", b.Name(), live.GetName())
	}
	return Upgraded, nil
}

// abandoned reports whether a CSV is being replaced by one that is gone: a run has
// removed a stalled upgrade, and went no further. OLM leaves the CSV so.
func (s *survey) abandoned(csv *unstructured.Unstructured) bool {
	return text(csv, "status", "phase") == "Replacing" &&
		!slices.ContainsFunc(s.csvs, func(u *unstructured.Unstructured) bool { return text(u, "spec", "replaces") == csv.GetName() })
}

// refuseForeign is an error where an object of a name that the run needs is
// somebody else's.
func (s *survey) refuseForeign(pkg string) error {
	const hint = "rename or delete it, or install into another namespace with --namespace"
	if u := s.source; u != nil && !isOurs(u) && !ofOperatorSDK(u) {
		return clierr.Failedf(hint, "%s already exists and was not created by mysdk", kube.RefOf(u))
	}
	if u := s.subscribed.find(pkg); u != nil && s.subscription == nil {
		return clierr.Failedf(hint, "%s already exists and is for package %s", kube.RefOf(u), text(u, "spec", "name"))
	}
	return nil
}

// catalogNow is the content of our catalog as it is, empty where there is none.
func (s *survey) catalogNow(ctx context.Context, o Options) (*catalog.Catalog, error) {
	c := &catalog.Catalog{}
	if !isOurs(s.source) {
		return c, nil
	}
	if ref := text(s.source, "spec", "image"); ref != "" && o.FetchCatalog != nil {
		return o.FetchCatalog(ctx, ref)
	}
	for _, u := range s.contents {
		var m corev1.ConfigMap
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &m); err != nil {
			return nil, fmt.Errorf("read the catalog in %s: %w", kube.RefOf(u), err)
		}
		pieces, err := state.CatalogPieces(m.Data, m.BinaryData)
		if err != nil {
			return nil, fmt.Errorf("read the catalog in %s: %w", kube.RefOf(u), err)
		}
		for _, key := range slices.Sorted(maps.Keys(pieces)) {
			part, err := catalog.Parse(pieces[key], u.GetName()+"/"+key)
			if err != nil {
				return nil, fmt.Errorf("read the catalog in %s: %w", kube.RefOf(u), err)
			}
			merge(c, part)
		}
	}
	return c, nil
}

// merge adds the objects of another catalog.
func merge(c, part *catalog.Catalog) {
	c.Packages = append(c.Packages, part.Packages...)
	c.Channels = append(c.Channels, part.Channels...)
	c.Bundles = append(c.Bundles, part.Bundles...)
	c.Deprecations = append(c.Deprecations, part.Deprecations...)
	c.Others = append(c.Others, part.Others...)
}
