// Package v1 contains the v1 API of the group ship.example.com.
// +kubebuilder:object:generate=true
// +groupName=ship.example.com
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// SchemeGroupVersion is the group and version that the kinds of this package are registered under.
	// Generated apply configurations refer to it by this name.
	SchemeGroupVersion = schema.GroupVersion{Group: "ship.example.com", Version: "v1"}

	// GroupVersion is another name of SchemeGroupVersion.
	GroupVersion = SchemeGroupVersion

	// SchemeBuilder collects the kinds of this package.
	SchemeBuilder = runtime.NewSchemeBuilder(func(scheme *runtime.Scheme) error {
		metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
		return nil
	})

	// AddToScheme adds the kinds of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)
