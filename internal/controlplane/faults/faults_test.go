package faults

import (
	"testing"

	genericrequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/example/mysdk/internal/cluster/state"
)

// TestMatches: a fault of a resource befalls no other one, and no subresource.
func TestMatches(t *testing.T) {
	status := &genericrequest.RequestInfo{Verb: "update", APIGroup: "shop.com", Resource: "shops", Subresource: "status", Namespace: "ns", Name: "s"}
	create := &genericrequest.RequestInfo{Verb: "create", APIGroup: "apps", Resource: "deployments", Namespace: "ns"} // the name is in its body
	tests := map[string]struct {
		info *genericrequest.RequestInfo
		one  state.Injection
		want bool
	}{
		"any":                 {status, state.Injection{}, true},
		"by verb":             {status, state.Injection{Verb: "update"}, true},
		"status":              {status, state.Injection{Verb: "update", Group: "shop.com", Resource: "shops", Subresource: "status", Name: "s"}, true},
		"the object":          {status, state.Injection{Verb: "update", Group: "shop.com", Resource: "shops", Name: "s"}, false},
		"the core group":      {status, state.Injection{Resource: "shops", Subresource: "status"}, false},
		"a group":             {status, state.Injection{Group: "shop.com"}, true},
		"another name":        {status, state.Injection{Name: "t"}, false},
		"a creation":          {create, state.Injection{Do: state.FaultHold, Verb: "create", Group: "apps", Resource: "deployments", Namespace: "ns"}, true},
		"no list for a write": {create, state.Injection{Do: state.FaultStale, Group: "apps", Resource: "deployments"}, false},
	}
	for name, tc := range tests {
		if got := (&fault{session: &session{Fault: state.Fault{Injection: tc.one}}, info: tc.info}).matches(); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
