package recorder

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/framer"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/example/mysdk/internal/recording"
)

// TestFrames: the events of a watch, whatever the pieces in which they are
// written.
func TestFrames(t *testing.T) {
	maps := []*corev1.ConfigMap{{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", ResourceVersion: "7"}, Data: map[string]string{"k": "two\nlines"}}, {ObjectMeta: metav1.ObjectMeta{Name: "b", ResourceVersion: "8"}}}
	types := []string{"ADDED", "DELETED", "BOOKMARK"}
	var asJSON, asProtobuf bytes.Buffer
	frames := framer.NewLengthDelimitedFrameWriter(&asProtobuf)
	objects := protobuf.NewSerializer(legacyscheme.Scheme, legacyscheme.Scheme)
	for i, kind := range types {
		m := maps[i%2].DeepCopy()
		m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		fmt.Fprintf(&asJSON, `{"type":%q,"object":{"kind":"ConfigMap","metadata":{"name":%q,"namespace":%q,"resourceVersion":%q},"data":{"k":"two\nlines"}}}`+"\n", kind, m.Name, m.Namespace, m.ResourceVersion)
		var object bytes.Buffer
		if err := objects.Encode(m, &object); err != nil {
			t.Fatal(err)
		}
		event, err := (&metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: object.Bytes()}}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := frames.Write(event); err != nil {
			t.Fatal(err)
		}
	}
	want := []recording.Event{
		{Seq: 1, Type: "ADDED", Resource: "configmaps", Kind: "ConfigMap", Namespace: "default", Name: "a", Revision: "7"},
		{Seq: 1, Type: "DELETED", Resource: "configmaps", Kind: "ConfigMap", Name: "b", Revision: "8"},
	}
	for media, data := range map[string][]byte{"application/json": asJSON.Bytes(), "application/vnd.kubernetes.protobuf;stream=watch": asProtobuf.Bytes()} {
		for _, size := range []int{1, 7, len(data)} {
			r := New()
			end := r.Begin("op", "/shop", time.Now())
			f := newFrames(r, recording.Request{Resource: "configmaps"}, media)
			for rest := data; len(rest) > 0; rest = rest[min(size, len(rest)):] {
				f.write(rest[:min(size, len(rest))])
			}
			now, _ := r.Snapshot(recording.Position{})
			if diff := cmp.Diff(want, now.Events, cmpopts.IgnoreFields(recording.Event{}, "Time")); diff != "" {
				t.Errorf("%s by %d bytes (-want +got):\n%s", media, size, diff)
			}
			end()
		}
	}
	if newFrames(New(), recording.Request{}, "application/cbor-seq") != nil {
		t.Error("CBOR cannot be read, and is")
	}
}

// TestEventBounds: the oldest events go, and from when on there are all is known.
func TestEventBounds(t *testing.T) {
	r := New()
	began := time.Unix(1, 0)
	defer r.Begin("op", "/shop", began)()
	if now, _ := r.Snapshot(recording.Position{}); !now.EventsSince.Equal(began) {
		t.Errorf("events since %v", now.EventsSince)
	}
	for i := range recording.EventsKept + 1 {
		r.event(recording.Event{Time: began.Add(time.Duration(i+1) * time.Second)})
	}
	now, _ := r.Snapshot(recording.Position{})
	if n := len(now.Events); n > recording.EventsKept || n < recording.EventsKept*8/10 || !now.EventsSince.Equal(now.Events[0].Time.Add(-time.Second)) {
		t.Errorf("%d events are kept, since %v", n, now.EventsSince)
	}
	if later, _ := r.Snapshot(now.Position()); len(later.Events) != len(now.Events) {
		t.Errorf("%d events since the last request", len(later.Events))
	}
	r.blind()
	if now, _ := r.Snapshot(recording.Position{}); !now.EventsSince.IsZero() {
		t.Error("events that cannot be read are not missed")
	}
}

// TestWebhooks: the newest calls are kept, while somebody records.
func TestWebhooks(t *testing.T) {
	r := New()
	r.Webhook("/shop", recording.Webhook{UID: "before"}, 1)
	defer r.Begin("op", "/shop", time.Now())()
	for i := range recording.WebhooksKept + 2 {
		r.Webhook("/shop", recording.Webhook{UID: fmt.Sprint(i)}, 1)
	}
	now, _ := r.Snapshot(recording.Position{})
	if n := len(now.Webhooks); n != recording.WebhooksKept || now.Webhooks[0].UID != "2" || now.Webhooks[n-1].UID != fmt.Sprint(recording.WebhooksKept+1) {
		t.Errorf("%d calls, from %s", n, now.Webhooks[0].UID)
	}
	r.Webhook("/shop", recording.Webhook{UID: "large"}, maxWebhookBytes-3)
	if now, _ = r.Snapshot(recording.Position{}); len(now.Webhooks) != 4 {
		t.Errorf("%d calls with a large one", len(now.Webhooks))
	}
}
