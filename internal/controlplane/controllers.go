package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/controller-manager/pkg/healthz"
	"k8s.io/klog/v2"
	kcmapp "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kcmconfig "k8s.io/kubernetes/cmd/kube-controller-manager/app/config"
	kcmoptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	schedapp "k8s.io/kubernetes/cmd/kube-scheduler/app"
	schedoptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	sacontroller "k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/serviceaccount"

	"github.com/example/mysdk/internal/controlplane/hostpods"
	"github.com/example/mysdk/internal/controlplane/supervise"
)

// enabledControllers are those whose work shows in a cluster whose nodes are
// simulated. What is left out deals with real nodes, clouds and their networks.
func enabledControllers() []string {
	return []string{
		names.EndpointsController, names.EndpointSliceController, names.EndpointSliceMirroringController,
		names.ReplicationControllerController, names.PodGarbageCollectorController, names.ResourceQuotaController,
		names.NamespaceController, names.ServiceAccountController, names.GarbageCollectorController,
		names.DaemonSetController, names.JobController, names.DeploymentController, names.ReplicaSetController,
		names.HorizontalPodAutoscalerController, names.DisruptionController, names.StatefulSetController,
		names.CronJobController, names.ClusterRoleAggregationController, names.TTLAfterFinishedController,
		names.RootCACertificatePublisherController, names.CertificateSigningRequestSigningController,
		names.CertificateSigningRequestCleanerController,
		names.ValidatingAdmissionPolicyStatusController, names.StorageVersionMigratorController, names.TaintEvictionController,
		// Binding of claims, and the controllers that take off the finalizers
		// which admission puts on claims, volumes and their classes.
		names.PersistentVolumeBinderController, names.EphemeralVolumeController,
		names.PersistentVolumeClaimProtectionController, names.PersistentVolumeProtectionController,
		names.VolumeAttributesClassProtectionController,
	}
}

// startControllers starts the controllers and the scheduler and returns when
// they have seen the cluster.
func (s *server) startControllers(ctx context.Context) error {
	synced := make(chan struct{})
	s.parts.Run("kube-controller-manager", func(ctx context.Context) error { return s.runControllers(ctx, synced) })
	s.parts.Run("kube-scheduler", s.runScheduler)
	select {
	case <-synced:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	// The first thing every pod needs, made by the last controller in line.
	err := supervise.Poll(ctx, func() bool {
		_, err := s.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	})
	if err != nil {
		return err
	}
	s.tracker.stage("controllers")
	return nil
}

// runControllers runs the controllers of kube-controller-manager without
// leader election and closes synced when their caches are filled.
func (s *server) runControllers(ctx context.Context, synced chan<- struct{}) error {
	config, err := s.controllerConfig(ctx)
	if err != nil {
		return err
	}
	config.EventBroadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: config.Client.CoreV1().Events("")})
	defer config.EventBroadcaster.Shutdown()

	clients := clientbuilder.SimpleControllerClientBuilder{ClientConfig: config.Kubeconfig}
	cc, err := kcmapp.CreateControllerContext(ctx, config, clients, clients)
	if err != nil {
		return fmt.Errorf("make the controllers' context: %w", err)
	}
	if cc.GraphBuilder, err = graphBuilder(ctx, cc); err != nil {
		return fmt.Errorf("make the graph of owners: %w", err)
	}
	controllers, err := s.buildControllers(ctx, cc)
	if err != nil {
		return err
	}
	cc.InformerFactory.Start(ctx.Done())
	cc.ObjectOrMetadataInformerFactory.Start(ctx.Done())
	close(cc.InformersStarted)
	go func() {
		cc.InformerFactory.WaitForCacheSync(ctx.Done())
		close(synced)
	}()
	kcmapp.RunControllers(ctx, cc, controllers, 0, 0)
	return errors.New("all controllers returned")
}

func (s *server) controllerConfig(ctx context.Context) (*kcmconfig.CompletedConfig, error) {
	o, err := kcmoptions.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, fmt.Errorf("make the options: %w", err)
	}
	known, off, aliases := kcmapp.KnownControllers(), kcmapp.ControllersDisabledByDefault(), kcmapp.ControllerAliases()
	err = parseFlags(o.Flags(known, off, aliases), []string{
		"--kubeconfig=" + s.layout.OwnKubeconfig(), "--leader-elect=false", "--secure-port=0",
		"--controllers=" + strings.Join(enabledControllers(), ","),
		"--service-account-private-key-file=" + s.keys.saKey, "--root-ca-file=" + s.keys.ca.certFile,
		"--cluster-signing-cert-file=" + s.keys.ca.certFile, "--cluster-signing-key-file=" + s.keys.ca.keyFile,
		"--kube-api-qps=" + clientRate, "--kube-api-burst=" + clientRate,
		"--horizontal-pod-autoscaler-sync-period=" + hostpods.MeterWindow.String(),
	})
	if err != nil {
		return nil, err
	}
	config, err := o.Config(ctx, known, off, aliases)
	if err != nil {
		return nil, fmt.Errorf("make the configuration: %w", err)
	}
	return config.Complete(), nil
}

// buildControllers builds the controllers of kube-controller-manager that a cluster
// for operators needs, and four whose usual form costs too much here or lacks
// something.
func (s *server) buildControllers(ctx context.Context, cc kcmapp.ControllerContext) ([]kcmapp.Controller, error) {
	descriptors := kcmapp.NewControllerDescriptors()
	// These are built below, each for a reason of its own.
	for _, name := range []string{names.GarbageCollectorController, names.ServiceAccountTokenController, names.NamespaceController} {
		delete(descriptors, name)
	}
	controllers, err := kcmapp.BuildControllers(ctx, cc, descriptors, nil, healthz.NewMutableHealthzHandler())
	if err != nil {
		return nil, fmt.Errorf("build the controllers: %w", err)
	}
	for _, own := range []struct {
		name  string
		build func(context.Context, kcmapp.ControllerContext) (kcmapp.Controller, error)
	}{
		{"token controller", s.tokenController}, {"garbage collector", s.garbageCollector},
		{"namespace controller", namespaceController}, {"controller of CRDs", crdController},
	} {
		controller, err := own.build(ctx, cc)
		if err != nil {
			return nil, fmt.Errorf("build the %s: %w", own.name, err)
		}
		controllers = append(controllers, controller)
	}
	return controllers, nil
}

// controllerClients are those of a controller that handles objects of any kind.
func controllerClients(cc kcmapp.ControllerContext, user string) (kubernetes.Interface, metadata.Interface, error) {
	client, err := cc.ClientBuilder.Client(user)
	if err != nil {
		return nil, nil, err
	}
	config, err := cc.ClientBuilder.Config(user)
	if err != nil {
		return nil, nil, err
	}
	objects, err := metadata.NewForConfig(config)
	return client, objects, err
}

// loop is a controller of our own making.
type loop struct {
	name string
	run  func(context.Context)
}

// Name implements kcmapp.Controller.
func (l loop) Name() string { return l.name }

// Run implements kcmapp.Controller.
func (l loop) Run(ctx context.Context) { l.run(ctx) }

// tokenController fills Secrets of type kubernetes.io/service-account-token.
// The stock way starts it apart from the others, before all of them.
func (s *server) tokenController(ctx context.Context, cc kcmapp.ControllerContext) (kcmapp.Controller, error) {
	data, err := os.ReadFile(s.keys.saKey)
	if err != nil {
		return nil, err
	}
	key, err := keyutil.ParsePrivateKeyPEM(data)
	if err != nil {
		return nil, err
	}
	generator, err := serviceaccount.JWTTokenGenerator(serviceaccount.LegacyIssuer, key)
	if err != nil {
		return nil, err
	}
	client, err := cc.ClientBuilder.Client("tokens-controller")
	if err != nil {
		return nil, err
	}
	core := cc.InformerFactory.Core().V1()
	controller, err := sacontroller.NewTokensController(klog.FromContext(ctx), core.ServiceAccounts(), core.Secrets(), client,
		sacontroller.TokensControllerOptions{TokenGenerator: generator, RootCA: s.keys.ca.cert})
	return loop{names.ServiceAccountTokenController, func(ctx context.Context) { controller.Run(ctx, 1) }}, err
}

// clientRate keeps components from waiting for their own rate limits. It is
// in requests per second.
const clientRate = "1000"

// runScheduler runs kube-scheduler without its port and without leader
// election.
func (s *server) runScheduler(ctx context.Context) error {
	o := schedoptions.NewOptions()
	err := parseFlags(*o.Flags, []string{
		"--kubeconfig=" + s.layout.OwnKubeconfig(), "--leader-elect=false", "--secure-port=0",
		"--kube-api-qps=" + clientRate, "--kube-api-burst=" + clientRate,
	})
	if err != nil {
		return err
	}
	config, scheduler, err := schedapp.Setup(ctx, o)
	if err != nil {
		return err
	}
	return schedapp.Run(ctx, config, scheduler)
}
