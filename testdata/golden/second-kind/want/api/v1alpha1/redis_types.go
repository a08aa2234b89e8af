/*
Copyright 2026.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// RedisSpec is what the user asks for. After a change here run
// 'mysdk generate', which regenerates the deep copies and the CRD.
type RedisSpec struct {
	// foo is an example field: replace it by what your Redis needs.
	// +optional
	Foo string `json:"foo,omitempty"`
}

// RedisStatus is what the controller observed.
type RedisStatus struct {
	// conditions describe the current state of the object.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=redises
// +kubebuilder:subresource:status

// Redis is one object of the redises API.
type Redis struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the user asks for.
	// +required
	Spec RedisSpec `json:"spec"`

	// status is what the controller observed.
	// +optional
	Status RedisStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// RedisList is a list of Redis.
type RedisList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Redis `json:"items"`
}

func init() {
	SchemeBuilder.Register(func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypes(SchemeGroupVersion, &Redis{}, &RedisList{})
		return nil
	})
}
