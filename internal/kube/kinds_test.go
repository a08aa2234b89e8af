package kube

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// answers is what a request gets.
type answers func(path string) string

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(a(r.URL.Path))),
	}, nil
}

// kindsFrom asks a instead of a cluster: what is tested is who waits for whom.
func kindsFrom(t *testing.T, a answers) *kinds {
	t.Helper()
	config := &rest.Config{Host: "http://localhost", Transport: a}
	config.GroupVersion, config.NegotiatedSerializer = &schema.GroupVersion{}, scheme.Codecs
	client, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return newKinds(client)
}

const carts = `{"resources":[{"name":"carts","kind":"Cart"}]}`

// TestKindsDoNotWaitForEachOther: a group whose server hangs keeps nobody from
// those that are known.
func TestKindsDoNotWaitForEachOther(t *testing.T) {
	asked, hang := make(chan struct{}), make(chan struct{})
	k := kindsFrom(t, func(path string) string {
		if strings.Contains(path, "slow") {
			close(asked)
			<-hang
		}
		return carts
	})
	cart := schema.GroupVersionKind{Group: "quick", Version: "v1", Kind: "Cart"}
	done := make(chan error)
	go func() {
		_, err := k.find(t.Context(), schema.GroupVersionKind{Group: "slow", Version: "v1", Kind: "Cart"})
		done <- err
	}()
	<-asked
	if r, err := k.find(t.Context(), cart); err != nil || r.Name != "carts" {
		t.Errorf("find() = %v, %v", r.Name, err)
	}
	close(hang)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestKindsForgetWhileAsking: an answer from before a CRD changed is not kept.
func TestKindsForgetWhileAsking(t *testing.T) {
	var k *kinds
	k = kindsFrom(t, func(string) string {
		k.forget("shop")
		return carts
	})
	gv := schema.GroupVersion{Group: "shop", Version: "v1"}
	if _, err := k.find(t.Context(), gv.WithKind("Cart")); err != nil {
		t.Fatal(err)
	}
	if kept, ok := k.seen[gv]; ok {
		t.Errorf("kept %v", kept)
	}
}
