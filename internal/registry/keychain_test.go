package registry

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// TestKeychain: podman login counts beside docker login, which comes first.
func TestKeychain(t *testing.T) {
	home, runtime, config, named := t.TempDir(), t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "named.json")
	t.Setenv("HOME", home)
	t.Setenv("DOCKER_CONFIG", "")
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("REGISTRY_AUTH_FILE", "")
	for file, hosts := range map[string][]string{
		filepath.Join(home, ".docker/config.json"): {"docker.example.com"}, named: {"named.example.com"},
		filepath.Join(runtime, "containers/auth.json"):      {"docker.example.com", "runtime.example.com"},
		filepath.Join(home, ".config/containers/auth.json"): {"runtime.example.com", "home.example.com"},
		filepath.Join(config, "containers/auth.json"):       {"config.example.com"},
	} {
		text := ""
		for i, host := range hosts {
			text += fmt.Sprintf(`,%q: {"username": "%s-%d", "password": "p"}`, host, filepath.Base(file), i)
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(`{"auths": {`+text[1:]+`}}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	user := func(host string) string {
		repo, err := name.NewRepository(host + "/a/b")
		if err != nil {
			return err.Error()
		}
		auth, err := Keychain().Resolve(repo)
		if err != nil {
			return err.Error()
		}
		c, err := auth.Authorization()
		if err != nil || *c == (authn.AuthConfig{}) {
			return ""
		}
		return c.Username
	}
	for host, want := range map[string]string{
		"docker.example.com": "config.json-0", "runtime.example.com": "auth.json-1", "home.example.com": "auth.json-1", "named.example.com": "", "other.example.com": "",
	} {
		if got := user(host); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
	t.Setenv("XDG_CONFIG_HOME", config)
	for host, want := range map[string]string{"runtime.example.com": "auth.json-1", "config.example.com": "auth.json-0", "home.example.com": ""} {
		if got := user(host); got != want {
			t.Errorf("with XDG_CONFIG_HOME %s: %q, want %q", host, got, want)
		}
	}
	settings := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(settings, []byte(`{"credsStore": "desktop", "HttpHeaders": {}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("REGISTRY_AUTH_FILE", settings)
	if got := user("home.example.com"); got != "" {
		t.Errorf("with settings alone: %q", got)
	}
	t.Setenv("REGISTRY_AUTH_FILE", named)
	for host, want := range map[string]string{"docker.example.com": "config.json-0", "named.example.com": "named.json-0", "home.example.com": ""} {
		if got := user(host); got != want {
			t.Errorf("with REGISTRY_AUTH_FILE %s: %q, want %q", host, got, want)
		}
	}
}

// TestNotOurs: tests may run as root, who can read every file.
func TestNotOurs(t *testing.T) {
	for _, c := range []struct {
		named string
		err   error
		want  bool
	}{
		{"", nil, false},
		{"", fs.ErrNotExist, true},
		{"", fs.ErrPermission, true},
		{"", fs.ErrInvalid, false},
		{"auth.json", fs.ErrNotExist, true},
		{"auth.json", fs.ErrPermission, false},
	} {
		t.Setenv("REGISTRY_AUTH_FILE", c.named)
		if got := notOurs(c.err); got != c.want {
			t.Errorf("%q, %v: %t", c.named, c.err, got)
		}
	}
}
