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

package certs

// Names of objects as config/default deploys them, with the prefix of its
// kustomization.
const (
	serviceName = "webhook-self-webhook-service"
	secretName  = "webhook-self-webhook-server-cert"
)

// The certificates are kept in a Secret beside the manager, which shares them
// with the other replicas and with the manager's next start.
// +kubebuilder:rbac:groups="",namespace=webhook-self-system,resources=secrets,resourceNames=webhook-self-webhook-server-cert,verbs=get;update
// +kubebuilder:rbac:groups="",namespace=webhook-self-system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=webhook-self-mutating-webhook-configuration,verbs=get;update
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=webhook-self-validating-webhook-configuration,verbs=get;update
// +kubebuilder:scaffold:webhook-ca-rbac

// target is a cluster-scoped object that tells the API server where a webhook
// is and which CA to trust there.
type target struct{ group, kind, name string }

// targets are the objects that get the CA. Each needs a permission above.
func targets() []target {
	return []target{
		{"admissionregistration.k8s.io", "MutatingWebhookConfiguration", "webhook-self-mutating-webhook-configuration"},
		{"admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "webhook-self-validating-webhook-configuration"},
		// +kubebuilder:scaffold:webhook-ca
	}
}
