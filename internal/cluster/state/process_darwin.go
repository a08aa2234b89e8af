package state

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// ProcessStart tells one process from another with the same number: a string
// that stays the same for as long as the process runs and that no later
// process has. It fails where there is no such process.
func ProcessStart(pid int) (string, error) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", fmt.Errorf("find process %d: %w", pid, err)
	}
	return fmt.Sprintf("%d.%06d", p.Proc.P_starttime.Sec, p.Proc.P_starttime.Usec), nil
}
