package hostpods

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// ProcessUsage returns how long a process has used a processor, and its resident
// memory in bytes; 0 for what cannot be read.
func ProcessUsage(pid int) (used time.Duration, memory int64) {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// The fields after the name, which is in brackets and may be anything.
	const user, system, resident = 11, 12, 21
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= resident {
		return 0, 0
	}
	number := func(field int) int64 {
		n, _ := strconv.ParseInt(string(fields[field]), 10, 64) // the kernel writes numbers
		return n
	}
	const tick = 10 * time.Millisecond // for every architecture that Go runs on
	return time.Duration(number(user)+number(system)) * tick, number(resident) * int64(os.Getpagesize())
}
