package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// execArg makes this program the one that `go test -exec` starts tests with.
const execArg = "exec-test"

// logVariable names the file to which each test binary's time is appended.
const logVariable = "FIGURES_LOG"

// usage is what a command took: processor time with all the processes that it
// waited for, and time on the clock.
type usage struct {
	name      string
	cpu, wall time.Duration
}

// testTimes runs the tests and prints their times, the longest first. What
// `go test` took beyond them is compiling, vetting and linking.
func testTimes(ctx context.Context, out io.Writer, packages []string) error {
	all, each, err := runTests(ctx, false, packages)
	if all.wall == 0 {
		return err
	}
	rows := []figure{{"PACKAGE", "CPU", "WALL"}}
	built := all.cpu
	for _, u := range each {
		built -= u.cpu
		rows = append(rows, row(u))
	}
	rows = append(rows, figure{"compile and link", seconds(built), ""}, row(all))
	return errors.Join(err, table(out, rows))
}

func row(u usage) figure { return figure{u.name, seconds(u.cpu), seconds(u.wall)} }

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// runTests runs `go test` with each test binary under execTest.
func runTests(ctx context.Context, short bool, packages []string) (all usage, each []usage, err error) {
	self, err := os.Executable()
	if err != nil {
		return usage{}, nil, err
	}
	log, err := os.CreateTemp("", "figures-")
	if err != nil {
		return usage{}, nil, err
	}
	defer func() { err = errors.Join(err, log.Close(), os.Remove(log.Name())) }()
	args := []string{"test", "-vet=off", "-count=1", "-timeout=75m", "-exec", self + " " + execArg}
	if short {
		args = append(args, "-short")
	}
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	all, err = measure(exec.CommandContext(ctx, "go", append(args, packages...)...), logVariable+"="+log.Name())
	all.name = "all"
	each, logErr := readLog(log)
	return all, each, errors.Join(err, logErr)
}

func readLog(log io.Reader) (each []usage, err error) {
	root, err := os.Getwd()
	for s := bufio.NewScanner(log); s.Scan() && err == nil; {
		var u usage
		if _, err := fmt.Sscanf(s.Text(), "%q %d %d", &u.name, (*int64)(&u.cpu), (*int64)(&u.wall)); err != nil {
			return nil, fmt.Errorf("read the times of the tests: %w", err)
		}
		u.name = strings.TrimPrefix(u.name, root+string(filepath.Separator))
		each = append(each, u)
	}
	slices.SortFunc(each, func(a, b usage) int { return cmp.Compare(b.cpu, a.cpu) })
	return each, err
}

// execTest runs a test binary, appends what it took to the log, and returns
// the binary's exit code.
func execTest(binary string, args []string) int {
	u, err := measure(exec.Command(binary, args...))
	log, logErr := os.OpenFile(os.Getenv(logVariable), os.O_APPEND|os.O_WRONLY, 0o600)
	if logErr == nil {
		dir, _ := os.Getwd() // that of the package
		_, logErr = fmt.Fprintf(log, "%q %d %d\n", dir, u.cpu, u.wall)
		logErr = errors.Join(logErr, log.Close())
	}
	exit, failed := errors.AsType[*exec.ExitError](err)
	if failed && logErr == nil {
		return max(1, exit.ExitCode())
	}
	if err = errors.Join(err, logErr); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		return 1
	}
	return 0
}

// measure runs a command on this process's own output.
func measure(c *exec.Cmd, env ...string) (usage, error) {
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Env = append(os.Environ(), env...)
	start := time.Now()
	err := c.Run()
	if c.ProcessState == nil {
		return usage{}, err
	}
	return usage{cpu: c.ProcessState.UserTime() + c.ProcessState.SystemTime(), wall: time.Since(start)}, err
}

// laneFigures measures the test lanes and a build from empty caches.
func laneFigures(ctx context.Context) (rows []figure, err error) {
	for _, lane := range []struct {
		what, goal string
		short      bool
	}{{"go test -short ./...", "<= 45 s", true}, {"go test ./...", "<= 6 min, 720 CPU-s", false}} {
		u, _, err := runTests(ctx, lane.short, nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", lane.what, err)
		}
		rows = append(rows, figure{lane.what, seconds(u.wall) + ", " + seconds(u.cpu) + " CPU", lane.goal})
	}
	cache, err := os.MkdirTemp("", "figures-cache-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(cache)) }()
	u, err := measure(exec.CommandContext(ctx, "make", "build", "BIN="+filepath.Join(cache, "bin")), "GOCACHE="+cache)
	if err != nil {
		return nil, fmt.Errorf("build from empty caches: %w", err)
	}
	return append(rows, figure{"build from an empty cache", fmt.Sprintf("%.1f CPU-min", u.cpu.Minutes()), "<= 10 CPU-min"}), nil
}
