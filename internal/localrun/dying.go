package localrun

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
)

// dyingEvery is how often the run looks whether a CRD is gone.
const dyingEvery = 500 * time.Millisecond

// withoutDying leaves out CRDs that the cluster is deleting: their objects wait
// for the operator to remove its finalizers, which it does when it runs. They
// are applied again once they are gone. Of others that are gone, nothing is known any
// more.
func (r *run) withoutDying(ctx context.Context, crds []*unstructured.Unstructured) (rest []*unstructured.Unstructured, err error) {
	var dying []*unstructured.Unstructured
	for _, crd := range crds {
		live, err := r.client.Read(ctx, crd)
		if err != nil {
			return nil, err
		}
		if live == nil {
			r.forget(crd)
		}
		if live == nil || live.GetDeletionTimestamp() == nil {
			rest = append(rest, crd)
			continue
		}
		r.mu.Lock()
		if !slices.Contains(r.dying, crd.GetName()) {
			r.dying = append(r.dying, crd.GetName())
			dying = append(dying, crd)
		}
		r.mu.Unlock()
	}
	if len(dying) > 0 {
		r.settling.Go(func() {
			if err := r.outlive(ctx, dying); err != nil && ctx.Err() == nil {
				r.fail(err)
			}
		})
	}
	return rest, nil
}

// outlive waits until CRDs that are being deleted are gone, and applies them
// again.
func (r *run) outlive(ctx context.Context, crds []*unstructured.Unstructured) error {
	from, names := r.Host.Now(), []string{}
	for _, crd := range crds {
		names = append(names, crd.GetName())
	}
	what := crdKind + " " + strings.Join(names, ", ")
	r.screen.say("%s is being deleted: the operator finishes that, then it is applied again", what)
	for _, crd := range crds {
		for {
			live, err := r.client.Read(ctx, crd)
			if err != nil {
				return fmt.Errorf("wait until %s is gone: %w", what, err)
			}
			if live == nil || live.GetDeletionTimestamp() == nil {
				break
			}
			if !host.Pause(ctx, dyingEvery) {
				return ctx.Err()
			}
		}
	}
	r.screen.say("%s is gone (%s)", what, r.since(from))
	r.mu.Lock()
	r.dying = slices.DeleteFunc(r.dying, func(name string) bool { return slices.Contains(names, name) })
	r.mu.Unlock()
	r.installing.Lock()
	for _, crd := range crds {
		r.forget(crd)
	}
	r.installing.Unlock()
	if _, err := r.applyCRDs(ctx, r.Host.Now()); err != nil {
		return err
	}
	r.settle(ctx)
	return nil
}

// forget drops what is known of a CRD that was deleted, and with it what --apply named
// of its kind: those of the same names are others.
func (r *run) forget(crd *unstructured.Unstructured) {
	delete(r.inCluster, digestKey(crd))
	r.applying.Lock()
	maps.DeleteFunc(r.applied, func(key, _ string) bool {
		return strings.HasPrefix(key, kube.ServedKind(crd).GroupKind().String()+" ")
	})
	r.applying.Unlock()
	if h := r.hooks.Load(); h != nil {
		h.forget(crd)
	}
}

func (h *hooks) forget(u *unstructured.Unstructured) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.active, u.GetKind()+" "+u.GetName())
	h.journal.record.Entries = slices.DeleteFunc(h.journal.record.Entries, func(e entry) bool { return e.is(u) })
}
