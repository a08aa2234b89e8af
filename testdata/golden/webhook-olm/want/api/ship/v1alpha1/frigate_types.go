package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// FrigateSpec is what the user asks for. After a change here run
// 'mysdk generate', which regenerates the deep copies and the CRD.
type FrigateSpec struct {
	// foo is an example field: replace it by what your Frigate needs.
	// +optional
	Foo string `json:"foo,omitempty"`
}

// FrigateStatus is what the controller observed.
type FrigateStatus struct {
	// conditions describe the current state of the object.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status

// Frigate is one object of the frigates API.
type Frigate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the user asks for.
	// +required
	Spec FrigateSpec `json:"spec"`

	// status is what the controller observed.
	// +optional
	Status FrigateStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// FrigateList is a list of Frigate.
type FrigateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Frigate `json:"items"`
}

func init() {
	SchemeBuilder.Register(func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypes(SchemeGroupVersion, &Frigate{}, &FrigateList{})
		return nil
	})
}
