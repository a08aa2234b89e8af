// Package webhook looks at pods.
package webhook

// +kubebuilder:webhook:path=/mutate-pods,mutating=true,failurePolicy=ignore,sideEffects=None,groups="",resources=pods,verbs=create,versions=v1,name=apod.example.com,admissionReviewVersions=v1,reinvocationPolicy=IfNeeded

// Pods is a webhook.
type Pods struct{}
