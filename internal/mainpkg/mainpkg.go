// Package mainpkg finds the program of an operator's project: the package for the
// go command to build, and that command. What is in it is the business of others.
package mainpkg

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
)

// layouts have main.go where kubebuilder 4, the layouts before it and
// operator-sdk 0 have it.
var layouts = []string{"./cmd", ".", "./cmd/manager"}

// placeholder is how a cmd/main.go looks that is there for kubebuilder only, which
// requires it.
var placeholder = []byte("func main() {}")

// Find returns the main package of the project in dir, relative to it, such as
// ./cmd. A project of no known layout, or with a placeholder in its place, has it
// below cmd: its only one there, or the one that is called as the project's
// directory, operator or controller. None, or several others, is a usage error.
func Find(files host.Files, dir string) (string, error) {
	empty := ""
	has := func(p string) bool {
		data, err := files.ReadFile(filepath.Join(dir, filepath.FromSlash(p), "main.go"))
		if err == nil && bytes.Contains(data, placeholder) {
			empty = cmp.Or(empty, p)
			return false
		}
		return err == nil
	}
	if i := slices.IndexFunc(layouts, has); i >= 0 {
		return layouts[i], nil
	}
	var below []string
	entries, _ := files.ReadDir(filepath.Join(dir, "cmd")) // none, and it is not there
	for _, e := range entries {
		if p := "./cmd/" + e.Name(); has(p) {
			below = append(below, p)
		}
	}
	if len(below) == 1 {
		return below[0], nil
	}
	for _, name := range []string{filepath.Base(dir), "operator", "controller"} {
		if slices.Contains(below, "./cmd/"+name) {
			return "./cmd/" + name, nil
		}
	}
	if len(below) == 0 && empty != "" {
		return empty, nil
	}
	if len(below) > 1 {
		return "", clierr.Usagef("rename the one of the operator to cmd/manager", "cannot tell which program is the operator: %s", strings.Join(below, ", "))
	}
	return "", clierr.Usagef("run it in an operator's project, or make one with 'mysdk init'", "no cmd/main.go in %s", dir)
}

// GoTool finds the go command that builds the package.
func GoTool(h host.Host) (string, error) {
	path, err := h.LookPath("go")
	if err != nil {
		return "", clierr.Failedf("install Go from https://go.dev/dl/ and put its bin directory into PATH", "build the operator: find the go command: %w", err)
	}
	return path, nil
}

// BuildEnv is the go command's environment. Operators and mysdk-cluster need no
// C: without cgo they build the same where there is no C compiler, as in an
// operator's image, and compile what they share once.
func BuildEnv(h host.Host) []string {
	if h.Getenv("CGO_ENABLED") != "" {
		return h.Environ()
	}
	return append(h.Environ(), "CGO_ENABLED=0")
}

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
