// Package skipped looks like an API and is none.
// +kubebuilder:skip
// +groupName=skipped.example.com
package skipped

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Ghost is nowhere.
type Ghost struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}
