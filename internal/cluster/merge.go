package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/example/mysdk/internal/clierr"
)

// mergeKubeconfig returns the kubeconfig old with the context, cluster and
// user of that name taken from add. The entries of others in old stay as they are,
// and a context of this cluster, whose namespace may be the user's choice. Where old
// has no contexts, this one becomes the current one, if current says so. Entries of
// that name that are another cluster's are an error.
func mergeKubeconfig(old, add []byte, name string, current bool) ([]byte, error) {
	config, own, same, err := loadBoth(old, add, name)
	if err != nil {
		return nil, err
	}
	if own.Clusters[name] == nil || own.AuthInfos[name] == nil || own.Contexts[name] == nil {
		return nil, fmt.Errorf("the cluster's kubeconfig has no %s", name)
	}
	if current && len(config.Contexts) == 0 {
		config.CurrentContext = name
	}
	inTheWay := map[string]bool{"clusters": config.Clusters[name] != nil, "users": config.AuthInfos[name] != nil, "contexts": config.Contexts[name] != nil}
	for _, section := range []string{"clusters", "users", "contexts"} {
		if inTheWay[section] && !same {
			return nil, clierr.Failedf(fmt.Sprintf("rename it, or delete it: kubectl config delete-context %[1]s; kubectl config delete-cluster %[1]s; kubectl config delete-user %[1]s", name),
				"%s already exists in its %s and belongs to another cluster", name, section)
		}
	}
	config.Clusters[name], config.AuthInfos[name] = own.Clusters[name], own.AuthInfos[name]
	if config.Contexts[name] == nil {
		config.Contexts[name] = own.Contexts[name]
	}
	return clientcmd.Write(*config)
}

// unmergeKubeconfig returns the kubeconfig old without what mergeKubeconfig took
// from own; nil if there is nothing of it. An entry of the same name with another
// certificate authority is somebody else's cluster.
func unmergeKubeconfig(old, own []byte, name string) ([]byte, error) {
	config, _, same, err := loadBoth(old, own, name)
	if err != nil || !same {
		return nil, err
	}
	delete(config.Clusters, name)
	delete(config.AuthInfos, name)
	delete(config.Contexts, name)
	if config.CurrentContext == name {
		config.CurrentContext = ""
	}
	return clientcmd.Write(*config)
}

// refreshKubeconfig returns the kubeconfig old with the cluster and the user that
// mergeKubeconfig took from before as now has them; nil if there is nothing of it.
// The context stays: its namespace may be the user's choice.
func refreshKubeconfig(old, before, now []byte, name string) ([]byte, error) {
	if _, _, same, err := loadBoth(old, before, name); err != nil || !same {
		return nil, err
	}
	config, own, _, err := loadBoth(old, now, name)
	if err != nil || own.Clusters[name] == nil || own.AuthInfos[name] == nil {
		return nil, err
	}
	config.Clusters[name], config.AuthInfos[name] = own.Clusters[name], own.AuthInfos[name]
	return clientcmd.Write(*config)
}

// loadBoth reads a user's kubeconfig and the cluster's, and reports whether both have the
// same cluster of that name.
func loadBoth(old, own []byte, name string) (config, ours *api.Config, same bool, err error) {
	if ours, err = loadConfig(own); err != nil {
		return nil, nil, false, fmt.Errorf("the cluster's kubeconfig: %w", err)
	}
	if config, err = loadConfig(old); err != nil {
		return nil, nil, false, err
	}
	a, b := config.Clusters[name], ours.Clusters[name]
	same = a != nil && b != nil && len(a.CertificateAuthorityData) > 0 && bytes.Equal(a.CertificateAuthorityData, b.CertificateAuthorityData)
	return config, ours, same, nil
}

// loadConfig reads a kubeconfig that is to be written again. Of several documents only
// the first would be left, and what the library says of two entries of one name has the
// credentials of all of them.
func loadConfig(data []byte) (*api.Config, error) {
	if d, n := yaml.NewDecoder(bytes.NewReader(data)), new(yaml.Node); d.Decode(n) == nil && !errors.Is(d.Decode(n), io.EOF) {
		return nil, errors.New("there is more than one YAML document in it")
	}
	config, err := clientcmd.Load(data)
	if err != nil {
		if said, _, found := strings.Cut(err.Error(), " in list: "); found {
			return nil, errors.New(said)
		}
		return nil, err
	}
	return config, nil
}

// entriesOf returns the kubeconfig data with those entries only that keep wants, nil
// if there are none. Where it does not want the current context, current is that, and
// must be among them.
func entriesOf(data []byte, keep func(name string) bool, current string) ([]byte, error) {
	config, err := loadConfig(data)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(config.Clusters, func(name string, _ *api.Cluster) bool { return !keep(name) })
	maps.DeleteFunc(config.AuthInfos, func(name string, _ *api.AuthInfo) bool { return !keep(name) })
	maps.DeleteFunc(config.Contexts, func(name string, _ *api.Context) bool { return !keep(name) })
	if len(config.Clusters)+len(config.AuthInfos)+len(config.Contexts) == 0 || current != "" && config.Contexts[current] == nil {
		return nil, nil
	}
	if !keep(config.CurrentContext) {
		config.CurrentContext = current
	}
	return clientcmd.Write(*config)
}
