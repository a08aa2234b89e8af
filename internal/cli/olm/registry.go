package olm

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/olm/run"
	"github.com/example/mysdk/internal/registry"
)

// registryOptions are the flags that say how registries are spoken to.
type registryOptions struct {
	pullSecret, caSecret            string
	skipTLS, skipTLSVerify, useHTTP bool
}

func (o *registryOptions) bindRegistry(fs *pflag.FlagSet) {
	fs.StringVar(&o.pullSecret, "pull-secret-name", "", "Secret with the registry's credentials, for this command, the catalog and the operator; created from your docker login if missing")
	fs.StringVar(&o.caSecret, "ca-secret-name", "", "Secret with the certificate of the registry's CA under cert.pem, for this command and the embedded cluster")
	fs.BoolVar(&o.skipTLS, "skip-tls", false, "operator-sdk's older name of --use-http")
	fs.BoolVar(&o.skipTLSVerify, "skip-tls-verify", false, "skip TLS verification of registries (insecure)")
	fs.BoolVar(&o.useHTTP, "use-http", false, "plain http with any registry, not only with one on this machine")
}

// plainHTTP reports whether registries may speak plain http wherever they are.
func (o *registryOptions) plainHTTP() bool { return o.useHTTP || o.skipTLS }

// reach says how this command speaks to registries. Secrets of the cluster have
// a part in that, and then it is connected to first; the client is nil where it
// need not be.
func reach(ctx context.Context, f *cli.Factory, o *runBundleOptions) (registry.Access, *kube.Client, error) {
	access := registry.Access{UseHTTP: o.plainHTTP(), SkipVerify: o.skipTLSVerify}
	if o.pullSecret == "" && o.caSecret == "" {
		return access, nil, nil
	}
	client, err := f.Connect(ctx, &o.Target, false)
	if err != nil {
		return access, nil, err
	}
	namespace := cmp.Or(o.namespace, client.Namespace)
	if o.pullSecret != "" {
		data, made, err := run.PullSecret(ctx, client, namespace, o.pullSecret)
		if err == nil && data != nil {
			access.Credentials, err = registry.ParseCredentials(data)
		}
		if err != nil {
			return access, nil, fmt.Errorf("--pull-secret-name: Secret %s/%s: %w", namespace, o.pullSecret, err)
		}
		if made { // a later login on this machine counts more
			access.Credentials = registry.MachineFirst(access.Credentials)
		}
	}
	if o.caSecret != "" {
		data, err := run.CASecret(ctx, client, namespace, o.caSecret)
		if err == nil {
			access.CA, err = registry.Authorities(data)
		}
		if err != nil {
			return access, nil, fmt.Errorf("--ca-secret-name: Secret %s/%s: %w", namespace, o.caSecret, err)
		}
	}
	return access, client, nil
}

// tellNodes warns of pulls that this command has no say in: those of a cluster's nodes.
func tellNodes(f *cli.Factory, o *runBundleOptions) {
	flag := ""
	switch {
	case o.skipTLSVerify:
		flag = "--skip-tls-verify"
	case o.caSecret != "":
		flag = "--ca-secret-name"
	case o.plainHTTP():
		flag = "--use-http"
	}
	var pulled string
	switch {
	case flag == "":
		return
	case !o.noPush:
		pulled = "the catalog's image, unless you add --no-push"
	case o.indexImage != "":
		pulled = "the bundles that the operator depends on"
	default:
		return
	}
	f.Warn("%s is for this command: the nodes of the cluster pull %s, and their container runtime has to accept the registry by its own settings", flag, pulled)
}
