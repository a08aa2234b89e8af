package recorded

import (
	"testing"

	"github.com/example/mysdk/internal/recording"
)

// TestKnown: why nothing was reconciled for an object, as far as it is known.
func TestKnown(t *testing.T) {
	denied := func(verb string, u recording.Use) recording.Use {
		u.Right, u.Denied = recording.Right{Verb: verb, Group: "example.com", Resource: "shops"}, 1
		return u
	}
	const (
		create = "create an object of the operator's kind: no call of Reconcile was recorded"
		rights = "run 'mysdk rights' for the marker to add: the operator may not list shops.example.com, and a controller starts only when it may"
		others = "objects that were: mysdk why cart/a"
	)
	carts := []recording.Reconcile{{Object: recording.Object{Kind: "Cart", Namespace: "default", Name: "a"}}}
	zone := recording.Reconcile{Object: recording.Object{Kind: "Zone", Name: "z"}}
	for name, tc := range map[string]struct {
		use   recording.Use
		calls []recording.Reconcile
		kind  string
		want  string
	}{
		"nothing yet":                   {recording.Use{}, nil, "", create},
		"a list is refused":             {denied("list", recording.Use{}), nil, "shop", rights},
		"it is not any longer":          {denied("list", recording.Use{Allowed: 1}), nil, "shop", create},
		"another request is refused":    {denied("get", recording.Use{}), nil, "", create},
		"by the project's own code":     {denied("list", recording.Use{Frames: []string{"cmd/main.go:9"}}), nil, "", create},
		"by a library":                  {denied("list", recording.Use{Frames: []string{"k8s.io/client-go/a.go:9"}}), nil, "", rights},
		"of the kind that is asked for": {denied("list", recording.Use{}), carts, "Shop", rights},
		"of another kind":               {denied("list", recording.Use{}), carts, "cart", others},
		"in no namespace":               {recording.Use{}, append(carts[:1:1], zone), "Zone", "objects that were: mysdk why zone/z --namespace="},
		"of none of the kinds":          {recording.Use{}, append(carts[:1:1], zone), "Shop", others + "; mysdk why zone/z --namespace="},
	} {
		if got := known(recording.Recording{Reconciles: tc.calls, Uses: []recording.Use{tc.use}}, tc.kind); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
