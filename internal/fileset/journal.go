package fileset

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/example/mysdk/internal/filelock"
)

const (
	journalName = reserved + "commit"
	journalTemp = reserved + "commit.new"
)

// journal is what a later process needs to end a commit that was killed.
type journal struct {
	Command   string   `json:"command"`
	Committed bool     `json:"committed"` // all is staged: finish; else undo
	Dirs      []string `json:"dirs,omitempty"`
	Write     []step   `json:"write,omitempty"`
	Remove    []step   `json:"remove,omitempty"`
}

// step is one file of a commit, with the hashes that show how far it came.
type step struct {
	Path string `json:"path"`
	Old  string `json:"old,omitempty"` // of what was there, empty if nothing was
	New  string `json:"new,omitempty"` // of what is wanted, empty if nothing is
}

func (j *journal) empty() bool { return len(j.Write) == 0 && len(j.Remove) == 0 }

// Recovery says what Recover found and did.
type Recovery struct {
	Command  string // what the user had typed, "" if there was nothing to recover
	Finished bool   // the change is complete now; otherwise the old tree is back
}

// StuckError says that an interrupted commit cannot be finished: a file is
// neither what the commit found nor what it was about to write.
type StuckError struct {
	Command string // what the user had typed
	Path    string // relative to the root
	Lost    bool   // what was to be written there is gone; else the file was changed since
}

// Error names the file and the command.
func (e *StuckError) Error() string {
	if e.Lost {
		return fmt.Sprintf("what 'mysdk %s' was writing to %s when it was interrupted is gone", e.Command, e.Path)
	}
	return fmt.Sprintf("%s was changed since 'mysdk %s' was interrupted while writing it", e.Path, e.Command)
}

// Recover ends a commit that was killed: one whose files were all staged is
// finished, any other is undone. The commit of a process that is still at it is
// waited for. It is cheap when there is nothing to do, and a command that
// writes calls it before it reads the project.
//
// A *StuckError says that nothing was done, because a file would be lost.
func (t Tree) Recover(ctx context.Context) (r Recovery, err error) {
	// Looking needs no lock: most of the time there is nothing.
	if nothing, err := t.clean(); nothing || err != nil {
		return Recovery{}, err
	}
	lock, err := t.lock(ctx)
	if err != nil {
		return Recovery{}, err
	}
	defer func() { err = errors.Join(err, lock.Remove()) }()
	return t.recover()
}

// Pending returns the command whose commit was killed and is there for Recover
// to end, "" if there is none. It writes nothing, and waits for the commit of a
// process that is still at it.
func (t Tree) Pending(ctx context.Context) (command string, err error) {
	if nothing, err := t.clean(); nothing || err != nil {
		return "", err
	}
	err = t.wait(ctx, func(ctx context.Context) error { return filelock.AwaitFree(ctx, t.path(lockName)) })
	if err != nil {
		return "", err
	}
	j, err := t.readJournal()
	if j == nil {
		return "", err
	}
	return j.Command, nil
}

// clean reports whether no commit has left anything.
func (t Tree) clean() (bool, error) {
	for _, name := range []string{journalName, journalTemp, lockName} {
		if info, err := t.lstat(name); info != nil || err != nil {
			return false, err
		}
	}
	return true, nil
}

// recover is Recover for the holder of the lock.
func (t Tree) recover() (Recovery, error) {
	j, err := t.readJournal()
	switch {
	case err != nil:
		return Recovery{}, err
	case j == nil:
		return Recovery{}, t.removeIfThere(journalTemp) // it was being written when its process died
	case !j.Committed:
		return Recovery{Command: j.Command}, t.undo(j)
	}
	rest, err := t.unfinished(j)
	if err != nil {
		return Recovery{}, err
	}
	return Recovery{Command: j.Command, Finished: true}, t.finish(rest)
}

// readJournal returns nil where there is none. One that names files outside
// the root is refused: it may have come with a checkout.
func (t Tree) readJournal() (*journal, error) {
	data, err := t.FS.ReadFile(t.path(journalName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for an interrupted command: %w", err)
	}
	var j journal
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, fmt.Errorf("%s: not a journal of this version of mysdk: %w", journalName, err)
	}
	names := j.Dirs
	for _, s := range append(j.Write, j.Remove...) {
		names = append(names, s.Path)
	}
	parents := map[string]bool{}
	for _, name := range names {
		if err := checkName(name); err != nil {
			return nil, fmt.Errorf("%s: %w", journalName, err)
		}
		if err := t.checkParents(name, parents); err != nil {
			return nil, fmt.Errorf("%s: %w", journalName, err)
		}
	}
	return &j, nil
}

// unfinished returns what is left to do of a committed journal. Whatever is
// there and belongs to neither side is somebody's work, and an error.
func (t Tree) unfinished(j *journal) (*journal, error) {
	rest := *j
	rest.Write, rest.Remove = nil, nil
	for _, s := range j.Write {
		now, err := t.hash(s.Path)
		if err != nil {
			return nil, err
		}
		staged, err := t.hash(temporary(s.Path))
		switch {
		case err != nil:
			return nil, err
		case staged == s.New && (now == s.Old || now == s.New || now == ""):
			rest.Write = append(rest.Write, s)
		case staged == "" && now == s.New:
		default:
			return nil, &StuckError{Command: j.Command, Path: s.Path, Lost: staged != s.New}
		}
	}
	for _, s := range j.Remove {
		now, err := t.hash(s.Path)
		switch {
		case err != nil:
			return nil, err
		case now == s.Old || now == "":
			rest.Remove = append(rest.Remove, s)
		default:
			return nil, &StuckError{Command: j.Command, Path: s.Path}
		}
	}
	return &rest, nil
}

// writeJournal replaces the journal in one step.
func (t Tree) writeJournal(j *journal) error {
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	if err := t.FS.WriteFile(t.path(journalTemp), data, 0o644); err != nil {
		return err
	}
	if err := t.FS.Sync(t.path(journalTemp)); err != nil {
		return err
	}
	if err := t.FS.Rename(t.path(journalTemp), t.path(journalName)); err != nil {
		return err
	}
	return t.FS.Sync(t.path("."))
}

// hash is that of the file's content, "" where there is no file.
func (t Tree) hash(name string) (string, error) {
	data, err := t.FS.ReadFile(t.path(name))
	if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
		return "", nil
	}
	return hashOf(data), err
}

func hashOf(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

func isNotEmpty(err error) bool {
	return errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist)
}
