package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/example/mysdk/internal/host"
)

// OrphansDir is where the processes that run are noted, below the logs of pods.
const OrphansDir = ".running"

// Orphans remember the processes of pods that run, each by a file with its number
// for a name and its start in it, so that those that the kill of a server left are
// found. On Linux none is left, see host.Host's Tied.
type Orphans struct{ dir string }

// Orphans are those of the server of l.
func (l Layout) Orphans() Orphans { return Orphans{filepath.Join(l.PodLogs(), OrphansDir)} }

// Note remembers a process until the function returned is called.
func (l Orphans) Note(pid int) (forget func() error, err error) {
	start, err := ProcessStart(pid)
	if err != nil {
		// It has ended already.
		return func() error { return nil }, nil
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return nil, err
	}
	file := filepath.Join(l.dir, strconv.Itoa(pid))
	if err := WriteFile(file, []byte(start)); err != nil {
		return nil, err
	}
	return func() error { return os.Remove(file) }, nil
}

// End kills what is left, each with its group, and nothing that has got the number of one since.
func (l Orphans) End() error {
	entries, err := os.ReadDir(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var errs []error
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue // not of ours
		}
		start, err := os.ReadFile(filepath.Join(l.dir, e.Name()))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if (State{PID: pid, ProcessStart: string(start)}).Alive() {
			errs = append(errs, host.KillGroup(pid))
		}
	}
	return errors.Join(append(errs, err, os.RemoveAll(l.dir))...)
}
