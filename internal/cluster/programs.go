package cluster

import (
	"context"
	"fmt"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
)

// Control is the way to the server of the running cluster of that name, besides
// its API. A cluster that does not run is an error with exit code 4.
func Control(ctx context.Context, h host.Host, name string) (state.Control, error) {
	l, err := layoutOf(h, name)
	if err != nil {
		return state.Control{}, err
	}
	was, err := l.Read()
	if err != nil {
		return state.Control{}, err
	}
	if !was.Alive() {
		return state.Control{}, clierr.Unavailablef(fmt.Sprintf("run '%s' first", state.Command("start", name)), "the cluster does not run")
	}
	return state.Control{Socket: was.Socket}, ctx.Err()
}
