package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Label is a string with limits of its own.
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
type Label string

// RuleSpec is the desired state of a Rule.
//
// It has more than one paragraph.
//
//   - a list
//   - of two
//
// +kubebuilder:validation:XValidation:rule="self.minimum <= self.maximum",message="minimum must not exceed maximum"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.frozen) || self.frozen == oldSelf.frozen",messageExpression="'frozen stays ' + string(oldSelf.frozen)",reason=FieldValueForbidden,fieldPath=".frozen"
type RuleSpec struct {
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:ExclusiveMinimum=true
	Minimum int `json:"minimum"`

	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:validation:MultipleOf=5
	Maximum int `json:"maximum"`

	// +kubebuilder:default=false
	// +optional
	Frozen *bool `json:"frozen,omitempty"`

	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:UniqueItems=false
	// +kubebuilder:validation:items:MinLength=1
	// +listType=set
	Names []string `json:"names,omitempty"`

	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	// +mapType=granular
	Labels map[string]Label `json:"labels,omitempty"`

	// +kubebuilder:validation:Enum="";Always;Never;IfNotPresent
	// +kubebuilder:default:="Always"
	// +kubebuilder:example="Never"
	Policy string `json:"policy,omitempty"`

	// +kubebuilder:validation:Format=date-time
	When string `json:"when,omitempty"`

	// +kubebuilder:validation:Type=string
	// +nullable
	Odd *int `json:"odd,omitempty"`

	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern="^[0-9]+%?$"
	Share string `json:"share,omitempty"`

	// +kubebuilder:default={name: "first", ports: {80, 443}}
	// +kubebuilder:title="Where to go"
	Target Target `json:"target,omitempty"`

	// +listType=map
	// +listMapKey=name
	Targets []Target `json:"targets,omitempty"`

	OneOrOther Either `json:"oneOrOther,omitempty"`

	// +kubebuilder:validation:Optional
	NoOmit string `json:"noOmit"`
	// +kubebuilder:validation:Required
	Must string `json:"must,omitempty"`
	// TODO: this line is not part of the description.
	//
	// This one is.
	// ---
	// And this is not.
	Text string `json:"text,omitempty"`
}

// Target is somewhere to go.
// +structType=atomic
type Target struct {
	Name Label `json:"name"`
	// +listType=atomic
	Ports []int32 `json:"ports,omitempty"`
}

// Either has exactly one of its fields.
// +kubebuilder:validation:ExactlyOneOf=left;right
// +kubebuilder:validation:AtMostOneOf=up;down
type Either struct {
	Left  *string `json:"left,omitempty"`
	Right *string `json:"right,omitempty"`
	Up    *string `json:"up,omitempty"`
	Down  *string `json:"down,omitempty"`
}

// RuleStatus is the observed state of a Rule.
type RuleStatus struct {
	// +kubebuilder:validation:Minimum=-1
	Generation int64 `json:"generation,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() < 20"

// Rule is the schema of the rules API.
type Rule struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// +required
	Spec RuleSpec `json:"spec"`

	// +optional
	Status RuleStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// RuleList holds a list of Rule.
type RuleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Rule `json:"items"`
}

func init() {
	SchemeBuilder.Register(&Rule{}, &RuleList{})
}
