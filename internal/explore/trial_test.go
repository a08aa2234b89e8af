package explore

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/recording"
)

// polling is a rig on which every look takes a moment, the operator calls Reconcile every
// so often, asks for the next call, and changes something for some time.
type polling struct {
	Cluster
	Control
	Operator
	now                   time.Duration
	every, changes, until time.Duration // the object is gone then
}

func (l *polling) at(d time.Duration) time.Time { return time.Unix(0, 0).Add(d) }

func (l *polling) Ended() (string, bool) { return "", false }

func (l *polling) User() string { return "op" }

func (l *polling) Read(context.Context, *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if l.now >= l.until {
		return nil, nil
	}
	return &unstructured.Unstructured{}, nil
}

func (l *polling) Recording(context.Context, recording.Position, time.Duration) (recording.Recording, error) {
	if l.now += 100 * time.Millisecond; l.now > time.Hour {
		return recording.Recording{}, errors.New("nothing else ends it")
	}
	last := l.at(l.now.Truncate(l.every)).Add(time.Millisecond)
	rec := recording.Recording{Reconciles: []recording.Reconcile{{Begin: last, End: last, After: l.every, Object: recording.Object{Namespace: "ns", Name: "s"}}}}
	if l.now%l.every == 0 && l.now <= l.changes {
		rec.Requests = []recording.Request{{Time: last, User: "op", Verb: "patch", Resource: "shops", Namespace: "ns", Code: 200, Changes: []recording.Change{{Path: "status"}}}}
	}
	return rec, nil
}

// trial is one on the rig.
func (l *polling) trial(patience time.Duration) *trial {
	r := &Rig{Cluster: l, Control: l, Operator: l, Now: func() time.Time { return l.at(l.now) }}
	t := r.newTrial(Plan{}, "ns", limits{quiet: quiet, rest: restless, patience: patience}, nil)
	t.log.since = t.log.since.Add(-time.Second)
	return t
}

// TestSettle: what looks like a finding is looked at after the next requeue; changes at
// each of them are waited for no longer than so long, and are rest.
func TestSettle(t *testing.T) {
	for name, tc := range map[string]struct {
		every, changes, patience time.Duration
		atLeast, atMost          time.Duration
	}{
		"the first time":            {5 * time.Second, time.Hour, 0, 0, time.Second},
		"nothing comes of it":       {5 * time.Second, 0, patience, 5 * time.Second, 7 * time.Second},
		"something comes of it":     {5 * time.Second, 6 * time.Second, patience, 10 * time.Second, 12 * time.Second},
		"each time something comes": {5 * time.Second, time.Hour, patience, 22 * time.Second, 23 * time.Second},
		"it comes much later":       {time.Minute, 0, patience, 0, time.Second},
	} {
		l := &polling{every: tc.every, changes: tc.changes}
		if rested, err := l.trial(tc.patience).settle(t.Context()); !rested || err != nil || l.now < tc.atLeast || l.now > tc.atMost {
			t.Errorf("%s: rested is %v after %s, %v", name, rested, l.now, err)
		}
	}
}

// TestAwait: a fault that an operator without rest does not meet is waited for no
// longer than for rest.
func TestAwait(t *testing.T) {
	l := &polling{every: 500 * time.Millisecond}
	disarmed := false
	if err := l.trial(0).await(t.Context(), Fault{}, nil, func() { disarmed = true }); err != nil || !disarmed || l.now < restless || l.now > restless+time.Second {
		t.Errorf("%v, disarmed: %v after %s", err, disarmed, l.now)
	}
}

// TestAwaitGone: an object is waited for until its operator was to look at it again.
func TestAwaitGone(t *testing.T) {
	for name, tc := range map[string]struct {
		patience time.Duration
		gone     bool
	}{"the first time": {0, false}, "what looks like a finding": {patience, true}} {
		l := &polling{every: 30 * time.Second, until: 30 * time.Second}
		tr := l.trial(tc.patience)
		if _, err := tr.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if live, err := tr.awaitGone(t.Context(), Step{Object: map[string]any{}}); (live == nil) != tc.gone || err != nil {
			t.Errorf("%s: %v, %v after %s", name, live, err, l.now)
		}
	}
}

// furnished keeps what is applied, and lists it beside what an operator makes.
type furnished struct {
	polling
	applied []*unstructured.Unstructured
	ensured []string
}

func (f *furnished) EnsureNamespace(_ context.Context, name string) (bool, error) {
	f.ensured = append(f.ensured, name)
	return true, nil
}

func (f *furnished) Apply(_ context.Context, list []*unstructured.Unstructured, _ kube.ApplyOptions) ([]kube.Result, error) {
	f.applied = append(f.applied, list...)
	return nil, nil
}

func (f *furnished) List(context.Context, schema.GroupVersionKind, kube.ListOptions) ([]*unstructured.Unstructured, error) {
	made := f.applied[0].DeepCopy()
	made.SetName("made")
	made.SetUID("made")
	return append([]*unstructured.Unstructured{made}, f.applied...), nil
}

// TestFurnish: what samples refer to is where they are, and does not count; what is
// served in two versions counts once.
func TestFurnish(t *testing.T) {
	secret := object(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: own}")
	for namespace, want := range map[string]string{"ns": "ns", "": "own"} {
		var ensured []string // the trial's own namespace is there
		if namespace == "" {
			ensured = []string{"own"}
		}
		f := &furnished{}
		r := &Rig{Cluster: f, Control: f, Operator: f, Now: func() time.Time { return f.at(0) }, Beside: []*unstructured.Unstructured{secret}}
		tr := r.newTrial(Plan{}, namespace, limits{}, map[schema.GroupVersionKind]bool{secret.GroupVersionKind(): true, {Version: "v2", Kind: "Secret"}: true})
		if err := tr.furnish(t.Context()); err != nil || f.applied[0].GetNamespace() != want || !slices.Equal(f.ensured, ensured) {
			t.Errorf("in %q: %v, namespaces %q, %v", namespace, f.applied, f.ensured, err)
		}
		left, err := tr.objects(t.Context())
		if err != nil || namespace != "" && (len(left) != 1 || left[0].GetName() != "made") {
			t.Errorf("in %q: %v, %v", namespace, left, err)
		}
	}
}

// TestConfirm_Over: when the time is over, what was seen once is kept as unconfirmed,
// unless a requeue may mend it.
func TestConfirm_Over(t *testing.T) {
	for _, hurried := range []bool{false, true} {
		e := newExplorer(&Rig{Now: time.Now}, Options{})
		e.report.Trials = 1
		over, cancel := context.WithDeadline(t.Context(), time.Now())
		_, err := e.confirm(over, Finding{Check: History, Plan: Plan{Steps: []Step{{}}}, hurried: hurried})
		cancel()
		if kept := len(e.report.Findings) == 1; !errors.Is(err, errOver) || kept == hurried || kept && !e.report.Findings[0].Unconfirmed {
			t.Errorf("hurried is %v: %v, %+v", hurried, err, e.report.Findings)
		}
	}
}
