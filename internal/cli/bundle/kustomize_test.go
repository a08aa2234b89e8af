package bundle

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/project"
)

// TestAPIs holds that descriptions are of the group that the CRDs have: that of the types,
// which in PROJECT may be another one.
func TestAPIs(t *testing.T) {
	p := &project.Project{Repo: "example.com/op", Resources: []project.Resource{
		{Group: "example.com", Domain: "example.com", Version: "v1", Kind: "Shop", Path: "example.com/op/api/v1", API: true},
		{Group: "sales", Domain: "example.com", Version: "v2", Kind: "Cart", Path: "example.com/op/api/v2", API: true},
		{Group: "apps", Version: "v1", Kind: "Deployment", Path: "k8s.io/api/apps/v1"},
	}}
	read := func(name string) ([]byte, error) {
		if name == "api/v1/groupversion_info.go" {
			return []byte("// +groupName=example.com\npackage v1\n"), nil
		}
		return nil, os.ErrNotExist
	}
	want := []bundle.API{
		{Group: "example.com", Version: "v1", Kind: "Shop", Dir: "api/v1"},
		{Group: "sales.example.com", Version: "v2", Kind: "Cart", Dir: "api/v2"},
	}
	if d := cmp.Diff(want, apisOf(p, false, read)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
