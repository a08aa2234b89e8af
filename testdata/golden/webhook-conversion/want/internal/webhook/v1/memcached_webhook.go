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

package v1

import (
	ctrl "sigs.k8s.io/controller-runtime"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	cachev1 "example.com/webhook-conversion/api/v1"
)

// memcachedlog is the log of the webhooks of Memcached.
var memcachedlog = logf.Log.WithName("memcached-resource")

// SetupMemcachedWebhookWithManager serves the webhooks of Memcached on the manager's webhook server.
func SetupMemcachedWebhookWithManager(mgr ctrl.Manager) error {
	memcachedlog.V(1).Info("Setting up the webhooks")
	return ctrl.NewWebhookManagedBy(mgr, &cachev1.Memcached{}).
		Complete()
}
