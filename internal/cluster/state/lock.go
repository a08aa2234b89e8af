package state

import (
	"context"
	"errors"
	"time"

	"github.com/example/mysdk/internal/filelock"
)

// ErrLocked says that another process owns the cluster's directory.
var ErrLocked = errors.New("another process owns the cluster's directory")

// lockGrace is how long Lock bears with others: a look by Locked holds the
// lock for a moment.
const lockGrace = 300 * time.Millisecond

// Lock takes l's directory, which must exist, or returns ErrLocked.
func (l Layout) Lock(ctx context.Context) (*filelock.Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, lockGrace)
	defer cancel()
	k, err := filelock.Await(ctx, l.LockFile(), nil)
	if errors.Is(err, filelock.ErrHeld) {
		return nil, ErrLocked
	}
	return k, err
}

// Locked reports whether some process owns l's directory.
func (l Layout) Locked() (bool, error) { return filelock.Held(l.LockFile()) }
