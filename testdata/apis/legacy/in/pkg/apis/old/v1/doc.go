// +k8s:deepcopy-gen=package,register

// Package v1 is marked as the old layout had it.
// +groupName=old.example.com
package v1
