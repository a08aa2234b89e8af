package cluster

import (
	"context"
	"fmt"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
)

// Program says which program of this machine serves the containers of an
// image on an embedded cluster, or why none does.
type Program = state.Program

// Process is a container that such a program serves.
type Process = state.Process

// Annotations of pods on an embedded cluster.
const (
	ProcessAnnotation  = state.ProcessAnnotation  // a program of this machine runs in it
	SimulateAnnotation = state.SimulateAnnotation // how it is simulated: one of Simulations
)

// Simulations are what simulated pods may be made to look like.
func Simulations() []string { return state.Simulations() }

// WorkloadName names what pods belong to, for Program.Workload.
func WorkloadName(namespace, kind, name string) string {
	return state.WorkloadName(namespace, kind, name)
}

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
