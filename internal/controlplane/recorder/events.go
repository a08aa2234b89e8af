package recorder

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"mime"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/example/mysdk/internal/recording"
)

const (
	// partialMetadata is the kind of an object that was sent with its metadata alone.
	partialMetadata = "PartialObjectMetadata"
	// protobufMagic begins an object in protobuf.
	protobufMagic = "k8s\x00"
	// frameHeader is the length before a frame of protobuf, in bytes.
	frameHeader = 4
)

// frames takes what a watch sends apart.
type frames struct {
	recorder        *Recorder
	group, resource string
	protobuf        bool
	pending         []byte // of a frame that is not complete
}

// newFrames returns nil for an encoding that it cannot read.
func newFrames(r *Recorder, q recording.Request, contentType string) *frames {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil || media != runtime.ContentTypeJSON && media != runtime.ContentTypeProtobuf {
		return nil
	}
	return &frames{recorder: r, group: q.Group, resource: q.Resource, protobuf: media == runtime.ContentTypeProtobuf}
}

// write notes the events in what is about to be sent: the operator knows of them
// a little later.
func (f *frames) write(p []byte) {
	f.pending = append(f.pending, p...)
	for {
		frame, size := f.next()
		if size == 0 {
			return
		}
		decode := decodeJSON
		if f.protobuf {
			decode = decodeProtobuf
		}
		if event, ok := decode(frame); ok {
			event.Time, event.Group, event.Resource = time.Now(), f.group, f.resource
			f.recorder.event(event)
		}
		f.pending = append(f.pending[:0], f.pending[size:]...)
	}
}

// next is the first whole frame, and how much of pending it takes; 0 for none.
func (f *frames) next() (frame []byte, size int) {
	if !f.protobuf {
		i := bytes.IndexByte(f.pending, '\n')
		return f.pending[:max(0, i)], i + 1
	}
	if len(f.pending) < frameHeader {
		return nil, 0
	}
	end := frameHeader + int(binary.BigEndian.Uint32(f.pending))
	if len(f.pending) < end {
		return nil, 0
	}
	return f.pending[frameHeader:end], end
}

// counts reports whether an event tells of an object.
func counts(kind string) bool {
	return kind == string(watch.Added) || kind == string(watch.Modified) || kind == string(watch.Deleted)
}

func decodeJSON(frame []byte) (recording.Event, bool) {
	var e struct {
		Type   string
		Object struct {
			Kind     string
			Metadata struct{ Name, Namespace, ResourceVersion string }
		}
	}
	if json.Unmarshal(frame, &e) != nil || !counts(e.Type) {
		return recording.Event{}, false
	}
	meta := e.Object.Metadata
	return recording.Event{Type: e.Type, Kind: e.Object.Kind, Namespace: meta.Namespace, Name: meta.Name, Revision: meta.ResourceVersion}, true
}

func decodeProtobuf(frame []byte) (recording.Event, bool) {
	var e metav1.WatchEvent
	var object runtime.Unknown
	// Each object has its metadata first.
	var meta metav1.PartialObjectMetadata
	none := recording.Event{}
	if e.Unmarshal(frame) != nil || !counts(e.Type) {
		return none, false
	}
	raw, ok := bytes.CutPrefix(e.Object.Raw, []byte(protobufMagic))
	if !ok || object.Unmarshal(raw) != nil || meta.Unmarshal(object.Raw) != nil {
		return none, false
	}
	return recording.Event{Type: e.Type, Kind: object.Kind, Namespace: meta.Namespace, Name: meta.Name, Revision: meta.ResourceVersion}, true
}

func (r *Recorder) event(e recording.Event) {
	if !r.on.Load() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Seq = r.next
	if e.Kind != partialMetadata {
		r.kinds[e.Resource+"."+e.Group] = e.Kind
	}
	if r.events = append(r.events, e); len(r.events) > recording.EventsKept {
		const drop = recording.EventsKept / 10 // at once, as the rest is moved each time
		r.eventsSince = r.events[drop-1].Time
		r.events = slices.Delete(r.events, 0, drop)
	}
}

func (r *Recorder) blind() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unread = true
}
