// Package olm runs the Operator Lifecycle Manager inside the server: its
// operators, the packageserver, and catalogs and bundles in place of their pods.
// What it needs of the server it is given as options.
package olm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/operator-framework/operator-lifecycle-manager/pkg/api/client/clientset/versioned"
	"golang.org/x/sync/errgroup"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/controlplane/supervise"
	"github.com/example/mysdk/internal/host"
)

const (
	// olmGroup is the API group of OLM's kinds.
	olmGroup = "operators.coreos.com"
	// defaultOLMNamespace is where OLM's own manifests put it.
	defaultOLMNamespace = "olm"
	// olmRetry is the pause before OLM is started again after a failure.
	olmRetry = time.Second
)

// csvCRD is the CRD whose presence starts OLM and whose end stops it.
const csvCRD = "clusterserviceversions." + olmGroup

// CRDs are what OLM's operators watch: they do not start without.
func CRDs() []string {
	return []string{
		csvCRD, "catalogsources." + olmGroup, "installplans." + olmGroup, "subscriptions." + olmGroup,
		"operatorgroups." + olmGroup, "operators." + olmGroup, "operatorconditions." + olmGroup, "olmconfigs." + olmGroup,
	}
}

// olm runs the Operator Lifecycle Manager in this process, in place of the
// pods of its Deployments, which are simulated like all others.
type olm struct {
	Options
	crds    apiextensions.Interface
	custom  versioned.Interface
	objects metadata.Interface
	route   *catalogRoute
}

// scratch is the directory for what the next start does not need.
func (o *olm) scratch() string { return filepath.Join(o.Dir, "scratch") }

// Options say what OLM is to run with.
type Options struct {
	Kubeconfig string       // path, for what reads it by itself
	Config     *rest.Config // the administrator's, without a rate limit
	Client     kubernetes.Interface
	Out        io.Writer // the server's log
	Log        *log.Logger
	Verbosity  int
	Dir        string // for catalogs
	Images     string // store of the images that mysdk has built
	// Serve says where the backend of a Service listens in this process; "" takes it away.
	Serve func(namespace, service, address string)
}

// Run waits for OLM's CRDs, runs OLM for as long as they are there, and
// begins again. Before that it costs one watch.
func Run(ctx context.Context, opts Options) error {
	o := &olm{Options: opts, route: &catalogRoute{}}
	var errs [3]error
	o.crds, errs[0] = apiextensions.NewForConfig(opts.Config)
	o.custom, errs[1] = versioned.NewForConfig(opts.Config)
	o.objects, errs[2] = metadata.NewForConfig(opts.Config)
	if err := errors.Join(errs[:]...); err != nil {
		return fmt.Errorf("make clients for OLM: %w", err)
	}
	installed := o.watch(ctx)
	running, stop := "", func() {} // the namespace of the OLM that runs, if any
	for {
		select {
		case <-ctx.Done():
			stop()
			return context.Cause(ctx)
		case namespace := <-installed:
			if namespace == running {
				continue
			}
			if running != "" {
				stop()
				o.Log.Printf("OLM stopped")
				debug.FreeOSMemory() // its caches are a third of the process
			}
			if running = namespace; namespace != "" {
				stop = o.keep(ctx, "OLM", func(ctx context.Context) error { return o.run(ctx, namespace) })
			}
		}
	}
}

// keep has run do its work until stop is called, which returns when it has ended,
// and again when it fails: the rest of the cluster is not to suffer from that.
func (o *olm) keep(ctx context.Context, name string, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for again := true; again; again = host.Pause(ctx, olmRetry) {
			if err := run(ctx); ctx.Err() == nil {
				o.Log.Printf("%s failed and starts again: %v", name, err)
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// watch sends the namespace of OLM when its CRDs are served, and "" when they are gone.
func (o *olm) watch(ctx context.Context) <-chan string {
	installed := make(chan string)
	send := func(namespace string) {
		select {
		case installed <- namespace:
		case <-ctx.Done():
		}
	}
	seen := func(object any) {
		if crd, ok := object.(*apiextensionsv1.CustomResourceDefinition); ok && established(crd) {
			send(olmNamespace(crd))
		}
	}
	source := cache.NewListWatchFromClient(o.crds.ApiextensionsV1().RESTClient(), "customresourcedefinitions", "",
		fields.OneTermEqualSelector("metadata.name", csvCRD))
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source, ObjectType: &apiextensionsv1.CustomResourceDefinition{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    seen,
			UpdateFunc: func(_, object any) { seen(object) },
			DeleteFunc: func(any) { send("") },
		},
	})
	go informer.RunWithContext(ctx)
	return installed
}

// established reports whether a CRD's kind is served. That is also true while
// it is being deleted: its objects' finalizers still need OLM then.
func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established)
}

// olmNamespace is where the one who installed the CRD has put OLM.
func olmNamespace(crd *apiextensionsv1.CustomResourceDefinition) string {
	return cmp.Or(crd.Annotations[state.OLMNamespaceAnnotation], defaultOLMNamespace)
}

// run is one life of OLM's parts: when one fails, all end. It returns when they
// have: the next life has their directory and their connections.
func (o *olm) run(ctx context.Context, namespace string) error {
	began := time.Now()
	parts := supervise.New(ctx)
	operators := &olmOperators{olm: o, namespace: namespace, parts: parts, logger: newLogrus(o.Out, o.Verbosity)}
	operators.logger.AddHook(&operators.strays)
	defer func() {
		parts.Stop()
		operators.wait()
		parts.Wait()
	}()
	if err := o.awaitCRDs(parts.Ctx); err != nil {
		return err
	}
	var before errgroup.Group
	before.Go(func() error { return operators.conform(parts.Ctx) })
	before.Go(func() error {
		found := images(o.Images)
		return errors.Join(o.startCatalogs(parts, namespace, found), o.startUnpacker(parts, found))
	})
	if err := before.Wait(); err != nil {
		return err
	}
	o.watchPackageServer(parts, namespace)
	var work errgroup.Group
	work.Go(operators.startOLM)
	work.Go(operators.startCatalog)
	if err := work.Wait(); err != nil {
		return err
	}
	o.Log.Printf("OLM up in namespace %s after %d ms", namespace, time.Since(began).Milliseconds())
	<-parts.Ctx.Done()
	return parts.Reason()
}

// awaitCRDs waits until every CRD that OLM needs is served. Side by side, as
// the first request for a kind is what makes the server prepare it.
func (o *olm) awaitCRDs(ctx context.Context) error {
	var all errgroup.Group
	for _, name := range CRDs() {
		all.Go(func() error { return supervise.Poll(ctx, func() bool { return o.serves(ctx, name) }) })
	}
	return all.Wait()
}

// serves reports whether the objects of a CRD can be listed. One that is established is
// not there yet when one of the same name has just gone: the server then tells clients
// to come again after a second, which those of OLM obey.
func (o *olm) serves(ctx context.Context, name string) bool {
	crd, err := o.crds.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{})
	if err != nil || !established(crd) {
		return false
	}
	for _, v := range crd.Spec.Versions {
		if !v.Served {
			continue
		}
		list := o.crds.ApiextensionsV1().RESTClient().Get().AbsPath("apis", crd.Spec.Group, v.Name, crd.Spec.Names.Plural)
		if list.Param("limit", "1").MaxRetries(0).Do(ctx).Error() != nil {
			return false
		}
	}
	return true
}
