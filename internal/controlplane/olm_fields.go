package controlplane

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry/grpc"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/lib/queueinformer"
)

// hiddenField finds a field that OLM does not export, in the struct that holder
// points to. Where a release of OLM has another, that is an error.
func hiddenField[T any](holder any, name string) (*T, error) {
	v := reflect.ValueOf(holder)
	if v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct {
		if f := v.Elem().FieldByName(name); f.IsValid() && f.Type() == reflect.TypeFor[T]() {
			return (*T)(f.Addr().UnsafePointer()), nil
		}
	}
	return nil, fmt.Errorf("OLM's %T has no field %s of the type %s", holder, name, reflect.TypeFor[T]())
}

// mute takes away the channel that an operator's workers send their results
// to, which nobody reads here. OLM closes it at the operator's end without
// waiting for its workers, and a worker that sends to it then ends the process.
// A send to no channel is never ready, so they skip it. It is to be called
// before the operator runs.
func mute(queues queueinformer.Operator) error {
	results, err := hiddenField[chan error](queues, "syncCh")
	if err != nil {
		return err
	}
	*results = nil
	return nil
}

// disconnect closes the connections of OLM's catalog operator, which leaves
// them open at its end and would dial anew each time one breaks.
func disconnect(store *grpc.SourceStore) error {
	sources, err := hiddenField[map[registry.CatalogKey]grpc.SourceConn](store, "sources")
	if err != nil {
		return err
	}
	lock, err := hiddenField[sync.RWMutex](store, "sourcesLock")
	if err != nil {
		return err
	}
	lock.RLock()
	keys := slices.Collect(maps.Keys(*sources))
	lock.RUnlock()
	var errs []error
	for _, key := range keys {
		errs = append(errs, store.Remove(key))
	}
	return errors.Join(errs...)
}
