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
	// stat has the memory, too, but less exact: only for statm does the kernel add
	// what each processor has yet to report.
	statm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	number := func(text []byte, field int) int64 {
		fields := bytes.Fields(text)
		if len(fields) <= field {
			return 0
		}
		n, _ := strconv.ParseInt(string(fields[field]), 10, 64) // the kernel writes numbers
		return n
	}
	// The fields after the name, which is in brackets and may be anything.
	const user, system = 11, 12
	stat = stat[bytes.LastIndexByte(stat, ')')+1:]
	const tick = 10 * time.Millisecond // for every architecture that Go runs on
	const resident = 1
	return time.Duration(number(stat, user)+number(stat, system)) * tick, number(statm, resident) * int64(os.Getpagesize())
}
