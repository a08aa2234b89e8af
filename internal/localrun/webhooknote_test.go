package localrun

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/recording"
)

// TestNoting: what the API server asks, and is answered, is told to whom it
// concerns, and stays as it is.
func TestNoting(t *testing.T) {
	w := newWorld(t)
	control := &controlFake{w: w}
	r := newRun(Options{Dir: w.Dir}, w.deps())
	r.control = control
	r.manifest.Webhooks = objects(t, hookYAML)
	f, certs := newTestProxy(t, r)
	s := webhookServer(t, certs, "operator")
	f.point(strings.TrimPrefix(s.URL, "https://"))
	if code, text := caller(t, f, certs)(t.Context(), "/secret/validate"); code != 200 || text != "operator /validate {}" {
		t.Fatalf("%d %s", code, text)
	}
	if err := f.server.Shutdown(t.Context()); err != nil { // when all is told
		t.Error(err)
	}
	want := []recording.Webhook{{Path: "/validate", Webhook: "a.example.com", Time: w.Now(), Code: 200,
		Message: "the answer is not a review: invalid character 'o' looking for beginning of value"}}
	if diff := cmp.Diff(want, control.calls); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
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
