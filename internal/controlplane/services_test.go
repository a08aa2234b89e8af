package controlplane

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/example/mysdk/internal/controlplane/hostpods"
)

func TestLocalServicesComeFirst(t *testing.T) {
	local := &localServices{}
	r := serviceResolver{t.Context(), fake.NewClientset(), local, &hostpods.Pods{}, "one"}
	local.set("olm", "packages", "127.0.0.1:5443")
	if u, err := r.ResolveEndpoint("olm", "packages", 443); err != nil || u.String() != "https://127.0.0.1:5443" {
		t.Errorf("ResolveEndpoint() = %v, %v", u, err)
	}
	if _, err := r.ResolveEndpoint("shop", "packages", 443); !apierrors.IsNotFound(err) {
		t.Errorf("ResolveEndpoint() of another = %v", err)
	}
	local.set("olm", "packages", "")
	if _, err := r.ResolveEndpoint("olm", "packages", 443); !apierrors.IsNotFound(err) {
		t.Errorf("ResolveEndpoint() of one that ended = %v", err)
	}
}
