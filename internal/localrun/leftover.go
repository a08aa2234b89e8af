package localrun

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/example/mysdk/internal/filelock"
	"github.com/example/mysdk/internal/host"
)

// Leftover is what a run that was killed has left in a cluster: webhooks that
// point at this machine, where nothing answers.
type Leftover struct {
	Project string   // directory of the run
	Objects []string // kinds and names of what it had changed
}

// Leftovers finds the journals of runs that were killed, in whichever cluster
// they were. It asks no cluster and changes nothing; Restore and the next run
// put things back. A journal that cannot be read is an error.
func Leftovers(h host.Host) ([]Leftover, error) {
	root, err := journalDir(h, "")
	if err != nil {
		return nil, err
	}
	clusters, err := h.Files.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for webhooks of runs that were killed: %w", err)
	}
	var out []Leftover
	for _, c := range clusters {
		dir := filepath.Join(root, c.Name())
		files, err := h.Files.ReadDir(dir)
		if err != nil {
			return out, fmt.Errorf("look for webhooks of runs that were killed: %w", err)
		}
		for _, f := range files {
			left, err := leftover(h, filepath.Join(dir, f.Name()))
			if err != nil {
				return out, err
			}
			if left != nil {
				out = append(out, *left)
			}
		}
	}
	return out, nil
}

// leftover reads a journal, unless its run goes on or it has ended just now.
func leftover(h host.Host, file string) (*Leftover, error) {
	if filepath.Ext(file) != journalEnd {
		return nil, nil
	}
	lock, err := filelock.Try(strings.TrimSuffix(file, journalEnd) + lockEnd)
	if errors.Is(err, filelock.ErrHeld) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for webhooks of runs that were killed: %w", err)
	}
	rec, err := readRecord(h, file)
	err = errors.Join(err, lock.Release())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal %s of a run that was killed: %w", file, err)
	}
	left := &Leftover{Project: rec.Project}
	for _, e := range rec.Entries {
		left.Objects = append(left.Objects, e.Kind+" "+e.Name)
	}
	return left, nil
}
