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
	w := limitWalker{seen: map[unsafe.Pointer]bool{}}
	w.walk(reflect.ValueOf(root), 0)
	return w.clients, w.configs
}

// limitDepth bounds how deep below the root clients are looked for.
const limitDepth = 8

type limitWalker struct {
	seen             map[unsafe.Pointer]bool
	clients, configs int
}

func (w *limitWalker) walk(v reflect.Value, depth int) {
	if depth > limitDepth {
		return
	}
	switch v.Kind() {
	case reflect.Interface:
		w.walk(v.Elem(), depth)
	case reflect.Pointer:
		if v.IsNil() || w.seen[v.UnsafePointer()] {
			return
		}
		w.seen[v.UnsafePointer()] = true
		switch v.Type() {
		case reflect.TypeFor[*rest.RESTClient]():
			w.raise((*rest.RESTClient)(v.UnsafePointer()))
		case reflect.TypeFor[*rest.Config]():
			(*rest.Config)(v.UnsafePointer()).QPS = -1
			w.configs++
		default:
			w.walk(v.Elem(), depth)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			w.walk(v.Field(i), depth+1)
		}
	}
}

// raise takes the limit off a client.
func (w *limitWalker) raise(c *rest.RESTClient) {
	bucket := reflect.ValueOf(c.GetRateLimiter())
	if bucket.Kind() != reflect.Pointer || bucket.Elem().Kind() != reflect.Struct {
		return
	}
	field := bucket.Elem().FieldByName("limiter")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*rate.Limiter]() {
		return
	}
	(*rate.Limiter)(field.UnsafePointer()).SetLimit(rate.Inf)
	w.clients++
}
