//go:build linux || darwin

package doctor

import "syscall"

// free is what an ordinary user may still write.
func free(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil //nolint:gosec // a block's size is positive
}

// The mode bits of access(2).
const mayWrite, mayEnter = 2, 1

// writable asks, and does not try: a doctor leaves nothing behind.
func writable(dir string) error { return syscall.Access(dir, mayWrite|mayEnter) }
