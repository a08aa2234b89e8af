package objects

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/mysdk/internal/kube"
)

// Health is how an object is.
type Health struct {
	State  string // Ready, NotReady or Deleting
	Reason string // why not
}

// States of Health.
const (
	Ready    = "ready"
	NotReady = "not ready"
	Deleting = "deleting"
)

// HealthOf judges an object by its status alone.
func HealthOf(u *unstructured.Unstructured) Health {
	if u.GetDeletionTimestamp() != nil {
		if held := u.GetFinalizers(); len(held) > 0 {
			return Health{Deleting, "waits for finalizers: " + strings.Join(held, ", ")}
		}
		return Health{Deleting, ""}
	}
	if why := kube.NotReady(u); why != "" {
		return Health{NotReady, why}
	}
	return Health{Ready, ""}
}

// Node is an object with those that it owns.
type Node struct {
	Key
	Object *unstructured.Unstructured
	Health Health // with that of what it owns: the first that is not ready is the reason
	Owned  []*Node
}

// eventKind is that of Kubernetes: others may have kinds of this name.
func eventKind() schema.GroupKind { return schema.GroupKind{Kind: "Event"} }

// Tree arranges objects below their owners: the controller, or else the first
// owner that is there. Those without are the roots. Events are left out.
func Tree(objs map[Key]*unstructured.Unstructured) []*Node {
	byUID := map[types.UID]*Node{}
	for key, u := range objs {
		if key.GroupKind != eventKind() {
			byUID[u.GetUID()] = &Node{Key: key, Object: u}
		}
	}
	var roots []*Node
	nodes := slices.SortedFunc(maps.Values(byUID), func(a, b *Node) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Group, b.Group))
	})
	for _, n := range nodes {
		if owner := ownerOf(n, byUID); owner != nil {
			owner.Owned = append(owner.Owned, n)
		} else {
			roots = append(roots, n)
		}
	}
	for _, n := range roots {
		n.judge()
	}
	return roots
}

// ownerOf is the node below which n stands; nil: it is a root.
func ownerOf(n *Node, byUID map[types.UID]*Node) *Node {
	var found *Node
	for _, ref := range n.Object.GetOwnerReferences() {
		owner := byUID[ref.UID]
		if owner == nil || owner == n {
			continue
		}
		if found == nil || ref.Controller != nil && *ref.Controller {
			found = owner
		}
	}
	// Owners in a circle would be in no tree at all.
	steps := 0
	for up := found; up != nil && steps <= len(byUID); steps++ {
		refs := up.Object.GetOwnerReferences()
		if len(refs) == 0 {
			break
		}
		up = byUID[refs[0].UID]
	}
	if steps > len(byUID) {
		return nil
	}
	return found
}

// judge sets the health of a node and all below it.
func (n *Node) judge() {
	n.Health = HealthOf(n.Object)
	for _, o := range n.Owned {
		o.judge()
		if n.Health.State == Ready && o.Health.State == NotReady {
			reason := o.Health.Reason
			if HealthOf(o.Object).State == NotReady { // its own, not of what it owns
				reason = o.Kind + " " + o.Name + ": " + reason
			}
			n.Health = Health{NotReady, reason}
		}
	}
}

// Find is the node of an object, at any depth; nil if it is not there.
func Find(nodes []*Node, key Key) *Node {
	for _, n := range nodes {
		if n.Key == key {
			return n
		}
		if found := Find(n.Owned, key); found != nil {
			return found
		}
	}
	return nil
}

// Custom are the kinds that CRDs define.
func (s Snapshot) Custom() map[schema.GroupKind]bool {
	kinds := map[schema.GroupKind]bool{}
	for _, crd := range s.CRDs() {
		kinds[kube.ServedKind(crd).GroupKind()] = true
	}
	return kinds
}
