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

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host/hosttest"
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
	s := httptest.NewUnstartedServer(wrap(registry.New(registry.Logger(log.New(io.Discard, "", 0)))))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "https://"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// pushFiles pushes an image of one file, to be asked for by a machine that does
// not have it.
func pushFiles(t *testing.T, to string, access Access) {
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
	pushFiles(t, ref, Access{SkipVerify: true})
	own, err := Authorities(ca)
	if err != nil {
		t.Fatal(err)
	}
	others, err := Authorities([]byte(authority()))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		access Access
		want   string // of the error
	}{
		"as it comes":        {Access{}, "is signed by nobody this machine trusts"},
		"not verified":       {Access{SkipVerify: true}, ""},
		"with its authority": {Access{CA: own}, ""},
		"with another one":   {Access{CA: others}, "is signed by nobody this machine trusts"},
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
	secret := func(key, user string) *Credentials {
		t.Helper()
		auth := base64.StdEncoding.EncodeToString([]byte(user + ":secret"))
		c, err := ParseCredentials([]byte(`{"auths": {"` + key + `": {"auth": "` + auth + `"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	pushFiles(t, ref, Access{SkipVerify: true, Credentials: secret(at, "me")})
	for name, tc := range map[string]struct {
		credentials *Credentials
		ok          bool
	}{
		"none": {nil, false}, "the right ones": {secret(at, "me"), true}, "of somebody else": {secret(at, "you"), false},
		"of another registry": {secret("registry.example.com", "me"), false}, "of the repository": {secret(at+"/team", "me"), true},
		"of another repository": {secret(at+"/other", "me"), false},
	} {
		_, err := Open(t.Context(), hosttest.New(t).Host, OpenOptions{Image: ref, Access: Access{SkipVerify: true, Credentials: tc.credentials}})
		if (err == nil) != tc.ok || err != nil && !strings.Contains(err.Error(), "does not permit it") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParseCredentials(t *testing.T) {
	const known = `{"auths": {
		"https://index.docker.io/v1/": {"username": "hub", "password": "p"},
		"r.example.com": {"username": "all", "password": "p"},
		"r.example.com/team/": {"username": "team", "password": "p"},
		"http://r.example.com/team/deep": {"username": "deep", "password": "p"},
		"*.example.org": {"username": "glob", "password": "p"},
		"a.example.org": {"username": "exact", "password": "p"},
		"[::1]:5000": {"identitytoken": "token"}}}`
	c, err := ParseCredentials([]byte(known))
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]authn.AuthConfig{
		"busybox": {Username: "hub", Password: "p"}, "docker.io/me/xx:1": {Username: "hub", Password: "p"},
		"r.example.com/xx": {Username: "all", Password: "p"}, "r.example.com/teams/xx": {Username: "all", Password: "p"},
		"r.example.com/team/xx": {Username: "team", Password: "p"}, "r.example.com/team/deep": {Username: "deep", Password: "p"},
		"b.example.org/xx": {Username: "glob", Password: "p"}, "a.example.org/xx": {Username: "exact", Password: "p"},
		"b.c.example.org/xx": {}, "example.org/xx": {}, "r.example.com:5000/xx": {}, "[::1]:5000/xx": {IdentityToken: "token"},
	} {
		repo, err := name.NewRepository(strings.TrimSuffix(ref, ":1"))
		if err != nil {
			t.Fatal(err)
		}
		auth, err := c.Resolve(repo)
		if err != nil {
			t.Fatal(err)
		}
		got, err := auth.Authorization()
		if err != nil {
			t.Fatal(err)
		}
		got.Auth = ""
		if d := cmp.Diff(want, *got); d != "" {
			t.Errorf("%s (-want +got):\n%s", ref, d)
		}
	}
	for name, data := range map[string]string{
		"no JSON": `{"auths": {"r.example.com": sesame`, "a list": `["sesame"]`, "no entries": `{"auths": {"r.example.com": "sesame"}}`, "no base64": `{"auths": {"r.example.com": {"auth": "sesame!"}}}`,
	} {
		if _, err := ParseCredentials([]byte(data)); err == nil || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if old, err := ParseCredentials([]byte(`{"r.example.com": {"username": "me", "password": "p"}}`)); err != nil || len(old.entries) != 1 {
		t.Errorf("of the older form: %v, %v", old, err)
	}
}

func TestAuthorities(t *testing.T) {
	for name, tc := range map[string]struct{ data, want string }{
		"one":       {authority(), ""},
		"two":       {authority() + "# and another\n" + authority(), ""},
		"none":      {"hello", "no certificate"},
		"a key":     {"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "no certificate"},
		"a bad one": {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "read a certificate"},
	} {
		pool, err := Authorities([]byte(tc.data))
		if tc.want == "" && (err != nil || pool == nil) || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// FuzzParseCredentials holds that what can be read can be asked.
func FuzzParseCredentials(f *testing.F) {
	for _, seed := range []string{`{"auths":{"a":{"auth":"YTpi"}}}`, `{"a.*":{}}`, `{"auths":null}`, `[]`, `{"auths":{"[":{}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseCredentials(data)
		if err != nil {
			return
		}
		if _, err := c.Resolve(name.MustParseReference("r.example.com/team/xx").Context()); err != nil {
			t.Errorf("%q: %v", data, err)
		}
	})
}
