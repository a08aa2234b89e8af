//go:build !windows

package fileset

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lockWait bounds how long a command waits for another one's commit, which
// takes milliseconds.
const (
	lockWait = 10 * time.Second
	lockPoll = 5 * time.Millisecond
)

// lock keeps other mysdk processes from committing to the tree until unlock is
// called. It is the operating system's lock on the root directory itself: no
// file is left behind, and it goes with the process, however that ends.
func (t Tree) lock() (unlock func() error, err error) {
	dir, err := os.Open(t.Root)
	if err != nil {
		return nil, err
	}
	for waited := time.Duration(0); ; waited += lockPoll {
		err = syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return dir.Close, nil
		case errors.Is(err, syscall.EINTR):
		case !errors.Is(err, syscall.EWOULDBLOCK):
			// A file system without locks: go on, as before there were any.
			return dir.Close, nil
		case waited >= lockWait:
			return nil, errors.Join(fmt.Errorf("another mysdk command is writing files in %s", t.Root), dir.Close())
		}
		time.Sleep(lockPoll)
	}
}
