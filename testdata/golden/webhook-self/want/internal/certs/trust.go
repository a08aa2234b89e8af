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

import (
	"context"
	"encoding/base64"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// trust writes the CAs into an object. One that is not deployed yet gets them
// the next time.
func (m *Manager) trust(ctx context.Context, t target, trusted []byte) error {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: t.group, Version: "v1", Kind: t.kind})
	if err := m.client.Get(ctx, client.ObjectKey{Name: t.name}, object); err != nil {
		if apierrors.IsNotFound(err) {
			ctrl.LoggerFrom(ctx).WithName("certs").Info("Found no object to write the CA into, will look again", "kind", t.kind, "name", t.name)
			return nil
		}
		return err
	}
	if !setCA(object.Object, m.namespace, trusted) {
		return nil
	}
	return m.client.Update(ctx, object)
}

// setCA sets the CA wherever an object names the webhook Service, and says
// whether that changed anything.
func setCA(object map[string]any, namespace string, trusted []byte) (changed bool) {
	ca := base64.StdEncoding.EncodeToString(trusted)
	for _, clientConfig := range clientConfigs(object) {
		service, _ := clientConfig["service"].(map[string]any)
		if service["name"] != serviceName || service["namespace"] != namespace || clientConfig["caBundle"] == ca {
			continue
		}
		clientConfig["caBundle"] = ca
		changed = true
	}
	return changed
}

// clientConfigs returns those of a webhook configuration or of a CRD.
func clientConfigs(object map[string]any) []map[string]any {
	var out []map[string]any
	webhooks, _ := object["webhooks"].([]any)
	spec, _ := object["spec"].(map[string]any)
	conversion, _ := spec["conversion"].(map[string]any)
	for _, item := range append(webhooks, conversion["webhook"]) {
		webhook, _ := item.(map[string]any)
		if clientConfig, ok := webhook["clientConfig"].(map[string]any); ok {
			out = append(out, clientConfig)
		}
	}
	return out
}
