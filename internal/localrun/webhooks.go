package localrun

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/kube"
)

const (
	convertPath = "/convert" // where controller-runtime serves conversions
	// injectAnnotations begins the annotations by which cert-manager would put
	// its own authority in place of ours.
	injectAnnotations = "cert-manager.io/"
	// debugTimeout is timeoutSeconds of the webhooks of an operator under a
	// debugger: the most that the API takes, for the sake of breakpoints.
	debugTimeout = 30
)

// Manifests are what the project's configuration wants of a cluster, as its
// deployment would bring it there.
type Manifests struct {
	CRDs     []*unstructured.Unstructured
	Webhooks []*unstructured.Unstructured // Mutating- and ValidatingWebhookConfigurations
	Role     Role                         // of the operator
	RoleErr  error                        // why Role is empty although the project may have one
}

// hasWebhooks reports whether the API server has anything to ask the operator.
func (m Manifests) hasWebhooks() bool {
	return len(m.Webhooks) > 0 || slices.ContainsFunc(m.CRDs, kube.Converts)
}

// want notes what the project wants of the cluster, and prepares for webhooks
// the first time there are any.
func (r *run) want(ctx context.Context, m Manifests) error {
	r.mu.Lock()
	// A config/default that is being edited must not cost a cluster its webhooks.
	was := r.manifest
	keep := m.RoleErr != nil && len(m.Webhooks) == 0 && len(was.Webhooks) > 0
	if keep {
		m.Webhooks = was.Webhooks
	}
	r.manifest = m
	r.mu.Unlock()
	if keep && (was.RoleErr == nil || was.RoleErr.Error() != m.RoleErr.Error()) {
		r.screen.warn("the webhooks stay as they were: %v", m.RoleErr)
	}
	if r.NoWebhooks || r.hooks.Load() != nil || !m.hasWebhooks() {
		return nil
	}
	h, err := r.openHooks(ctx)
	if err != nil {
		return err
	}
	r.hooks.Store(h)
	return nil
}

// endpoint is where the API server finds the webhooks.
type endpoint struct {
	base    string // https://host:port
	ca      []byte // PEM
	timeout int64  // timeoutSeconds for all; 0 leaves what the project says
}

// clientConfig calls the endpoint. A service without a path leaves it at fallback.
func (e endpoint) clientConfig(service map[string]any, fallback string) map[string]any {
	path, _ := service["path"].(string)
	return map[string]any{
		"url":      e.base + "/" + strings.TrimPrefix(cmp.Or(path, fallback), "/"),
		"caBundle": base64.StdEncoding.EncodeToString(e.ca),
	}
}

// redirect copies a webhook configuration with those webhooks calling the
// endpoint that would call a Service. One with a url of its own is not served
// by the operator, and stays.
func (e endpoint) redirect(config *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	u := config.DeepCopy()
	list, _, err := unstructured.NestedSlice(u.Object, "webhooks")
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
	}
	for i := range list {
		hook, ok := list[i].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s %s: webhooks[%d] is not a mapping", u.GetKind(), u.GetName(), i)
		}
		client, _ := hook["clientConfig"].(map[string]any)
		service, ok := client["service"].(map[string]any)
		if !ok {
			continue
		}
		hook["clientConfig"] = e.clientConfig(service, "")
		if e.timeout > 0 {
			hook["timeoutSeconds"] = e.timeout
		}
	}
	if err := unstructured.SetNestedSlice(u.Object, list, "webhooks"); err != nil {
		return nil, fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
	}
	u.SetAnnotations(withoutInjection(u.GetAnnotations()))
	return u, nil
}

// withoutInjection drops what would have cert-manager overwrite our caBundle.
func withoutInjection(annotations map[string]string) map[string]string {
	for key := range injection(annotations) {
		delete(annotations, key)
	}
	if len(annotations) == 0 {
		return nil
	}
	return annotations
}

// injection are the annotations that withoutInjection drops.
func injection(annotations map[string]string) map[string]string {
	list := map[string]string{}
	for key, value := range annotations {
		if strings.HasPrefix(key, injectAnnotations) {
			list[key] = value
		}
	}
	return list
}

// conversion is spec.conversion of crd, calling the endpoint.
func (e endpoint) conversion(crd *unstructured.Unstructured) map[string]any {
	// Fields of the wrong type are as good as absent: the API server gets the
	// defaults, and refuses what it does not like.
	webhook, _, _ := unstructured.NestedMap(crd.Object, "spec", "conversion", "webhook")
	versions, _, _ := unstructured.NestedStringSlice(webhook, "conversionReviewVersions")
	service, _, _ := unstructured.NestedMap(webhook, "clientConfig", "service")
	var review []any
	for _, v := range versions {
		review = append(review, v)
	}
	if len(review) == 0 {
		review = []any{"v1"}
	}
	return map[string]any{"strategy": "Webhook", "webhook": map[string]any{
		"clientConfig": e.clientConfig(service, convertPath), "conversionReviewVersions": review,
	}}
}

// calls reports whether u, a webhook configuration or a CRD as a cluster has
// it, calls something below base. What does not was changed by somebody else.
func calls(u *unstructured.Unstructured, base string) bool {
	below := func(client any) bool {
		m, _ := client.(map[string]any)
		url, _ := m["url"].(string)
		return strings.HasPrefix(url, base+"/")
	}
	conversion, _, _ := unstructured.NestedMap(u.Object, "spec", "conversion", "webhook", "clientConfig")
	if below(conversion) {
		return true
	}
	list, _, _ := unstructured.NestedSlice(u.Object, "webhooks")
	for _, item := range list {
		if hook, ok := item.(map[string]any); ok && below(hook["clientConfig"]) {
			return true
		}
	}
	return false
}

// digest is equal for objects that are equal: maps are printed in the order of their keys.
func digest(object map[string]any) string { return fmt.Sprintf("%#v", object) }
