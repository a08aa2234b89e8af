// Package v1 holds the v1 types of the group crew.example.com.
// +kubebuilder:object:generate=true
// +groupName=crew.example.com
package v1

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

var (
	// GroupVersion names the group and version of the types.
	GroupVersion = schema.GroupVersion{Group: "crew.example.com", Version: "v1"}

	// SchemeBuilder adds the types to a scheme.
	SchemeBuilder = &scheme.Builder{GroupVersion: GroupVersion}

	// AddToScheme adds the types to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)
