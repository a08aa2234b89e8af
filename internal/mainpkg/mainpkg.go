// Package mainpkg finds the program of an operator's project: the package for the
// go command to build, and that command. What is in it is the business of others.
package mainpkg

import (
	"bytes"
	"cmp"
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
