package run

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/kube"
)

// checkSecrets refuses names of Secrets and of a service account that are not
// there: OLM would wait for them for ever. A Secret that can be made is.
func (in *installer) checkSecrets(ctx context.Context) error {
	for _, name := range in.PullSecrets {
		u, err := in.reader.Read(ctx, kube.Named("v1", "Secret", in.Namespace, name))
		if err != nil {
			return err
		}
		if u == nil || isOurs(u) { // tokens of registries expire: one of ours is made again
			err = in.makeSecret(name, u)
		} else if _, err = pullSecretData(u); err != nil {
			err = fmt.Errorf("--pull-secret-name: Secret %s/%s: %w", in.Namespace, name, err)
		}
		if err != nil {
			return err
		}
	}
	if in.ServiceAccount == "" {
		return nil
	}
	u, err := in.reader.Read(ctx, kube.Named("v1", "ServiceAccount", in.Namespace, in.ServiceAccount))
	if err == nil && u == nil {
		return clierr.Usagef("create it, or leave the flag out", "--service-account: namespace %s has no ServiceAccount %s", in.Namespace, in.ServiceAccount)
	}
	return err
}

// PullSecret reads the credentials of registries that a Secret has, as docker's
// config.json has them; nil where there is no Secret of that name. made says that a run
// has made it, of what a machine knew then. One of another type is a usage error.
func PullSecret(ctx context.Context, r Reader, namespace, name string) (data []byte, made bool, err error) {
	u, err := r.Read(ctx, kube.Named("v1", "Secret", namespace, name))
	if u == nil || err != nil {
		return nil, false, err
	}
	data, err = pullSecretData(u)
	return data, isOurs(u), err
}

// pullSecretData is the part of a pull secret that holds the credentials.
func pullSecretData(u *unstructured.Unstructured) ([]byte, error) {
	keys := map[string]string{"kubernetes.io/dockerconfigjson": ".dockerconfigjson", "kubernetes.io/dockercfg": ".dockercfg"}
	key, ok := keys[text(u, "type")]
	if !ok {
		return nil, clierr.Usagef("use a Secret of type kubernetes.io/dockerconfigjson", "it is of type %s, which holds no registry's credentials", text(u, "type"))
	}
	return secretKey(u, key)
}

// CASecret reads the certificates in PEM that a Secret has under cert.pem. A
// Secret that is missing, or has none, is a usage error.
func CASecret(ctx context.Context, r Reader, namespace, name string) ([]byte, error) {
	hint := fmt.Sprintf("create it: mysdk kubectl create secret generic -n %s %s --from-file=%s=FILE", namespace, name, state.RegistryCAKey)
	u, err := r.Read(ctx, kube.Named("v1", "Secret", namespace, name))
	if err != nil {
		return nil, err
	}
	if u == nil {
		return nil, clierr.Usagef(hint, "not found")
	}
	data, err := secretKey(u, state.RegistryCAKey)
	if err != nil {
		return nil, clierr.Usagef(hint, "%w", err)
	}
	return data, nil
}

// secretKey is what a Secret has under a key.
func secretKey(u *unstructured.Unstructured, key string) ([]byte, error) {
	value, found, err := unstructured.NestedString(u.Object, "data", key)
	if err != nil || !found {
		return nil, fmt.Errorf("it has no key %s", key)
	}
	data, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return nil, fmt.Errorf("key %s is not in base64", key)
	}
	return data, nil
}

// makeSecret plans a pull secret with the credentials of this machine. Naming
// it is the user's consent to bring them to the cluster. One that is there stays as
// it is where this machine knows none.
func (in *installer) makeSecret(name string, live *unstructured.Unstructured) error {
	images := slices.Clone(in.CatalogImages)
	for _, w := range workloadsOf(in.csv) {
		for _, c := range w.Containers {
			images = append(images, c.Image)
		}
	}
	var data []byte
	var err error
	whose := in.bundle.Package
	if in.Credentials != nil {
		if data, err = in.Credentials(images); err != nil {
			return err
		}
	}
	switch {
	case data == nil && live != nil:
		return nil
	case live != nil:
		in.before.secrets = append(in.before.secrets, live)
		whose = live.GetLabels()[runLabel]
		if data, err = addAuths(data, live); err != nil {
			return err
		}
	case data == nil:
		return clierr.Usagef(fmt.Sprintf("log in with 'docker login' or 'podman login' and run the command again, or create it: mysdk kubectl create secret docker-registry -n %s %s --docker-server=… --docker-username=… --docker-password=…", in.Namespace, name),
			"--pull-secret-name: namespace %s has no Secret %s, and this machine knows no credentials to make it of", in.Namespace, name)
	}
	in.secrets = append(in.secrets, made(whose, "v1", "Secret", in.Namespace, name, map[string]any{
		"type": "kubernetes.io/dockerconfigjson", "data": map[string]any{".dockerconfigjson": base64.StdEncoding.EncodeToString(data)},
	}))
	return nil
}

// addAuths adds to credentials those of other registries that a Secret has: it
// may serve several packages.
func addAuths(data []byte, live *unstructured.Unstructured) ([]byte, error) {
	var all, own struct {
		Auths map[string]json.RawMessage `json:"auths"`
	}
	had, err := pullSecretData(live)
	if err != nil || json.Unmarshal(had, &all) != nil || all.Auths == nil || json.Unmarshal(data, &own) != nil {
		return data, nil //nolint:nilerr // there is nothing to keep
	}
	maps.Copy(all.Auths, own.Auths)
	return json.Marshal(all)
}

// shareSecrets gives the operator's service accounts the pull secrets: OLM makes
// the accounts, and knows of secrets for catalogs only.
func (in *installer) shareSecrets(ctx context.Context) error {
	if len(in.PullSecrets) == 0 {
		return nil
	}
	for _, w := range workloadsOf(in.csv) {
		if w.serviceAccount == "" {
			continue
		}
		account := kube.Named("v1", "ServiceAccount", in.Namespace, w.serviceAccount)
		err := in.client.Edit(ctx, account, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			if live == nil {
				return nil, nil
			}
			has := entries(live, "imagePullSecrets")
			list, _, _ := unstructured.NestedSlice(live.Object, "imagePullSecrets")
			for _, name := range in.PullSecrets {
				if !slices.ContainsFunc(has, func(u *unstructured.Unstructured) bool { return text(u, "name") == name }) {
					list = append(list, map[string]any{"name": name})
				}
			}
			if len(list) == len(has) {
				return nil, nil
			}
			return live, unstructured.SetNestedSlice(live.Object, list, "imagePullSecrets")
		})
		if err != nil {
			return err
		}
	}
	return nil
}
