package v1alpha1

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	shipv1alpha1 "example.com/webhook-olm/api/ship/v1alpha1"
)

// frigatelog is the log of the webhooks of Frigate.
var frigatelog = logf.Log.WithName("frigate-resource")

// SetupFrigateWebhookWithManager serves the webhooks of Frigate on the manager's webhook server.
func SetupFrigateWebhookWithManager(mgr ctrl.Manager) error {
	frigatelog.V(1).Info("Setting up the webhooks")
	return ctrl.NewWebhookManagedBy(mgr, &shipv1alpha1.Frigate{}).
		WithDefaulter(&FrigateDefaulter{}).
		WithValidator(&FrigateValidator{}).
		Complete()
}

// +kubebuilder:webhook:path=/mutate-ship-example-com-v1alpha1-frigate,mutating=true,failurePolicy=fail,sideEffects=None,groups=ship.example.com,resources=frigates,verbs=create;update,versions=v1alpha1,name=mfrigate-v1alpha1.kb.io,admissionReviewVersions=v1

// FrigateDefaulter fills in what the author of a Frigate left out. It runs before
// validation, and more than once if other webhooks change the object too.
type FrigateDefaulter struct{}

// Default changes the object before it is stored.
func (*FrigateDefaulter) Default(_ context.Context, _ *shipv1alpha1.Frigate) error {
	return nil // nothing yet: set fields of the object here
}

// To validate DELETE requests as well, add delete to the verbs.
// +kubebuilder:webhook:path=/validate-ship-example-com-v1alpha1-frigate,mutating=false,failurePolicy=fail,sideEffects=None,groups=ship.example.com,resources=frigates,verbs=create;update,versions=v1alpha1,name=vfrigate-v1alpha1.kb.io,admissionReviewVersions=v1

// FrigateValidator refuses what a Frigate may not be. Rules on a single field, or on
// fields beside each other, are better off as markers on the types.
type FrigateValidator struct{}

// ValidateCreate is asked about new objects. An error refuses them, and
// warnings are shown to their author.
func (*FrigateValidator) ValidateCreate(_ context.Context, _ *shipv1alpha1.Frigate) (admission.Warnings, error) {
	return nil, nil // nothing yet: look at the object here
}

// ValidateUpdate is asked about changes. What was stored before a rule came has
// to stay changeable: finalizers are removed by an update, for instance.
func (*FrigateValidator) ValidateUpdate(_ context.Context, _, _ *shipv1alpha1.Frigate) (admission.Warnings, error) {
	return nil, nil // nothing yet: compare the old object with the new one here
}

// ValidateDelete is asked about deletions, once the verbs have delete.
func (*FrigateValidator) ValidateDelete(_ context.Context, _ *shipv1alpha1.Frigate) (admission.Warnings, error) {
	return nil, nil
}
