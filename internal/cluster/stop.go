package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/filelock"
	"github.com/example/mysdk/internal/host"
)

const (
	// stopTimeout is how long a server may take to end before it is killed.
	// It loses nothing by that: what it acknowledged is in etcd's log.
	stopTimeout = 10 * time.Second
	// pollInterval is how often a wait for another process looks again.
	pollInterval = 10 * time.Millisecond
)

// Stop ends the cluster of that name and reports whether it was running. Its
// data stay for the next start.
func Stop(ctx context.Context, h host.Host, name string) (bool, error) {
	l, err := layoutOf(h, name)
	if err != nil {
		return false, err
	}
	return stop(ctx, l, name)
}

func stop(ctx context.Context, l state.Layout, name string) (bool, error) {
	locked, err := l.Locked()
	if err != nil {
		return false, err
	}
	if !locked {
		return false, clearStale(ctx, l)
	}
	limited, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	gone, err := askToStop(limited, l)
	if err == nil && !gone {
		if err = ctx.Err(); err == nil {
			gone, err = kill(ctx, l)
		}
	}
	if err != nil {
		return false, fmt.Errorf("stop cluster %s: %w", name, err)
	}
	if !gone {
		return false, fmt.Errorf("stop cluster %s: its server did not end", name)
	}
	return true, clearStale(ctx, l)
}

// askToStop asks the server over its control socket, as soon as it has one,
// and reports whether it ended before ctx.
func askToStop(ctx context.Context, l state.Layout) (bool, error) {
	asked := false
	for {
		locked, err := l.Locked()
		if err != nil || !locked {
			return !locked, err
		}
		if s, err := l.Read(); err == nil && !asked && s.Alive() {
			// A server that does not answer is killed in the end.
			asked = state.Control{Socket: s.Socket}.Stop(ctx) == nil
		}
		if !host.Pause(ctx, pollInterval) {
			return false, nil
		}
	}
}

// kill ends the server the hard way and reports whether it has gone.
func kill(ctx context.Context, l state.Layout) (bool, error) {
	s, err := l.Read()
	if err != nil || !s.Alive() {
		return false, err
	}
	p, err := os.FindProcess(s.PID)
	if err != nil {
		return false, err
	}
	if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if err := filelock.AwaitFree(ctx, l.LockFile()); !errors.Is(err, filelock.ErrHeld) {
		return err == nil, err
	}
	return false, nil
}

// clearStale removes what a killed server left behind: programs that still run,
// its sockets, and its process number in the state file. Nothing is stale where
// somebody else was faster to start the cluster.
func clearStale(ctx context.Context, l state.Layout) (err error) {
	if s, err := l.Read(); err != nil || s.PID == 0 {
		return err
	}
	lock, err := l.Lock(ctx)
	if errors.Is(err, state.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	s, err := l.Read()
	if err != nil || s.PID == 0 {
		return err
	}
	_, err = l.Clear(s)
	return errors.Join(l.Orphans().End(), err)
}

// Reset stops the cluster of that name if it runs, and removes it with all of
// its data. It reports whether there was anything to remove.
func Reset(ctx context.Context, h host.Host, name string) (bool, error) {
	l, err := layoutOf(h, name)
	if err != nil {
		return false, err
	}
	if _, err := os.Lstat(l.Dir); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		return false, fmt.Errorf("reset cluster %s: %w", name, err)
	}
	if _, err := stop(ctx, l, name); err != nil {
		return false, err
	}
	if err := remove(ctx, h, l, name); err != nil {
		return false, fmt.Errorf("reset cluster %s: %w", name, err)
	}
	return true, nil
}

// remove deletes all of a stopped cluster while it owns the directory, and the lock last.
func remove(ctx context.Context, h host.Host, l state.Layout, name string) error {
	lock, err := l.Lock(ctx)
	if err != nil {
		return err
	}
	err = forget(h, l, name)
	entries, listed := os.ReadDir(l.Dir)
	err = errors.Join(err, listed)
	for _, e := range entries {
		if path := filepath.Join(l.Dir, e.Name()); err == nil && path != l.LockFile() {
			err = os.RemoveAll(path)
		}
	}
	if err = errors.Join(err, lock.Release()); err != nil {
		return err
	}
	return os.RemoveAll(l.Dir)
}

// forget removes what is kept beside a cluster that ends.
func forget(h host.Host, l state.Layout, name string) error {
	dir, err := h.StateDir()
	if err != nil {
		return err
	}
	s, err := l.Read()
	if err == nil && s.UID != "" {
		err = os.RemoveAll(state.Runs(dir, s.UID))
	}
	return errors.Join(err, os.RemoveAll(state.HostPrograms(dir, name)))
}

// empty removes what the cluster stores. Its keys stay; it gets another port,
// as clients remember kinds by the server's address.
func empty(ctx context.Context, h host.Host, l state.Layout, name string) (err error) {
	if _, err := os.Lstat(l.Etcd()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	// All of it while nobody else may start the cluster.
	lock, err := l.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if err := errors.Join(os.RemoveAll(l.Programs()), os.RemoveAll(l.PodLogs()), forget(h, l, name)); err != nil {
		return err
	}
	s, err := l.Read()
	if err != nil {
		return err
	}
	s.Port, s.Server, s.UID, s.Kubernetes, s.Nodes, s.FSync = 0, "", "", "", 0, false
	if err := l.Write(s); err != nil {
		return err
	}
	// Last: where it is gone, all of that is done.
	return os.RemoveAll(l.Etcd())
}
