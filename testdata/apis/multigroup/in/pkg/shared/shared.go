// Package shared holds types that several groups use. It has deepcopy code of
// its own and no group.
// +kubebuilder:object:generate=true
package shared

// Level is how much of something.
// +kubebuilder:validation:Enum=low;middle;high
type Level string

// Place is where something is.
type Place struct {
	// Region is a part of the world.
	Region string `json:"region"`
	// Tags are free.
	Tags map[string]string `json:"tags,omitempty"`
}

// Hidden has no deepcopy code.
// +kubebuilder:object:generate=false
type Hidden struct {
	Values []string `json:"values"`
}
