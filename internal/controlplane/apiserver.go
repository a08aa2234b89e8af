package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/mod/semver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	cliflag "k8s.io/component-base/cli/flag"
	apiapp "k8s.io/kubernetes/cmd/kube-apiserver/app"
	apioptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"
	schedulingrest "k8s.io/kubernetes/pkg/registry/scheduling/rest"

	"github.com/example/mysdk/internal/controlplane/hostpods"
	"github.com/example/mysdk/internal/controlplane/olm"
	"github.com/example/mysdk/internal/controlplane/removedapis"
	"github.com/example/mysdk/internal/controlplane/supervise"
)

// defaultHistory is for how long etcd keeps old states at least, and half of
// how long at most. It maps its file into memory, where five minutes, the stock
// value, of coming and going CRDs are tens of megabytes. Only a watch or a list
// in pages that pauses for longer has to start over.
const defaultHistory = 10 * time.Second

// slowHooks are post-start hooks that begin with a second's sleep. bootstrap
// does their work for data that this version has written before.
func slowHooks() []string {
	return []string{rbacrest.PostStartHookName, schedulingrest.PostStartHookName}
}

// runAPIServer runs kube-apiserver on the listener that was opened before.
// stockHooks leaves the default RBAC rules to the server itself, which also
// brings those of another version up to date.
func (s *server) runAPIServer(ctx context.Context, stockHooks bool) error {
	config, err := s.apiServerConfig(ctx)
	if err != nil {
		return err
	}
	generic := config.KubeAPIs.ControlPlane.Generic
	if !stockHooks {
		generic.DisabledPostStartHooks.Insert(slowHooks()...)
	}
	if s.kubelet, err = hostpods.NewKubelet(s.keys.server.cert, s.keys.server.key, s.log); err != nil {
		return err
	}
	s.kubelet.Processes = s.processes
	s.parts.Run("the simulated kubelet", s.kubelet.Serve)
	config.KubeAPIs.Extra.KubeletClientConfig.Lookup = s.kubelet.Lookup

	return serveAPI(ctx, config)
}

func serveAPI(ctx context.Context, config *apiapp.Config) error {
	completed, err := config.Complete()
	if err != nil {
		return fmt.Errorf("complete the configuration: %w", err)
	}
	chain, err := apiapp.CreateServerChain(completed)
	if err != nil {
		return fmt.Errorf("create the server: %w", err)
	}
	prepared, err := chain.PrepareRun()
	if err != nil {
		return fmt.Errorf("prepare the server: %w", err)
	}
	return prepared.Run(ctx)
}

func (s *server) apiServerConfig(ctx context.Context) (*apiapp.Config, error) {
	// The only seam there is for webhooks that name a Service.
	apiapp.SetServiceResolverForTests(serviceResolver{ctx, s.client, s.local, s.processes, s.name()})
	o := apioptions.NewServerRunOptions()
	s.admit(o)
	if err := parseFlags(o.Flags(), s.apiServerFlags()); err != nil {
		return nil, err
	}
	o.SecureServing.Listener, o.SecureServing.BindPort = s.listener, s.now.Port
	config, err := configureAPI(ctx, o, behavedAs(s.Kubernetes))
	if err == nil {
		s.record(config)
		loopbackOnly(config.KubeAPIs.ControlPlane.ProxyTransport, map[string]dialFunc{
			metricsAddress: func(ctx context.Context, network, address string) (net.Conn, error) {
				return s.kubelet.Dial(ctx, network, address)
			},
		})
	}
	return config, err
}

// admit adds admission plugins of our own: first those that say which pods the
// scheduler and KWOK are to leave alone, last the recorder.
func (s *server) admit(o *apioptions.ServerRunOptions) {
	generic := o.Admission.GenericAdmission
	register := func(name string, plugin admission.Interface) []string {
		generic.Plugins.Register(name, func(io.Reader) (admission.Interface, error) { return plugin, nil })
		return []string{name}
	}
	generic.RecommendedPluginOrder = slices.Concat(
		register(olm.Admission()), register(hostpods.Admission(s.processes.Programs)),
		generic.RecommendedPluginOrder, register(s.recorder.Admission()))
}

// record puts the recorder into the way of all requests, behind it what injects
// faults, and before it what renames removed versions: the aggregator's chain of
// handlers is that of all three servers.
func (s *server) record(config *apiapp.Config) {
	for _, c := range genericConfigs(config) {
		c.Authorization.Authorizer = s.recorder.Authorizer(c.Authorization.Authorizer)
	}
	c := &config.Aggregator.GenericConfig.Config
	build := c.BuildHandlerChainFunc
	c.BuildHandlerChainFunc = func(h http.Handler, c *genericserver.Config) http.Handler {
		h = s.recorder.Filter(build(s.faults.Filter(h), c))
		if s.RemovedAPIs {
			h = removedapis.Filter(h)
		}
		return h
	}
}

// genericConfigs are those of the three servers that are one API server.
func genericConfigs(config *apiapp.Config) []*genericserver.Config {
	return []*genericserver.Config{
		config.KubeAPIs.ControlPlane.Generic, &config.ApiExtensions.GenericConfig.Config, &config.Aggregator.GenericConfig.Config,
	}
}

func configureAPI(ctx context.Context, o *apioptions.ServerRunOptions, version string) (*apiapp.Config, error) {
	if err := o.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, fmt.Errorf("set the feature gates: %w", err)
	}
	completed, err := o.Complete(ctx)
	if err != nil {
		return nil, fmt.Errorf("complete the options: %w", err)
	}
	if err := errors.Join(completed.Validate()...); err != nil {
		return nil, fmt.Errorf("validate the options: %w", err)
	}
	config, err := apiapp.NewConfig(completed)
	if err != nil {
		return nil, fmt.Errorf("make the configuration: %w", err)
	}
	for _, c := range genericConfigs(config) {
		c.EffectiveVersion = reported{c.EffectiveVersion, version}
	}
	return config, nil
}

// apiServerFlags are those that make a full API server small: one address, one user,
// no fairness among clients, and no watch cache for kinds that are hardly read.
func (s *server) apiServerFlags() []string {
	flags := []string{
		"--etcd-servers=" + s.etcdURL,
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		"--tls-cert-file=" + s.keys.server.certFile, "--tls-private-key-file=" + s.keys.server.keyFile,
		"--client-ca-file=" + s.keys.ca.certFile,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + s.keys.saKey, "--service-account-signing-key-file=" + s.keys.saKey,
		"--service-cluster-ip-range=" + hostpods.ServiceNetwork,
		"--authorization-mode=RBAC",
		"--allow-privileged=true",
		"--endpoint-reconciler-type=none",
		"--kubelet-preferred-address-types=InternalIP",
		// How aggregated APIs know that a request comes from here, and whose it is.
		"--requestheader-client-ca-file=" + s.keys.proxyCA.certFile, "--requestheader-allowed-names=" + frontProxyName,
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + s.keys.proxy.certFile, "--proxy-client-key-file=" + s.keys.proxy.keyFile,
		// One user with every right: nobody to be fair to.
		"--enable-priority-and-fairness=false",
		"--watch-cache-sizes=" + strings.Join(uncached(), ","),
		"--etcd-compaction-interval=" + cmp.Or(s.History, defaultHistory).String(),
		// The node lifecycle controller, which would take the taint off again,
		// does not run.
		"--disable-admission-plugins=TaintNodesByCondition",
	}
	if s.Kubernetes == "" || semver.Compare("v"+s.Kubernetes, "v1.34") >= 0 { // which has it
		// It prices lists for the fairness that is off, in a goroutine for each
		// kind which outlives the kind's CRD.
		flags = append(flags, "--feature-gates=SizeBasedListCostEstimate=false")
	}
	return append(flags, emulationFlags(s.Kubernetes)...)
}

// uncached are kinds that are watched in etcd. The cache keeps the last hundred
// states of a kind's objects, and all of the last 75 seconds in a ring that
// grows and never shrinks. Those of CRDs and of OLM's kinds are large, and many
// for each bundle that comes or goes; ClusterRoles are rewritten by what
// aggregates them.
func uncached() []string {
	kinds := append(olm.CRDs(), "customresourcedefinitions.apiextensions.k8s.io", "clusterroles.rbac.authorization.k8s.io")
	for i, k := range kinds {
		kinds[i] = k + "#0"
	}
	return kinds
}

// parseFlags sets a component's options as its command line would, on a flag
// set of its own: the global one carries flags of every linked package.
func parseFlags(sets cliflag.NamedFlagSets, args []string) error {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, set := range sets.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("set the options: %w", err)
	}
	return nil
}

// waitServing waits until the API server answers requests for objects. It does
// so some time before it calls itself ready, which the rest need not wait for.
func waitServing(ctx context.Context, client kubernetes.Interface) error {
	return supervise.Poll(ctx, func() bool {
		_, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{Limit: 1})
		return err == nil
	})
}
