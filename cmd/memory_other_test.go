//go:build !linux

package cmd_test

import "testing"

// inMemory is for Linux only.
type inMemory struct{ *testing.M }
