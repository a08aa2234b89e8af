package olm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/bundle"
	"github.com/operator-framework/operator-registry/pkg/configmap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/kubernetes/pkg/apis/core"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/mysdk/internal/controlplane/supervise"
)

const (
	// unpackGate keeps a pod from being scheduled until its bundle is there.
	unpackGate = "mysdk.dev/bundle-unpack"
	// pullContainer is the one of OLM's unpack pods that has the bundle's image.
	pullContainer = "pull"
	// maxBundle is OLM's own limit for the content of a bundle, in bytes.
	maxBundle = 1 << 20
	// The pauses between attempts to pull a bundle.
	unpackRetry    = 2 * time.Second
	unpackRetryMax = time.Minute
	// unpackLimit bounds one attempt, whose registry may be slow or unresponsive.
	unpackLimit = 5 * time.Minute
	// unpackWorkers is how many bundles are unpacked at the same time, so that
	// one does not keep all waiting.
	unpackWorkers = 4
)

// Admission is the admission plugin that has the pods wait which OLM makes to unpack
// bundle images: simulated, they would be done at once, with nothing unpacked.
func Admission() (name string, plugin admission.Interface) {
	return "BundleUnpack", unpackGater{admission.NewHandler(admission.Create)}
}

// unpackGater puts the gate on.
type unpackGater struct{ *admission.Handler }

var _ admission.MutationInterface = unpackGater{}

// Admit implements admission.MutationInterface.
func (unpackGater) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod, ok := a.GetObject().(*core.Pod)
	if !ok || a.GetSubresource() != "" || pod.Labels[bundle.BundleUnpackRefLabel] == "" {
		return nil
	}
	pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, core.PodSchedulingGate{Name: unpackGate})
	return nil
}

// unpacker does the work of OLM's unpack pods: it puts the files of a bundle
// image into the ConfigMap that OLM has made for them, and then lets the pod
// go, which completes OLM's Job.
type unpacker struct {
	*olm
	images images
	pods   cache.Indexer
	queue  workqueue.TypedRateLimitingInterface[string]
}

// startUnpacker unpacks until OLM ends.
func (o *olm) startUnpacker(parts *supervise.Supervisor, found images) error {
	factory := informers.NewSharedInformerFactoryWithOptions(o.Client, 0, informers.WithTweakListOptions(func(l *metav1.ListOptions) {
		l.LabelSelector = bundle.BundleUnpackRefLabel
	}))
	informer := factory.Core().V1().Pods().Informer()
	u := &unpacker{
		olm: o, images: found, pods: informer.GetIndexer(),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](unpackRetry, unpackRetryMax)),
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
		if pod, ok := object.(*corev1.Pod); ok && gated(pod) {
			u.queue.Add(pod.Namespace + "/" + pod.Name)
		}
	}})
	if err != nil {
		return fmt.Errorf("watch for bundles to unpack: %w", err)
	}
	factory.Start(parts.Ctx.Done())
	parts.Run("the unpacker of bundles", u.run)
	return nil
}

func gated(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == unpackGate })
}

func (u *unpacker) run(ctx context.Context) error {
	defer context.AfterFunc(ctx, u.queue.ShutDown)()
	var workers sync.WaitGroup
	for range unpackWorkers {
		workers.Go(func() { u.work(ctx) })
	}
	workers.Wait()
	return context.Cause(ctx)
}

func (u *unpacker) work(ctx context.Context) {
	for {
		key, shutdown := u.queue.Get()
		if shutdown {
			return
		}
		if err := u.unpack(ctx, key); err != nil {
			u.Log.Printf("unpack for pod %s: %v", key, err)
			u.queue.AddRateLimited(key)
		} else {
			u.queue.Forget(key)
		}
		u.queue.Done(key)
	}
}

// unpack does one pod's work. A failure shows in the pod's status, where OLM
// reads it and puts it into its own objects.
func (u *unpacker) unpack(ctx context.Context, key string) error {
	object, exists, err := u.pods.GetByKey(key)
	pod, ok := object.(*corev1.Pod)
	if err != nil || !exists || !ok || !gated(pod) {
		return err
	}
	ref := bundleImage(pod)
	if err := u.fill(ctx, pod, ref); err != nil {
		return errors.Join(err, u.report(ctx, pod, ref, err))
	}
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"schedulingGates":[{"$patch":"delete","name":%q}]}}`, pod.UID, unpackGate)
	_, err = u.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // gone, or another of its name
	}
	return err
}

// bundleImage is the image that a pod was made to unpack.
func bundleImage(pod *corev1.Pod) string {
	for _, c := range pod.Spec.InitContainers {
		if c.Name == pullContainer {
			return c.Image
		}
	}
	return ""
}

// fill puts the files of a bundle image into a ConfigMap, as OLM's own tool in
// the pod does.
func (u *unpacker) fill(ctx context.Context, pod *corev1.Pod, ref string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, unpackLimit)
	defer cancel()
	configMap := pod.Labels[bundle.BundleUnpackRefLabel]
	access, err := u.access(ctx, pod, configMap)
	if err != nil {
		return err
	}
	img, err := u.images.get(ctx, ref, access)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(u.scratch(), "bundle-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	dirs := map[string]string{}
	for key, name := range map[string]string{
		"operators.operatorframework.io.bundle.manifests.v1": "manifests", "operators.operatorframework.io.bundle.metadata.v1": "metadata",
	} {
		from, err := label(img, key, "/"+name)
		if err != nil {
			return err
		}
		dirs[from] = filepath.Join(dir, name)
		if err := os.MkdirAll(dirs[from], 0o700); err != nil {
			return err
		}
	}
	if err := extract(img, dirs); err != nil {
		return err
	}
	return configmap.NewConfigMapLoaderWithClient(configMap, pod.Namespace, dir+string(filepath.Separator), true, u.Client).Populate(maxBundle)
}

// access is how the registry of a pod's bundle is spoken to: with the pod's pull
// secrets, which are the catalog's, and as the catalog's annotations say. OLM
// has the ConfigMap belong to the catalog.
func (u *unpacker) access(ctx context.Context, pod *corev1.Pod, configMap string) (pullAccess, error) {
	var secrets []string
	for _, s := range pod.Spec.ImagePullSecrets {
		secrets = append(secrets, s.Name)
	}
	m, err := u.Client.CoreV1().ConfigMaps(pod.Namespace).Get(ctx, configMap, metav1.GetOptions{})
	if err != nil {
		return pullAccess{}, fmt.Errorf("find the catalog of the bundle: %w", err)
	}
	var annotations map[string]string
	for _, owner := range m.OwnerReferences {
		if owner.Kind != operatorsv1alpha1.CatalogSourceKind {
			continue
		}
		source, err := u.custom.OperatorsV1alpha1().CatalogSources(pod.Namespace).Get(ctx, owner.Name, metav1.GetOptions{})
		if err != nil {
			return pullAccess{}, fmt.Errorf("find the catalog of the bundle: %w", err)
		}
		annotations = source.Annotations
	}
	return accessOf(ctx, u.Client, pod.Namespace, secrets, annotations)
}

// report puts a failure into the pod's status, in the words of a kubelet.
func (u *unpacker) report(ctx context.Context, pod *corev1.Pod, ref string, cause error) error {
	waiting := pod.DeepCopy()
	waiting.ResourceVersion = "" // whatever has changed meanwhile
	waiting.Status.Phase = corev1.PodPending
	waiting.Status.InitContainerStatuses = []corev1.ContainerStatus{{
		Name: pullContainer, Image: ref,
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: cause.Error()}},
	}}
	_, err := u.Client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, waiting, metav1.UpdateOptions{})
	return client.IgnoreNotFound(err)
}
