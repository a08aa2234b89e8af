package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crewv1 "example.com/apis/api/crew/v1"
	. "example.com/apis/pkg/shared"
)

// ShipSpec is the desired state of a Ship.
type ShipSpec struct {
	Captain crewv1.CaptainSpec `json:"captain"`
	Ports   []Place            `json:"ports,omitempty"`
	ByLevel map[Level][]Place  `json:"byLevel,omitempty"`
}

// ShipStatus is the observed state of a Ship.
type ShipStatus struct {
	At *Place `json:"at,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=ships,shortName=sh;shp,categories=all;sea,singular=ship

// Ship is the schema of the ships API.
type Ship struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// +required
	Spec ShipSpec `json:"spec"`

	// +optional
	Status ShipStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// ShipList holds a list of Ship.
type ShipList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Ship `json:"items"`
}

func init() {
	SchemeBuilder.Register(&Ship{}, &ShipList{})
}
