package image

import (
	"encoding/base64"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	served "github.com/google/go-containerregistry/pkg/registry"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/registry"
)

// basicAuth lets only one user in.
func basicAuth(user, password string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED"}]}`, http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// serveTLS runs a registry with a certificate of its own making and returns its
// address and the certificate in PEM.
func serveTLS(t *testing.T, wrap func(http.Handler) http.Handler) (address string, ca []byte) {
	t.Helper()
	s := httptest.NewUnstartedServer(wrap(served.New(served.Logger(log.New(io.Discard, "", 0)))))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "https://"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// pushFiles pushes an image of one file, to be asked for by a machine that does
// not have it.
func pushFiles(t *testing.T, to string, access registry.Access) {
	t.Helper()
	w := hosttest.New(t)
	if _, err := BuildFiles(t.Context(), w.Host, FilesOptions{Image: to, Files: Files{"manifests/csv.yaml": []byte("kind: X\n")}}); err != nil {
		t.Fatal(err)
	}
	if _, err := Push(t.Context(), w.Host, PushOptions{Image: to, Access: access}); err != nil {
		t.Fatal(err)
	}
}

// TestAccessOfATLSRegistry pushes to and pulls from a registry whose
// certificate nobody knows.
func TestAccessOfATLSRegistry(t *testing.T) {
	at, ca := serveTLS(t, func(h http.Handler) http.Handler { return h })
	ref := at + "/team/bundle:v1"
	pushFiles(t, ref, registry.Access{SkipVerify: true})
	own, err := registry.Authorities(ca)
	if err != nil {
		t.Fatal(err)
	}
	others, err := registry.Authorities([]byte(authority()))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		access registry.Access
		want   string // of the error
	}{
		"as it comes":        {registry.Access{}, "is not signed by an authority that this machine trusts"},
		"not verified":       {registry.Access{SkipVerify: true}, ""},
		"with its authority": {registry.Access{CA: own}, ""},
		"with another one":   {registry.Access{CA: others}, "is not signed by an authority that this machine trusts"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Open(t.Context(), hosttest.New(t).Host, OpenOptions{Image: ref, Access: tc.access})
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) || clierr.HintOf(err) == "" {
					t.Errorf("Open() = %v, want %q", err, tc.want)
				}
				return
			}
			if err != nil || string(c.Files["manifests/csv.yaml"]) != "kind: X\n" {
				t.Errorf("Open() = %v, %v", c, err)
			}
		})
	}
}

// TestAccessWithAPullSecret asks a registry that wants to know who asks.
func TestAccessWithAPullSecret(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir()) // whatever this machine knows
	at, _ := serveTLS(t, func(h http.Handler) http.Handler { return basicAuth("me", "secret", h) })
	ref := at + "/team/bundle:v1"
	secret := func(key, user string) *registry.Credentials {
		t.Helper()
		auth := base64.StdEncoding.EncodeToString([]byte(user + ":secret"))
		c, err := registry.ParseCredentials([]byte(`{"auths": {"` + key + `": {"auth": "` + auth + `"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	pushFiles(t, ref, registry.Access{SkipVerify: true, Credentials: secret(at, "me")})
	for name, tc := range map[string]struct {
		credentials *registry.Credentials
		ok          bool
	}{
		"none": {nil, false}, "the right ones": {secret(at, "me"), true}, "of somebody else": {secret(at, "you"), false},
		"of another registry": {secret("registry.example.com", "me"), false}, "of the repository": {secret(at+"/team", "me"), true},
		"of another repository": {secret(at+"/other", "me"), false},
	} {
		access := registry.Access{SkipVerify: true}
		if tc.credentials != nil {
			access.Credentials = tc.credentials
		}
		_, err := Open(t.Context(), hosttest.New(t).Host, OpenOptions{Image: ref, Access: access})
		if (err == nil) != tc.ok || err != nil && !strings.Contains(err.Error(), "does not permit it") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
