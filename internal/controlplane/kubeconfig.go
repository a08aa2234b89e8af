package controlplane

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/example/mysdk/internal/cluster/state"
)

// writeKubeconfig writes the administrator's kubeconfig, with everything in
// one file. The context's namespace stays as the user has set it, and so do the
// entries of others, but the current context is the cluster's: its file is for that.
func writeKubeconfig(file string, s state.State, k pki) error {
	own := kubeconfigOf(s, k, &clientcmdapi.AuthInfo{ClientCertificateData: k.admin.cert, ClientKeyData: k.admin.key})
	name := own.CurrentContext
	config, err := clientcmd.LoadFromFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		config, err = own, nil
	} else if err != nil { // it may be somebody's nevertheless
		config, err = own, os.Rename(file, file+state.BrokenSuffix)
	}
	if was := config.Contexts[name]; was != nil {
		own.Contexts[name].Namespace = cmp.Or(was.Namespace, metav1.NamespaceDefault)
	}
	config.Clusters[name], config.AuthInfos[name], config.Contexts[name] = own.Clusters[name], own.AuthInfos[name], own.Contexts[name]
	config.CurrentContext = name
	var data []byte
	if err == nil {
		data, err = clientcmd.Write(*config)
	}
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

// handleCredentials answers on the control socket. Who reaches it can read the
// administrator's kubeconfig, too.
func (s *server) handleCredentials(mux *http.ServeMux) {
	mux.HandleFunc("POST "+state.CredentialsPath, func(w http.ResponseWriter, r *http.Request) {
		var u state.User
		if err := json.NewDecoder(r.Body).Decode(&u); err != nil || u.Name == "" {
			http.Error(w, "name a user", http.StatusUnprocessableEntity)
			return
		}
		data, err := s.userKubeconfig(u, time.Now())
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		_, _ = w.Write(data) // ignore write errors: the client is gone
	})
}

func (s *server) userKubeconfig(u state.User, now time.Time) ([]byte, error) {
	var p pair
	if err := p.issue(clientTemplate(u.Name, u.Groups...), now, &s.keys.ca); err != nil {
		return nil, fmt.Errorf("issue a certificate for %s: %w", u.Name, err)
	}
	who := clientcmdapi.AuthInfo{ClientCertificateData: p.cert, ClientKeyData: p.key}
	if u.AuthProvider != "" {
		who.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: u.AuthProvider}
	}
	return clientcmd.Write(*kubeconfigOf(s.now, s.keys, &who))
}
