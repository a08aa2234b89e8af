// Package loose has a kind and no group.
package loose

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Stray is taken for a kind without a group.
type Stray struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Value string `json:"value"`
}
