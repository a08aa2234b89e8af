package v1

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1 "k8s.io/api/apps/v1"
)

// deploymentlog is the log of the webhooks of Deployment.
var deploymentlog = logf.Log.WithName("deployment-resource")

// SetupDeploymentWebhookWithManager serves the webhooks of Deployment on the manager's webhook server.
func SetupDeploymentWebhookWithManager(mgr ctrl.Manager) error {
	deploymentlog.V(1).Info("Setting up the webhooks")
	return ctrl.NewWebhookManagedBy(mgr, &appsv1.Deployment{}).
		WithValidator(&DeploymentValidator{}).
		Complete()
}

// To validate DELETE requests as well, add delete to the verbs.
// +kubebuilder:webhook:path=/validate-apps-v1-deployment,mutating=false,failurePolicy=ignore,sideEffects=None,groups=apps,resources=deployments,verbs=create;update,versions=v1,name=vdeployment-v1.kb.io,admissionReviewVersions=v1

// DeploymentValidator rejects invalid Deployment objects. Rules on a single field, or on
// fields of one struct, are better expressed as markers on the types.
type DeploymentValidator struct{}

// ValidateCreate validates CREATE requests. An error rejects the object, and
// warnings are shown to its author.
func (*DeploymentValidator) ValidateCreate(_ context.Context, _ *appsv1.Deployment) (admission.Warnings, error) {
	return nil, nil // nothing yet: look at the object here
}

// ValidateUpdate validates UPDATE requests. Allow updates to objects stored before
// a rule existed: removing a finalizer is an update, too.
func (*DeploymentValidator) ValidateUpdate(_ context.Context, _, _ *appsv1.Deployment) (admission.Warnings, error) {
	return nil, nil // nothing yet: compare the old object with the new one here
}

// ValidateDelete validates DELETE requests, once the marker's verbs include delete.
func (*DeploymentValidator) ValidateDelete(_ context.Context, _ *appsv1.Deployment) (admission.Warnings, error) {
	return nil, nil
}
