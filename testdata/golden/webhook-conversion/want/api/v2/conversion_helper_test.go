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
	"cmp"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxDepth ends the filling of types that contain themselves.
const maxDepth = 12

// texts are those of fields whose text has a form, by path in JSON, such as
// "spec.schedule": "0 0 * * *".
var texts = map[string]string{}

// fill sets every field of an object, apart from its type and metadata, to
// something that is not zero. Of lists and maps it makes one item.
func fill(object reflect.Value) {
	for i := range object.NumField() {
		switch field := object.Field(i); field.Interface().(type) {
		case metav1.TypeMeta:
		case metav1.ObjectMeta:
			field.FieldByName("Name").SetString("sample")
			field.FieldByName("Labels").Set(reflect.ValueOf(map[string]string{"some": "label"}))
		default:
			fillValue(field, pathOf("", object.Type().Field(i)), 0)
		}
	}
}

// pathOf is the path in JSON of a field of the struct at a path.
func pathOf(path string, field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return strings.Trim(path+"."+name, ".")
}

func fillValue(v reflect.Value, path string, depth int) {
	if !v.CanSet() || depth > maxDepth {
		return
	}
	switch special := v.Addr().Interface().(type) {
	case *metav1.Time:
		*special = metav1.NewTime(time.Unix(1e9, 0))
		return
	case *metav1.MicroTime:
		*special = metav1.NewMicroTime(time.Unix(1e9, 0))
		return
	case *resource.Quantity:
		*special = resource.MustParse("3")
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(3)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(3)
	case reflect.String:
		v.SetString(cmp.Or(texts[path], "some text"))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillValue(v.Elem(), path, depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillValue(v.Index(0), path, depth+1)
	case reflect.Array:
		for i := range v.Len() {
			fillValue(v.Index(i), path, depth+1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillValue(key, "", depth+1)
		fillValue(value, path, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fillValue(v.Field(i), pathOf(path, v.Type().Field(i)), depth+1)
		}
	}
}

// setTexts gives an object that is empty otherwise what texts has for it.
func setTexts(v reflect.Value, path string) {
	switch {
	case v.Kind() == reflect.String && v.CanSet():
		v.SetString(texts[path])
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			setTexts(v.Field(i), pathOf(path, v.Type().Field(i)))
		}
	}
}

// lost lists the fields, by their names in JSON, that differ from before.
func lost(before, after reflect.Value) []string {
	if reflect.DeepEqual(before.Interface(), after.Interface()) {
		return nil
	}
	var names []string
	if before.Kind() == reflect.Struct {
		for i := range before.NumField() {
			field := before.Type().Field(i)
			if !field.IsExported() {
				return []string{""} // a type with a form of its own, such as a time
			}
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			for _, below := range lost(before.Field(i), after.Field(i)) {
				names = append(names, strings.Trim(name+"."+below, "."))
			}
		}
		return names
	}
	return []string{""}
}
