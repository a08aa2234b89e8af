package hostpods

import (
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// apiAccess is how a program reaches the API server.
type apiAccess struct {
	server string // URL
	ca     []byte // PEM
}

// kubeconfig writes the container's kubeconfig to file. It stands in for the
// variables and files that are found inside a container only. The user is the
// pod's service account by its token file, or nobody where the pod has said
// that it wants no token.
func (a apiAccess) kubeconfig(file string, pod *corev1.Pod, c *corev1.Container, mounts map[string]string) error {
	const name = "pod"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: a.server, CertificateAuthorityData: a.ca}
	config.AuthInfos[name] = clientcmdapi.NewAuthInfo()
	if slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == tokenPath }) {
		config.AuthInfos[name].TokenFile = filepath.Join(mounts[tokenPath], "token")
	}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: pod.Namespace}
	config.CurrentContext = name
	return clientcmd.WriteToFile(*config, file)
}
