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

// DeploymentValidator refuses what a Deployment may not be. Rules on a single field, or on
// fields beside each other, are better off as markers on the types.
type DeploymentValidator struct{}

// ValidateCreate is asked about new objects. An error refuses them, and
// warnings are shown to their author.
func (*DeploymentValidator) ValidateCreate(_ context.Context, _ *appsv1.Deployment) (admission.Warnings, error) {
	return nil, nil // nothing yet: look at the object here
}

// ValidateUpdate is asked about changes. What was stored before a rule came has
// to stay changeable: finalizers are removed by an update, for instance.
func (*DeploymentValidator) ValidateUpdate(_ context.Context, _, _ *appsv1.Deployment) (admission.Warnings, error) {
	return nil, nil // nothing yet: compare the old object with the new one here
}

// ValidateDelete is asked about deletions, once the verbs have delete.
func (*DeploymentValidator) ValidateDelete(_ context.Context, _ *appsv1.Deployment) (admission.Warnings, error) {
	return nil, nil
}
