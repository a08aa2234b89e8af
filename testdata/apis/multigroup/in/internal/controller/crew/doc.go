// Package crew controls captains.
package crew

// +kubebuilder:rbac:groups=crew.example.com;fleet.example.com,resources=captains;ships,verbs=get;list;watch
