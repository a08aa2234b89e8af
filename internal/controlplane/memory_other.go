//go:build !linux

package controlplane

import "time"

// residentMemory returns 0: there is no cheap way to know it here.
func residentMemory() int64 { return 0 }

// processUsage returns 0 for the same reason.
func processUsage(int) (used time.Duration, memory int64) { return 0, 0 }
