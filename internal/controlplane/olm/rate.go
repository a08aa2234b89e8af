package olm

import (
	"reflect"
	"unsafe"

	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"
)

// unlimit takes the rate limit off every REST client that root holds, and off
// every configuration that it makes more of. OLM's catalog operator makes its
// clients itself, from a kubeconfig, which cannot say more than client-go's
// default of five requests a second: an upgrade would take seconds longer, and a
// step of the last one could come after what it installs is gone. The fields are
// not exported, so they are found by their types.
func unlimit(root any) (clients, configs int) {
	seen := map[unsafe.Pointer]bool{}
	var walk func(v reflect.Value, depth int)
	walk = func(v reflect.Value, depth int) {
		switch v.Kind() {
		case reflect.Interface:
			walk(v.Elem(), depth)
		case reflect.Pointer:
			if v.IsNil() || seen[v.UnsafePointer()] {
				return
			}
			seen[v.UnsafePointer()] = true
			switch v.Type() {
			case reflect.TypeFor[*rest.RESTClient]():
				if raise((*rest.RESTClient)(v.UnsafePointer())) {
					clients++
				}
			case reflect.TypeFor[*rest.Config]():
				(*rest.Config)(v.UnsafePointer()).QPS = -1
				configs++
			default:
				walk(v.Elem(), depth)
			}
		case reflect.Struct:
			for i := 0; i < v.NumField() && depth < limitDepth; i++ {
				walk(v.Field(i), depth+1)
			}
		}
	}
	walk(reflect.ValueOf(root), 0)
	return clients, configs
}

// limitDepth bounds how deep below the root clients are looked for.
const limitDepth = 8

// raise takes the limit off a client, and reports whether it has found it.
func raise(c *rest.RESTClient) bool {
	bucket := reflect.ValueOf(c.GetRateLimiter())
	if bucket.Kind() != reflect.Pointer || bucket.Elem().Kind() != reflect.Struct {
		return false
	}
	field := bucket.Elem().FieldByName("limiter")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*rate.Limiter]() {
		return false
	}
	(*rate.Limiter)(field.UnsafePointer()).SetLimit(rate.Inf)
	return true
}
