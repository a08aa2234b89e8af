package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// ErrLocked says that another process owns the cluster's directory.
var ErrLocked = errors.New("another process owns the cluster's directory")

// lockInterval is how often AwaitLock tries.
const lockInterval = 10 * time.Millisecond

// Lock is the ownership of a file's name, and of what that stands for. The
// operating system gives it back when the process ends, however it ends.
type Lock struct{ file *os.File }

// TakeLock takes the lock of that name, or returns ErrLocked at once. The
// file's directory must exist.
func TakeLock(name string) (*Lock, error) {
	f, err := openLocked(name)
	if errors.Is(err, ErrLocked) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return &Lock{f}, nil
}

// AwaitLock takes the lock of that name as soon as it is free. It returns
// ErrLocked when ctx ends before that.
func AwaitLock(ctx context.Context, name string) (*Lock, error) {
	for {
		k, err := TakeLock(name)
		if !errors.Is(err, ErrLocked) {
			return k, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(lockInterval):
		}
	}
}

// Release gives the lock back. Its file stays: removing it would let two
// processes lock two files of one name.
func (k *Lock) Release() error {
	if err := k.file.Close(); err != nil {
		return fmt.Errorf("release a lock: %w", err)
	}
	return nil
}

// lockGrace is how long Lock bears with others: a look by Locked holds the
// lock for a moment.
const lockGrace = 300 * time.Millisecond

// Lock takes l's directory, which must exist, or returns ErrLocked.
func (l Layout) Lock(ctx context.Context) (*Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, lockGrace)
	defer cancel()
	return AwaitLock(ctx, l.LockFile())
}

// Locked reports whether some process owns l's directory.
func (l Layout) Locked() (bool, error) {
	if _, err := os.Lstat(l.LockFile()); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	k, err := TakeLock(l.LockFile())
	if errors.Is(err, ErrLocked) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, k.Release()
}
