// Package v1 has a kind of the outer module that is made of one of the nested.
// +kubebuilder:object:generate=true
// +groupName=barn.example.com
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	boxv1 "example.com/apis/api/v1"
)

// BarnSpec is the desired state of a Barn.
type BarnSpec struct {
	Box boxv1.BoxSpec `json:"box"`
}

// +kubebuilder:object:root=true

// Barn is the schema of the barns API.
type Barn struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// +required
	Spec BarnSpec `json:"spec"`
}
