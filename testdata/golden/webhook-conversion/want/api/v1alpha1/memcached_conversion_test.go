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

package v1alpha1

import (
	"errors"
	"reflect"
	"testing"

	cachev1 "example.com/webhook-conversion/api/v1"
)

// A field that is lost here is lost in the cluster when somebody uses the
// other version: convert it, or keep it in an annotation of the other one. An
// object without any fields must not come back with some. Where a conversion
// parses a text, give the field one in texts, in conversion_helper_test.go.
func TestMemcached_SurvivesTheHub(t *testing.T) {
	full, empty := &Memcached{}, &Memcached{}
	fill(reflect.ValueOf(full).Elem())
	setTexts(reflect.ValueOf(empty).Elem(), "")
	for name, before := range map[string]*Memcached{"full": full, "empty": empty} {
		hub, after := &cachev1.Memcached{}, &Memcached{}
		if err := errors.Join(before.ConvertTo(hub), after.ConvertFrom(hub)); err != nil {
			t.Errorf("a Memcached that is %s: %v (if this parses a text, put one into texts of conversion_helper_test.go)", name, err)
			continue
		}
		for _, field := range lost(reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem()) {
			t.Errorf("a Memcached that is %s: %s of v1alpha1 is lost on the way to v1 and back", name, field)
		}
	}
}

func TestTheMemcachedHub_SurvivesThisVersion(t *testing.T) {
	full, empty := &cachev1.Memcached{}, &cachev1.Memcached{}
	fill(reflect.ValueOf(full).Elem())
	setTexts(reflect.ValueOf(empty).Elem(), "")
	for name, before := range map[string]*cachev1.Memcached{"full": full, "empty": empty} {
		spoke, after := &Memcached{}, &cachev1.Memcached{}
		if err := errors.Join(spoke.ConvertFrom(before), spoke.ConvertTo(after)); err != nil {
			t.Errorf("a Memcached that is %s: %v (if this parses a text, put one into texts of conversion_helper_test.go)", name, err)
			continue
		}
		for _, field := range lost(reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem()) {
			t.Errorf("a Memcached that is %s: %s of v1 is lost on the way to v1alpha1 and back", name, field)
		}
	}
}
