package olm

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/credentialprovider"
	credentialsecrets "k8s.io/kubernetes/pkg/credentialprovider/secrets"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/registry"
)

// images finds the images of catalogs and bundles: among those that mysdk has built on
// this machine, in a directory with an OCI layout for each, else in their registry.
type images string

// get returns an image. Only its manifest is read before its files are.
func (i images) get(ctx context.Context, ref string, access pullAccess) (v1.Image, error) {
	var options []name.Option
	if access.UseHTTP {
		options = append(options, name.Insecure)
	}
	parsed, err := name.ParseReference(ref, options...)
	if err != nil {
		return nil, err
	}
	img, err := i.stored(parsed)
	if img != nil || err != nil {
		return img, err
	}
	if img, err = fetchImage(parsed, access.Options(ctx)); err != nil {
		return nil, access.explain(fmt.Errorf("pull image %s: %w", ref, err))
	}
	return img, nil
}

// fetchImage reads an image from its registry, for whatever platform it is there.
func fetchImage(ref name.Reference, options []remote.Option) (v1.Image, error) {
	found, err := remote.Get(ref, options...)
	if err != nil {
		return nil, err
	}
	if !found.MediaType.IsIndex() {
		return found.Image()
	}
	index, err := found.ImageIndex()
	if err != nil {
		return nil, err
	}
	return registry.Pick(index)
}

// stored finds an image in the store; nil where it is not there.
func (i images) stored(ref name.Reference) (v1.Image, error) {
	dir := filepath.Join(string(i), registry.FileKey(ref.Name()))
	if _, err := os.Stat(filepath.Join(dir, "origin.json")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("open image %s in the store: %w", ref, err)
	}
	return registry.Pick(index)
}

// label reads a label of an image; fallback where it has none.
func label(img v1.Image, key, fallback string) (string, error) {
	config, err := img.ConfigFile()
	if err != nil {
		return "", fmt.Errorf("read the image's labels: %w", err)
	}
	if v := config.Config.Labels[key]; v != "" {
		return v, nil
	}
	return fallback, nil
}

// extract puts the regular files below some directories of an image into
// directories of this machine. dirs maps the ones to the others.
func extract(img v1.Image, dirs map[string]string) error {
	files := mutate.Extract(img)
	err := extractTar(files, dirs)
	return errors.Join(err, files.Close())
}

func extractTar(files io.Reader, dirs map[string]string) error {
	err := registry.Walk(files, slices.Collect(maps.Keys(dirs)), registry.FilesLimit, func(file string, content io.Reader) error {
		if target := targetOf(file, dirs); target != "" {
			return copyOut(content, target)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("unpack the image: %w", err)
	}
	return nil
}

// targetOf is where a file of an image goes; "" for nowhere.
func targetOf(file string, dirs map[string]string) string {
	for from, to := range dirs {
		if rest, ok := strings.CutPrefix("/"+file, path.Clean("/"+from)+"/"); ok && filepath.IsLocal(filepath.FromSlash(rest)) { // on Windows not with a backslash
			return filepath.Join(to, filepath.FromSlash(rest))
		}
	}
	return ""
}

func copyOut(from io.Reader, target string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

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
