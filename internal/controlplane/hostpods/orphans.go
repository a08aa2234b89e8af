package hostpods

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
)

// orphans remember the processes that run, each by a file with its number
// for a name and its start in it, so that the next start of the cluster finds
// those that were left by a kill. On Linux the kernel leaves none.
type orphans struct{ dir string }

// note remembers a process until the function returned is called.
func (l orphans) note(pid int) (forget func() error, err error) {
	start, err := state.ProcessStart(pid)
	if err != nil {
		// It has ended already.
		return func() error { return nil }, nil
	}
	if err := makeDirs(l.dir); err != nil {
		return nil, err
	}
	file := filepath.Join(l.dir, strconv.Itoa(pid))
	if err := state.WriteFile(file, []byte(start)); err != nil {
		return nil, err
	}
	return func() error { return os.Remove(file) }, nil
}

// end kills what is left, each with its group, and nothing that has got the number of one since.
func (l orphans) end() error {
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
		if (state.State{PID: pid, ProcessStart: string(start)}).Alive() {
			errs = append(errs, host.KillGroup(pid))
		}
	}
	return errors.Join(append(errs, err, os.RemoveAll(l.dir))...)
}
