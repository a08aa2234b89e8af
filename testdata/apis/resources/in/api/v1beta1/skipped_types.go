package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Nest is in the scheme, but has no CRD of this version.
// +kubebuilder:object:root=true
// +kubebuilder:skipversion
type Nest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Eggs []string `json:"eggs,omitempty"`
}
