package kube

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/example/mysdk/internal/clierr"
)

// The labels and annotations of apply sets, see KEP-3659.
const (
	setID         = "applyset.kubernetes.io/id"
	setPart       = "applyset.kubernetes.io/part-of"
	setTooling    = "applyset.kubernetes.io/tooling"
	setKinds      = "applyset.kubernetes.io/contains-group-kinds"
	setNamespaces = "applyset.kubernetes.io/additional-namespaces"
)

// ApplySet names a group of objects that are applied together again and again.
// The cluster knows it by a ConfigMap, its parent, and by a label of each
// object, in the way that kubectl apply --prune --applyset has introduced.
type ApplySet struct{ Namespace, Name string } // of the parent

// ID is the value of the label that each object of the set has.
func (s ApplySet) ID() string { return setIDOf(s.Name, s.Namespace, "ConfigMap") }

// setIDOf is the ID of the set with a parent of the core group.
func setIDOf(name, namespace, kind string) string {
	sum := sha256.Sum256([]byte(name + "." + namespace + "." + kind + "."))
	return "applyset-" + base64.RawURLEncoding.EncodeToString(sum[:]) + "-v1"
}

// Parent is the ConfigMap that stands for the set, without annotations.
func (s ApplySet) Parent() *unstructured.Unstructured {
	u := Named("v1", "ConfigMap", s.Namespace, s.Name)
	u.SetLabels(map[string]string{setID: s.ID()})
	return u
}

// isParent reports whether mysdk has made u as the parent of a set.
func isParent(u *unstructured.Unstructured) bool {
	return strings.HasPrefix(u.GetAnnotations()[setTooling], FieldManager+"/")
}

// annotated is what an annotation of the parent enumerates.
func annotated(u *unstructured.Unstructured, key string) []string {
	if u == nil {
		return nil
	}
	return strings.FieldsFunc(u.GetAnnotations()[key], func(r rune) bool { return r == ',' })
}

// parent is the parent object of a set with objs, and with the kinds and
// namespaces of more.
func (s ApplySet) parent(objs []*unstructured.Unstructured, more *unstructured.Unstructured) *unstructured.Unstructured {
	kinds, namespaces := sets.New(annotated(more, setKinds)...), sets.New(annotated(more, setNamespaces)...)
	for _, u := range objs {
		if inSet(u) {
			kinds.Insert(u.GroupVersionKind().GroupKind().String())
			namespaces.Insert(u.GetNamespace())
		}
	}
	namespaces.Delete("", s.Namespace)
	u := s.Parent()
	annotations := map[string]string{setTooling: FieldManager + "/v1", setKinds: strings.Join(sets.List(kinds), ",")}
	if len(namespaces) > 0 {
		annotations[setNamespaces] = strings.Join(sets.List(namespaces), ",")
	}
	u.SetAnnotations(annotations)
	return u
}

// inSet reports whether u can be an object of a set. A namespace cannot: what
// others have put there would go with it.
func inSet(u *unstructured.Unstructured) bool { return u.GroupVersionKind() != namespaceGVK() }

func namespaceGVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
}

// ApplySet is Apply for the objects of a set. stale are the objects that an
// earlier call has applied and this one has not: they are still there, and the
// parent still knows of their kinds until KeepInSet.
func (c *Client) ApplySet(ctx context.Context, s ApplySet, objs []*unstructured.Unstructured, o ApplyOptions) (stale []*unstructured.Unstructured, err error) {
	before, err := c.Read(ctx, s.Parent())
	if err != nil {
		return nil, err
	}
	if before != nil && !isParent(before) {
		return nil, clierr.Failedf("delete or rename that ConfigMap", "%s exists and was not created by mysdk", RefOf(before))
	}
	if err := c.knows(ctx, objs); err != nil {
		return nil, err
	}
	var first, rest []*unstructured.Unstructured
	for _, u := range objs {
		if u.GroupVersionKind() == namespaceGVK() {
			first = append(first, u)
			continue
		}
		u = u.DeepCopy()
		label(u, s.ID())
		rest = append(rest, u)
	}
	if o.DryRun {
		rest = append(first, rest...)
	} else if _, err := c.Apply(ctx, append(first, s.parent(objs, before)), o); err != nil {
		// The parent has to know of a kind before there is an object of it, or
		// what an interrupted call leaves is never found again.
		return nil, err
	}
	done, err := c.Apply(ctx, rest, o)
	if err != nil {
		return nil, err
	}
	_, members, err := c.InSet(ctx, s)
	return slices.DeleteFunc(members, func(u *unstructured.Unstructured) bool {
		return slices.ContainsFunc(done, func(r Result) bool {
			return r.GroupKind() == u.GroupVersionKind().GroupKind() && r.Namespace == u.GetNamespace() && r.Name == u.GetName()
		})
	}), err
}

func label(u *unstructured.Unstructured, id string) {
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[setPart] = id
	u.SetLabels(labels)
}

// stayInSet keeps an object that is applied on its own in the set that it
// belongs to, as the CRDs that install applies after deploy.
func stayInSet(live, u *unstructured.Unstructured) {
	if id := live.GetLabels()[setPart]; id != "" && u.GetLabels()[setPart] == "" {
		label(u, id)
	}
}

// InSet returns the parent of a set and the objects of it that are in the
// cluster; none where there is no parent.
func (c *Client) InSet(ctx context.Context, s ApplySet) (parent *unstructured.Unstructured, members []*unstructured.Unstructured, err error) {
	parent, err = c.Read(ctx, s.Parent())
	if err != nil || parent == nil || !isParent(parent) {
		return nil, nil, err // the name may be somebody else's
	}
	seen := map[types.UID]bool{}
	for _, name := range annotated(parent, setKinds) {
		gvk, err := c.kinds.preferred(ctx, schema.ParseGroupKind(name))
		if _, ok := errors.AsType[*noKindError](err); ok {
			continue // went with its CRD
		}
		if err != nil {
			return nil, nil, err
		}
		for _, ns := range append(annotated(parent, setNamespaces), s.Namespace) {
			found, err := c.List(ctx, gvk, ListOptions{Namespace: ns, Selector: s.Selector()})
			if err != nil {
				return nil, nil, err
			}
			for _, u := range found {
				// A controller may copy labels to what it makes of an object.
				if !seen[u.GetUID()] && metav1.GetControllerOf(u) == nil && inSet(u) {
					seen[u.GetUID()] = true
					members = append(members, u)
				}
			}
		}
	}
	return parent, members, nil
}

// Elsewhere are the sets of that name whose parents are in other namespaces, with
// the kinds that they may have objects of.
func (c *Client) Elsewhere(ctx context.Context, s ApplySet) (map[ApplySet][]string, error) {
	parents, err := c.List(ctx, s.Parent().GroupVersionKind(), ListOptions{Selector: setID})
	found := map[ApplySet][]string{}
	for _, u := range parents {
		other := ApplySet{Namespace: u.GetNamespace(), Name: u.GetName()}
		if other.Name == s.Name && other != s && u.GetLabels()[setID] == other.ID() && isParent(u) {
			found[other] = annotated(u, setKinds)
		}
	}
	return found, err
}

// Selector is the label selector of the set's objects.
func (s ApplySet) Selector() string { return setPart + "=" + s.ID() }

// KeepInSet has the parent know of the kinds of objs alone.
func (c *Client) KeepInSet(ctx context.Context, s ApplySet, objs []*unstructured.Unstructured) error {
	_, err := c.Apply(ctx, []*unstructured.Unstructured{s.parent(objs, nil)}, ApplyOptions{Force: true})
	return err
}

// preferred adds to a kind the version that its group prefers among those that
// serve it.
func (k *kinds) preferred(ctx context.Context, gk schema.GroupKind) (schema.GroupVersionKind, error) {
	if gk.Group == "" {
		return gk.WithVersion("v1"), nil
	}
	data, err := k.rest.Get().AbsPath("/apis/" + gk.Group).DoRaw(ctx)
	if apierrors.IsNotFound(err) {
		return schema.GroupVersionKind{}, &noKindError{GroupVersionKind: gk.WithVersion("")}
	}
	var group metav1.APIGroup
	if err == nil {
		err = json.Unmarshal(data, &group)
	}
	if err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("ask for the versions of %s: %w", gk.Group, cause(err))
	}
	for _, v := range group.Versions { // the group's preferred one is the first
		_, err := k.find(ctx, gk.WithVersion(v.Version))
		if _, ok := errors.AsType[*noKindError](err); !ok {
			return gk.WithVersion(v.Version), err
		}
	}
	return schema.GroupVersionKind{}, &noKindError{GroupVersionKind: gk.WithVersion("")}
}
