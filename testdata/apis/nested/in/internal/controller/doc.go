// Package controller belongs to the outer module.
package controller

// +kubebuilder:rbac:groups=nested.example.com,resources=boxes,verbs=get
