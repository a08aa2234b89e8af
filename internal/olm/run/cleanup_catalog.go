package run

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/kube"
)

// deleteCatalog deletes the catalog that a run made, all that serves it, and
// pull secrets that a run made.
func (cl *cleaner) deleteCatalog(ctx context.Context, opts kube.DeleteOptions) error {
	sources, rest, err := cl.catalog(ctx)
	if err != nil {
		return err
	}
	// OLM keeps a connection to what is served, so that goes after the CatalogSource.
	if _, err := cl.client.Delete(ctx, sources, opts); err != nil {
		return err
	}
	_, err = cl.client.Delete(ctx, rest, opts)
	return err
}

// catalog finds the CatalogSource, and what goes after it. What others use
// stays: operators that the package depends on come from the same catalog.
func (cl *cleaner) catalog(ctx context.Context) (sources, rest objects, err error) {
	s, err := takeSurvey(ctx, cl.reader, cl.Namespace, cl.pkg, nil)
	if err != nil {
		return nil, nil, err
	}
	user, err := cl.otherUser(ctx, s.source)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case user != nil:
		cl.Say("%s was kept: %s takes its operator from it", kube.RefOf(s.source), kube.RefOf(user))
	case isOurs(s.source) || ofOperatorSDK(s.source):
		sources = objects{s.source}
	case s.source != nil:
		cl.Say("%s was kept: it was not created by mysdk", kube.RefOf(s.source))
	}
	if user == nil {
		rest = slices.Concat(s.contents.where(isOurs), s.servers)
	}
	secrets, err := cl.unusedSecrets(ctx, sources)
	return sources, append(rest, secrets...), err
}

// otherUser is a Subscription to a CatalogSource that is not the package's; nil
// without one.
func (cl *cleaner) otherUser(ctx context.Context, source *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if source == nil {
		return nil, nil
	}
	subs, err := everywhere(ctx, cl.reader, olmV1alpha1, "Subscription", cl.Namespace)
	if err != nil {
		return nil, err
	}
	for _, u := range subs {
		mine := cl.sub != nil && kube.RefOf(u) == kube.RefOf(cl.sub)
		if !mine && text(u, "spec", "source") == source.GetName() && text(u, "spec", "sourceNamespace") == source.GetNamespace() {
			return u, nil
		}
	}
	return nil, nil
}

// unusedSecrets are the pull secrets that a run made, of this package or of one
// that shares its Secret, and that no CatalogSource but those to be deleted names.
func (cl *cleaner) unusedSecrets(ctx context.Context, deleted objects) (objects, error) {
	catalogs, err := list(ctx, cl.reader, olmV1alpha1, "CatalogSource", cl.Namespace)
	if err != nil {
		return nil, err
	}
	secrets, err := cl.reader.List(ctx, gvk("v1", "Secret"), kube.ListOptions{Namespace: cl.Namespace, Selector: runLabel})
	if err != nil {
		return nil, err
	}
	return objects(secrets).where(func(secret *unstructured.Unstructured) bool {
		names := func(u *unstructured.Unstructured) bool {
			return slices.Contains(texts(u, "spec", "secrets"), secret.GetName())
		}
		if secret.GetLabels()[runLabel] != cl.pkg && !slices.ContainsFunc(deleted, names) {
			return false
		}
		i := slices.IndexFunc(catalogs, func(u *unstructured.Unstructured) bool { return deleted.find(u.GetName()) == nil && names(u) })
		if i >= 0 {
			cl.Say("%s was kept: %s needs it", kube.RefOf(secret), kube.RefOf(catalogs[i]))
		}
		return i < 0
	}), nil
}

// ofOperatorSDK reports whether operator-sdk run bundle made a CatalogSource.
func ofOperatorSDK(u *unstructured.Unstructured) bool {
	return u != nil && u.GetAnnotations()["operators.operatorframework.io/injected-bundles"] != ""
}
