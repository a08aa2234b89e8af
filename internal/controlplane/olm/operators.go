package olm

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	configclient "github.com/openshift/client-go/config/clientset/versioned"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/install"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/operators/catalog"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/operators/catalogtemplate"
	olmoperator "github.com/operator-framework/operator-lifecycle-manager/pkg/controller/operators/olm"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry/grpc"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/lib/operatorclient"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/lib/queueinformer"
	"github.com/sirupsen/logrus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8sscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/clock"

	"github.com/example/mysdk/internal/controlplane/supervise"
)

// OLM's own defaults, from its two commands.
const (
	olmResync          = 5 * time.Minute
	catalogResync      = 15 * time.Minute
	installPlanTimeout = time.Minute
	unpackTimeout      = 10 * time.Minute
	resyncJitter       = 0.2
	// noImage stands for images of pods that never run; empty is refused.
	noImage = "none"
	// workloadUser is the user of such pods: restricted namespaces want one.
	workloadUser = 1001
)

// olmOperators are OLM's two operators, olm-operator and catalog-operator.
type olmOperators struct {
	*olm
	namespace string
	parts     *supervise.Supervisor
	logger    *logrus.Logger
	strays    strays
	mu        sync.Mutex
	ends      []func() // wait for an operator's end, and end what it leaves at work; the last comes first
}

// strays is a logger's hook that learns of objects without OLM's label: an
// operator that is made while there are any says so only there, and ends the
// process once it has labelled them.
type strays struct{ found atomic.Bool }

// Levels implements logrus.Hook.
func (*strays) Levels() []logrus.Level { return []logrus.Level{logrus.ErrorLevel} }

// Fire implements logrus.Hook.
func (s *strays) Fire(e *logrus.Entry) error {
	if _, ok := e.Data["nonconforming"]; ok {
		s.found.Store(true)
	}
	return nil
}

// newLogrus logs as quiet does: errors only at verbosity 0. What logs by the
// standard logger does so too from then on.
func newLogrus(out io.Writer, verbosity int) *logrus.Logger {
	own := logrus.New()
	for _, l := range []*logrus.Logger{own, logrus.StandardLogger()} {
		l.SetOutput(out)
		l.SetLevel(logrus.ErrorLevel)
		if verbosity > 0 {
			l.SetLevel(logrus.InfoLevel)
		}
	}
	return own
}

// launch runs an operator and returns when it works.
func (o *olmOperators) launch(op queueinformer.Operator) error {
	if o.strays.found.Load() {
		return fmt.Errorf("objects without the label %s have come, over which OLM would end the process", install.OLMManagedLabelKey)
	}
	if err := mute(op); err != nil {
		return err
	}
	ctx := o.parts.Ctx
	op.Run(ctx)
	o.atEnd(func() { <-op.Done() })
	select {
	case <-op.Ready():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// startOLM starts olm-operator: what turns ClusterServiceVersions into Deployments.
func (o *olmOperators) startOLM() error {
	op, err := o.newOLMOperator(o.parts.Ctx)
	if err != nil {
		return fmt.Errorf("make OLM's operator: %w", err)
	}
	if err := paceRequeues(op); err != nil {
		return err
	}
	if err := outlive(o.parts.Ctx, op, o.Client); err != nil {
		return err
	}
	silence, err := recorderEnd(op)
	if err != nil {
		return err
	}
	o.atEnd(silence)
	manager, err := o.newManager()
	if err != nil {
		return fmt.Errorf("make OLM's manager: %w", err)
	}
	if err := o.launch(op.Operator); err != nil {
		return err
	}
	o.parts.Run("OLM's manager", manager.Start)
	return nil
}

func (o *olmOperators) newOLMOperator(ctx context.Context) (*olmoperator.Operator, error) {
	openshift, err := configclient.NewForConfig(o.Config)
	if err != nil {
		return nil, err
	}
	core, err := operatorclient.NewClientFromRestConfig(o.Config)
	if err != nil {
		return nil, err
	}
	return olmoperator.NewOperator(ctx,
		olmoperator.WithLogger(o.logger), olmoperator.WithWatchedNamespaces(""),
		olmoperator.WithResyncPeriod(queueinformer.ResyncWithJitter(olmResync, resyncJitter)),
		olmoperator.WithExternalClient(o.custom), olmoperator.WithMetadataClient(o.objects), olmoperator.WithOperatorClient(core),
		olmoperator.WithRestConfig(o.Config), olmoperator.WithConfigClient(openshift),
	)
}

// startCatalog starts catalog-operator: what turns Subscriptions into
// ClusterServiceVersions.
func (o *olmOperators) startCatalog() error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{k8sscheme.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("make OLM's scheme: %w", err)
		}
	}
	restore, err := hideCI()
	if err != nil {
		return err
	}
	op, err := catalog.NewOperator(o.parts.Ctx, o.Kubeconfig, clock.RealClock{}, o.logger, catalogResync, noImage, noImage, noImage,
		o.namespace, scheme, installPlanTimeout, unpackTimeout, workloadUser)
	if restoreErr := restore(); err == nil {
		err = restoreErr
	}
	if err != nil {
		return fmt.Errorf("make OLM's catalog operator: %w", err)
	}
	if err := o.endSources(op); err != nil {
		return err
	}
	silence, err := recorderEnd(op)
	if err != nil {
		return err
	}
	o.atEnd(silence)
	if clients, configs := unlimit(op); clients == 0 || configs == 0 {
		return fmt.Errorf("take the rate limit off OLM's catalog operator: found are %d clients, and %d configurations of others", clients, configs)
	}
	templates, err := catalogtemplate.NewOperator(o.parts.Ctx, o.Kubeconfig, o.logger, catalogResync, o.namespace)
	if err != nil {
		return fmt.Errorf("make OLM's catalog template operator: %w", err)
	}
	if err := o.launch(op.Operator); err != nil {
		return err
	}
	return o.launch(templates.Operator)
}

// hideCI takes the variable CI out of the environment until the function that
// it returns is called: where it is set, OLM's clients panic on objects that
// they find wrong, which is meant for OLM's own tests.
func hideCI() (restore func() error, err error) {
	const name = "CI"
	value, ok := os.LookupEnv(name)
	if !ok {
		return func() error { return nil }, nil
	}
	return func() error { return os.Setenv(name, value) }, os.Unsetenv(name)
}

// endSources has the connections to catalogs end with the catalog operator.
func (o *olmOperators) endSources(op *catalog.Operator) error {
	store, err := hiddenField[*grpc.SourceStore](op, "sources")
	if err != nil {
		return err
	}
	end, err := endable(*store)
	if err != nil {
		return err
	}
	o.atEnd(func() {
		if err := disconnect(*store); err != nil {
			o.Log.Printf("close OLM's connections to catalogs: %v", err)
		}
		end()
	})
	return nil
}

// atEnd remembers what wait is to call.
func (o *olmOperators) atEnd(end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ends = append(o.ends, end)
}

// wait returns when all operators have ended, after the end of their context,
// and what they leave at work with them.
func (o *olmOperators) wait() {
	for _, end := range slices.Backward(o.ends) {
		end()
	}
}
