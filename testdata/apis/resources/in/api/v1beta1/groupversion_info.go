// Package v1beta1 holds the v1beta1 types of the group farm.example.com.
// +kubebuilder:object:generate=true
// +groupName=farm.example.com
// +versionName=v1beta7
package v1beta1

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

var (
	// GroupVersion names the group and version of the types.
	GroupVersion = schema.GroupVersion{Group: "farm.example.com", Version: "v1beta1"}

	// SchemeBuilder adds the types to a scheme.
	SchemeBuilder = &scheme.Builder{GroupVersion: GroupVersion}

	// AddToScheme adds the types to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)
