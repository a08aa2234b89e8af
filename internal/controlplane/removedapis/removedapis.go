// Package removedapis answers requests for versions of built-in APIs that this
// Kubernetes no longer serves by the version that took their place, where both
// have the same fields: operators that were built against an old Kubernetes run
// on it unchanged. It knows paths, bodies and discovery; it converts nothing.
//
// The versions are those of Kubernetes' Deprecated API Migration Guide.
package removedapis

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// replaced are the removed versions, by group, with what serves them now. In
// v1beta1 of Ingress, CustomResourceDefinition and the webhooks' configurations
// fields were others.
var replaced = map[string]map[string]string{
	"apps":                      {"v1beta2": "v1"},
	"autoscaling":               {"v2beta2": "v2"},
	"batch":                     {"v1beta1": "v1"},
	"coordination.k8s.io":       {"v1beta1": "v1"},
	"policy":                    {"v1beta1": "v1"},
	"rbac.authorization.k8s.io": {"v1beta1": "v1"},
	"scheduling.k8s.io":         {"v1beta1": "v1"},
	"storage.k8s.io":            {"v1beta1": "v1"},
}

// Filter stands outside of all that looks at a request's path.
func Filter(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r, ok := renaming(req)
		if !ok {
			next.ServeHTTP(w, req)
			return
		}
		if err := r.request(req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a := &answer{ResponseWriter: w, change: r.answer}
		defer a.done()
		next.ServeHTTP(responsewriter.WrapForHTTP1Or2(a), req)
	})
}

// rename is a request for a removed version, or one that asks which there are.
type rename struct {
	from, to string // group and version; empty: it asks for the groups
}

// renaming reports whether a request or its answer needs a change, and which.
func renaming(req *http.Request) (r rename, ok bool) {
	path, ok := strings.CutPrefix(req.URL.Path, "/apis")
	if !ok {
		return r, false
	}
	parts := strings.SplitN(strings.TrimPrefix(path, "/"), "/", 3)
	if path == "" || path == "/" || len(parts) == 1 {
		// Clients that ask for all at once are too new to want what is gone.
		return r, req.Method == http.MethodGet && (path == "" || path == "/" || replaced[parts[0]] != nil) &&
			!strings.Contains(req.Header.Get("Accept"), "as=APIGroupDiscovery")
	}
	now, ok := replaced[parts[0]][parts[1]]
	return rename{from: parts[0] + "/" + parts[1], to: parts[0] + "/" + now}, ok
}

// request asks for the new version, in JSON.
func (r rename) request(req *http.Request) error {
	req.Header.Set("Accept", "application/json")
	req.Header.Del("Accept-Encoding")
	if r.from == "" {
		return nil
	}
	// Path and RawPath begin alike: there is nothing to escape.
	for _, path := range []*string{&req.URL.Path, &req.URL.RawPath} {
		*path = strings.Replace(*path, "/apis/"+r.from, "/apis/"+r.to, 1)
	}
	return renameBody(req, r.from, r.to)
}

// answer changes a document of an answer.
func (r rename) answer(doc document) error {
	if r.from != "" {
		return doc.rename(r.to, r.from)
	}
	return doc.addVersions()
}

// addVersions lists the removed versions behind those of a group.
func addVersions(g *metav1.APIGroup) {
	for _, old := range slices.Sorted(maps.Keys(replaced[g.Name])) {
		if !slices.ContainsFunc(g.Versions, func(v metav1.GroupVersionForDiscovery) bool { return v.Version == old }) {
			g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{
				GroupVersion: schema.GroupVersion{Group: g.Name, Version: old}.String(), Version: old,
			})
		}
	}
}
