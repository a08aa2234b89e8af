package upgrade

import (
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/relayout"
	"github.com/example/mysdk/internal/rewrite/merge3"
)

// RejectSuffix ends the names of the files that hold what could not be merged.
const RejectSuffix = relayout.RejectSuffix

// lf are the project's files with LF.
func (p *planner) lf() relayout.LF { return relayout.LF{Files: p.Files} }

// set is the change so far, with the line ends that the files have.
func (p *planner) set() (fileset.Set, error) { return p.lf().Changed(p.tree.Set(), p.Dir) }

// reject writes what a merge has left out of a file beside it: a patch for the
// file as it is going to be on disk.
func (p *planner) reject(name string, merged, wanted []byte) error {
	ended := func(data []byte) []byte { return p.lf().Ended(p.path(name), data) }
	return p.tree.Write(name+RejectSuffix, merge3.Reject(name, ended(merged), ended(wanted)))
}
