package kube

import (
	"cmp"
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fields"
)

// establishTimeout bounds WaitEstablished: an API server that is alive takes
// milliseconds.
const establishTimeout = 30 * time.Second

// kindOf is the kind that a CRD serves, as far as its names say, in the version that
// objects are stored in, as that takes no conversion, or else the first that is served.
func kindOf(crd *unstructured.Unstructured) Kind {
	var k Kind
	// A field of the wrong type stays empty: the API server's refusal of such a
	// CRD says more than an error from here could.
	k.Group, _, _ = unstructured.NestedString(crd.Object, "spec", "group")
	k.Resource, _, _ = unstructured.NestedString(crd.Object, "spec", "names", "plural")
	k.Kind, _, _ = unstructured.NestedString(crd.Object, "spec", "names", "kind")
	for _, v := range fields.Versions(crd) {
		if v["served"] == true && (k.Version == "" || v["storage"] == true) {
			k.Version, _ = v["name"].(string)
		}
	}
	return k
}

// serves reports whether all versions of a CRD that are served can be used.
func (c *Client) serves(ctx context.Context, crd *unstructured.Unstructured) (bool, error) {
	for _, v := range fields.Versions(crd) {
		if v["served"] != true {
			continue
		}
		k := kindOf(crd)
		k.Version, _ = v["name"].(string)
		resource, err := c.kinds.find(ctx, k.GroupVersionKind)
		if _, ok := errors.AsType[*noKindError](err); ok {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if ready, err := c.answers(ctx, k.gvr(), resource.Namespaced); !ready || err != nil {
			return false, err
		}
	}
	return true, nil
}

// answers reports whether an endpoint is there: discovery may know of a version
// before. It asks for an object that nobody has, as no webhook is called for
// one. Any error but that of a server which does not know the path is an answer,
// such as one's rights.
func (c *Client) answers(ctx context.Context, gvr schema.GroupVersionResource, namespaced bool) (bool, error) {
	var endpoint dynamic.ResourceInterface = c.dyn.Resource(gvr)
	if namespaced {
		endpoint = c.dyn.Resource(gvr).Namespace(metav1.NamespaceDefault)
	}
	_, err := endpoint.Get(ctx, "mysdk-asks-for-the-endpoint", metav1.GetOptions{})
	return !apierrors.IsNotFound(err) || !apierrors.IsUnexpectedServerError(err), ctx.Err()
}

// ServedKind is the kind that a CRD serves, in the version that its objects are
// stored in, or else the first that is served.
func ServedKind(crd *unstructured.Unstructured) schema.GroupVersionKind {
	return kindOf(crd).GroupVersionKind
}

// getCRD reads a CRD as the cluster has it, whatever version it is written in
// here; nil if it is not there.
func (c *Client) getCRD(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	return c.Read(ctx, Named(CRD().GroupVersion().String(), crdKind, "", name))
}

// WaitEstablished waits until the API server serves the kinds of crds. A CRD
// whose names another has taken, or that is being deleted, is an error at once;
// otherwise what the conditions say is part of the timeout's error, which has
// clierr.CodeUnavailable.
func (c *Client) WaitEstablished(ctx context.Context, crds []*unstructured.Unstructured) error {
	return c.waitEstablished(ctx, crds, establishTimeout)
}

func (c *Client) waitEstablished(ctx context.Context, crds []*unstructured.Unstructured, timeout time.Duration) error {
	for _, crd := range crds {
		if err := c.waitServed(ctx, crd.GetName(), timeout); err != nil {
			return err
		}
	}
	return nil
}

// waitServed waits for one CRD, and keeps the reason why it is not there.
func (c *Client) waitServed(ctx context.Context, name string, timeout time.Duration) error {
	why := "it does not exist"
	err := poll(ctx, timeout, func(ctx context.Context) (bool, error) {
		live, err := c.getCRD(ctx, name)
		if err != nil || live == nil {
			return false, err
		}
		if live.GetDeletionTimestamp() != nil {
			return false, clierr.Failedf("wait until it is gone, then try again", "%s %s is being deleted", crdKind, name)
		}
		if m := condition(live, "NamesAccepted", "False"); m != "" {
			return false, clierr.Failedf("delete the other CRD, or choose other names", "%s %s is not accepted: %s", crdKind, name, m)
		}
		if condition(live, "Established", "True") == "" {
			why = notTrue(live)
			return false, nil
		}
		// The condition comes a moment before discovery knows of the kind, and stays
		// as it is where a version is added.
		why = "its kind is not served yet"
		return c.serves(ctx, live)
	})
	if errors.Is(err, errTimeout) {
		return clierr.Unavailablef("look at its conditions: "+c.Kubectl()+" describe crd "+name,
			"%s %s is not established: %s", crdKind, name, why)
	}
	return err
}

// Install applies crds and waits until the API server serves them. Fields that
// another tool owns are taken over: a CRD has one author.
// With o.DryRun nothing is waited for.
func Install(ctx context.Context, c *Client, crds []*unstructured.Unstructured, timeout time.Duration, o ApplyOptions) ([]Result, error) {
	o.Force = true
	results, err := c.Apply(ctx, crds, o)
	if err != nil || o.DryRun {
		return results, err
	}
	return results, c.waitEstablished(ctx, crds, timeout)
}

// Uninstall deletes crds, and with them all objects of their kinds. When there
// are such objects, confirm is asked first; if it says no, nothing is deleted
// and there are neither results nor an error. Objects with finalizers go before
// their CRDs if that takes a moment only.
func Uninstall(ctx context.Context, c *Client, crds []*unstructured.Unstructured, confirm func([]InstanceCount) (bool, error), o DeleteOptions) ([]Result, error) {
	counts, err := c.Count(ctx, crds)
	if err != nil {
		return nil, err
	}
	if len(counts) > 0 {
		ok, err := confirm(counts)
		if err != nil || !ok {
			return nil, err
		}
	}
	for _, crd := range crds {
		if o.DryRun {
			break
		}
		err := c.stopConverting(ctx, crd, o.Force)
		if err == nil && o.Force {
			err = c.dropFinalizers(ctx, crd)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(counts) > 0 && !o.DryRun && !o.Force {
		// Objects go first only where it is certain that their CRDs may go, too.
		if _, err := c.Delete(ctx, crds, DeleteOptions{DryRun: true}); err == nil {
			c.deleteHeld(ctx, crds, counts, cmp.Or(o.Timeout, deleteTimeout))
		}
	}
	return c.Delete(ctx, crds, o)
}

// EnsureNamespace creates the namespace unless it exists, and says whether it
// did. A namespace that is being deleted is an error.
func (c *Client) EnsureNamespace(ctx context.Context, name string) (created bool, err error) {
	u := Named("v1", "Namespace", "", name)
	endpoint, ref, err := c.resource(ctx, u, "")
	if err != nil {
		return false, err
	}
	// Creating first saves a request where it matters: on a fresh cluster.
	_, err = endpoint.Create(ctx, u, metav1.CreateOptions{FieldManager: FieldManager})
	if err == nil {
		return true, nil
	}
	// Who has rights in one namespace may not create it, not even where it exists.
	refused := apierrors.IsForbidden(err)
	if !refused && !apierrors.IsAlreadyExists(err) {
		return false, c.explain("create", ref, err)
	}
	live, getErr := endpoint.Get(ctx, name, metav1.GetOptions{})
	if getErr != nil && refused {
		return false, c.explain("create", ref, err)
	}
	if getErr != nil {
		return false, c.explain("read", ref, getErr)
	}
	if live.GetDeletionTimestamp() != nil {
		return false, clierr.Failedf("wait until it is gone, then try again", "namespace %s is being deleted", name)
	}
	return false, nil
}
