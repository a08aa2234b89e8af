package image

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDockerConfig hands on what is known of the registries of the images, and
// of no others.
func TestDockerConfig(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	const known = `{"auths": {"r.example.com": {"auth": "bWU6c2VjcmV0"}, "other.example.com": {"auth": "eW91OnNlY3JldA=="},
		"r.example.com/team/aa": {"auth": "dGVhbTpzZWNyZXQ="}}}`
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(known), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		images []string
		want   string
	}{
		"known":  {[]string{"r.example.com/aa:1", "r.example.com/bb:1"}, `{"auths":{"r.example.com":{"auth":"bWU6c2VjcmV0"}}}`},
		"one of": {[]string{"nobody.example.com/aa:1", "r.example.com/bb:1"}, `{"auths":{"r.example.com":{"auth":"bWU6c2VjcmV0"}}}`},
		"of one repository": {[]string{"r.example.com/team/aa:1", "r.example.com/bb:1"},
			`{"auths":{"r.example.com":{"auth":"bWU6c2VjcmV0"},"r.example.com/team/aa":{"auth":"dGVhbTpzZWNyZXQ="}}}`},
		"none":     {[]string{"nobody.example.com/aa:1"}, ""},
		"no image": {nil, ""},
	} {
		got, err := DockerConfig(tc.images)
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if _, err := DockerConfig([]string{"NOT an image"}); err == nil {
		t.Error("a name that is none is no error")
	}
}
