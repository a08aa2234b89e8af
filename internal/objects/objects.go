// Package objects keeps a copy of what a cluster has while somebody looks: its
// objects as they are, what became of them since, whom they belong to and how
// they are. It knows what a cluster tells of all kinds alike; how that is asked
// for is internal/kube's, and how it is shown internal/ui's.
package objects

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/recording"
)

const (
	// maxLog bounds what is kept of the past, in bytes.
	maxLog = 32 << 20
	// askAgain is the pause between two questions for a kind whose CRD is there:
	// the API server serves it a moment later.
	askAgain = 250 * time.Millisecond
	// askAnyway is after how long the cluster is asked whether it is there.
	askAnyway = 30 * time.Second
)

// Key names an object, in whichever version.
type Key struct {
	schema.GroupKind
	Namespace, Name string
}

// KeyOf is the key of u.
func KeyOf(u *unstructured.Unstructured) Key {
	return Key{GroupKind: u.GroupVersionKind().GroupKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
}

// String is the object in words.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind + " " + k.Name
	}
	return k.Kind + " " + k.Namespace + "/" + k.Name
}

// Change is one write of an object, as far as it changed something.
type Change struct {
	Key
	Seq      uint64 // counts up from 1
	Revision uint64 // of the cluster
	Before   string // resourceVersion of the object before; empty for a new one
	Time     time.Time
	Effect   string // created, changed or deleted
	Fields   []recording.Change

	state []byte // the object then as JSON; nil: gone
}

// Mirror is a copy of a cluster. It is safe for concurrent use. What it hands
// out is not to be changed. Values of Secrets are not in it.
type Mirror struct {
	clock func() time.Time
	salt  []byte        // of hashes in place of Secrets' values
	crds  chan struct{} // a CRD has changed

	mu      sync.Mutex
	kinds   map[schema.GroupKind]kube.Kind
	stop    map[kube.Kind]context.CancelFunc
	first   map[schema.GroupKind]bool // listed once
	begun   bool                      // all kinds of the start were listed once
	objects map[Key]*unstructured.Unstructured
	base    map[Key][]byte // what there was before the log
	log     []Change
	bytes   int // of the log's states
	next    uint64
	changed chan struct{} // closed at the next change
}

// New is a mirror of nothing. clock tells the time of changes.
func New(clock func() time.Time) *Mirror {
	return &Mirror{
		clock: clock, salt: []byte(rand.Text()), crds: make(chan struct{}, 1),
		kinds: map[schema.GroupKind]kube.Kind{}, stop: map[kube.Kind]context.CancelFunc{}, first: map[schema.GroupKind]bool{},
		objects: map[Key]*unstructured.Unstructured{}, base: map[Key][]byte{}, next: 1, changed: make(chan struct{}),
	}
}

// Follow keeps the mirror up to date until ctx ends. The error is that the
// cluster cannot be asked for its kinds.
func (m *Mirror) Follow(ctx context.Context, c *kube.Client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m.mu.Lock()
	m.stop = map[kube.Kind]context.CancelFunc{} // of another connection, which has ended
	m.mu.Unlock()
	for {
		kinds, err := c.Kinds(ctx)
		if ctx.Err() != nil || err != nil {
			return cmp.Or(ctx.Err(), err)
		}
		m.followKinds(ctx, c, kinds)
		pause := askAnyway
		if m.missesKinds() {
			pause = askAgain
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.crds:
		case <-time.After(pause):
		}
	}
}

// followKinds follows the kinds that are new since the last time, and forgets the
// objects of those that are gone. A kind that only changes its version is followed
// in the new one: the objects are the same.
func (m *Mirror) followKinds(ctx context.Context, c *kube.Client, kinds []kube.Kind) {
	m.mu.Lock()
	defer m.mu.Unlock()
	there := map[kube.Kind]bool{}
	for _, k := range kinds {
		switch k.Resource + "." + k.Group {
		case "leases.coordination.k8s.io", "events.events.k8s.io", "endpoints.":
			continue // heartbeats, and what others have twice
		}
		there[k] = true
		if m.stop[k] != nil {
			continue
		}
		m.kinds[k.GroupKind()] = k
		following, cancel := context.WithCancel(ctx)
		m.stop[k] = cancel
		go c.Follow(following, k, kube.Follower{
			All:  func(objs []*unstructured.Unstructured, rev string) { m.replace(k, objs, rev) },
			Now:  func(u *unstructured.Unstructured) { m.put(u) },
			Gone: func(u *unstructured.Unstructured) { m.drop(KeyOf(u), u.GetResourceVersion()) },
		})
	}
	for k, cancel := range m.stop {
		if !there[k] {
			cancel()
			delete(m.stop, k)
		}
	}
	for gk, k := range m.kinds { // of another cluster, too, that had this one's place
		if !there[k] {
			m.forget(gk)
		}
	}
}

func (m *Mirror) forget(gk schema.GroupKind) {
	delete(m.kinds, gk)
	delete(m.first, gk)
	for key, u := range m.objects {
		if key.GroupKind == gk {
			m.gone(key, u.GetResourceVersion())
		}
	}
}

// missesKinds reports whether a CRD is established whose kind is not followed.
func (m *Mirror) missesKinds() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, u := range m.objects {
		if key.GroupKind == kube.CRD().GroupKind() && u.GetDeletionTimestamp() == nil && kube.NotReady(u) == "" {
			if _, ok := m.kinds[kube.ServedKind(u).GroupKind()]; !ok {
				return true
			}
		}
	}
	return false
}

func (m *Mirror) replace(k kube.Kind, objs []*unstructured.Unstructured, revision string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	there := map[Key]bool{}
	for _, u := range objs {
		u.SetGroupVersionKind(k.GroupVersionKind) // an API server leaves it out of lists
		there[KeyOf(u)] = true
		m.take(u)
	}
	for key := range m.objects {
		if key.GroupKind == k.GroupKind() && !there[key] {
			m.gone(key, revision)
		}
	}
	m.first[k.GroupKind()] = true
	m.begun = m.begun || len(m.first) == len(m.kinds)
	m.wake()
}

func (m *Mirror) put(u *unstructured.Unstructured) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.take(u)
	m.wake()
}

func (m *Mirror) drop(key Key, revision string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone(key, revision)
	m.wake()
}

// wake tells those who wait. The lock is held, as below.
func (m *Mirror) wake() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// take notes an object as it is now.
func (m *Mirror) take(u *unstructured.Unstructured) {
	unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
	u.Object = recording.Redact(u.GetKind(), u.Object, m.salt)
	key := KeyOf(u)
	before := m.objects[key]
	if before != nil && before.GetResourceVersion() == u.GetResourceVersion() && before.GetUID() == u.GetUID() {
		return
	}
	m.objects[key] = u
	if key.GroupKind == kube.CRD().GroupKind() {
		m.lookForKinds()
	}
	if key.GroupKind == eventKind() {
		return // it tells of changes, and is none
	}
	c := Change{Key: key, Effect: "created"}
	if before != nil {
		c.Effect, c.Before, c.Fields = "changed", before.GetResourceVersion(), recording.Diff(before.Object, u.Object)
	}
	c.state, _ = json.Marshal(u.Object) // it was JSON before
	if !m.begun && before == nil && !m.first[key.GroupKind] {
		m.base[key] = c.state
		return
	}
	m.note(c, u.GetResourceVersion())
}

// gone notes that there is no such object any more.
func (m *Mirror) gone(key Key, revision string) {
	before := m.objects[key]
	if before == nil {
		return
	}
	delete(m.objects, key)
	if key.GroupKind == kube.CRD().GroupKind() {
		m.lookForKinds()
	}
	if key.GroupKind != eventKind() {
		m.note(Change{Key: key, Effect: "deleted", Before: before.GetResourceVersion()}, revision)
	}
}

func (m *Mirror) lookForKinds() {
	select {
	case m.crds <- struct{}{}:
	default: // it will be
	}
}

// note adds to the log, and makes room there.
func (m *Mirror) note(c Change, revision string) {
	// A revision that is no number is of a server that is not Kubernetes'.
	c.Revision, _ = strconv.ParseUint(revision, 10, 64)
	c.Seq, c.Time = m.next, m.clock()
	m.next++
	m.log = append(m.log, c)
	m.bytes += len(c.state)
	n := 0
	for ; m.bytes > maxLog && n < len(m.log); n++ {
		m.bytes -= len(m.log[n].state)
		m.log[n].apply(m.base)
	}
	m.log = slices.Delete(m.log, 0, n)
}

// apply brings states from before the change to after it.
func (c Change) apply(states map[Key][]byte) {
	if c.state == nil {
		delete(states, c.Key)
	} else {
		states[c.Key] = c.state
	}
}

// Snapshot is the cluster at a moment.
type Snapshot struct {
	Ready   bool // all kinds have been listed
	Kinds   map[schema.GroupKind]kube.Kind
	Objects map[Key]*unstructured.Unstructured
	Log     []Change // the oldest first
}

// Changed returns a channel that is closed at the next change.
func (m *Mirror) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

// Now returns what there is.
func (m *Mirror) Now() Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Snapshot{Ready: m.begun, Kinds: maps.Clone(m.kinds), Objects: maps.Clone(m.objects), Log: slices.Clone(m.log)}
}

// At returns the objects as they were after the change with that Seq; with one
// before the first that is kept, those before it.
func (m *Mirror) At(seq uint64) (map[Key]*unstructured.Unstructured, error) {
	m.mu.Lock()
	states := maps.Clone(m.base)
	for _, c := range m.log {
		if c.Seq <= seq {
			c.apply(states)
		}
	}
	m.mu.Unlock()
	objs := make(map[Key]*unstructured.Unstructured, len(states))
	for key, data := range states {
		var u unstructured.Unstructured
		if err := u.UnmarshalJSON(data); err != nil {
			return nil, err
		}
		objs[key] = &u
	}
	return objs, nil
}

// Of are the changes of one object, the newest first.
func (s Snapshot) Of(key Key) []Change {
	var list []Change
	for _, c := range slices.Backward(s.Log) {
		if c.Key == key {
			list = append(list, c)
		}
	}
	return list
}

// CRDs are the definitions of kinds, by kind.
func (s Snapshot) CRDs() []*unstructured.Unstructured {
	var list []*unstructured.Unstructured
	for key, u := range s.Objects {
		if key.GroupKind == kube.CRD().GroupKind() {
			list = append(list, u)
		}
	}
	slices.SortFunc(list, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(kube.ServedKind(a).Kind, kube.ServedKind(b).Kind), cmp.Compare(a.GetName(), b.GetName()))
	})
	return list
}

// Events are those about an object, the newest first.
func (s Snapshot) Events(u *unstructured.Unstructured) []*unstructured.Unstructured {
	var list []*unstructured.Unstructured
	for key, e := range s.Objects {
		if key.GroupKind != eventKind() {
			continue
		}
		if uid, _, _ := unstructured.NestedString(e.Object, "involvedObject", "uid"); uid == string(u.GetUID()) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *unstructured.Unstructured) int { return cmp.Compare(eventTime(b), eventTime(a)) })
	return list
}

// eventTime is when an event was last seen, in the order of time.
func eventTime(e *unstructured.Unstructured) string {
	last, _, _ := unstructured.NestedString(e.Object, "lastTimestamp")
	at, _, _ := unstructured.NestedString(e.Object, "eventTime")
	return cmp.Or(last, at, e.GetCreationTimestamp().UTC().Format(time.RFC3339))
}
