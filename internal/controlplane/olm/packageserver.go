package olm

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"time"

	"github.com/operator-framework/operator-lifecycle-manager/pkg/lib/queueinformer"
	packages "github.com/operator-framework/operator-lifecycle-manager/pkg/package-server/apiserver"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/package-server/apiserver/generic"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/package-server/provider"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/authentication/user"
	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/example/mysdk/internal/controlplane/supervise"
)

const (
	// packageService is the Service of the packageserver, in OLM's namespace.
	packageService = "packageserver-service"
	// packageSecret is where OLM puts the certificate that the Service's clients trust.
	packageSecret = "packageserver-service-cert"
	// packageResync is how often all catalogs are read again; OLM's default.
	packageResync = 12 * time.Hour
	// packageGrace bounds how long an end waits for open connections.
	packageGrace = 2 * time.Second
)

// packageServer is OLM's aggregated API, which lists the packages of all
// catalogs. It runs while OLM keeps a certificate for it, which is while its
// ClusterServiceVersion is there, and with each new one again.
type packageServer struct {
	*olm
	namespace string
	parts     *supervise.Supervisor
	cert      []byte // that it runs with
	stop      func() // ends it; nil while it does not run
}

// watchPackageServer starts and stops the packageserver as its certificate comes and goes.
func (o *olm) watchPackageServer(parts *supervise.Supervisor, namespace string) {
	p := &packageServer{olm: o, namespace: namespace, parts: parts}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(o.Client.CoreV1().RESTClient(), "secrets", namespace,
			fields.OneTermEqualSelector("metadata.name", packageSecret)),
		ObjectType: &corev1.Secret{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    p.changed,
			UpdateFunc: func(_, object any) { p.changed(object) },
			DeleteFunc: func(any) { p.end() },
		},
	})
	parts.Run("the watch for the packageserver", func(ctx context.Context) error {
		informer.RunWithContext(ctx)
		p.end()
		return context.Cause(ctx)
	})
}

// changed starts the server with the Secret's certificate unless it runs with
// it. It and end are called by the informer, one after the other.
func (p *packageServer) changed(object any) {
	secret, ok := object.(*corev1.Secret)
	if !ok || bytes.Equal(secret.Data[corev1.TLSCertKey], p.cert) {
		return
	}
	p.end()
	if err := p.begin(secret); err != nil {
		p.Log.Printf("the packageserver does not run: %v", err)
	}
}

func (p *packageServer) end() {
	if p.stop == nil {
		return
	}
	p.stop()
	p.stop, p.cert = nil, nil
}

func (p *packageServer) begin(secret *corev1.Secret) error {
	cert, key := secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]
	served, err := dynamiccertificates.NewStaticCertKeyContent(packageSecret, cert, key)
	if err != nil {
		return fmt.Errorf("its certificate: %w", err)
	}
	p.cert = cert
	p.stop = p.keep(p.parts.Ctx, "the packageserver", func(ctx context.Context) error {
		defer p.Serve(p.namespace, packageService, "")
		return p.listen(ctx, served)
	})
	return nil
}

// listen serves on a port of its own until ctx ends.
func (p *packageServer) listen(ctx context.Context, cert dynamiccertificates.CertKeyContentProvider) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close() //nolint:errcheck // the server has closed it, unless it did not come up
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	config, err := p.configure(l, cert)
	if err != nil {
		return fmt.Errorf("configure it: %w", err)
	}
	queues, err := queueinformer.NewOperator(p.custom.Discovery(), queueinformer.WithOperatorLogger(newLogrus(p.Out, p.Verbosity)))
	if err != nil {
		return err
	}
	if err := mute(queues); err != nil {
		return err
	}
	catalogs, err := provider.NewRegistryProvider(ctx, p.custom, queues, packageResync, p.namespace)
	if err != nil {
		return err
	}
	config.ProviderConfig.Provider = catalogs
	server, err := config.Complete(informers.NewSharedInformerFactory(p.Client, 0)).New()
	if err != nil {
		return err
	}
	server.GenericAPIServer.ShutdownTimeout = packageGrace
	catalogs.Run(ctx)
	<-catalogs.Ready()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p.Serve(p.namespace, packageService, l.Addr().String())
	err = server.GenericAPIServer.PrepareRun().RunWithContext(ctx)
	cancel() // where the server has ended first
	<-catalogs.Done()
	return err
}

// configure lets the API server in, with the user that it speaks for, and asks
// it for that user's rights, as for any aggregated API.
func (p *packageServer) configure(l net.Listener, cert dynamiccertificates.CertKeyContentProvider) (*packages.Config, error) {
	config := genericserver.NewConfig(generic.Codecs)
	serving := genericoptions.NewSecureServingOptions().WithLoopback()
	serving.Listener, serving.ServerCert.GeneratedCert = l, cert
	serving.BindPort = l.Addr().(*net.TCPAddr).Port
	if err := serving.ApplyTo(&config.SecureServing, &config.LoopbackClientConfig); err != nil {
		return nil, err
	}
	authentication := genericoptions.NewDelegatingAuthenticationOptions()
	authentication.RemoteKubeConfigFile = p.Kubeconfig
	if err := authentication.ApplyTo(&config.Authentication, config.SecureServing, nil); err != nil {
		return nil, err
	}
	authorization := genericoptions.NewDelegatingAuthorizationOptions().
		WithAlwaysAllowPaths("/healthz", "/readyz", "/livez").WithAlwaysAllowGroups(user.SystemPrivilegedGroup)
	authorization.RemoteKubeConfigFile = p.Kubeconfig
	if err := authorization.ApplyTo(&config.Authorization); err != nil {
		return nil, err
	}
	return &packages.Config{GenericConfig: config}, nil
}
