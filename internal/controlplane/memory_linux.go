package controlplane

import (
	"bytes"
	"os"
	"strconv"
)

// residentMemory returns the process's resident memory in bytes (proc(5),
// second field of statm), or 0 where it cannot be read.
func residentMemory() int64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(statm)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
