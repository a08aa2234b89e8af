package controlplane

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/example/mysdk/internal/cluster/state"
)

// writeKubeconfig writes the administrator's kubeconfig, with everything in
// one file. The context's namespace stays as the user has set it.
func writeKubeconfig(file string, s state.State, k pki) error {
	admin := clientcmdapi.AuthInfo{ClientCertificateData: k.admin.cert, ClientKeyData: k.admin.key}
	config := kubeconfigOf(s, k, &admin)
	if old, err := clientcmd.LoadFromFile(file); err == nil { // else there is none yet, or none that can be used
		if was := old.Contexts[config.CurrentContext]; was != nil {
			config.Contexts[config.CurrentContext].Namespace = cmp.Or(was.Namespace, metav1.NamespaceDefault)
		}
	}
	data, err := clientcmd.Write(*config)
	if err == nil {
		err = state.WriteFile(file, data)
	}
	if err != nil {
		return fmt.Errorf("write the cluster's kubeconfig: %w", err)
	}
	return nil
}

// kubeconfigOf is the cluster's kubeconfig for one user.
func kubeconfigOf(s state.State, k pki, user *clientcmdapi.AuthInfo) *clientcmdapi.Config {
	name := state.ContextName(s.Name)
	c := clientcmdapi.NewConfig()
	c.Clusters[name] = &clientcmdapi.Cluster{Server: s.Server, CertificateAuthorityData: k.ca.cert}
	c.AuthInfos[name] = user
	c.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: metav1.NamespaceDefault}
	c.CurrentContext = name
	return c
}

// connect makes a client with the administrator's rights and no rate limit:
// it and the server are one process.
func connect(server string, k pki) (kubernetes.Interface, error) {
	config := adminConfig(server, k)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	return client, nil
}

// adminConfig is the way to the API server with the administrator's rights and
// no rate limit, for clients of custom resources.
func adminConfig(server string, k pki) *rest.Config {
	return &rest.Config{
		Host: server, QPS: -1, UserAgent: "mysdk-cluster",
		TLSClientConfig: rest.TLSClientConfig{CAData: k.ca.cert, CertData: k.admin.cert, KeyData: k.admin.key},
	}
}
