package registry

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

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
		"no JSON": `{"auths": {"r.example.com": sesame`, "a list": `["sesame"]`, "no entries": `{"auths": {"r.example.com": "sesame"}}`, "no registries": `{"username": "me", "password": "sesame"}`,
		"no base64": `{"auths": {"r.example.com": {"auth": "sesame!"}}}`,
	} {
		if _, err := ParseCredentials([]byte(data)); err == nil || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c, err := ParseCredentials([]byte(`{"r.example.com": {"username": "me", "password": "p"}}`)); err != nil || len(c.entries) != 1 {
		t.Errorf("the older form: %v, %v", c, err)
	}
}

// TestParseCredentialsTwice takes the same of several keys that mean the same
// registry, each time.
func TestParseCredentialsTwice(t *testing.T) {
	const twice = `{"auths": {"https://index.docker.io/v1/": {"username": "c", "password": "p"}, "registry-1.docker.io": {"username": "d", "password": "p"},
		"docker.io": {"username": "a", "password": "p"}, "http://index.docker.io": {"username": "b", "password": "p"}}}`
	for range 50 {
		c, err := ParseCredentials([]byte(twice))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.entries[0].auth.Username; got != "a" {
			t.Fatalf("the first is %q", got)
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
