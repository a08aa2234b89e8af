package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/credentialprovider"
	credentialsecrets "k8s.io/kubernetes/pkg/credentialprovider/secrets"
)

const (
	// RegistryCAAnnotation on a CatalogSource names a Secret beside it that has
	// the CA of the registries of its image and its bundles under cert.pem.
	RegistryCAAnnotation = "mysdk.dev/registry-ca"
	// RegistryTLSAnnotation says what else these registries are spoken to by:
	// skip-verify, plain-http, or both with a comma between.
	RegistryTLSAnnotation = "mysdk.dev/registry-tls"

	registryCAKey = "cert.pem"
)

// pullAccess says how registries are spoken to for one catalog. The zero value
// has the credentials of the user of this machine, and trusts whom it trusts.
type pullAccess struct {
	keys       authn.Keychain // before those of the user; nil: none
	ca         *x509.CertPool
	skipVerify bool
	plainHTTP  bool
	missing    []string // Secrets that are not there
}

// accessOf reads what a CatalogSource's annotations and pull secrets say. A
// pull secret that is not there is left out, as a kubelet does.
func accessOf(ctx context.Context, client kubernetes.Interface, namespace string, secrets []string, annotations map[string]string) (pullAccess, error) {
	var a pullAccess
	ways := strings.Split(annotations[RegistryTLSAnnotation], ",")
	a.skipVerify, a.plainHTTP = slices.Contains(ways, "skip-verify"), slices.Contains(ways, "plain-http")
	var found []corev1.Secret
	for _, secret := range secrets {
		s, err := client.CoreV1().Secrets(namespace).Get(ctx, secret, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			a.missing = append(a.missing, namespace+"/"+secret)
		case err != nil:
			return a, fmt.Errorf("read pull secret %s: %w", secret, err)
		default:
			found = append(found, *s)
		}
	}
	ring, err := credentialsecrets.MakeDockerKeyring(found, &credentialprovider.BasicDockerKeyring{})
	if err != nil {
		return a, fmt.Errorf("read the pull secrets %s: %w", strings.Join(secrets, ", "), err)
	}
	a.keys = keyring{ring}
	if ca := annotations[RegistryCAAnnotation]; ca != "" {
		a.ca, err = authorities(ctx, client, namespace, ca)
	}
	return a, err
}

// authorities are those that this machine trusts, and those of a Secret.
func authorities(ctx context.Context, client kubernetes.Interface, namespace, secret string) (*x509.CertPool, error) {
	s, err := client.CoreV1().Secrets(namespace).Get(ctx, secret, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the CA of the registry: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // a machine without any
	}
	if !pool.AppendCertsFromPEM(s.Data[registryCAKey]) {
		return nil, fmt.Errorf("Secret %s/%s has no certificate under %s", namespace, secret, registryCAKey)
	}
	return pool, nil
}

// keyring has the credentials of pull secrets, found as a kubelet finds them.
type keyring struct {
	credentialprovider.DockerKeyring
}

// Resolve implements authn.Keychain.
func (k keyring) Resolve(r authn.Resource) (authn.Authenticator, error) {
	found, ok := k.Lookup(r.String())
	if !ok || len(found) == 0 {
		return authn.Anonymous, nil
	}
	c := found[0]
	return authn.FromConfig(authn.AuthConfig{
		Username: c.Username, Password: c.Password, Auth: c.Auth, IdentityToken: c.IdentityToken, RegistryToken: c.RegistryToken,
	}), nil
}

// parse reads an image's name.
func (a pullAccess) parse(ref string) (name.Reference, error) {
	if a.plainHTTP {
		return name.ParseReference(ref, name.Insecure)
	}
	return name.ParseReference(ref)
}

// options are those of a talk with a registry.
func (a pullAccess) options(ctx context.Context) []remote.Option {
	var transport http.RoundTripper = remote.DefaultTransport
	if t, ok := transport.(*http.Transport); ok && (a.ca != nil || a.skipVerify) {
		own := t.Clone()
		own.TLSClientConfig = &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: a.ca,
			InsecureSkipVerify: a.skipVerify, //nolint:gosec // the user's own wish, for one catalog
		}
		transport = own
	}
	var keys authn.Keychain = authn.DefaultKeychain
	if a.keys != nil {
		keys = authn.NewMultiKeychain(a.keys, keys)
	}
	return []remote.Option{
		remote.WithContext(ctx), remote.WithAuthFromKeychain(keys), remote.WithTransport(plainHTTPGuard{transport, a.plainHTTP}), remote.WithUserAgent("mysdk"),
	}
}

// explain adds to a failed pull what was missing for it.
func (a pullAccess) explain(err error) error {
	if err == nil || len(a.missing) == 0 {
		return err
	}
	return fmt.Errorf("%w (the pull secrets %s are not there)", err, strings.Join(a.missing, ", "))
}

// plainHTTPGuard refuses plain http with other machines unless that is wanted:
// the library would use it, password included, with every private address.
type plainHTTPGuard struct {
	next    http.RoundTripper
	allowed bool
}

// RoundTrip implements http.RoundTripper.
func (g plainHTTPGuard) RoundTrip(r *http.Request) (*http.Response, error) {
	host := r.URL.Hostname()
	if r.URL.Scheme == "http" && !g.allowed && host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return nil, errors.New("plain http is for this machine only")
	}
	return g.next.RoundTrip(r)
}
