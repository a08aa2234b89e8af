package v1

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// The tests of a defaulter DeploymentDefaulter and of a validator DeploymentValidator
// go here, those of the Conversion Webhook beside the types. kubebuilder leaves
// the file alone where it finds these words.

func TestDeploymentValidator_AdmitsEverythingYet(t *testing.T) {
	v, object := &DeploymentValidator{}, &appsv1.Deployment{}
	if warnings, err := v.ValidateCreate(t.Context(), object); err != nil || len(warnings) > 0 {
		t.Errorf("create: %q, %v", warnings, err)
	}
	if warnings, err := v.ValidateUpdate(t.Context(), object, object.DeepCopy()); err != nil || len(warnings) > 0 {
		t.Errorf("update: %q, %v", warnings, err)
	}
	if warnings, err := v.ValidateDelete(t.Context(), object); err != nil || len(warnings) > 0 {
		t.Errorf("delete: %q, %v", warnings, err)
	}
}
