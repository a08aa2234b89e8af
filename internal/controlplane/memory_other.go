//go:build !linux

package controlplane

// residentMemory returns 0: there is no cheap way to know it here.
func residentMemory() int64 { return 0 }
