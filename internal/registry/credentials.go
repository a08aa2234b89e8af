package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// Credentials are those for registries that a cluster's pull secret has.
type Credentials struct{ entries []credential }

// credential is what one entry of a pull secret says.
type credential struct {
	host string // may have * in place of a part of its name
	path string // of the repositories that it is for; empty: all
	auth authn.AuthConfig
}

// ParseCredentials reads what a Secret of type kubernetes.io/dockerconfigjson holds
// under .dockerconfigjson, or one of type kubernetes.io/dockercfg under .dockercfg.
// Entries with a path are for the repositories below it, as a kubelet takes them.
func ParseCredentials(data []byte) (*Credentials, error) {
	var file struct {
		Auths map[string]authn.AuthConfig `json:"auths"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, credentialsError(err)
	}
	if file.Auths == nil {
		// The older form has the registries at the top.
		if err := json.Unmarshal(data, &file.Auths); err != nil {
			return nil, credentialsError(err)
		}
	}
	c := &Credentials{}
	// Several keys may mean the same: which of them counts is not to be chance.
	for _, key := range slices.Sorted(maps.Keys(file.Auths)) {
		host, below := splitRegistryKey(key)
		c.entries = append(c.entries, credential{host, below, file.Auths[key]})
	}
	// What is said more exactly comes first.
	slices.SortStableFunc(c.entries, func(a, b credential) int {
		if len(a.path) != len(b.path) {
			return len(b.path) - len(a.path)
		}
		return strings.Compare(b.host, a.host) // * sorts before every letter
	})
	return c, nil
}

// credentialsError leaves out what the decoder quotes: it may be a password.
func credentialsError(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("it is not JSON from byte %d on", syntax.Offset)
	}
	return errors.New("it does not hold credentials by registry, as docker's config.json does")
}

// splitRegistryKey takes an entry's key apart, which may be a URL with the
// version of the registry's API.
func splitRegistryKey(key string) (host, below string) {
	for _, scheme := range []string{"https://", "http://"} {
		key = strings.TrimPrefix(key, scheme)
	}
	host, below, _ = strings.Cut(strings.TrimSuffix(key, "/"), "/")
	if below == "v1" || below == "v2" {
		below = ""
	}
	if host == "docker.io" || host == "registry-1.docker.io" {
		host = name.DefaultRegistry
	}
	return host, below
}

// Resolve implements authn.Keychain: anonymous where nothing is known.
func (c *Credentials) Resolve(r authn.Resource) (authn.Authenticator, error) {
	repository := strings.TrimPrefix(strings.TrimPrefix(r.String(), r.RegistryStr()), "/")
	for _, e := range c.entries {
		fits := e.path == "" || repository == e.path || strings.HasPrefix(repository, e.path+"/")
		if fits && sameHost(e.host, r.RegistryStr()) {
			return authn.FromConfig(e.auth), nil
		}
	}
	return authn.Anonymous, nil
}

// sameHost reports whether a host has the form of pattern, in which * stands
// for any text within a part, as in *.example.com.
func sameHost(pattern, host string) bool {
	if pattern == host {
		return true
	}
	want, have := strings.Split(pattern, "."), strings.Split(host, ".")
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		if ok, err := path.Match(want[i], have[i]); err != nil || !ok {
			return false
		}
	}
	return true
}

// Keychain has the credentials of this machine: those of docker login, and for
// registries that it does not know, those of podman login.
func Keychain() authn.Keychain { return authn.NewMultiKeychain(authn.DefaultKeychain, podman{}) }

// MachineFirst has the credentials of this machine, and then those of another keychain.
func MachineFirst(then authn.Keychain) authn.Keychain {
	return authn.NewMultiKeychain(Keychain(), then)
}

// podman has what podman login leaves behind. The library's own keychain looks there
// only if there is no config.json of docker's.
type podman struct{}

// Resolve implements authn.Keychain.
func (podman) Resolve(r authn.Resource) (authn.Authenticator, error) {
	for _, name := range podmanFiles() {
		data, err := os.ReadFile(name)
		if notOurs(err) || err == nil && withoutAuths(data) {
			continue
		} else if err != nil {
			return nil, err
		}
		c, err := ParseCredentials(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if auth, err := c.Resolve(r); err != nil || auth != authn.Anonymous {
			return auth, err
		}
	}
	return authn.Anonymous, nil
}

// withoutAuths reports whether a file has only settings, as docker's config.json may.
func withoutAuths(data []byte) bool {
	var file struct{ Auths map[string]any }
	return json.Unmarshal(data, &file) == nil && file.Auths == nil
}

// notOurs reports whether a file is none of this user's: it is missing, or cannot be
// read, as /run/containers where root has run podman. One that REGISTRY_AUTH_FILE
// names has to be readable.
func notOurs(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && os.Getenv("REGISTRY_AUTH_FILE") == ""
}

// podmanFiles are where podman login writes, and where it reads, too.
func podmanFiles() []string {
	if name := os.Getenv("REGISTRY_AUTH_FILE"); name != "" {
		return []string{name}
	}
	list := []string{fmt.Sprintf("/run/containers/%d/auth.json", os.Getuid())}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		list[0] = filepath.Join(dir, "containers", "auth.json")
	}
	if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
		list = append(list, filepath.Join(dir, "containers", "auth.json"))
	} else if home, err := os.UserHomeDir(); err == nil {
		list = append(list, filepath.Join(home, ".config", "containers", "auth.json"))
	}
	return list
}
