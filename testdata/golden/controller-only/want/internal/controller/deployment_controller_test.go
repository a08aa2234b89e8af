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

package controller

import (
	"testing"

	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "k8s.io/api/apps/v1"
)

func TestDeployment_ReconcilesWhatIsGone(t *testing.T) {
	if err := appsv1.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	namespace := newNamespace(t)
	var reconciler *DeploymentReconciler
	startManager(t, namespace, func(mgr ctrl.Manager) error {
		reconciler = &DeploymentReconciler{Client: k8sClient, Scheme: mgr.GetScheme()}
		return reconciler.SetupWithManager(mgr)
	})

	request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: "gone"}}
	if _, err := reconciler.Reconcile(t.Context(), request); err != nil {
		t.Errorf("reconciling an object that does not exist: %v", err)
	}
}
