package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OrderSpec is the desired state of an Order.
type OrderSpec struct {
	// Items by name.
	Items map[string]Item `json:"items,omitempty"`
}

// Item is one line of an Order.
type Item struct {
	// Count of this item.
	Count int64 `json:"count"`
}

// OrderStatus is the observed state of an Order.
type OrderStatus struct {
	Phase string `json:"phase,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status

// Order is the schema of the orders API.
type Order struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// +required
	Spec OrderSpec `json:"spec"`

	// +optional
	Status OrderStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// OrderList holds a list of Order.
type OrderList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Order `json:"items"`
}

func init() {
	SchemeBuilder.Register(&Order{}, &OrderList{})
}
