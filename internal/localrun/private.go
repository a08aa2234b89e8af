package localrun

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/example/mysdk/internal/filelock"
	"github.com/example/mysdk/internal/host"
)

// kubeconfigPrefix begins the names of the kubeconfigs that runs make.
const kubeconfigPrefix = "kubeconfig-"

// privateFile writes a kubeconfig that only the user can read, for as long as
// the run lasts. A lock beside it goes with the process: a file that nobody
// holds is one to remove.
func (r *run) privateFile(prefix string, data []byte) (string, error) {
	name := filepath.Join(r.plan.cache, prefix+strings.ToLower(rand.Text()[:8]))
	if err := host.MkdirAll(r.Host.Files, r.plan.cache, 0o700); err != nil {
		return "", err
	}
	lock, err := filelock.Try(name + lockEnd)
	if err != nil {
		return "", err
	}
	r.cleanup = append(r.cleanup, func(context.Context) error {
		err := r.Host.Files.Remove(name)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // it was never written
		}
		return errors.Join(err, lock.Remove())
	})
	return name, r.Host.Files.WriteFile(name, data, 0o600)
}

// operatorPrefix begins the names of the kubeconfigs of the project's operators
// in this cluster.
func (r *run) operatorPrefix() string {
	return kubeconfigPrefix + "operator-" + r.client.EmbeddedName() + "-"
}

// othersRun reports whether another run has a kubeconfig for its operator here. At
// its end this one's is gone already, so that of runs that end together one removes
// the roles.
func (r *run) othersRun() (bool, error) {
	entries, err := r.Host.Files.ReadDir(r.plan.cache)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
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

// removeLeft removes the kubeconfigs of runs that were killed: they have
// credentials.
func (r *run) removeLeft() error {
	entries, err := r.Host.Files.ReadDir(r.plan.cache)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove what killed runs have left: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), kubeconfigPrefix) {
			continue
		}
		name := filepath.Join(r.plan.cache, strings.TrimSuffix(e.Name(), lockEnd))
		lock, err := filelock.Try(name + lockEnd)
		if errors.Is(err, filelock.ErrHeld) {
			continue // of a run that goes on
		}
		if err == nil {
			err = r.Host.Files.Remove(name)
			if errors.Is(err, fs.ErrNotExist) {
				err = nil // there is the lock only
			}
			err = errors.Join(err, lock.Remove())
		}
		if err != nil {
			return fmt.Errorf("remove what killed runs have left: %w", err)
		}
	}
	return nil
}
