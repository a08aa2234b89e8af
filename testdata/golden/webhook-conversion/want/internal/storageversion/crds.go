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

package storageversion

// Permissions for each of the CRDs below: to read it, to write its stored
// versions, and to rewrite its objects in all namespaces.

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=memcacheds.cache.example.com,verbs=get
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions/status,resourceNames=memcacheds.cache.example.com,verbs=update
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=list;patch
// +kubebuilder:scaffold:storage-version-rbac

// crds are the names of the CRDs whose objects are migrated.
func crds() []string {
	return []string{
		"memcacheds.cache.example.com",
		// +kubebuilder:scaffold:storage-version
	}
}
