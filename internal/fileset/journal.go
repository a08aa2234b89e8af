package fileset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
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
	Write     []string `json:"write,omitempty"`
	Remove    []string `json:"remove,omitempty"`
}

func (j *journal) empty() bool { return len(j.Write) == 0 && len(j.Remove) == 0 }

// Recovery says what Recover found and did.
type Recovery struct {
	Command  string // what the user had typed, "" if there was nothing to recover
	Finished bool   // the change is complete now; otherwise the old tree is back
}

// Recover ends a commit that was killed: one whose files were all staged is
// finished, any other is undone. It is cheap when there is nothing to do, and
// a command calls it before it reads the project.
func (t Tree) Recover() (r Recovery, err error) {
	// Looking needs no lock: most of the time there is nothing.
	if nothing, err := t.clean(); nothing || err != nil {
		return Recovery{}, err
	}
	unlock, err := t.lock()
	if err != nil {
		return Recovery{}, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return t.recover()
}

// clean reports whether no commit has left anything.
func (t Tree) clean() (bool, error) {
	for _, name := range []string{journalName, journalTemp} {
		if info, err := t.lstat(name); info != nil || err != nil {
			return false, err
		}
	}
	return true, nil
}

// recover is Recover for the holder of the lock.
func (t Tree) recover() (Recovery, error) {
	data, err := t.FS.ReadFile(t.path(journalName))
	if errors.Is(err, fs.ErrNotExist) {
		return Recovery{}, t.dropDraft()
	}
	if err != nil {
		return Recovery{}, fmt.Errorf("look for an interrupted command: %w", err)
	}
	var j journal
	if err := json.Unmarshal(data, &j); err != nil {
		return Recovery{}, fmt.Errorf("%s: not a journal of mysdk: %w", journalName, err)
	}
	if err := j.check(); err != nil {
		return Recovery{}, err
	}
	if j.Committed {
		return Recovery{Command: j.Command, Finished: true}, t.finish(&j)
	}
	return Recovery{Command: j.Command}, t.undo(&j)
}

// dropDraft removes a journal that was being written when its process died.
func (t Tree) dropDraft() error {
	if info, err := t.lstat(journalTemp); info == nil {
		return err
	}
	return t.removeIfThere(journalTemp)
}

// check refuses a journal that names files outside the root: the file may
// have come with a checkout.
func (j *journal) check() error {
	for _, names := range [][]string{j.Dirs, j.Write, j.Remove} {
		for _, name := range names {
			if err := checkName(name); err != nil {
				return fmt.Errorf("%s: %w", journalName, err)
			}
		}
	}
	return nil
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
	return t.FS.Rename(t.path(journalTemp), t.path(journalName))
}

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

func isNotEmpty(err error) bool {
	return errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist)
}
