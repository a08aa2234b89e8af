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

// Programs lists what the running cluster of that name was told of, sorted by
// image. A cluster that does not run is an error with exit code 4.
func Programs(ctx context.Context, h host.Host, name string) ([]Program, error) {
	var list []Program
	err := ask(ctx, h, name, func(c state.Control) (err error) {
		list, err = c.Programs(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the programs of cluster %s: %w", name, err)
	}
	return list, nil
}

// SetProgram tells the running cluster of that name what serves the containers
// of p.Image in the pods of p.Workload, or in all pods that nothing else is said
// of, in place of what it was told before. The cluster remembers it
// until it is emptied. When SetProgram returns, a pod that is created is served
// so; containers that exist restart where path, ID or arguments have changed.
// A path that names no program is an error.
func SetProgram(ctx context.Context, h host.Host, name string, p Program) error {
	err := ask(ctx, h, name, func(c state.Control) error { return c.SetProgram(ctx, p) })
	if err != nil {
		return fmt.Errorf("set the program of image %s on cluster %s: %w", p.Image, name, err)
	}
	return nil
}

// RemoveProgram makes the running cluster of that name forget the program of an
// image for a workload, or, where that is empty, for all others. What runs goes
// on; a container that has to start fails as one without its image.
func RemoveProgram(ctx context.Context, h host.Host, name, image, workload string) error {
	err := ask(ctx, h, name, func(c state.Control) error { return c.RemoveProgram(ctx, image, workload) })
	if err != nil {
		return fmt.Errorf("remove the program of image %s from cluster %s: %w", image, name, err)
	}
	return nil
}

// ask calls f with the control socket of the running cluster of that name.
func ask(ctx context.Context, h host.Host, name string, f func(state.Control) error) error {
	l, err := layoutOf(h, name)
	if err != nil {
		return err
	}
	was, err := l.Read()
	if err != nil {
		return err
	}
	if !was.Alive() {
		return clierr.Unavailablef(fmt.Sprintf("run '%s' first", state.Command("start", name)), "the cluster does not run")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return f(state.Control{Socket: was.Socket})
}
