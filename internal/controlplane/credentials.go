package controlplane

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/example/mysdk/internal/cluster/state"
)

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
