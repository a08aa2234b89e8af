package olm

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/credentialprovider"
	credentialsecrets "k8s.io/kubernetes/pkg/credentialprovider/secrets"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/registry"
)

// pullAccess says how registries are spoken to for one catalog.
type pullAccess struct {
	registry.Access
	missing []string // Secrets that are not there
}

// accessOf reads what a CatalogSource's annotations and pull secrets say. A
// pull secret that is not there is left out, as a kubelet does.
func accessOf(ctx context.Context, client kubernetes.Interface, namespace string, secrets []string, annotations map[string]string) (pullAccess, error) {
	var a pullAccess
	ways := strings.Split(annotations[state.RegistryTLSAnnotation], ",")
	a.SkipVerify, a.UseHTTP = slices.Contains(ways, "skip-verify"), slices.Contains(ways, "plain-http")
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
	a.Credentials = keyring{ring}
	if ca := annotations[state.RegistryCAAnnotation]; ca != "" {
		a.CA, err = authorities(ctx, client, namespace, ca)
	}
	return a, err
}

// authorities are those that this machine trusts, and those of a Secret.
func authorities(ctx context.Context, client kubernetes.Interface, namespace, secret string) (*x509.CertPool, error) {
	s, err := client.CoreV1().Secrets(namespace).Get(ctx, secret, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the CA of the registry: %w", err)
	}
	pool, err := registry.Authorities(s.Data[state.RegistryCAKey])
	if err != nil {
		return nil, fmt.Errorf("read %s of Secret %s/%s: %w", state.RegistryCAKey, namespace, secret, err)
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

// explain adds to a failed pull what was missing for it.
func (a pullAccess) explain(err error) error {
	if err == nil || len(a.missing) == 0 {
		return err
	}
	return fmt.Errorf("%w (pull secrets not found: %s)", err, strings.Join(a.missing, ", "))
}
