package image

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
)

// DockerConfig is a configuration as Secrets of type
// kubernetes.io/dockerconfigjson have it, with what docker login and podman
// login have noted on this machine for the registries of these images; nil
// where they have noted nothing for any of them.
func DockerConfig(images []string) ([]byte, error) {
	type entry struct {
		Auth string `json:"auth,omitempty"` // base64 of user:password
		// Some registries give tokens in place of passwords.
		IdentityToken string `json:"identitytoken,omitempty"`
		RegistryToken string `json:"registrytoken,omitempty"`
	}
	found := map[string]entry{}
	for _, s := range images {
		ref, err := parseRef(s)
		if err != nil {
			return nil, err
		}
		auth, err := authn.DefaultKeychain.Resolve(ref.Context())
		if err != nil {
			return nil, fmt.Errorf("find the credentials for %s: %w", ref.Context().RegistryStr(), err)
		}
		c, err := auth.Authorization()
		if err != nil {
			return nil, fmt.Errorf("find the credentials for %s: %w", ref.Context().RegistryStr(), err)
		}
		e := entry{IdentityToken: c.IdentityToken, RegistryToken: c.RegistryToken, Auth: c.Auth}
		if e.Auth == "" && c.Username != "" {
			e.Auth = base64.StdEncoding.EncodeToString([]byte(c.Username + ":" + c.Password))
		}
		if e != (entry{}) {
			found[ref.Context().RegistryStr()] = e
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	return json.Marshal(map[string]any{"auths": found})
}
