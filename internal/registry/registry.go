// Package registry knows how image registries may be spoken to: over TLS with
// whose certificates, in plain http with whom, and with which credentials. It
// reads what a pull secret holds, picks the image of an index and finds files in
// it, and knows nothing of clusters and of what its callers want of the registry.
package registry

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	lazy "go.podman.io/storage/pkg/regexp"
)

// dialTimeout is how long a registry may take to accept a connection.
const dialTimeout = 10 * time.Second

// answerTimeout is how long it may take to begin its answer to a request that
// it has received.
const answerTimeout = time.Minute

// Access says how a registry may be spoken to. The zero value is the safe way:
// TLS with a certificate that this machine trusts, plain http with this machine
// only, and the credentials that docker login and podman login leave behind.
type Access struct {
	UseHTTP    bool           // it may speak plain http wherever it is
	SkipVerify bool           // its certificate may be anybody's
	CA         *x509.CertPool // who may have signed its certificate; nil: whom this machine trusts
	// Credentials come before those of this machine; nil: there are none.
	Credentials authn.Keychain
}

// Authorities are those that this machine trusts and, besides, those whose
// certificates are in data, in PEM. Data without any is an error.
func Authorities(data []byte) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // a machine without any
	}
	found := false
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read a certificate: %w", err)
		}
		pool.AddCert(cert)
		found = true
	}
	if !found {
		return nil, errors.New("there is no certificate in PEM")
	}
	return pool, nil
}

// Options are those of a talk with a registry, which ends with ctx. It fails
// with ErrPlainHTTP where Access permits no other answer.
func (a Access) Options(ctx context.Context) []remote.Option {
	t := remote.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: a.CA, InsecureSkipVerify: a.SkipVerify} //nolint:gosec // the user's own wish, for one registry
	t.ResponseHeaderTimeout = answerTimeout
	keys := Keychain()
	if a.Credentials != nil {
		keys = authn.NewMultiKeychain(a.Credentials, keys)
	}
	return []remote.Option{
		remote.WithContext(ctx), remote.WithAuthFromKeychain(keys),
		remote.WithTransport(guard{t, a.UseHTTP}), remote.WithUserAgent("mysdk"),
	}
}

// unreadable are characters of an image's name that a directory's should not have.
var unreadable = lazy.Delayed(`[^A-Za-z0-9.-]+`)

// FileKey turns the name of an image into one for a directory: readable, and
// apart from every other.
func FileKey(ref string) string {
	return fmt.Sprintf("%.60s-%.6x", unreadable.ReplaceAllString(ref, "_"), sha256.Sum256([]byte(ref)))
}

// ErrPlainHTTP is the refusal to speak plain http with another machine.
var ErrPlainHTTP = errors.New("plain http is allowed on this machine only, because passwords are sent unencrypted")

// guard refuses plain http with other machines unless that is wanted: the
// library would use it, password included, with every private address.
type guard struct {
	next    http.RoundTripper
	useHTTP bool
}

// RoundTrip implements http.RoundTripper.
func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "http" && !g.useHTTP && !loopback(r.URL) {
		return nil, ErrPlainHTTP
	}
	return g.next.RoundTrip(r)
}

func loopback(u *url.URL) bool {
	h := u.Hostname()
	if h == "localhost" || strings.HasSuffix(h, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(h)
	return err == nil && addr.IsLoopback()
}
