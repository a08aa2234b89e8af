package fileset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"runtime"
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
	Chmod(name string, mode fs.FileMode) error
	Sync(names ...string) error
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
		return e.Paths[0] + " already exists"
	}
	return fmt.Sprintf("%d files already exist: %s", len(e.Paths), strings.Join(e.Paths, ", "))
}

// Commit puts the change on disk, all of it or nothing. Every conflict is
// found before the first write; then each file is written under a temporary
// name beside its target, and only when all of them are there are they renamed
// into place. A journal in the root makes a commit that was killed half-way
// end one way or the other: see Recover. command is what the user typed, kept
// in the journal. Files that already have the wanted content are left alone.
// The files are on the disk before the journal calls them complete, and in
// place before it goes, so that a power cut is no worse than a kill.
//
// A *ConflictError says that files marked New exist. When ctx ends before the
// renames begin, the old tree is restored and ctx's error returned.
func (t Tree) Commit(ctx context.Context, s Set, command string) (err error) {
	if idle, err := t.nothing(s); idle || err != nil {
		return err
	}
	lock, err := t.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Remove()) }()
	if _, err := t.recover(); err != nil {
		return err
	}
	todo, err := t.check(s)
	if err != nil || todo.empty() {
		return err
	}
	todo.Command = command
	err = t.stage(ctx, s, todo)
	if err == nil {
		err = t.unchanged(todo)
	}
	if err == nil {
		todo.Committed = true
		err = t.writeJournal(todo)
	}
	if err != nil {
		return errors.Join(err, t.undo(todo))
	}
	if err := t.finish(todo); err != nil {
		return &UnfinishedError{err}
	}
	return nil
}

// UnfinishedError is the failure of a commit past the point of no return: the
// next command finishes it.
type UnfinishedError struct{ Err error }

// Error is the text of the cause.
func (e *UnfinishedError) Error() string { return e.Err.Error() }

// Unwrap gives errors.Is and errors.As the cause.
func (e *UnfinishedError) Unwrap() error { return e.Err }

// nothing reports whether there is no need to write for s at all, be it
// because the tree is read-only.
func (t Tree) nothing(s Set) (bool, error) {
	clean, err := t.clean()
	if !clean || err != nil {
		return false, err
	}
	todo, err := t.check(s)
	return err == nil && todo.empty(), err
}

// Changed returns the part of s that differs from what is on disk.
func (t Tree) Changed(s Set) (Set, error) {
	var out Set
	for _, name := range s.Paths() {
		f, _ := s.Get(name)
		same, _, err := t.holds(name, f)
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

// Check reports what would make Commit refuse s, without writing. Commit refuses the
// set that it returns if one of its files has changed by then.
func (t Tree) Check(s Set) (Set, error) {
	todo, err := t.check(s)
	if err != nil {
		return s, err
	}
	s = s.Clone()
	for _, step := range slices.Concat(todo.Write, todo.Remove) {
		f, _ := s.Get(step.Path)
		f.seen, f.was = true, step.Old
		if err := s.Put(step.Path, f); err != nil {
			return s, err
		}
	}
	return s, nil
}

// check compares s with the tree and returns the work to do.
func (t Tree) check(s Set) (*journal, error) {
	j := &journal{}
	var conflicts []string
	// Removals need no parent directories; every other file whose parent is missing is written.
	dirs, forNone := map[string]bool{}, map[string]bool{}
	for _, name := range s.Paths() {
		f, _ := s.Get(name)
		parents := dirs
		if f.Removed {
			parents = forNone
		}
		if err := t.checkParents(name, parents); err != nil {
			return nil, err
		}
		info, err := t.lstat(name)
		switch {
		case err != nil:
			return nil, err
		case info != nil && info.IsDir():
			return nil, fmt.Errorf("%s is a directory, but a file has to be written there", name)
		case info != nil && !info.Mode().IsRegular():
			return nil, fmt.Errorf("%s is not a regular file: mysdk does not write through links or devices", name)
		}
		same, old, err := t.holds(name, f)
		switch {
		case err != nil:
			return nil, err
		case info != nil && f.New && !f.Removed:
			conflicts = append(conflicts, name)
		case same:
		case f.seen && old != f.was:
			return nil, fmt.Errorf("%s was changed by another program while the command ran", name)
		case f.Removed:
			j.Remove = append(j.Remove, step{Path: name, Old: old})
		default:
			j.Write = append(j.Write, step{Path: name, Old: old, New: hashOf(f.Data)})
		}
	}
	if len(conflicts) > 0 {
		return nil, &ConflictError{Paths: conflicts}
	}
	maps.DeleteFunc(dirs, func(_ string, missing bool) bool { return !missing })
	j.Dirs = slices.Sorted(maps.Keys(dirs)) // parents first
	return j, nil
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

// holds reports whether the tree has at name what f asks for, and the hash of
// what it has.
func (t Tree) holds(name string, f File) (same bool, old string, err error) {
	info, err := t.lstat(name)
	switch {
	case err != nil:
		return false, "", err
	case info == nil:
		return f.Removed, "", nil
	case info.IsDir():
		return false, "", nil
	}
	data, err := t.FS.ReadFile(t.path(name))
	if err != nil {
		return false, "", err
	}
	same = !f.Removed && string(data) == string(f.Data) && wantedMode(info, f) == info.Mode().Perm()
	return same, hashOf(data), nil
}

// executable are the bits that tell a script from a text.
const executable fs.FileMode = 0o111

// wantedMode keeps the permissions of an existing file. If it must be executable
// and is not even for its owner, it becomes so for whoever can read it.
func wantedMode(info fs.FileInfo, f File) fs.FileMode {
	mode := info.Mode().Perm()
	if f.Mode&executable != 0 && mode&executable == 0 && runtime.GOOS != "windows" {
		mode |= mode >> 2 & executable
	}
	return mode
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
	staged := t.dirs(j)
	for _, w := range j.Write {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := t.removeIfThere(temporary(w.Path)); err != nil { // a link would be followed
			return err
		}
		f, _ := s.Get(w.Path)
		draft := t.path(temporary(w.Path))
		if err := t.stageFile(w.Path, draft, f); err != nil {
			return err
		}
		staged = append(staged, draft)
	}
	if err := t.FS.Sync(staged...); err != nil {
		return err
	}
	return context.Cause(ctx)
}

func (t Tree) stageFile(name, draft string, f File) error {
	info, err := t.lstat(name)
	if err != nil {
		return err
	}
	if info == nil {
		return t.FS.WriteFile(draft, f.Data, f.Mode)
	}
	mode := wantedMode(info, f)
	if err := t.FS.WriteFile(draft, f.Data, mode); err != nil {
		return err
	}
	return t.FS.Chmod(draft, mode) // the umask is for new files
}

// unchanged is an error if a file has been changed since the check.
func (t Tree) unchanged(j *journal) error {
	for _, s := range slices.Concat(j.Write, j.Remove) {
		now, err := t.hash(s.Path)
		if err != nil {
			return err
		}
		if now != s.Old {
			return fmt.Errorf("%s was changed by another program in this moment", s.Path)
		}
	}
	return nil
}

// finish renames what was staged, removes what is to go, and forgets the
// journal when all that is on the disk.
func (t Tree) finish(j *journal) error {
	for _, s := range j.Write {
		if err := t.FS.Rename(t.path(temporary(s.Path)), t.path(s.Path)); err != nil {
			return fmt.Errorf("put %s in place: %w", s.Path, err)
		}
	}
	for _, s := range j.Remove {
		if err := t.removeIfThere(s.Path); err != nil {
			return err
		}
		if err := t.prune(path.Dir(s.Path)); err != nil {
			return err
		}
	}
	if err := t.FS.Sync(t.dirs(j)...); err != nil {
		return err
	}
	return t.removeIfThere(journalName)
}

// dirs are the directories that a commit changes, or what is left of them.
func (t Tree) dirs(j *journal) []string {
	names := slices.Clone(j.Dirs)
	for _, s := range slices.Concat(j.Write, j.Remove) {
		names = append(names, s.Path)
	}
	seen := map[string]bool{}
	for _, name := range names {
		d := path.Dir(name)
		for info, err := t.lstat(d); d != "." && info == nil && err == nil; info, err = t.lstat(d) {
			d = path.Dir(d)
		}
		seen[t.path(d)] = true
	}
	return slices.Collect(maps.Keys(seen))
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
	for _, s := range j.Write {
		errs = append(errs, t.removeIfThere(temporary(s.Path)))
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

// Read returns a file as it is once over is committed.
func (t Tree) Read(over Set, name string) ([]byte, error) {
	f, ok := over.Get(name)
	switch {
	case !ok:
		return t.FS.ReadFile(t.path(name))
	case f.Removed:
		return nil, fmt.Errorf("read %s: %w", name, fs.ErrNotExist)
	}
	return f.Data, nil
}

func (t Tree) path(name string) string { return filepath.Join(t.Root, filepath.FromSlash(name)) }

// temporary is the name that name is staged under: in the same directory, so
// that the rename is atomic, and hidden, so that the go command skips it.
func temporary(name string) string {
	return path.Join(path.Dir(name), reserved+path.Base(name))
}
