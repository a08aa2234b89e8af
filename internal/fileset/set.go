// Package fileset holds the files of a change in memory and puts them on disk
// all at once or not at all. It is the only writer of project files. It knows
// nothing of what is in them, nor of Kubernetes, projects or commands.
package fileset

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// File is what a path is to hold.
type File struct {
	Data    []byte
	Mode    fs.FileMode // permission bits; 0 means 0644
	New     bool        // the path must not exist yet: never write over a file of the user's
	Removed bool        // the path goes; Data and Mode do not count
	From    string      // the path that the file has so far, where it moves

	seen bool   // was is the hash of what the path held, see Tree.Check
	was  string // empty for nothing
}

// Set is a change to a tree: slash-separated paths relative to its root, and
// what each is to hold. The zero Set is empty and ready to use; it is not safe
// for concurrent use.
type Set struct {
	files map[string]File
}

// Put adds or replaces the file at name. The name must be relative, clean and
// stay below the root; anything else is an error.
func (s *Set) Put(name string, f File) error {
	if err := checkName(name); err != nil {
		return err
	}
	if s.files == nil {
		s.files = map[string]File{}
	}
	f.Mode = cmp.Or(f.Mode, 0o644)
	s.files[name] = f
	return nil
}

// Get returns the file at name and whether the set has one.
func (s *Set) Get(name string) (File, bool) {
	f, ok := s.files[name]
	return f, ok
}

// Drop takes name out of the change.
func (s *Set) Drop(name string) { delete(s.files, name) }

// Len is the number of files in the change.
func (s *Set) Len() int { return len(s.files) }

// Paths returns the paths of the change, sorted.
func (s *Set) Paths() []string { return slices.Sorted(maps.Keys(s.files)) }

// Merge adds the files of o. Where both have a path, o's content wins; that the path
// must be new, and where its file comes from, is kept from s.
func (s *Set) Merge(o Set) error {
	for _, name := range o.Paths() {
		f := o.files[name]
		if old, ok := s.files[name]; ok {
			f.New, f.From = f.New || old.New, cmp.Or(old.From, f.From)
		}
		if err := s.Put(name, f); err != nil {
			return err
		}
	}
	return nil
}

// Clone returns a copy that shares no map with s.
func (s *Set) Clone() Set { return Set{files: maps.Clone(s.files)} }

// reserved is the prefix of the names that Commit uses itself.
const reserved = ".mysdk-"

// checkName refuses whatever would leave the root, or is written in a way
// that would make one file stand under two names.
func checkName(name string) error {
	switch {
	case name == "" || name == ".":
		return fmt.Errorf("empty file name")
	case !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00"):
		return fmt.Errorf("file name %q is not a clean path below the project", name)
	case strings.HasPrefix(path.Base(name), reserved):
		return fmt.Errorf("file name %q is reserved for commits", name)
	}
	return nil
}
