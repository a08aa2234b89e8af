package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// shm is Linux's file system in memory. The directory in it names this process.
const shm, inShm = "/dev/shm", "mysdk-test-"

// enough is how many free bytes of shm it takes; tests need a third of them.
const enough = 6 << 30

// inMemory runs tests with their temporary directories in memory, where there is
// room. They write and delete files by the ten thousand, and ext4 looks at each
// inode that was freed in the last minutes before it gives one out: half of the
// everyday lane's time.
type inMemory struct{ *testing.M }

// Run runs the tests and returns the exit code.
func (m inMemory) Run() int {
	if dir, err := memoryDir(); err != nil {
		fmt.Fprintln(os.Stderr, "temporary directory in memory:", err)
	} else if dir != "" {
		defer os.RemoveAll(dir)
		os.Setenv("TMPDIR", dir)
	}
	return m.M.Run()
}

// memoryDir makes the directory, and removes those of processes that were killed.
// It returns "" where there is little space, where programs may not be run, and
// where TMPDIR says which directory is to be taken.
func memoryDir() (string, error) {
	var s unix.Statfs_t
	if os.Getenv("TMPDIR") != "" || unix.Statfs(shm, &s) != nil || s.Flags&unix.ST_NOEXEC != 0 || s.Bavail*uint64(s.Bsize) < enough {
		return "", nil
	}
	old, err := filepath.Glob(filepath.Join(shm, inShm+"*"))
	if err != nil {
		return "", err
	}
	for _, dir := range old {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), inShm))
		if err == nil && unix.Kill(pid, 0) == unix.ESRCH {
			os.RemoveAll(dir) // of another user's it removes nothing
		}
	}
	dir := filepath.Join(shm, inShm+strconv.Itoa(os.Getpid()))
	return dir, os.MkdirAll(dir, 0o700)
}
