package localrun

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/filelock"
	"github.com/example/mysdk/internal/host"
)

// These begin the names of what runs make for themselves.
const (
	kubeconfigPrefix = "kubeconfig-"
	programPrefix    = "program-"  // directories with their operators
	privatePrefix    = "webhooks-" // directories with webhooks' certificates
)

// private is a path for a file or directory that is removed when the run ends. The
// process holds a lock beside it; what nobody holds, a killed run has left.
func (r *run) private(prefix string) (string, error) {
	name := filepath.Join(r.plan.cache, prefix+strings.ToLower(rand.Text()[:8]))
	if err := host.MkdirAll(r.Host.Files, r.plan.cache, 0o700); err != nil {
		return "", err
	}
	lock, err := filelock.Try(name + lockEnd)
	if err != nil {
		return "", err
	}
	r.cleanup = append(r.cleanup, func(context.Context) error {
		return errors.Join(os.RemoveAll(name), lock.Remove())
	})
	return name, nil
}

// ownProgram gives the run a path for its operator: what another run builds
// meanwhile may be other code, or have other flags.
func (r *run) ownProgram() error {
	dir, err := r.private(programPrefix)
	if err == nil {
		err = host.MkdirAll(r.Host.Files, dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("make a directory for the operator: %w", err)
	}
	r.plan.binary = filepath.Join(dir, filepath.Base(r.plan.built))
	return nil
}

// exclusively takes a lock that the runs of the project share, once it is free.
func (r *run) exclusively(ctx context.Context, name string) (*filelock.Lock, error) {
	if err := host.MkdirAll(r.Host.Files, r.plan.cache, 0o700); err != nil {
		return nil, err
	}
	return filelock.Await(ctx, filepath.Join(r.plan.cache, name+lockEnd), nil)
}

// operatorPrefix begins the names of the kubeconfigs of the project's operators
// in this cluster.
func (r *run) operatorPrefix() string {
	return kubeconfigPrefix + "operator-" + r.client.EmbeddedName() + "-"
}

// rolesLock is held while roles are removed, and while a run begins to need them.
const rolesLock = "roles"

// claimRoles makes the place of the operator's kubeconfig, by which other runs
// know that the roles are needed.
func (r *run) claimRoles(ctx context.Context) error {
	if r.operatorConfig != r.kubeconfig {
		return nil // by an attempt that failed later
	}
	lock, err := r.exclusively(ctx, rolesLock)
	if err != nil {
		return fmt.Errorf("write the operator's kubeconfig: %w", err)
	}
	name, err := r.private(r.operatorPrefix())
	if err = errors.Join(err, lock.Release()); err != nil {
		return fmt.Errorf("write the operator's kubeconfig: %w", err)
	}
	r.operatorConfig = name
	return nil
}

// othersRun reports whether another run has, or makes, a kubeconfig for its operator here. At
// its end this one's is gone already, so that of runs that end together one removes
// the roles.
func (r *run) othersRun() (bool, error) {
	entries, err := r.Host.Files.ReadDir(r.plan.cache)
	if err != nil && !gone(err) {
		return false, fmt.Errorf("look for other runs: %w", err)
	}
	for _, e := range entries {
		id, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), lockEnd), r.operatorPrefix())
		if !ok || strings.Contains(id, "-") || !strings.HasSuffix(e.Name(), lockEnd) || e.Name() == filepath.Base(r.operatorConfig)+lockEnd {
			continue // "-": of a cluster whose name begins as this one's
		}
		if held, err := filelock.Held(filepath.Join(r.plan.cache, e.Name())); err != nil || held {
			return held, err
		}
	}
	return false, nil
}

// removeLeft removes what runs that were killed have left in the cache: there are
// credentials among it.
func (r *run) removeLeft() error {
	entries, err := r.Host.Files.ReadDir(r.plan.cache)
	if err != nil && !gone(err) {
		return fmt.Errorf("remove what killed runs have left: %w", err)
	}
	for _, e := range entries {
		if !slices.ContainsFunc([]string{kubeconfigPrefix, programPrefix, privatePrefix}, func(prefix string) bool { return strings.HasPrefix(e.Name(), prefix) }) {
			continue
		}
		name := filepath.Join(r.plan.cache, strings.TrimSuffix(e.Name(), lockEnd))
		lock, err := filelock.Try(name + lockEnd)
		if errors.Is(err, filelock.ErrHeld) {
			continue // of a run that goes on
		}
		if err == nil {
			err = errors.Join(os.RemoveAll(name), lock.Remove())
		}
		if err != nil {
			return fmt.Errorf("remove what killed runs have left: %w", err)
		}
	}
	return nil
}
