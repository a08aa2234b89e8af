package host

import (
	"errors"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sync/errgroup"
)

// syncsAtOnce bounds how many files are synced at a time. A file system writes
// many to its journal in the time of one: the 70 files of an init take 10 ms
// together and 60 ms in turn.
const syncsAtOnce = 32

// Sync implements Files.
func (OSFiles) Sync(names ...string) error {
	var g errgroup.Group
	g.SetLimit(syncsAtOnce)
	for _, name := range names {
		g.Go(func() error { return syncFile(name) })
	}
	return g.Wait()
}

func syncFile(name string) error {
	flag := os.O_RDONLY
	if runtime.GOOS == "windows" {
		if info, err := os.Lstat(name); err != nil || info.IsDir() {
			return err // directories cannot be synced there
		}
		flag = os.O_RDWR
	}
	f, err := os.OpenFile(name, flag, 0)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // a file system without a disk to wait for
	}
	return errors.Join(err, f.Close())
}
