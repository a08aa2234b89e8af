//go:build plan9

package v1beta1

// +kubebuilder:rbac:groups=plan9,resources=files,verbs=get

// Elsewhere is built on another system.
type Elsewhere struct {
	Lists []string `json:"lists"`
}
