package cmd_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/example/mysdk/internal/filelock"
)

// shm is Linux's file system in memory, and enough how many free bytes of it
// the tests want. They need a third of them.
const shm, enough = "/dev/shm", 6 << 30

// inMemory runs tests with their temporary directories in memory, unless TMPDIR
// names another place. They create and delete tens of thousands of files, and ext4
// looks at each inode that was freed in the last minutes before it gives one out:
// half of their time.
type inMemory struct{ *testing.M }

// Run runs the tests and returns the exit code.
func (m inMemory) Run() int {
	if os.Getenv("TMPDIR") != "" || !hasRoom() {
		return m.M.Run()
	}
	dir, lock, err := memoryDir()
	if err != nil {
		fmt.Fprintln(os.Stderr, "temporary files in memory:", err)
		return 1
	}
	defer lock.Remove()
	defer os.RemoveAll(dir)
	os.Setenv("TMPDIR", dir)
	return m.M.Run()
}

// hasRoom says whether there is space, and programs may be run.
func hasRoom() bool {
	var s unix.Statfs_t
	return unix.Statfs(shm, &s) == nil && s.Flags&unix.ST_NOEXEC == 0 && s.Bavail*uint64(s.Bsize) >= enough
}

// memoryDir makes the first directory that no other run of the tests has. What a
// killed run has left in it goes.
func memoryDir() (string, *filelock.Lock, error) {
	for n := 1; ; n++ {
		dir := fmt.Sprintf("%s/mysdk-test-%d-%d", shm, os.Getuid(), n)
		lock, err := filelock.Try(dir + ".lock")
		if errors.Is(err, filelock.ErrHeld) {
			continue
		}
		if err == nil {
			err = os.RemoveAll(dir)
		}
		if err == nil {
			err = os.Mkdir(dir, 0o700)
		}
		return dir, lock, err
	}
}
