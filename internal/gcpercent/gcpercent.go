// Package gcpercent has the garbage collector wait for a heap of 16 MiB instead
// of 4. A command is short: half of a generator's time would go into collecting
// memory that the process gives back a moment later. main would be too late, as
// the variables of libraries, flect's dictionary above all, fill 8 MiB before it
// runs; that is three collections and a quarter of the processor time of --help.
// This package imports nothing that has to be initialized, and its path sorts
// before theirs, so Go initializes it first.
package gcpercent

import _ "unsafe" // for go:linkname

// runtime/debug, which exports it, is initialized late.
//
//go:linkname setGCPercent runtime/debug.setGCPercent
func setGCPercent(percent int32) int32

const goDefault, ours = 100, 400

var _ = raise()

// raise sets our percentage unless the environment variable GOGC asked for
// another than Go's own.
func raise() int32 { //nolint:unparam // a variable is initialized by a value
	if set := setGCPercent(ours); set != goDefault {
		setGCPercent(set)
	}
	return ours
}
