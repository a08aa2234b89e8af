/*
Copyright 2026.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "example.com/cluster-scoped/api/v1alpha1"
)

const (
	// memcachedFinalizer holds a deleted Memcached back until cleanUp has run.
	memcachedFinalizer = "cache.example.com/finalizer"

	// memcachedLabel, on a pod, names the Memcached that the pod belongs to.
	memcachedLabel = "cache.example.com/memcached"

	// memcachedFieldOwner owns the fields of the Deployment that this controller
	// sets. Fields that others add are left alone.
	memcachedFieldOwner = client.FieldOwner("memcached-controller")

	// memcachedImage runs in the pods unless the variable MEMCACHED_IMAGE names another.
	memcachedImage = "memcached:1.6"
)

// memcachedPods is served with the manager's metrics. Prometheus itself sets the
// label namespace, to that of the manager.
var memcachedPods = promauto.With(metrics.Registry).NewGaugeVec(prometheus.GaugeOpts{
	Name: "cache_memcached_pods",
	Help: "Pods that a Memcached has.",
}, []string{"resource_namespace", "name"})

// errMemcachedNotOurs says that the Deployment of that name belongs to something else.
var errMemcachedNotOurs = errors.New("it is not controlled by this Memcached")

// MemcachedReconciler keeps, for each Memcached, a Deployment of its size running.
type MemcachedReconciler struct {
	client.Client
	Scheme   *runtime.Scheme
	Recorder events.EventRecorder

	// Namespace is where the Deployments go: a Memcached is cluster-scoped and
	// has none of its own. It must be among the watched ones. Empty means that of
	// the manager's pod, or "default".
	Namespace string
}

// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=core,resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile brings the cluster to what one Memcached asks for and writes into its
// status how far it got. It runs whenever the Memcached, its Deployment or its pods
// change, and again after an error. It must be able to run at any moment, from
// any state: it looks at what is, never at what the last run did.
func (r *MemcachedReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	cr := &cachev1alpha1.Memcached{}
	if err := r.Get(ctx, req.NamespacedName, cr); err != nil {
		if apierrors.IsNotFound(err) {
			memcachedPods.DeleteLabelValues(req.Namespace, req.Name)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err) // deleted: nothing left to do
	}
	if !cr.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.finalize(ctx, cr)
	}

	before := cr.DeepCopy()
	if controllerutil.AddFinalizer(cr, memcachedFinalizer) {
		if err := r.Patch(ctx, cr, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return ctrl.Result{}, fmt.Errorf("adding the finalizer: %w", err)
		}
		before = cr.DeepCopy()
	}

	deployment, applyErr := r.apply(ctx, cr)
	if err := r.observe(ctx, cr, deployment, applyErr); err != nil {
		return ctrl.Result{}, errors.Join(applyErr, err)
	}
	if !equality.Semantic.DeepEqual(before.Status, cr.Status) {
		if err := r.Status().Patch(ctx, cr, client.MergeFrom(before)); err != nil {
			return ctrl.Result{}, errors.Join(applyErr, fmt.Errorf("writing the status: %w", err))
		}
	}

	if errors.Is(applyErr, errMemcachedNotOurs) {
		// That Deployment's deletion triggers its own owner, not us: check again.
		return ctrl.Result{RequeueAfter: time.Minute}, nil
	}
	return ctrl.Result{}, applyErr
}

// apply makes the Deployment what the Memcached asks for, by server-side apply: it
// creates what is missing, reverts changes by others to the fields named here,
// and does nothing when all is well. It returns the Deployment as it is afterwards.
func (r *MemcachedReconciler) apply(ctx context.Context, cr *cachev1alpha1.Memcached) (*appsv1.Deployment, error) {
	seen := &appsv1.Deployment{}
	err := r.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: cr.Name}, seen)
	missing := apierrors.IsNotFound(err)
	switch {
	case err != nil && !missing:
		return seen, fmt.Errorf("reading the Deployment: %w", err)
	case !missing && !metav1.IsControlledBy(seen, cr):
		return &appsv1.Deployment{}, fmt.Errorf("taking Deployment %s: %w", seen.Name, errMemcachedNotOurs)
	}

	wanted, err := r.deployment(cr)
	if err != nil {
		return seen, err
	}
	if err := r.Apply(ctx, wanted, memcachedFieldOwner, client.ForceOwnership); err != nil {
		return seen, fmt.Errorf("applying the Deployment: %w", err)
	}

	// Apply has put the API server's answer into wanted.
	applied := &appsv1.Deployment{}
	answer, err := json.Marshal(wanted)
	if err := errors.Join(err, json.Unmarshal(answer, applied)); err != nil {
		return seen, fmt.Errorf("reading the applied Deployment: %w", err)
	}
	log := logf.FromContext(ctx)
	switch {
	case missing:
		log.Info("Created the Deployment", "size", cr.Spec.Size)
		r.Recorder.Eventf(cr, nil, corev1.EventTypeNormal, "Created", "Apply", "Created Deployment %s", cr.Name)
	case applied.Generation != seen.Generation: // it differed
		log.Info("Updated the Deployment", "size", cr.Spec.Size)
		r.Recorder.Eventf(cr, nil, corev1.EventTypeNormal, "Updated", "Apply", "Updated Deployment %s", cr.Name)
	}
	return applied, nil
}

// deployment returns the fields of the Deployment that the Memcached decides about.
// The containers meet the restricted Pod Security Standard.
func (r *MemcachedReconciler) deployment(cr *cachev1alpha1.Memcached) (*appsv1ac.DeploymentApplyConfiguration, error) {
	gvk, err := apiutil.GVKForObject(cr, r.Scheme)
	if err != nil {
		return nil, fmt.Errorf("finding the kind of %s: %w", cr.Name, err)
	}
	selector := map[string]string{memcachedLabel: cr.Name}
	podLabels := map[string]string{
		memcachedLabel:                 cr.Name,
		"app.kubernetes.io/name":       "memcached",
		"app.kubernetes.io/instance":   cr.Name,
		"app.kubernetes.io/managed-by": "cluster-scoped",
	}
	container := corev1ac.Container().
		WithName("memcached").
		WithImage(cmp.Or(os.Getenv("MEMCACHED_IMAGE"), memcachedImage)).
		WithSecurityContext(corev1ac.SecurityContext().
			WithAllowPrivilegeEscalation(false).
			WithCapabilities(corev1ac.Capabilities().WithDrop("ALL")))
	pod := corev1ac.PodSpec().
		WithContainers(container).
		WithSecurityContext(corev1ac.PodSecurityContext().
			WithRunAsNonRoot(true).
			WithRunAsUser(1001). // remove it on OpenShift, which gives each namespace its own user ids
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault)))

	return appsv1ac.Deployment(cr.Name, r.Namespace).
		WithLabels(podLabels).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion(gvk.GroupVersion().String()).
			WithKind(gvk.Kind).
			WithName(cr.Name).
			WithUID(cr.UID).
			WithController(true).
			WithBlockOwnerDeletion(true)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(cr.Spec.Size).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(selector)).
			WithTemplate(corev1ac.PodTemplateSpec().WithLabels(podLabels).WithSpec(pod))), nil
}

// observe writes what is there into the status of cr, in memory.
func (r *MemcachedReconciler) observe(ctx context.Context, cr *cachev1alpha1.Memcached, deployment *appsv1.Deployment, applyErr error) error {
	pods := &metav1.PartialObjectMetadataList{}
	pods.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	selector := client.MatchingLabels{memcachedLabel: cr.Name}
	if err := r.List(ctx, pods, client.InNamespace(r.Namespace), selector); err != nil {
		return fmt.Errorf("listing the pods: %w", err)
	}
	var names []string
	for i := range pods.Items {
		names = append(names, pods.Items[i].Name)
	}
	slices.Sort(names)
	memcachedPods.WithLabelValues(cr.Namespace, cr.Name).Set(float64(len(names)))

	cr.Status.Nodes = names
	cr.Status.Replicas = int32(len(names))
	cr.Status.ReadyReplicas = deployment.Status.ReadyReplicas
	cr.Status.Selector = labels.Set(selector).String()

	size, has := cr.Spec.Size, deployment.Status
	progress := fmt.Sprintf("%d of %d pods are available", has.AvailableReplicas, size)
	settled := has.ObservedGeneration >= deployment.Generation &&
		has.UpdatedReplicas == size && has.Replicas == size && has.AvailableReplicas == size
	set := func(condition string, is bool, reasonTrue, reasonFalse, message string) {
		status, reason := metav1.ConditionFalse, reasonFalse
		if is {
			status, reason = metav1.ConditionTrue, reasonTrue
		}
		// A transition time changes only when the status does.
		meta.SetStatusCondition(&cr.Status.Conditions, metav1.Condition{
			Type: condition, Status: status, Reason: reason, Message: message, ObservedGeneration: cr.Generation,
		})
	}
	set("Available", has.AvailableReplicas >= size, "PodsAvailable", "PodsMissing", progress)
	set("Progressing", applyErr == nil && !settled, "RollingOut", "Settled", progress)
	// Pods that a quota or admission refuses, or that take too long to come up.
	failed := slices.IndexFunc(has.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue ||
			c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse
	})
	switch {
	case applyErr != nil:
		message := applyErr.Error()
		// A message with an ID in it differs each time, and writing each of them would
		// wake the reconciler at once: one for each generation is enough.
		if was := meta.FindStatusCondition(cr.Status.Conditions, "Degraded"); was != nil && was.Reason == "ApplyFailed" && was.ObservedGeneration == cr.Generation {
			message = was.Message
		}
		set("Degraded", true, "ApplyFailed", "", message)
	case failed >= 0:
		set("Degraded", true, has.Conditions[failed].Reason, "", has.Conditions[failed].Message)
	default:
		set("Degraded", false, "", "AsExpected", "")
	}
	return nil
}

// finalize runs cleanUp and lets the API server delete cr.
func (r *MemcachedReconciler) finalize(ctx context.Context, cr *cachev1alpha1.Memcached) error {
	if !controllerutil.ContainsFinalizer(cr, memcachedFinalizer) {
		return nil
	}
	if err := r.cleanUp(ctx, cr); err != nil {
		return fmt.Errorf("cleaning up: %w", err)
	}
	r.Recorder.Eventf(cr, nil, corev1.EventTypeNormal, "Deleted", "Finalize", "Cleaned up after Memcached %s", cr.Name)

	before := cr.DeepCopy()
	controllerutil.RemoveFinalizer(cr, memcachedFinalizer)
	err := r.Patch(ctx, cr, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err = client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("removing the finalizer: %w", err)
	}
	return nil
}

// cleanUp removes what is outside the cluster: a backup, a DNS record, a
// database user. It may run more than once. The garbage collector deletes what
// cr owns in the cluster, like its Deployment.
func (r *MemcachedReconciler) cleanUp(ctx context.Context, cr *cachev1alpha1.Memcached) error {
	logf.FromContext(ctx).Info("Nothing outside the cluster to clean up", "generation", cr.Generation)
	return nil
}

// SetupWithManager registers the controller and says what wakes it: the Memcached,
// its Deployment, and pods that come or go. Its own status writes do as well: a run
// whose cache lacked the last one may have taken a wrong status for the right one.
func (r *MemcachedReconciler) SetupWithManager(mgr ctrl.Manager) error {
	if r.Recorder == nil {
		r.Recorder = mgr.GetEventRecorder("memcached-controller")
	}
	r.Namespace = cmp.Or(r.Namespace, os.Getenv("POD_NAMESPACE"), "default")
	comeOrGo := predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
	return ctrl.NewControllerManagedBy(mgr).
		For(&cachev1alpha1.Memcached{}).
		Owns(&appsv1.Deployment{}).
		WatchesMetadata(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.ownerOfPod), builder.WithPredicates(comeOrGo)).
		Named("memcached").
		WithOptions(controller.Options{
			// Objects that may be reconciled at the same time, and how long one
			// that fails waits: twice as long each time, within these bounds.
			MaxConcurrentReconciles: 2,
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				100*time.Millisecond, 5*time.Minute),
		}).
		Complete(r)
}

// ownerOfPod returns the Memcached that a pod belongs to. A pod's own owner
// reference does not tell: it names a ReplicaSet.
func (r *MemcachedReconciler) ownerOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	name := pod.GetLabels()[memcachedLabel]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: name}}}
}
