package v1

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	shipv1 "example.com/webhook-olm/api/ship/v1"
)

// frigatelog is the log of the webhooks of Frigate.
var frigatelog = logf.Log.WithName("frigate-resource")

// SetupFrigateWebhookWithManager serves the webhooks of Frigate on the manager's webhook server.
func SetupFrigateWebhookWithManager(mgr ctrl.Manager) error {
	frigatelog.V(1).Info("Setting up the webhooks")
	return ctrl.NewWebhookManagedBy(mgr, &shipv1.Frigate{}).
		WithDefaulter(&FrigateDefaulter{}).
		WithValidator(&FrigateValidator{}).
		Complete()
}

// +kubebuilder:webhook:path=/mutate-ship-example-com-v1-frigate,mutating=true,failurePolicy=fail,sideEffects=None,groups=ship.example.com,resources=frigates,verbs=create;update,versions=v1,name=mfrigate-v1.kb.io,admissionReviewVersions=v1

// FrigateDefaulter fills in what the author of a Frigate left out. It runs before
// validation, and more than once if other webhooks change the object too.
type FrigateDefaulter struct{}

// Default changes the object before it is stored.
func (*FrigateDefaulter) Default(_ context.Context, _ *shipv1.Frigate) error {
	return nil // nothing yet: set fields of the object here
}

// To validate DELETE requests as well, add delete to the verbs.
// +kubebuilder:webhook:path=/validate-ship-example-com-v1-frigate,mutating=false,failurePolicy=fail,sideEffects=None,groups=ship.example.com,resources=frigates,verbs=create;update,versions=v1,name=vfrigate-v1.kb.io,admissionReviewVersions=v1

// FrigateValidator rejects invalid Frigate objects. Rules on a single field, or on
// fields of one struct, are better expressed as markers on the types.
type FrigateValidator struct{}

// ValidateCreate validates CREATE requests. An error rejects the object, and
// warnings are shown to its author.
func (*FrigateValidator) ValidateCreate(_ context.Context, _ *shipv1.Frigate) (admission.Warnings, error) {
	return nil, nil // nothing yet: look at the object here
}

// ValidateUpdate validates UPDATE requests. Allow updates to objects stored before
// a rule existed: removing a finalizer is an update, too.
func (*FrigateValidator) ValidateUpdate(_ context.Context, _, _ *shipv1.Frigate) (admission.Warnings, error) {
	return nil, nil // nothing yet: compare the old object with the new one here
}

// ValidateDelete validates DELETE requests, once the marker's verbs include delete.
func (*FrigateValidator) ValidateDelete(_ context.Context, _ *shipv1.Frigate) (admission.Warnings, error) {
	return nil, nil
}
