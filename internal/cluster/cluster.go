// Package cluster is the embedded control plane seen from outside: it finds or
// builds the mysdk-cluster binary, starts and stops it, and tells its state,
// log and credentials. What runs inside is internal/controlplane's business,
// and talking to the Kubernetes API is internal/kube's.
package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
)

// States of a cluster.
const (
	Running = "running"
	Stopped = "stopped"
	Stale   = "stale" // its server was killed; the next start clears up
)

// Info is what there is to know of a cluster.
type Info struct {
	Name           string        `json:"name"`
	State          string        `json:"state"`              // Running, Stopped or Stale
	Ready          bool          `json:"ready"`              // all of its components are up
	Problem        string        `json:"problem,omitempty"`  // why a running cluster is not ready, where that is known
	AlreadyRunning bool          `json:"-"`                  // Start found it so
	PID            int           `json:"pid,omitempty"`      // of the server
	Server         string        `json:"server,omitempty"`   // URL of the API server
	Context        string        `json:"context"`            // name of its kubeconfig context
	Kubeconfig     string        `json:"kubeconfig"`         // path; the file is there once the cluster was started
	Version        string        `json:"version,omitempty"`  // of Kubernetes
	Build          string        `json:"build,omitempty"`    // version of mysdk that the server was built from
	Nodes          int           `json:"nodes,omitempty"`    // simulated nodes asked for at the start
	FSync          bool          `json:"fsync,omitempty"`    // every write goes to the disk at once
	Verbosity      int           `json:"-"`                  // of the log
	Tied           bool          `json:"-"`                  // ends with the mysdk that started it
	StartedAt      time.Time     `json:"startedAt,omitzero"` // of the running server
	StateDir       string        `json:"stateDir"`           // the cluster's private directory
	Memory         int64         `json:"memory,omitempty"`   // resident bytes of the server, 0 where unknown
	Stages         []state.Stage `json:"stages,omitempty"`   // of the running server's start

	Processes []state.Process `json:"processes,omitempty"` // containers that programs of this machine serve
}

// askTimeout bounds a question over the control socket: a server that runs
// answers at once.
const askTimeout = 5 * time.Second

// layoutOf checks the name and returns where the cluster's files lie.
func layoutOf(h host.Host, name string) (state.Layout, error) {
	if err := state.CheckName(name); err != nil {
		return state.Layout{}, err
	}
	dir, err := h.StateDir()
	if err != nil {
		return state.Layout{}, clierr.WithHint(fmt.Errorf("find the directory for clusters: %w", err),
			"set MYSDK_STATE_DIR to a directory of yours")
	}
	return state.New(dir, name), nil
}

// Status tells the state of the cluster of that name. A cluster that was never
// started is Stopped.
func Status(ctx context.Context, h host.Host, name string) (Info, error) {
	l, err := layoutOf(h, name)
	if err != nil {
		return Info{}, err
	}
	return status(ctx, l, name)
}

// status joins what the state file says with whether somebody holds the lock, which
// alone shows that a server lives: a file outlives a server that was killed.
func status(ctx context.Context, l state.Layout, name string) (Info, error) {
	was, err := l.Read()
	if err != nil {
		return Info{}, err
	}
	locked, err := l.Locked()
	if err != nil {
		return Info{}, err
	}
	info := infoOf(l, name, state.Status{State: was})
	switch {
	case locked && was.Alive():
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		now, err := state.Control{Socket: was.Socket}.Status(ctx)
		if err == nil {
			info = infoOf(l, name, now)
		} else {
			info.Problem = err.Error()
		}
		info.State = Running
	case locked:
		info.State, info.PID, info.StartedAt, info.Problem = Running, 0, time.Time{}, "it is starting"
	case was.PID != 0:
		info.State = Stale
	default:
		info.State, info.StartedAt = Stopped, time.Time{}
	}
	return info, nil
}

func infoOf(l state.Layout, name string, s state.Status) Info {
	return Info{
		Name: name, Ready: s.Ready, Problem: s.Failed, PID: s.PID, Server: s.Server, Version: s.Kubernetes,
		Build: s.Build, Nodes: s.Nodes, FSync: s.FSync, Verbosity: s.Verbosity, Tied: s.Tied, StartedAt: s.StartedAt, Memory: s.Memory, Stages: s.Stages, Processes: s.Processes,
		Context: state.ContextName(name), Kubeconfig: l.Kubeconfig(), StateDir: l.Dir,
	}
}

// List tells the state of every cluster that was started and not reset, sorted
// by name.
func List(ctx context.Context, h host.Host) ([]Info, error) {
	dir, err := h.StateDir()
	if err != nil {
		return nil, fmt.Errorf("find the directory for clusters: %w", err)
	}
	names, err := state.Names(dir)
	if err != nil {
		return nil, err
	}
	list := []Info{}
	for _, name := range names {
		info, err := status(ctx, state.New(dir, name), name)
		if err != nil {
			return nil, err
		}
		list = append(list, info)
	}
	return list, nil
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
