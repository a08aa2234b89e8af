package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GooseSpec is the desired state of a Goose.
type GooseSpec struct {
	Replicas *int32 `json:"replicas,omitempty"`
	Color    string `json:"color,omitempty"`
}

// GooseStatus is the observed state of a Goose.
type GooseStatus struct {
	Replicas int32  `json:"replicas,omitempty"`
	Selector string `json:"selector,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=geese,singular=goose,shortName=gs,scope=Namespaced,categories={birds,all}
// +kubebuilder:printcolumn:name="Replicas",type="integer",JSONPath=".spec.replicas",description="how many"
// +kubebuilder:printcolumn:name="Color",type=string,JSONPath=`.spec.color`,priority=1
// +kubebuilder:printcolumn:name="Age",type="date",format="date-time",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:selectablefield:JSONPath=`.spec.color`
// +kubebuilder:metadata:annotations="farm.example.com/owner=anna"
// +kubebuilder:metadata:labels="pond=north";"size=large"

// Goose is the schema of the gooses API.
type Goose struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// +required
	Spec GooseSpec `json:"spec"`

	// +optional
	Status GooseStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// GooseList holds a list of Goose.
type GooseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Goose `json:"items"`
}

func init() {
	SchemeBuilder.Register(&Goose{}, &GooseList{})
}

// Feed is not a kind: it has no metadata.
type Feed struct {
	Grams int `json:"grams"`
}
