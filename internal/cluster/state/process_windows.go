package state

import (
	"fmt"
	"syscall"
)

// queryInformation is PROCESS_QUERY_LIMITED_INFORMATION of winnt.h.
const queryInformation = 0x1000

// ProcessStart tells one process from another with the same number: a string
// that stays the same for as long as the process runs and that no later
// process has. It fails where there is no such process.
func ProcessStart(pid int) (string, error) {
	process, err := syscall.OpenProcess(queryInformation, false, uint32(pid))
	if err != nil {
		return "", fmt.Errorf("find process %d: %w", pid, err)
	}
	var created, exited, kernel, user syscall.Filetime
	err = syscall.GetProcessTimes(process, &created, &exited, &kernel, &user)
	if closed := syscall.CloseHandle(process); err == nil {
		err = closed
	}
	if err != nil {
		return "", fmt.Errorf("read the times of process %d: %w", pid, err)
	}
	if exited.Nanoseconds() > created.Nanoseconds() {
		return "", fmt.Errorf("find process %d: it has ended", pid)
	}
	return fmt.Sprint(created.Nanoseconds()), nil
}
