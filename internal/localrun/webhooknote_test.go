package localrun

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestNoting: what the API server asks, and is answered, is told to whom it
// concerns, and stays as it is.
func TestNoting(t *testing.T) {
	told := make(chan string, 1)
	f, certs := newTestProxy(t, func(_ context.Context, path string, began time.Time, took time.Duration, request, answer []byte, code int) {
		if began.IsZero() || took <= 0 || code != 200 {
			t.Errorf("began %v, took %v, code %d", began, took, code)
		}
		told <- path + " " + string(request) + " " + string(answer)
	})
	s := webhookServer(t, certs, "operator")
	f.point(strings.TrimPrefix(s.URL, "https://"))
	if code, text := caller(t, f, certs)(t.Context(), "/secret/validate"); code != 200 || text != "operator /validate review" {
		t.Fatalf("%d %s", code, text)
	}
	if got := <-told; got != "/validate review operator /validate review" {
		t.Errorf("told: %q", got)
	}
}

func TestWebhookName(t *testing.T) {
	configs := objects(t, `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: mutating}
webhooks:
- {name: a.example.com, clientConfig: {service: {path: /mutate-a}}}
- {name: b.example.com, clientConfig: {service: {path: /mutate-b}}}
`)
	for path, want := range map[string]string{"/mutate-b": "b.example.com", "/mutate-a": "a.example.com", "/convert": ""} {
		if got := webhookName(configs, path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
