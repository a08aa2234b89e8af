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

package v2

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/conversion"

	cachev1 "example.com/webhook-conversion/api/v1"
)

// ConvertTo converts this Memcached to the hub version, v1. What the hub has no field
// for is lost, unless it is kept in an annotation.
func (src *Memcached) ConvertTo(hub conversion.Hub) error {
	dst, ok := hub.(*cachev1.Memcached)
	if !ok {
		return fmt.Errorf("converting Memcached to %T, which is not the hub", hub)
	}
	dst.ObjectMeta = src.ObjectMeta
	memcachedSpecToV1(&src.Spec, &dst.Spec)
	memcachedStatusToV1(&src.Status, &dst.Status)
	return nil
}

// ConvertFrom converts the hub version, v1, to this Memcached.
func (dst *Memcached) ConvertFrom(hub conversion.Hub) error {
	src, ok := hub.(*cachev1.Memcached)
	if !ok {
		return fmt.Errorf("converting Memcached from %T, which is not the hub", hub)
	}
	dst.ObjectMeta = src.ObjectMeta
	memcachedSpecFromV1(&src.Spec, &dst.Spec)
	memcachedStatusFromV1(&src.Status, &dst.Status)
	return nil
}

func memcachedSpecToV1(src *MemcachedSpec, dst *cachev1.MemcachedSpec) {
	dst.Size = src.Size
}

func memcachedStatusToV1(src *MemcachedStatus, dst *cachev1.MemcachedStatus) {
	dst.Nodes = src.Nodes
	dst.Replicas = src.Replicas
	dst.ReadyReplicas = src.ReadyReplicas
	dst.Selector = src.Selector
	dst.Conditions = src.Conditions
}

func memcachedSpecFromV1(src *cachev1.MemcachedSpec, dst *MemcachedSpec) {
	dst.Size = src.Size
}

func memcachedStatusFromV1(src *cachev1.MemcachedStatus, dst *MemcachedStatus) {
	dst.Nodes = src.Nodes
	dst.Replicas = src.Replicas
	dst.ReadyReplicas = src.ReadyReplicas
	dst.Selector = src.Selector
	dst.Conditions = src.Conditions
}
