package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BoxSpec is the desired state of a Box.
type BoxSpec struct {
	Things []string `json:"things,omitempty"`
}

// BoxStatus is the observed state of a Box.
type BoxStatus struct{}

// +kubebuilder:object:root=true

// Box is the schema of the boxs API.
type Box struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// +required
	Spec BoxSpec `json:"spec"`

	// +optional
	Status BoxStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// BoxList holds a list of Box.
type BoxList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Box `json:"items"`
}

func init() {
	SchemeBuilder.Register(&Box{}, &BoxList{})
}
