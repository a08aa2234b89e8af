package cluster

import (
	"context"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
)

// Control is the way to the server of the running cluster of that name, besides
// its API. A cluster that does not run is an error with exit code 4.
func Control(ctx context.Context, h host.Host, name string) (state.Control, error) {
	var control state.Control
	err := ask(ctx, h, name, func(c state.Control) error { control = c; return nil })
	return control, err
}
