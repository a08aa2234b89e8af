// Package doctor looks at the machine, the project and the clusters and says
// what keeps mysdk from working there, and what to type. It knows which checks
// there are and what is too little; whatever another package knows of a
// project or a cluster it asks that package. It changes nothing, uses no
// network but that of a cluster that was named, and does not know how a report
// is printed.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/mod/modfile"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/project"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// Options say what to look at, and what only the command line knows.
type Options struct {
	Host host.Host
	Dir  string // the project's root, absolute; there may be no project in it
	// Build is the version of mysdk as the go command recorded it, which
	// clusters note too.
	Build    string
	Plugin   v4.Plugin         // renders today's scaffold
	BuiltIn  []project.BuiltIn // plugins that are part of the program
	Generate generate.Options  // for the project, with nothing selected

	// Kubeconfig and Context name a cluster other than the embedded ones. It is
	// asked for its version and for the project's operator; without either no
	// such cluster is looked at. Allowed are the contexts that may be written to unnamed.
	Kubeconfig, Context string
	Allowed             []string

	// System answers what Host cannot; the zero value asks the operating system.
	System System
}

// System are questions to the operating system.
type System struct {
	OS         string                                // runtime.GOOS
	Free       func(dir string) (uint64, error)      // bytes that the user may still write; errors.ErrUnsupported where unknown
	Writable   func(dir string) error                // why nothing can be created in dir
	PortInUse  func(ctx context.Context, p int) bool // on loopback
	Executable func(path string) (string, error)     // path with symbolic links resolved
}

// Status is how a check ended.
type Status string

// The values of Status.
const (
	OK      Status = "ok"
	Warning Status = "warning" // something works less well, or will not for long
	Problem Status = "problem" // something does not work
)

// Areas of checks.
const (
	Machine  = "machine"
	Project  = "project"
	Clusters = "clusters"
)

// Check is what one check found.
type Check struct {
	Area   string `json:"area"`
	Name   string `json:"name"`
	Status Status `json:"status"`
	Found  string `json:"found"`
	Hint   string `json:"hint,omitempty"` // what to type; never empty for a problem
}

// Report is what all checks found, in the order in which one would fix it.
type Report struct {
	Checks   []Check `json:"checks"`
	Warnings int     `json:"warnings"` // how many of them
	Problems int     `json:"problems"`
}

// exam is a report in the making.
type exam struct {
	Options
	ctx    context.Context // of this one run
	area   string
	env    goEnv
	module *modfile.File // nil where there is no go.mod that can be read
	report Report

	made    fileset.Set                  // what generate would write
	applied []*unstructured.Unstructured // what deploy would apply; none without a project

	moduleError error // why go.mod cannot be read
}

// Examine runs all checks. What they find is no error; one is that ctx ended.
func Examine(ctx context.Context, o Options) (Report, error) {
	e := &exam{Options: o, ctx: ctx, report: Report{Checks: []Check{}}}
	e.System = e.System.complete()
	for _, part := range []struct {
		area   string
		checks []func()
	}{
		{Machine, []func(){e.readModule, e.goCommand, e.goSettings, e.directories, e.disk, e.watches, e.programs}},
		{Project, []func(){e.interrupted, e.project}},
		{Clusters, []func(){e.embedded, e.leftovers, e.named}},
	} {
		e.area = part.area
		for _, check := range part.checks {
			if err := ctx.Err(); err != nil {
				return e.report, err
			}
			check()
		}
	}
	return e.report, ctx.Err()
}

func (s System) complete() System {
	s.OS = cmp.Or(s.OS, runtime.GOOS)
	if s.Free == nil {
		s.Free = free
	}
	if s.Writable == nil {
		s.Writable = writable
	}
	if s.PortInUse == nil {
		s.PortInUse = portInUse
	}
	if s.Executable == nil {
		s.Executable = filepath.EvalSymlinks
	}
	return s
}

// portInUse tries to take the port: whoever has it may not answer.
func portInUse(ctx context.Context, port int) bool {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return true
	}
	// Nothing can go wrong that would matter: nobody has connected.
	_ = l.Close()
	return false
}

func (e *exam) add(status Status, name, hint, found string) {
	switch status {
	case Warning:
		e.report.Warnings++
	case Problem:
		e.report.Problems++
	}
	e.report.Checks = append(e.report.Checks, Check{e.area, name, status, found, hint})
}

func (e *exam) ok(name, format string, args ...any) {
	e.add(OK, name, "", fmt.Sprintf(format, args...))
}

func (e *exam) warning(name, hint, format string, args ...any) {
	e.add(Warning, name, hint, fmt.Sprintf(format, args...))
}

func (e *exam) problem(name, hint, format string, args ...any) {
	e.add(Problem, name, hint, fmt.Sprintf(format, args...))
}

// failed adds an error of another package, which knows its own hint.
func (e *exam) failed(status Status, name string, err error, hint string) {
	err = clierr.WithHint(err, hint)
	e.add(status, name, clierr.HintOf(err), firstLines(err.Error()))
}

// connect is how a cluster is asked.
func (o Options) connect(ctx context.Context, which kube.Options) (*kube.Client, error) {
	which.Host, which.ReadOnly = o.Host, true
	return kube.Connect(ctx, which)
}
