package localrun

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
)

// unwatchedEvery is how often objects are looked for that the operator does not
// see.
const unwatchedEvery = 5 * time.Second

// lookElsewhere warns of objects of the project's kinds in namespaces that the
// operator does not watch, until ctx ends. In a cluster other than the embedded
// one they may well be for another operator.
func (r *run) lookElsewhere(ctx context.Context) {
	if !r.embedded || len(r.WatchNamespaces) == 0 {
		return
	}
	for good := true; good; good = host.Pause(ctx, unwatchedEvery) {
		for _, crd := range r.wanted().CRDs {
			if scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope"); scope != "Namespaced" {
				continue
			}
			objects, err := r.client.List(ctx, kube.ServedKind(crd), kube.ListOptions{})
			if err != nil {
				continue // perhaps the next time; what fails for good, the operator tells
			}
			for _, u := range objects {
				r.warnOfUnwatched(kube.RefOf(u))
			}
		}
	}
}

// warnOfUnwatched warns once of an object that the operator will not see.
func (r *run) warnOfUnwatched(o kube.Ref) {
	if o.Namespace == "" || len(r.WatchNamespaces) == 0 || slices.Contains(r.WatchNamespaces, o.Namespace) {
		return
	}
	r.mu.Lock()
	told := r.unwatched[o]
	r.unwatched[o] = true
	r.mu.Unlock()
	if !told {
		r.screen.warn("%s is in namespace %s, which the operator does not watch: it watches %s", o, o.Namespace, strings.Join(r.WatchNamespaces, ", "))
	}
}
