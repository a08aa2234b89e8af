package hostpods

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// resident reads the second field of a process's statm (proc(5)).
func resident(process string) int64 {
	statm, err := os.ReadFile("/proc/" + process + "/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(statm)
	if len(fields) < 2 {
		return 0
	}
	return number(fields[1]) * int64(os.Getpagesize())
}

// ProcessUsage returns how long a process has used a processor, and its resident
// memory in bytes; 0 for what cannot be read.
func ProcessUsage(pid int) (used time.Duration, memory int64) {
	memory = resident(strconv.Itoa(pid))
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, memory
	}
	// The fields after the name, which is in brackets and may be anything.
	const user, system = 11, 12
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= system {
		return 0, memory
	}
	const tick = 10 * time.Millisecond // for every architecture that Go runs on
	return time.Duration(number(fields[user])+number(fields[system])) * tick, memory
}

// number is 0 for what is none.
func number(text []byte) int64 {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
