// Package filelock is exclusion between processes: whoever holds the lock of a
// file's name owns what that name stands for. The operating system gives a
// lock back when its process ends, however that ends. The package knows
// nothing of what is guarded.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"time"

	"github.com/gofrs/flock"
)

// ErrHeld says that somebody else holds the lock.
var ErrHeld = errors.New("another process holds the lock")

// interval is how often Await tries.
const interval = 10 * time.Millisecond

// Lock is a lock that is held.
type Lock struct{ file *flock.Flock }

// Try takes the lock of that name, or returns ErrHeld at once. The file is made
// if it is missing, its directory is not.
func Try(name string) (*Lock, error) {
	return try(name, os.O_CREATE, (*flock.Flock).TryLock)
}

func try(name string, flag int, lock func(*flock.Flock) (bool, error)) (*Lock, error) {
	for {
		// Readable for all, so that other users' processes can wait for it too.
		f := flock.New(name, flock.SetFlag(flag), flock.SetPermissions(0o644))
		ok, err := lock(f)
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		if !ok {
			return nil, ErrHeld
		}
		if current(f, name) {
			return &Lock{f}, nil
		}
		// Its last holder removed the file: another may have made a new one.
		if err := f.Unlock(); err != nil {
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
	}
}

// current reports whether name still is the file that is locked.
func current(f *flock.Flock, name string) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(name)
	return err == nil && os.SameFile(held, now)
}

// Await takes the lock of that name as soon as it is free. It calls waiting,
// which may be nil, if somebody else holds it. When ctx ends before it is free,
// the error is both ErrHeld and the cause of ctx's end.
func Await(ctx context.Context, name string, waiting func()) (l *Lock, err error) {
	err = poll(ctx, waiting, func() error {
		l, err = Try(name)
		return err
	})
	return l, err
}

// AwaitFree waits until nobody holds the lock of that name and does not take
// it; its errors are those of Await. It makes no file.
func AwaitFree(ctx context.Context, name string) error {
	return poll(ctx, nil, func() error {
		held, err := Held(name)
		if held {
			return ErrHeld
		}
		return err
	})
}

func poll(ctx context.Context, waiting func(), try func() error) error {
	for {
		err := try()
		if !errors.Is(err, ErrHeld) {
			return err
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", err, context.Cause(ctx))
		case <-time.After(interval):
		}
	}
}

// Held reports whether somebody holds the lock of that name. It makes no file.
func Held(name string) (bool, error) {
	// Shared: two looks at one time are not to take each other for a holder.
	l, err := try(name, os.O_RDONLY, (*flock.Flock).TryRLock)
	switch {
	case errors.Is(err, ErrHeld):
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	return false, l.Release()
}

// Release gives the lock back. Its file stays.
func (l *Lock) Release() error {
	if err := l.file.Unlock(); err != nil {
		return fmt.Errorf("release the lock %s: %w", l.file.Path(), err)
	}
	return nil
}

// Remove gives the lock back and removes its file.
func (l *Lock) Remove() error {
	if runtime.GOOS == "windows" {
		err := l.Release()
		// An open file cannot be removed there: who has it open now removes it.
		_ = os.Remove(l.file.Path())
		return err
	}
	err := os.Remove(l.file.Path())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, l.Release())
}
