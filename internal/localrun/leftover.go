package localrun

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

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
		err := eachLeft(h, filepath.Join(root, c.Name()), func(_ string, rec record) error {
			left := Leftover{Project: rec.Project}
			for _, e := range rec.Entries {
				left.Objects = append(left.Objects, e.Kind+" "+e.Name)
			}
			out = append(out, left)
			return nil
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}
