package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Old is a kind.
type Old struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec OldSpec `json:"spec,omitempty"`
}

// OldSpec is the desired state of an Old.
type OldSpec struct {
	Words []string `json:"words,omitempty"`
	Skip  *Plain   `json:"skip,omitempty"`
}

// +k8s:deepcopy-gen=false

// Plain copies itself.
type Plain struct {
	N int `json:"n"`
}

// DeepCopyInto copies by hand.
func (in *Plain) DeepCopyInto(out *Plain) { *out = *in }
