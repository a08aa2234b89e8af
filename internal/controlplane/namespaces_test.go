package controlplane

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

// counted is a queue that counts what is added.
type counted struct {
	workqueue.TypedDelayingInterface[string]
	n int
}

func (c *counted) AddAfter(string, time.Duration) { c.n++ }

// TestEnqueueDeleted: each deletion counts once, also where a watch that was
// interrupted shows another namespace of the same name in the place of the last.
func TestEnqueueDeleted(t *testing.T) {
	namespace := func(uid string, going bool) *corev1.Namespace {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: types.UID(uid)}}
		if going {
			ns.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}
		return ns
	}
	for name, tt := range map[string]struct {
		before, now *corev1.Namespace
		want        int
	}{
		"new":                  {&corev1.Namespace{}, namespace("1", false), 0},
		"going at the start":   {&corev1.Namespace{}, namespace("1", true), 1},
		"deleted":              {namespace("1", false), namespace("1", true), 1},
		"status while it goes": {namespace("1", true), namespace("1", true), 0},
		"made again":           {namespace("1", true), namespace("2", false), 0},
		"another one going":    {namespace("1", true), namespace("2", true), 1},
	} {
		t.Run(name, func(t *testing.T) {
			q := &counted{}
			if enqueueDeleted(q, tt.before, tt.now); q.n != tt.want {
				t.Errorf("enqueued %d times, want %d", q.n, tt.want)
			}
		})
	}
}
