package localrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/filelock"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
)

const (
	journalEnd = ".json"
	lockEnd    = ".lock"
)

// journal is what a cluster was like before a run pointed its webhooks at this
// machine. It is on disk before the cluster is written to, and its lock goes
// with the process: a journal that nobody holds is one to restore from.
type journal struct {
	file   string
	lock   *filelock.Lock
	record record
}

// record is a journal's content.
type record struct {
	Project string  `json:"project"` // directory
	PID     int     `json:"pid"`     // of the run, for messages
	Base    string  `json:"base"`    // what the run's webhooks' URLs begin with
	Entries []entry `json:"changed"` // in the order of the changes
}

// entry is one object before its change.
type entry struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	// Before is the object, of a CRD spec.conversion alone; null if there was
	// none.
	Before json.RawMessage `json:"before"`
	// Injection are the annotations of a CRD that its change takes away.
	Injection map[string]string `json:"injection,omitempty"`
}

// is leaves versions out: an object is the same one in all of them.
func (e entry) is(u *unstructured.Unstructured) bool {
	return e.Kind == u.GetKind() && e.Name == u.GetName()
}

// has reports whether u's state before the run is in the journal.
func (rec record) has(u *unstructured.Unstructured) bool {
	return slices.ContainsFunc(rec.Entries, func(e entry) bool { return e.is(u) })
}

// journalDir is where the journals of a cluster are, one for each project.
func journalDir(h host.Host, clusterID string) (string, error) {
	dir, err := h.StateDir()
	if err != nil {
		return "", clierr.WithHint(fmt.Errorf("find the state directory: %w", err), "set MYSDK_STATE_DIR to a directory of yours")
	}
	return state.Runs(dir, clusterID), nil
}

// openJournal begins the journal of a project on a cluster. Another run of the
// same project there is refused: each would take the other's webhooks for what
// the cluster was like before.
func openJournal(h host.Host, dir, project string, rec record) (*journal, error) {
	if err := host.MkdirAll(h.Files, dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep a journal of the cluster's webhooks: %w", err)
	}
	file := filepath.Join(dir, project)
	lock, err := filelock.Try(file + lockEnd)
	if errors.Is(err, filelock.ErrHeld) {
		other, _ := readRecord(h, file+journalEnd) // it may have none on disk yet
		return nil, clierr.Failedf("stop that one, or run this one with --no-webhooks",
			"another 'mysdk run local' of this project (pid %d) has its webhooks in this cluster", other.PID)
	}
	if err != nil {
		return nil, fmt.Errorf("keep a journal of the cluster's webhooks: %w", err)
	}
	return &journal{file: file + journalEnd, lock: lock, record: rec}, nil
}

// readRecord reads a journal that may be of another run.
func readRecord(h host.Host, file string) (record, error) {
	var rec record
	data, err := h.Files.ReadFile(file)
	if err != nil {
		return rec, err
	}
	return rec, json.Unmarshal(data, &rec)
}

// note writes down what u is like in the cluster, unless that was done before.
func (j *journal) note(ctx context.Context, h host.Host, c Client, u *unstructured.Unstructured) error {
	if j.record.has(u) {
		return nil
	}
	if err := refuseTaken(h, filepath.Dir(j.file), j.file, "stop that one, or run this one with --no-webhooks", u); err != nil {
		return err
	}
	live, err := c.Read(ctx, u)
	if err != nil {
		return err
	}
	e := entry{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Name: u.GetName()}
	if e.Before, err = before(live); err != nil {
		return err
	}
	if live != nil && live.GetKind() == crdKind {
		e.Injection = injection(live.GetAnnotations())
	}
	// An entry without its change is harmless: restoring it finds nothing of
	// this run's. A change without its entry would stay for good.
	j.record.Entries = append(j.record.Entries, e)
	return j.write()
}

// before is what an entry keeps of an object.
func before(live *unstructured.Unstructured) (json.RawMessage, error) {
	var value any
	switch {
	case live == nil:
	case live.GetKind() == crdKind:
		// The rest of a CRD is applied for good, as by install.
		var err error
		if value, _, err = unstructured.NestedFieldNoCopy(live.Object, "spec", "conversion"); err != nil {
			return nil, err
		}
	default:
		value = live.Object
	}
	return json.Marshal(value)
}

// write replaces the file in one step: half a journal would restore half.
func (j *journal) write() error {
	data, err := json.MarshalIndent(j.record, "", "  ")
	if err == nil {
		err = state.WriteFile(j.file, append(data, '\n'))
	}
	if err != nil {
		return clierr.WithHint(fmt.Errorf("write the journal of the cluster's webhooks: %w", err),
			"make room there, or run with --no-webhooks; the cluster was not changed")
	}
	return nil
}

// RefuseTaken refuses objects that a run has changed in a cluster: their
// webhooks point at this machine, until it ends or what it left is put back.
func RefuseTaken(h host.Host, clusterID string, objects []*unstructured.Unstructured) error {
	dir, err := journalDir(h, clusterID)
	if err != nil {
		return err
	}
	return refuseTaken(h, dir, "", "stop that one with Ctrl-C; if it was killed, run 'mysdk run local --restore'", objects...)
}

// refuseTaken refuses objects that a journal in dir other than mine has: its run will
// put them back to what they were.
func refuseTaken(h host.Host, dir, mine, hint string, objects ...*unstructured.Unstructured) error {
	files, err := journalsIn(h, dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		if file == mine {
			continue
		}
		rec, err := readRecord(h, file)
		if err != nil {
			continue // it ended at this moment, or never wrote a whole one
		}
		for _, u := range objects {
			if rec.has(u) {
				return clierr.Failedf(hint, "%s %s belongs to 'mysdk run local' (pid %d) in %s", u.GetKind(), u.GetName(), rec.PID, rec.Project)
			}
		}
	}
	return nil
}

// close ends the journal of a run whose changes were taken back.
func (j *journal) close(h host.Host) error {
	err := h.Files.Remove(j.file)
	if gone(err) {
		err = nil // nothing was ever noted
	}
	return errors.Join(err, j.lock.Release())
}

// journalsIn are the files of journals in a directory, which need not exist.
func journalsIn(h host.Host, dir string) (files []string, err error) {
	entries, err := h.Files.ReadDir(dir)
	if err != nil && !gone(err) {
		return nil, err
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) == journalEnd {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, nil
}

// eachLeft calls do for the journals of runs that were killed.
func eachLeft(h host.Host, dir string, do func(file string, rec record) error) error {
	files, err := journalsIn(h, dir)
	if err != nil {
		return fmt.Errorf("look for webhooks of runs that were killed: %w", err)
	}
	for _, file := range files {
		if err := ifLeft(h, file, do); err != nil {
			return err
		}
	}
	return nil
}

// ifLeft calls do for one journal, unless its run goes on.
func ifLeft(h host.Host, file string, do func(file string, rec record) error) (err error) {
	lock, err := filelock.Try(strings.TrimSuffix(file, journalEnd) + lockEnd)
	if errors.Is(err, filelock.ErrHeld) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for webhooks of runs that were killed: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	// Read only under the lock: until then its run could have changed it.
	rec, err := readRecord(h, file)
	if gone(err) {
		return nil // the run ended at this moment
	}
	if err != nil {
		return clierr.Failedf("look at the cluster's webhook configurations, then remove that file",
			"read the journal %s of a run that was killed: %w", file, err)
	}
	return do(file, rec)
}

// restore puts the objects back to what they were, the last one first. What
// does not call the run's webhooks any more was changed by somebody else and
// stays.
func (rec record) restore(ctx context.Context, c Client) ([]string, error) {
	var done []string
	for _, e := range slices.Backward(rec.Entries) {
		did, err := rec.restoreOne(ctx, c, e)
		if err != nil {
			return done, fmt.Errorf("restore %s %s: %w", e.Kind, e.Name, err)
		}
		if did != "" {
			done = append(done, did)
		}
	}
	return done, nil
}

// restoreOne restores one object and says what it did; nothing if there was
// nothing to do, so that it may be called as often as one likes.
func (rec record) restoreOne(ctx context.Context, c Client, e entry) (string, error) {
	object := kube.Named(e.APIVersion, e.Kind, "", e.Name)
	live, err := c.Read(ctx, object)
	if err != nil || live == nil || !calls(live, rec.Base) {
		return "", err
	}
	was := map[string]any(nil)
	if err := k8sjson.Unmarshal(e.Before, &was); err != nil {
		return "", err
	}
	// CRDs are the project's own and stay, with all objects of their kinds; only
	// webhook configurations can be something that this run brought.
	if was == nil && e.Kind != crdKind {
		_, err := c.Delete(ctx, []*unstructured.Unstructured{object}, kube.DeleteOptions{})
		return e.Kind + " " + e.Name + " deleted", err
	}
	err = c.Edit(ctx, object, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if live == nil || !calls(live, rec.Base) {
			return nil, nil
		}
		return reverted(live, was, e.Injection)
	})
	if err == nil {
		// Else a deployment that applies on the server's side would find its
		// own fields to be somebody else's.
		err = c.Disown(ctx, object)
	}
	if e.Kind == crdKind {
		return "conversion of " + e.Name + " put back", err
	}
	return e.Kind + " " + e.Name + " put back", err
}

// reverted is live as it was before.
func reverted(live *unstructured.Unstructured, was map[string]any, injection map[string]string) (*unstructured.Unstructured, error) {
	if live.GetKind() != crdKind {
		return &unstructured.Unstructured{Object: was}, nil
	}
	if was == nil {
		was = map[string]any{"strategy": "None"} // what the API server makes of nothing
	}
	if len(injection) > 0 {
		live.SetAnnotations(labels.Merge(live.GetAnnotations(), injection))
	}
	return live, unstructured.SetNestedMap(live.Object, was, "spec", "conversion")
}

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
	if err != nil && !gone(err) {
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
