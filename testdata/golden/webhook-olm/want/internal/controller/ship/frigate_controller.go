package ship

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	shipv1alpha1 "example.com/webhook-olm/api/ship/v1alpha1"
)

// FrigateReconciler reconciles Frigate objects.
type FrigateReconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

// +kubebuilder:rbac:groups=ship.example.com,resources=frigates,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=ship.example.com,resources=frigates/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=ship.example.com,resources=frigates/finalizers,verbs=update

// Reconcile brings the cluster to what one Frigate asks for. It runs whenever
// the Frigate changes, and again after an error. It must be able to run at any
// moment, from any state: it looks at what is, never at what the last run did.
func (r *FrigateReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	obj := &shipv1alpha1.Frigate{}
	if err := r.Get(ctx, req.NamespacedName, obj); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err) // deleted: nothing left to do
	}
	logf.FromContext(ctx).Info("Reconciling", "generation", obj.Generation)

	// Your logic goes here.

	return ctrl.Result{}, nil
}

// SetupWithManager registers the controller and says what wakes it.
func (r *FrigateReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&shipv1alpha1.Frigate{}).
		Named("ship-frigate").
		Complete(r)
}
