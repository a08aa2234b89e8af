package removedapis_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/example/mysdk/internal/controlplane/removedapis"
)

// asked is what the API server gets, and given its answer.
type asked struct{ path, body string }

// through sends a request through the filter to a server with one answer.
func through(t *testing.T, method, path, kind, body, answer string) (asked, int, string) {
	t.Helper()
	var got asked
	s := httptest.NewServer(removedapis.Filter(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		data, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		got = asked{req.URL.Path, string(data)}
		w.Header().Set("Content-Type", "application/json")
		if _, err := io.WriteString(w, answer); err != nil {
			t.Error(err)
		}
	})))
	defer s.Close()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	if method == http.MethodGet {
		req.Header.Set("Accept", kind)
	}
	res, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }() // it was read
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got, res.StatusCode, strings.TrimSpace(string(data))
}

// protobuf is an object of a version in Kubernetes' protobuf format.
func protobuf(t *testing.T, version string) string {
	t.Helper()
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: version, Kind: "CronJob"}, Raw: []byte("raw")}
	data, err := u.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return "k8s\x00" + string(data)
}

// TestFilter: a removed version is asked for, sent and answered as the one that
// replaced it, in each encoding, and nothing else is touched.
func TestFilter(t *testing.T) {
	const json = "application/json"
	budgets, crons := "/namespaces/ns/poddisruptionbudgets", "/namespaces/ns/cronjobs"
	for name, tc := range map[string]struct {
		method, path, kind, body, answer string
		want                             asked
		code                             int
		text                             string
	}{
		"read": {
			"GET", "/apis/policy/v1beta1" + budgets, json, "", `{"apiVersion":"policy/v1","items":[]}`,
			asked{"/apis/policy/v1" + budgets, ""}, 200, `{"apiVersion":"policy/v1beta1","items":[]}`,
		},
		"watch": {
			"GET", "/apis/policy/v1beta1" + budgets, json, "", `{"type":"ADDED","object":{"apiVersion":"policy/v1"}}` + "\n" + `{"type":"BOOKMARK","object":{"apiVersion":"policy/v1"}}`,
			asked{"/apis/policy/v1" + budgets, ""}, 200, `{"object":{"apiVersion":"policy/v1beta1"},"type":"ADDED"}` + "\n" + `{"object":{"apiVersion":"policy/v1beta1"},"type":"BOOKMARK"}`,
		},
		"write JSON": {
			"POST", "/apis/batch/v1beta1" + crons, json, `{"apiVersion":"batch/v1beta1","spec":{"n":1.0}}`, `{"apiVersion":"batch/v1"}`,
			asked{"/apis/batch/v1" + crons, `{"apiVersion":"batch/v1","spec":{"n":1.0}}`}, 200, `{"apiVersion":"batch/v1beta1"}`,
		},
		"write YAML": {
			"PATCH", "/apis/batch/v1beta1" + crons + "/c", "application/apply-patch+yaml", "apiVersion: batch/v1beta1\n", `{}`,
			asked{"/apis/batch/v1" + crons + "/c", `{"apiVersion":"batch/v1"}`}, 200, `{}`,
		},
		"write protobuf": {
			"POST", "/apis/batch/v1beta1" + crons, "application/vnd.kubernetes.protobuf", protobuf(t, "batch/v1beta1"), `{}`,
			asked{"/apis/batch/v1" + crons, protobuf(t, "batch/v1")}, 200, `{}`,
		},
		"JSON patch": {
			"PATCH", "/apis/batch/v1beta1" + crons + "/c", "application/json-patch+json", `[{"op":"remove","path":"/a"}]`, `{}`,
			asked{"/apis/batch/v1" + crons + "/c", `[{"op":"remove","path":"/a"}]`}, 200, `{}`,
		},
		"an encoding that nobody reads": {
			"POST", "/apis/batch/v1beta1" + crons, "application/cbor", "x", `{}`,
			asked{}, 400, "the body: application/cbor of a version that was removed is not supported",
		},
		"a body that is no JSON": {
			"POST", "/apis/batch/v1beta1" + crons, json, "x", `{}`,
			asked{}, 400, "the body: invalid character 'x' looking for beginning of value",
		},
		"the resources of a version": {
			"GET", "/apis/policy/v1beta1", json, "", `{"kind":"APIResourceList","groupVersion":"policy/v1"}`,
			asked{"/apis/policy/v1", ""}, 200, `{"groupVersion":"policy/v1beta1","kind":"APIResourceList"}`,
		},
		"a version that is served": {
			"GET", "/apis/policy/v1" + budgets, json, "", `{"apiVersion":"policy/v1"}`,
			asked{"/apis/policy/v1" + budgets, ""}, 200, `{"apiVersion":"policy/v1"}`,
		},
		"a version whose fields were others": {
			"GET", "/apis/networking.k8s.io/v1beta1/ingresses", json, "", `{}`,
			asked{"/apis/networking.k8s.io/v1beta1/ingresses", ""}, 200, `{}`,
		},
		"the core group": {"GET", "/api/v1/pods", json, "", `{}`, asked{"/api/v1/pods", ""}, 200, `{}`},
		"discovery of all at once": {
			"GET", "/apis", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "", `{"kind":"APIGroupList","groups":[{"name":"policy","versions":[]}]}`,
			asked{"/apis", ""}, 200, `{"kind":"APIGroupList","groups":[{"name":"policy","versions":[]}]}`,
		},
	} {
		got, code, text := through(t, tc.method, tc.path, tc.kind, tc.body, tc.answer)
		if got != tc.want || code != tc.code || text != tc.text {
			t.Errorf("%s: asked for %+q, answered %d %s", name, got, code, text)
		}
	}
}

// TestDiscovery: clients that ask for the groups are told of the removed versions,
// once.
func TestDiscovery(t *testing.T) {
	policy := `{"name":"policy","versions":[{"groupVersion":"policy/v1","version":"v1"}`
	old := `,{"groupVersion":"policy/v1beta1","version":"v1beta1"}`
	preferred := `],"preferredVersion":{"groupVersion":"policy/v1","version":"v1"}}`
	shops := `{"name":"example.com","versions":[{"groupVersion":"example.com/v1","version":"v1"}],"preferredVersion":{"groupVersion":"example.com/v1","version":"v1"}}`
	for _, have := range []string{policy + preferred, policy + old + preferred} {
		_, _, text := through(t, "GET", "/apis", "application/json", "", `{"kind":"APIGroupList","groups":[`+have+`,`+shops+`]}`)
		if d := cmp.Diff(`{"groups":[`+policy+old+preferred+`,`+shops+`],"kind":"APIGroupList"}`, text); d != "" {
			t.Errorf("the groups (-want +got):\n%s", d)
		}
	}
	_, _, text := through(t, "GET", "/apis/policy", "application/json", "", `{"kind":"APIGroup",`+policy[1:]+preferred)
	if want := policy + old + preferred; !strings.Contains(text, old) || len(text) < len(want) {
		t.Errorf("the group: %s", text)
	}
}
