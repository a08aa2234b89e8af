package v1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Color is one of a few.
// +kubebuilder:validation:Enum=red;green;blue
type Color string

// Red, Green and Blue are the colors.
const (
	Red   Color = "red"
	Green Color = "green"
	Blue  Color = "blue"
)

// Name is another name for a string.
type Name = string

// Names are many.
type Names []Name

// Common is embedded.
type Common struct {
	// Labels of the thing.
	Labels map[string]string `json:"labels,omitempty"`
	// Paused stops it.
	Paused bool `json:"paused,omitempty"`
}

// Tree refers to itself.
type Tree struct {
	Value string `json:"value"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Children []Tree `json:"children,omitempty"`
}

// Pair is generic and used by its instances.
// +kubebuilder:object:generate=false
type Pair[K comparable, V any] struct {
	Key   K `json:"key"`
	Value V `json:"value"`
}

// Limits is a generic type made concrete.
type Limits map[string]resource.Quantity

// ThingSpec is the desired state of a Thing.
type ThingSpec struct {
	Common `json:",inline"`
	*Tail  `json:",inline"`

	Color   Color                        `json:"color"`
	Colors  map[Color]Names              `json:"colors,omitempty"`
	Name    Name                         `json:"name,omitempty"`
	Matrix  [][]int32                    `json:"matrix,omitempty"`
	Bytes   []byte                       `json:"bytes,omitempty"`
	Pointer *[]*string                   `json:"pointer,omitempty"`
	Deep    map[string]map[string][]Tail `json:"deep,omitempty"`
	Tree    Tree                         `json:"tree,omitempty"`
	Limits  Limits                       `json:"limits,omitempty"`

	Resources corev1.ResourceRequirements  `json:"resources,omitempty"`
	Env       []corev1.EnvVar              `json:"env,omitempty"`
	Secret    *corev1.LocalObjectReference `json:"secret,omitempty"`
	Selector  *metav1.LabelSelector        `json:"selector,omitempty"`
	Port      intstr.IntOrString           `json:"port,omitempty"`
	MaxSurge  *intstr.IntOrString          `json:"maxSurge,omitempty"`
	Storage   resource.Quantity            `json:"storage,omitempty"`
	Timeout   *metav1.Duration             `json:"timeout,omitempty"`
	Since     metav1.Time                  `json:"since,omitempty"`
	UID       types.UID                    `json:"uid,omitempty"`
	Any       apiextensionsv1.JSON         `json:"any,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	Raw runtime.RawExtension `json:"raw,omitempty"`
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	Embedded runtime.RawExtension `json:"embedded,omitempty"`
	// Meta is metadata in the middle.
	Meta metav1.ObjectMeta `json:"meta,omitempty"`
}

// Tail is embedded by pointer.
type Tail struct {
	// Length in meters.
	Length uint16 `json:"length,omitempty"`
}

// ThingStatus is the observed state of a Thing.
type ThingStatus struct {
	Ref  *corev1.ObjectReference `json:"ref,omitempty"`
	When *metav1.MicroTime       `json:"when,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status

// Thing is the schema of the things API.
type Thing struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// +required
	Spec ThingSpec `json:"spec"`

	// +optional
	Status ThingStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// ThingList holds a list of Thing.
type ThingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Thing `json:"items"`
}

func init() {
	SchemeBuilder.Register(&Thing{}, &ThingList{})
}
