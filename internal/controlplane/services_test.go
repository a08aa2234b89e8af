package controlplane

import (
	"errors"
	"net/url"
	"testing"
)

// resolverFunc is a function as a resolver of Services.
type resolverFunc func(string, string) (*url.URL, error)

func (f resolverFunc) ResolveEndpoint(namespace, name string, _ int32) (*url.URL, error) {
	return f(namespace, name)
}

func TestLocalServicesComeFirst(t *testing.T) {
	local, elsewhere := &localServices{}, errors.New("not here")
	r := localFirst{local, resolverFunc(func(string, string) (*url.URL, error) { return nil, elsewhere })}
	local.set("olm", "packages", "127.0.0.1:5443")
	if u, err := r.ResolveEndpoint("olm", "packages", 443); err != nil || u.String() != "https://127.0.0.1:5443" {
		t.Errorf("ResolveEndpoint() = %v, %v", u, err)
	}
	if _, err := r.ResolveEndpoint("shop", "packages", 443); !errors.Is(err, elsewhere) {
		t.Errorf("ResolveEndpoint() of another = %v", err)
	}
	local.set("olm", "packages", "")
	if _, err := r.ResolveEndpoint("olm", "packages", 443); !errors.Is(err, elsewhere) {
		t.Errorf("ResolveEndpoint() of one that ended = %v", err)
	}
}
