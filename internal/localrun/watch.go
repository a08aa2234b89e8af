package localrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
)

const (
	// quiet is how long nothing must have happened before files are looked at:
	// an editor saves by several steps, within a millisecond or two.
	quiet = 30 * time.Millisecond
	// longestWait bounds that where something happens all the time, as while a
	// branch is checked out.
	longestWait = 300 * time.Millisecond
)

// watcher tells which files of a project changed. The operating system's events
// only say when to look; what changed is found by looking, so that events that
// come twice, late or for nothing do no harm.
type watcher struct {
	events *fsnotify.Watcher
	wake   chan struct{} // has an element when changes wait

	mu      sync.Mutex
	tree    tree
	touched map[string]bool // relative paths that events named since the last look
	changed []string        // not yet taken
	failed  error
}

// newWatcher takes the state of the project at dir, and watches from now on.
// also are files, and directories of them, that count besides the project's own.
func newWatcher(h host.Host, dir string, also ...string) (*watcher, error) {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, watchError(err)
	}
	w := &watcher{events: events, wake: make(chan struct{}, 1),
		tree: tree{files: h.Files, root: dir, also: also}, touched: map[string]bool{}}
	if err := w.look(); err != nil {
		return nil, errors.Join(err, events.Close())
	}
	w.changed = nil // all of it is new
	return w, nil
}

// listen looks at the files whenever events have calmed down, until ctx ends.
func (w *watcher) listen(ctx context.Context) {
	defer func() { _ = w.events.Close() }() // what it watched is of no interest any more
	var calm, late <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.events.Events:
			if !ok {
				return
			}
			if !w.touch(e) {
				continue
			}
			calm = time.After(quiet)
			if late == nil {
				late = time.After(longestWait)
			}
			continue
		case _, ok := <-w.events.Errors:
			if !ok {
				return
			}
			// Events were lost: a look finds what they would have told.
		case <-calm:
		case <-late:
		}
		// Both at once: what comes from now on is another change.
		calm, late = nil, nil
		w.mu.Lock()
		err := w.look()
		w.failed = err
		found := len(w.changed) > 0 || err != nil
		w.mu.Unlock()
		if found {
			w.notify()
		}
	}
}

// notify wakes the reader, if it is not awake already.
func (w *watcher) notify() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// touch notes an event, and reports whether it is worth a look.
func (w *watcher) touch(e fsnotify.Event) bool {
	// Modes are changed by backup programs, indexers and `git status`.
	if e.Op == fsnotify.Chmod || temporary.MatchString(filepath.Base(e.Name)) {
		return false
	}
	rel, err := filepath.Rel(w.tree.root, e.Name)
	if err != nil {
		return true // looking is never wrong
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.touched[filepath.ToSlash(rel)] = true
	return true
}

// look finds what changed, and watches directories that are new. What was
// written into those before they were watched is found by looking again.
func (w *watcher) look() error {
	for {
		changed, err := w.tree.scan(w.touched)
		if err != nil {
			return fmt.Errorf("look for changes: %w", err)
		}
		w.touched = map[string]bool{}
		for _, name := range changed {
			if !slices.Contains(w.changed, name) {
				w.changed = append(w.changed, name)
			}
		}
		added, err := w.watchNew()
		if err != nil || !added {
			return err
		}
	}
}

// watchNew watches the directories of the last look that are not watched. The
// operating system itself forgets those that are gone.
func (w *watcher) watchNew() (bool, error) {
	watched := map[string]bool{}
	for _, dir := range w.events.WatchList() {
		watched[dir] = true
	}
	added := false
	for _, dir := range w.tree.dirs {
		if watched[dir] {
			continue
		}
		if err := w.events.Add(dir); err != nil && !gone(err) {
			return false, watchError(fmt.Errorf("%s: %w", dir, err))
		}
		added = true
	}
	return added, nil
}

// take returns the changes since the last call, and an error that keeps from
// finding more.
func (w *watcher) take() ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed, err := w.changed, w.failed
	w.changed, w.failed = nil, nil
	return changed, err
}

// embeds reports whether the program embeds a file. Where nothing is watched it
// may.
func (w *watcher) embeds(name string) bool {
	if w == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return matches(w.tree.embeds, name)
}

// waiting reports whether there are changes that were not taken.
func (w *watcher) waiting() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.changed) > 0
}

// during runs what writes files of the project itself, and returns their paths.
// They do not count as changes; files that the user saves meanwhile do.
func (w *watcher) during(write func() ([]string, error)) ([]string, error) {
	if w == nil {
		return write()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	wrote, err := write()
	if len(wrote) == 0 {
		return wrote, err
	}
	own := map[string]bool{}
	for _, name := range wrote {
		own[filepath.ToSlash(name)] = true
	}
	if lookErr := w.look(); lookErr != nil {
		return wrote, errors.Join(err, lookErr)
	}
	w.changed = slices.DeleteFunc(w.changed, func(name string) bool { return own[name] })
	if len(w.changed) > 0 {
		w.notify()
	}
	return wrote, err
}

// watchError explains the usual reason.
func watchError(err error) error {
	return clierr.Failedf("if there are too many watches, raise the limit: sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512",
		"watch the project's files: %w", err)
}

// gone reports whether something disappeared between two looks.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
