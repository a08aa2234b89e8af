package mainpkg

import (
	"fmt"
	"slices"
	"strings"
)

// saidLines is how much of what the go command said is shown.
const saidLines = 20

// Head is the beginning of what the go command said, which can be long: if vendor/ is
// missing, it prints a line for each module.
func Head(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	if more := len(lines) - saidLines; more > 0 {
		lines = append(lines[:saidLines], fmt.Sprintf("and %d lines more", more))
	}
	return strings.Join(lines, "\n")
}

// Hint is what to do where the go command cannot load modules, by what it said;
// empty where it said something else.
func Hint(said string) string {
	has := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(said, text) })
	}
	switch {
	case has("go.work", "go help work"): // first: it goes on to miss the module's packages
		return "run 'go work use .' here, or set GOWORK=off"
	case has("inconsistent vendoring", "-mod=vendor"):
		return "run 'go mod vendor', or take -mod=vendor out of GOFLAGS"
	case has("GOPROXY=off", "GOPROXY list"):
		return "run 'go mod download' with a network, and without GOPROXY=off"
	case has("go.sum", "go mod tidy", "updates to go.mod", "no required module provides"):
		return "run 'go mod tidy'"
	}
	return ""
}
