package fileset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// FS is what Commit needs of a file system; paths are those of the operating
// system. A test passes one that fails, or stops answering, at its Nth call.
type FS interface {
	ReadFile(name string) ([]byte, error)
	WriteFile(name string, data []byte, mode fs.FileMode) error
	Mkdir(name string, mode fs.FileMode) error
	Rename(from, to string) error
	Remove(name string) error
	Lstat(name string) (fs.FileInfo, error)
}

// Tree is a directory that changes are committed to.
type Tree struct {
	FS   FS
	Root string // absolute
}

// ConflictError lists the files that a change would have written over.
type ConflictError struct {
	Paths []string // relative to the root, sorted
}

// Error names every file that is in the way.
func (e *ConflictError) Error() string {
	if len(e.Paths) == 1 {
		return e.Paths[0] + " exists already"
	}
	return fmt.Sprintf("%d files exist already: %s", len(e.Paths), strings.Join(e.Paths, ", "))
}

// Commit puts the change on disk, all of it or nothing. Every conflict is
// found before the first write; then each file is written under a temporary
// name beside its target, and only when all of them are there are they renamed
// into place. A journal in the root makes a commit that was killed half-way
// end one way or the other: see Recover. command is what the user typed, kept
// in the journal. Files that already hold what they are to hold are left alone.
//
// A *ConflictError says that files marked New exist. When ctx ends before the
// renames begin, the old tree is restored and ctx's error returned.
func (t Tree) Commit(ctx context.Context, s Set, command string) (err error) {
	unlock, err := t.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if _, err := t.recover(); err != nil {
		return err
	}
	todo, err := t.check(s)
	if err != nil || todo.empty() {
		return err
	}
	todo.Command = command
	if err := t.stage(ctx, s, todo); err != nil {
		return errors.Join(err, t.undo(todo))
	}
	todo.Committed = true
	if err := t.writeJournal(todo); err != nil {
		return errors.Join(err, t.undo(todo))
	}
	return t.finish(todo)
}

// Changed returns the part of s that differs from what is on disk.
func (t Tree) Changed(s Set) (Set, error) {
	var out Set
	for _, name := range s.Paths() {
		f, _ := s.Get(name)
		same, err := t.holds(name, f)
		if err != nil {
			return Set{}, err
		}
		if same {
			continue
		}
		if err := out.Put(name, f); err != nil {
			return Set{}, err
		}
	}
	return out, nil
}

// Check reports what would make Commit refuse s, without writing.
func (t Tree) Check(s Set) error {
	_, err := t.check(s)
	return err
}

// check compares s with the tree and returns the work to do.
func (t Tree) check(s Set) (*journal, error) {
	j := &journal{}
	var conflicts []string
	dirs := map[string]bool{}
	for _, name := range s.Paths() {
		f, _ := s.Get(name)
		if err := t.checkParents(name, dirs); err != nil {
			return nil, err
		}
		info, err := t.lstat(name)
		if err != nil {
			return nil, err
		}
		if err := regular(name, info); err != nil {
			return nil, err
		}
		same, err := t.holds(name, f)
		switch {
		case err != nil:
			return nil, err
		case info != nil && f.New && !f.Removed:
			conflicts = append(conflicts, name)
		case same:
		case f.Removed:
			j.Remove = append(j.Remove, name)
		default:
			j.Write = append(j.Write, name)
		}
	}
	if len(conflicts) > 0 {
		return nil, &ConflictError{Paths: conflicts}
	}
	j.Dirs = missing(dirs, j.Write)
	return j, nil
}

// missing returns those of dirs that a written file needs, parents first.
func missing(dirs map[string]bool, write []string) []string {
	need := map[string]bool{}
	for _, name := range write {
		for d := path.Dir(name); d != "."; d = path.Dir(d) {
			if dirs[d] {
				need[d] = true
			}
		}
	}
	out := make([]string, 0, len(need))
	for d := range need {
		out = append(out, d)
	}
	slices.Sort(out)
	return out
}

// checkParents notes the missing parents of name in dirs. A parent that is a
// file, or a link that may lead out of the root, is an error.
func (t Tree) checkParents(name string, dirs map[string]bool) error {
	for d := path.Dir(name); d != "."; d = path.Dir(d) {
		if _, seen := dirs[d]; seen {
			continue
		}
		info, err := t.lstat(d)
		switch {
		case err != nil:
			return err
		case info == nil:
			dirs[d] = true
		case info.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a symbolic link: mysdk writes only into real directories of the project", d)
		case !info.IsDir():
			return fmt.Errorf("%s is a file, and %s needs a directory of that name", d, name)
		default:
			dirs[d] = false
		}
	}
	return nil
}

// lstat returns nil, nil where there is nothing.
func (t Tree) lstat(name string) (fs.FileInfo, error) {
	info, err := t.FS.Lstat(t.path(name))
	if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
		return nil, nil
	}
	return info, err
}

func regular(name string, info fs.FileInfo) error {
	switch {
	case info == nil || info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return fmt.Errorf("%s is a directory, and a file is to be written there", name)
	default:
		return fmt.Errorf("%s is not a regular file: mysdk does not write through links or devices", name)
	}
}

// holds reports whether the tree has at name what f asks for.
func (t Tree) holds(name string, f File) (bool, error) {
	info, err := t.lstat(name)
	if err != nil {
		return false, err
	}
	if info == nil || f.Removed {
		return info == nil && f.Removed, nil
	}
	if info.IsDir() {
		return false, nil
	}
	data, err := t.FS.ReadFile(t.path(name))
	if err != nil {
		return false, err
	}
	return string(data) == string(f.Data), nil
}

// stage writes the journal, the missing directories and the temporary files.
func (t Tree) stage(ctx context.Context, s Set, j *journal) error {
	if err := t.writeJournal(j); err != nil {
		return err
	}
	for _, d := range j.Dirs {
		if err := t.FS.Mkdir(t.path(d), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	for _, name := range j.Write {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, _ := s.Get(name)
		mode, err := t.mode(name, f)
		if err != nil {
			return err
		}
		if err := t.FS.WriteFile(t.path(temporary(name)), f.Data, mode); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// mode keeps the permissions of a file that is there.
func (t Tree) mode(name string, f File) (fs.FileMode, error) {
	info, err := t.lstat(name)
	if err != nil || info == nil {
		return f.Mode, err
	}
	return info.Mode().Perm() | f.Mode&0o111, nil
}

// finish renames what was staged and removes what is to go. It can be run
// again after a kill at any point of it.
func (t Tree) finish(j *journal) error {
	for _, name := range j.Write {
		err := t.FS.Rename(t.path(temporary(name)), t.path(name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("put %s in place: %w", name, err)
		}
	}
	for _, name := range j.Remove {
		if err := t.removeIfThere(name); err != nil {
			return err
		}
		if err := t.prune(path.Dir(name)); err != nil {
			return err
		}
	}
	return t.removeIfThere(journalName)
}

// prune removes dir and its parents as long as they are empty: git does not
// know empty directories either.
func (t Tree) prune(dir string) error {
	for ; dir != "."; dir = path.Dir(dir) {
		err := t.removeIfThere(dir)
		if isNotEmpty(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// undo takes back what stage did; what is not there is fine.
func (t Tree) undo(j *journal) error {
	var errs []error
	for _, name := range j.Write {
		errs = append(errs, t.removeIfThere(temporary(name)))
	}
	for _, d := range slices.Backward(j.Dirs) {
		// A directory in which somebody else has put a file meanwhile stays.
		if err := t.removeIfThere(d); err != nil && !isNotEmpty(err) {
			errs = append(errs, err)
		}
	}
	errs = append(errs, t.removeIfThere(journalTemp), t.removeIfThere(journalName))
	return errors.Join(errs...)
}

func (t Tree) removeIfThere(name string) error {
	err := t.FS.Remove(t.path(name))
	if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
		return nil
	}
	return err
}

func (t Tree) path(name string) string { return filepath.Join(t.Root, filepath.FromSlash(name)) }

// temporary is the name that name is staged under: in the same directory, so
// that the rename is atomic, and hidden, so that the go command skips it.
func temporary(name string) string {
	return path.Join(path.Dir(name), reserved+path.Base(name))
}
