package recorder

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"github.com/example/mysdk/internal/recording"
)

// Admission is the admission plugin that sees objects before and after a write.
// It goes behind all others: what it sees is what will be stored.
func (r *Recorder) Admission() (name string, plugin admission.Interface) {
	return "Recorder", watcher{admission.NewHandler(admission.Create, admission.Update, admission.Delete), r}
}

// watcher notes what a write changes. It refuses nothing.
type watcher struct {
	*admission.Handler
	recorder *Recorder
}

var _ admission.ValidationInterface = watcher{}

// Validate implements admission.ValidationInterface. The store may call it
// again when another write came first: the last call counts.
func (w watcher) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	n := noteFrom(ctx)
	if n == nil || !w.recorder.on.Load() {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.request.Writes() || !n.operator && chatter(n.request) {
		return nil
	}
	// What cannot be shown is not worth failing a write for.
	before, beforeErr := asMap(a.GetOldObject(), a, o)
	after, afterErr := asMap(a.GetObject(), a, o)
	if beforeErr != nil || afterErr != nil {
		return nil //nolint:nilerr // see above
	}
	kind := a.GetKind().Kind
	n.stored, n.request.Kind, n.request.DryRun = true, kind, a.IsDryRun()
	if n.request.Verb == "create" && n.request.Name == "" {
		n.request.Name = a.GetName() // of generateName
	}
	object := after
	if object == nil {
		object = before
	}
	n.request.Owners = owners(object)
	n.request.Revision, _, _ = unstructured.NestedString(before, "metadata", "resourceVersion")
	if before != nil && after != nil {
		n.request.Changes = recording.Diff(recording.Redact(kind, before, w.recorder.salt), recording.Redact(kind, after, w.recorder.salt))
		data, err := json.Marshal(n.request.Changes)
		if err != nil {
			n.request.Changes = nil
		}
		n.bytes = 3 * len(data) // as maps and strings
	}
	n.effective = before == nil || after == nil || len(n.request.Changes) > 0
	return nil
}

// asMap is an object as in JSON; nil for none. It shares what it can.
func asMap(obj runtime.Object, a admission.Attributes, o admission.ObjectInterfaces) (map[string]any, error) {
	if obj == nil {
		return nil, nil
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.Object, nil
	}
	versioned, err := admission.ConvertToGVK(obj, a.GetKind(), o)
	if err != nil {
		return nil, fmt.Errorf("convert a %s: %w", a.GetKind().Kind, err)
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(versioned)
}

func owners(object map[string]any) []recording.Owner {
	m, err := meta.Accessor(&unstructured.Unstructured{Object: object})
	if err != nil || object == nil {
		return nil
	}
	var list []recording.Owner
	for _, o := range m.GetOwnerReferences() {
		group := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).Group
		list = append(list, recording.Owner{Group: recording.GroupName(group), Kind: o.Kind, Name: o.Name})
	}
	return list
}
