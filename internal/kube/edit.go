package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/example/mysdk/internal/clierr"
)

// editAttempts bounds how often Edit begins again because somebody else wrote
// the object at the same moment.
const editAttempts = 5

// ID tells clusters apart, however they are reached: the uid of the namespace
// kube-system, which every cluster has and none has twice.
func (c *Client) ID(ctx context.Context) (string, error) {
	gvk := namespaceGVK()
	live, err := c.dyn.Resource(gvk.GroupVersion().WithResource("namespaces")).Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", c.explain("read", Ref{GroupVersionKind: gvk, Name: metav1.NamespaceSystem}, err)
	}
	return string(live.GetUID()), nil
}

// Read returns the object of u's kind, name and namespace as the cluster has
// it; nil if there is none.
func (c *Client) Read(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	endpoint, ref, err := c.resource(ctx, u, "")
	if err != nil {
		return nil, c.explain("read", ref, err)
	}
	return c.get(ctx, endpoint, ref)
}

// get is Read where the endpoint is known.
func (c *Client) get(
	ctx context.Context, endpoint dynamic.ResourceInterface, ref Ref,
) (*unstructured.Unstructured, error) {
	live, err := endpoint.Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, c.explain("read", ref, err)
	}
	return live, nil
}

// Edit replaces the whole of the object of u's kind and name by what change
// makes of it. change gets a copy of the object, nil where there is none, and
// returns nil to leave things as they are; it is called again when somebody
// else wrote the object meanwhile.
//
// Unlike Apply it also takes away what others put there: server-side apply
// cannot turn a webhook's service into a url, as both would remain.
func (c *Client) Edit(ctx context.Context, u *unstructured.Unstructured, change func(live *unstructured.Unstructured) (*unstructured.Unstructured, error)) error {
	endpoint, ref, err := c.resource(ctx, u, "")
	if err != nil {
		return c.explain("change", ref, err)
	}
	for range editAttempts {
		live, err := c.get(ctx, endpoint, ref)
		if err != nil {
			return err
		}
		var version string
		if live != nil {
			version = live.GetResourceVersion()
		}
		next, err := change(live)
		if err != nil || next == nil {
			return err
		}
		if live == nil {
			_, err = endpoint.Create(ctx, clean(next), metav1.CreateOptions{FieldManager: FieldManager})
		} else {
			next = next.DeepCopy()
			next.SetResourceVersion(version)
			_, err = endpoint.Update(ctx, next, metav1.UpdateOptions{FieldManager: FieldManager})
		}
		if err == nil {
			return nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			return c.explain("change", ref, err)
		}
	}
	return clierr.Failedf("find out who else writes it: "+c.kubectl("get", u)+" -o yaml --show-managed-fields",
		"change %s: another client modified it during all %d attempts", ref, editAttempts)
}

// MergeStatus merges fields into the status of the object of u's kind and name.
// A nil takes the field away.
func (c *Client) MergeStatus(ctx context.Context, u *unstructured.Unstructured, status map[string]any) error {
	endpoint, ref, err := c.resource(ctx, u, "")
	if err != nil {
		return c.explain("change the status of", ref, err)
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return fmt.Errorf("change the status of %s: %w", ref, err)
	}
	if _, err := endpoint.Patch(ctx, ref.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: FieldManager}, "status"); err != nil {
		return c.explain("change the status of", ref, err)
	}
	return nil
}

func (c *Client) kubectl(verb string, u *unstructured.Unstructured) string {
	kind := strings.TrimSuffix(strings.ToLower(u.GetKind())+"."+u.GroupVersionKind().Group, ".")
	line := c.Kubectl() + " " + verb + " " + kind + "/" + u.GetName()
	if ns := u.GetNamespace(); ns != "" {
		line += " -n " + ns
	}
	return line
}

// Disown gives up the fields that Edit made mysdk the owner of, so that
// whoever put them there first can change them again without a conflict. What
// Apply owns stays.
func (c *Client) Disown(ctx context.Context, u *unstructured.Unstructured) error {
	return c.Edit(ctx, u, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if live == nil {
			return nil, nil
		}
		owners := live.GetManagedFields()
		n := len(owners)
		owners = slices.DeleteFunc(owners, func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager == FieldManager && e.Operation == metav1.ManagedFieldsOperationUpdate
		})
		if len(owners) == n {
			return nil, nil
		}
		if len(owners) == 0 {
			// An empty list would mean "as they are"; one empty entry is how
			// the API takes "nobody".
			owners = []metav1.ManagedFieldsEntry{{}}
		}
		live.SetManagedFields(owners)
		return live, nil
	})
}
