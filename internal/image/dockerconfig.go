package image

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/example/mysdk/internal/registry"
)

// dockerEntry is what a configuration has of a registry, or of a repository.
type dockerEntry struct {
	Auth string `json:"auth,omitempty"` // base64 of user:password
	// Some registries give tokens in place of passwords.
	IdentityToken string `json:"identitytoken,omitempty"`
	RegistryToken string `json:"registrytoken,omitempty"`
}

// localEntry is what this machine knows of r; nothing is a zero one.
func localEntry(r authn.Resource) (dockerEntry, error) {
	auth, err := registry.Keychain().Resolve(r)
	if err != nil {
		return dockerEntry{}, fmt.Errorf("find the credentials for %s: %w", r, err)
	}
	c, err := auth.Authorization()
	if err != nil {
		return dockerEntry{}, fmt.Errorf("find the credentials for %s: %w", r, err)
	}
	e := dockerEntry{IdentityToken: c.IdentityToken, RegistryToken: c.RegistryToken, Auth: c.Auth}
	if e.Auth == "" && c.Username != "" {
		e.Auth = base64.StdEncoding.EncodeToString([]byte(c.Username + ":" + c.Password))
	}
	return e, nil
}

// DockerConfig is a configuration as Secrets of type
// kubernetes.io/dockerconfigjson have it, with what docker login and podman
// login have noted on this machine for the registries of these images; nil
// where they have noted nothing for any of them.
func DockerConfig(images []string) ([]byte, error) {
	found := map[string]dockerEntry{}
	for _, s := range images {
		ref, err := parseRef(s)
		if err != nil {
			return nil, err
		}
		own, err := localEntry(ref.Context())
		if err != nil {
			return nil, err
		}
		all, err := localEntry(ref.Context().Registry)
		if err != nil {
			return nil, err
		}
		switch {
		case own == dockerEntry{}:
		case own == all:
			found[ref.Context().RegistryStr()] = own
		default:
			found[ref.Context().Name()] = own // of this repository alone
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	return json.Marshal(map[string]any{"auths": found})
}
