package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/apis/pkg/shared"
)

// CaptainSpec is the desired state of a Captain.
type CaptainSpec struct {
	Rank shared.Level  `json:"rank"`
	Home *shared.Place `json:"home,omitempty"`
}

// CaptainStatus is the observed state of a Captain.
type CaptainStatus struct {
	Ships []string `json:"ships,omitempty"`
}

// +kubebuilder:object:root=true

// Captain is the schema of the captains API.
type Captain struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// +required
	Spec CaptainSpec `json:"spec"`

	// +optional
	Status CaptainStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// CaptainList holds a list of Captain.
type CaptainList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Captain `json:"items"`
}

func init() {
	SchemeBuilder.Register(&Captain{}, &CaptainList{})
}
