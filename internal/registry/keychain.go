package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
)

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
