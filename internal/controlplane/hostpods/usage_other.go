//go:build !linux

package hostpods

import "time"

// ProcessUsage returns 0: there is no cheap way to know it here.
func ProcessUsage(int) (used time.Duration, memory int64) { return 0, 0 }
