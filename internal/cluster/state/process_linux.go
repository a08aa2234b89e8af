package state

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// startField is the place of the start time among the fields of
// /proc/PID/stat that follow the command's name (proc_pid_stat(5), field 22).
const startField = 19

// ProcessStart tells one process from another with the same number: a string
// that stays the same for as long as the process runs and that no later
// process has. It fails where there is no such process.
func ProcessStart(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", fmt.Errorf("find process %d: %w", pid, err)
	}
	// The name stands in parentheses and may itself hold any character.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= startField || bytes.Equal(fields[0], []byte("Z")) {
		return "", fmt.Errorf("find process %d: it has ended", pid)
	}
	// Ticks count from the boot, so the boot belongs to the identity.
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read the boot's id: %w", err)
	}
	return string(fields[startField]) + "@" + strings.TrimSpace(string(boot)), nil
}
