package fileset

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/example/mysdk/internal/filelock"
)

// lockName is locked during a commit, and removed after it.
const lockName = reserved + "lock"

// lockWait bounds how long a command waits for another one's commit, which
// takes milliseconds.
const lockWait = 10 * time.Second

// lock keeps other mysdk processes from committing to the tree until it is
// removed.
func (t Tree) lock(ctx context.Context) (l *filelock.Lock, err error) {
	err = t.wait(ctx, func(ctx context.Context) error {
		l, err = filelock.Await(ctx, t.path(lockName), nil)
		return err
	})
	return l, err
}

func (t Tree) wait(ctx context.Context, await func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	err := await(bounded)
	if errors.Is(err, filelock.ErrHeld) && ctx.Err() == nil {
		return fmt.Errorf("another mysdk command is writing files in %s", t.Root)
	}
	return err
}
