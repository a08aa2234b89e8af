package explore

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/recording"
)

// The checks, by the names that --checks takes.
const (
	Exits       = "exits"       // the operator ends by itself
	History     = "history"     // A changed to B is not what a new B is
	Recovery    = "recovery"    // A changed to B and back is not what A was
	Mistaken    = "mistaken"    // a field of the same name, elsewhere, follows with another value
	Ignored     = "ignored"     // a property that was changed, and nothing happened
	Crash       = "crash"       // killed after a write, it does not end where it should
	Stale       = "stale"       // the same after a restart on old data, or missed events
	Unrest      = "unrest"      // writes without an end
	Leftovers   = "leftovers"   // something stays behind after delete, or the object does
	Invalid     = "invalid"     // for an unchanged sample it writes what the API refuses
	Forbidden   = "forbidden"   // a right is missing
	Versions    = "versions"    // written back as it is, an object loses something
	Observed    = "observed"    // observedGeneration does not follow
	Unreachable = "unreachable" // an error of the API does not heal
)

// Faults stands for the checks in which requests are made to fail, or the operator is
// killed.
const Faults = "faults"

// faultChecks are the checks that Faults stands for.
var faultChecks = []string{Crash, Stale, Unreachable}

// Checks are all of them with what they find, in the order of the reference.
var Checks = [][2]string{
	{Exits, "the operator panics, exits or restarts on its own"},
	{History, "an object that was changed differs from a new one with the same spec"},
	{Recovery, "an object that was changed and changed back differs from before"},
	{Mistaken, "a property is changed, and a field of the same name elsewhere gets another value"},
	{Ignored, "a property is changed and nothing else in the cluster changes"},
	{Crash, "killed after a write, the operator ends in another state than without the kill"},
	{Stale, "restarted on old data, or after missed events, it ends in another state"},
	{Unrest, "it never comes to rest"},
	{Leftovers, "something stays behind after delete, or the object is never gone"},
	{Invalid, "for a sample as it is, the operator writes what the API refuses"},
	{Forbidden, "its roles lack a right that it uses"},
	{Versions, "an object that is written back unchanged, in any served version, differs from before"},
	{Observed, "status.observedGeneration does not follow the object"},
	{Unreachable, "the operator does not recover from a conflict, an error or a lost answer of the API"},
}

// CheckNames are what --checks takes.
func CheckNames() []string {
	names := []string{Faults}
	for _, c := range Checks {
		names = append(names, c[0])
	}
	return names
}

// Finding is a fault of the operator's.
type Finding struct {
	ID          string       `json:"id"` // for --replay
	Check       string       `json:"check"`
	Kind        string       `json:"kind"`
	Title       string       `json:"title"`
	Plan        Plan         `json:"plan"`
	Against     *Plan        `json:"against,omitempty"` // whose end is what is expected
	Differences []Difference `json:"differences,omitempty"`
	Frames      []string     `json:"frames,omitempty"`      // file:line of the code, the innermost first
	Confirmed   int          `json:"confirmed"`             // how often it was seen
	Tries       int          `json:"tries"`                 // of so many
	Unconfirmed bool         `json:"unconfirmed,omitempty"` // it ended before the last try
	hurried     bool         // a requeue was to come that is waited for when it is confirmed
}

// figures are what differs in the words for one and the same.
var figures = lazy.Delayed(`\b(0x[0-9a-f]+|[0-9]+)\b`)

// key is what makes two findings the same: the field, whatever the object's
// name, or what is wrong where there is none, whatever the figures in it; and the
// line of code. What is created or deleted too often says little about why, so that
// what went wrong takes part.
func (f Finding) key() string {
	at, _, _ := strings.Cut(figures.ReplaceAllString(f.Title, "0"), "\n")
	if len(f.Differences) > 0 {
		kind, _, _ := strings.Cut(f.Differences[0].Object, "/")
		at = kind + " " + f.Differences[0].Path
	} else if f.Plan.Fault != nil && f.Check == f.Plan.Check {
		at += " " + f.Plan.cause()
	}
	if len(f.Frames) > 0 {
		at += " " + f.Frames[0]
	}
	return strings.Join([]string{f.Check, f.Kind, at}, "\x00")
}

// id names the finding: one plan may show several.
func (f Finding) id() string { return hashed(f.Plan.ID() + f.key()) }

// always judges what must hold in every trial. Markers for what is forbidden are for
// Roles of a namespace, if it is given.
func always(p Plan, o Outcome, roleNamespace string) []Finding {
	var list []Finding
	add := func(check, title string, frames []string) {
		list = append(list, Finding{Check: check, Title: title, Plan: p, Frames: frames})
	}
	for _, how := range o.Exits {
		add(Exits, "the operator ends with "+how, nil)
	}
	for _, at := range o.Panics {
		add(Exits, "Reconcile panics", []string{at})
	}
	if o.down() {
		return list // what is not done then is no fault of its own
	}
	if why := o.Steps[0].Invalid; why != "" && p.Fault == nil && p.Steps[0].Note == "" {
		add(Invalid, "the operator writes what the API refuses: "+why, nil)
	}
	for _, u := range o.Uses {
		if u.Denied > 0 {
			add(Forbidden, "the operator may not "+u.Right.String()+"; add "+strings.Join(recording.MarkersOf([]recording.Use{u}, roleNamespace), " and "), u.Frames)
		}
	}
	if len(o.Lost) > 0 {
		list = append(list, Finding{Check: Versions, Plan: p, Differences: o.Lost, Title: titleOf(o.Lost)})
	}
	for i, rest := range o.Steps {
		if p.Fault != nil && p.Fault.Step == i {
			continue // while something goes wrong it may try again and again
		}
		list = append(list, unrest(p.upTo(i), rest)...)
		if got, want, ok := observed(rest); ok && got != want && rest.Rested && rest.Failure == "" && rest.Invalid == "" {
			title := fmt.Sprintf("status.observedGeneration is %d at rest, while metadata.generation is %d", got, want)
			list = append(list, Finding{Check: Observed, Title: title, Plan: p.upTo(i)})
		}
	}
	return append(list, leftovers(p, o)...)
}

// unrest finds work without an end. Writes that change nothing are no fault as
// long as they stop: operators that apply all they own each time do that.
func unrest(p Plan, rest Rest) []Finding {
	if rest.Rested {
		return nil
	}
	f := Finding{Check: Unrest, Plan: p, Title: "the operator does not come to rest"}
	most, times := mostFrequent(slices.Concat(rest.Writes, rest.Idle))
	switch {
	case times >= often:
		f.Title += ": " + most.Verb + " " + most.Target() + ", again and again"
		f.Frames = most.Frames
	case rest.Failure != "":
		return nil // it tries again and again, slowly, what cannot be done here
	}
	return []Finding{f}
}

// often is how many times a write is made again and again.
const often = 3

// mostFrequent is a write of those of which there are most, and how many: which one
// comes last is chance.
func mostFrequent(writes []recording.Request) (recording.Request, int) {
	if len(writes) == 0 {
		return recording.Request{}, 0
	}
	n := map[string]int{}
	best := writes[0]
	what := func(q recording.Request) string { return q.Verb + " " + q.Target() }
	for _, q := range writes {
		if n[what(q)]++; n[what(q)] > n[what(best)] {
			best = q
		}
	}
	return best, n[what(best)]
}

func observed(rest Rest) (got, want int64, ok bool) {
	if rest.Object == nil || rest.Object.GetDeletionTimestamp() != nil {
		return 0, 0, false
	}
	got, ok, err := unstructured.NestedInt64(rest.Object.Object, "status", "observedGeneration")
	return got, rest.Object.GetGeneration(), ok && err == nil
}

// leftovers finds what a deleted object leaves behind.
func leftovers(p Plan, o Outcome) []Finding {
	last := len(p.Steps) - 1
	if p.Steps[last].Do != Delete || len(o.Steps) <= last {
		return nil
	}
	rest := o.Steps[last]
	if rest.Object != nil && rest.Again >= goneSoon {
		return nil // the operator has said when it comes back to it, and that is not yet
	}
	if rest.Object != nil {
		return []Finding{{Check: Leftovers, Plan: p, Title: fmt.Sprintf("the object does not go: finalizers %v stay", rest.Object.GetFinalizers())}}
	}
	var list []Finding
	for _, object := range slices.Sorted(maps.Keys(rest.State)) {
		for _, step := range o.Steps {
			i := slices.IndexFunc(step.Writes, func(q recording.Request) bool { return q.Code == http.StatusCreated && rest.object(q) == object })
			if i >= 0 {
				list = append(list, Finding{Check: Leftovers, Plan: p, Frames: step.Writes[i].Frames,
					Differences: []Difference{{Object: object, Got: there}}, Title: object + " stays behind after delete"})
				break
			}
		}
	}
	return list
}

// compared judges how a trial ends against how it should.
func compared(check string, p Plan, want, got Outcome, m mask) []Finding {
	again := got.last().Again != want.last().Again
	if again && check == Unreachable && got.last().Again > patience {
		return nil // it has said when it tries again, and that is not yet
	}
	diffs := m.without(differences(want.last().State, got.last().State))
	diffs = slices.DeleteFunc(diffs, func(d Difference) bool {
		return lasting(d, p, got) || again && pending(d, p, want.last(), got.last())
	})
	if len(diffs) > 0 {
		return []Finding{{Check: check, Plan: p, Differences: diffs, Frames: framesOf(diffs[0], got), Title: titleOf(diffs)}}
	}
	if check != Crash && check != Stale {
		return nil
	}
	// Twice the same end, but not by the same way.
	more := counts(got)
	for _, key := range slices.Sorted(maps.Keys(more)) {
		if n := counts(want)[key]; more[key] > n && n > 0 {
			return []Finding{{Check: check, Plan: p, Title: fmt.Sprintf("%s %d times in place of %d", key, more[key], n)}}
		}
	}
	return nil
}

// pending reports whether a difference may be gone when the operator has looked again,
// as it has said in one of the two ends, later than is waited for: what the object says
// of itself, and what has not been made yet.
func pending(d Difference, p Plan, want, got Rest) bool {
	switch {
	case d.Path != "":
		return max(want.Again, got.Again) > patience && d.Object == p.key() && strings.HasPrefix(d.Path, "status.")
	case d.Got == "":
		return got.Again > patience
	}
	return want.Again > patience
}

// lasting reports whether a difference is Kubernetes' own way: claims outlive the
// StatefulSet that asked for them, and never shrink. What an operator has not seen
// of a claim's past is then not made up for.
func lasting(d Difference, p Plan, o Outcome) bool {
	if !strings.HasPrefix(d.Object, "PersistentVolumeClaim/") {
		return false
	}
	if p.Fault != nil {
		return p.Fault.Do == state.FaultGap
	}
	if d.Path == "" {
		return d.Got == there && !slices.ContainsFunc(o.Steps, func(r Rest) bool {
			return slices.ContainsFunc(r.Writes, func(q recording.Request) bool { return q.Verb != "delete" && r.object(q) == d.Object })
		})
	}
	want, err1 := resource.ParseQuantity(d.Want)
	got, err2 := resource.ParseQuantity(d.Got)
	return strings.HasSuffix(d.Path, ".storage") && err1 == nil && err2 == nil && got.Cmp(want) > 0
}

// versioned adds the versions of the objects that the operator writes, or that
// the plan is about, to what differs.
func versioned(list []Difference, p Plan, outcomes ...Outcome) {
	versions := map[string]string{}
	for _, o := range outcomes {
		for _, step := range o.Steps {
			for _, q := range step.Writes {
				versions[q.Kind+"/"+q.Name] = schema.GroupVersion{Group: q.Group, Version: q.Version}.String()
			}
		}
	}
	for _, step := range p.Steps {
		u := step.object()
		versions[u.GetKind()+"/"+u.GetName()] = u.GetAPIVersion()
	}
	for i, d := range list {
		list[i].APIVersion = versions[d.Object]
	}
}

// counts are the operator's creates and deletes, by object.
func counts(o Outcome) map[string]int {
	n := map[string]int{}
	for _, step := range o.Steps {
		for _, q := range step.Writes {
			if q.Code < http.StatusBadRequest && q.Subresource == "" && (q.Verb == "create" || q.Verb == "delete") {
				n[q.Verb+" "+q.Target()]++
			}
		}
	}
	return n
}

// titleOf says the first difference, and how many there are.
func titleOf(diffs []Difference) string {
	title := diffs[0].String()
	if n := len(diffs) - 1; n > 0 {
		title += fmt.Sprintf(" (and %d more)", n)
	}
	return title
}

// framesOf is where the operator wrote an object last.
func framesOf(d Difference, o Outcome) []string {
	for _, step := range slices.Backward(o.Steps) {
		for _, q := range slices.Backward(step.Writes) {
			if step.object(q) == d.Object && len(q.Frames) > 0 {
				return q.Frames
			}
		}
	}
	return nil
}

// unique puts findings in the order of the checks, each once: made smaller, two may
// turn out to be the same.
func unique(list []Finding) []Finding {
	order := func(f Finding) int { return slices.Index(CheckNames(), f.Check) }
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), strings.Compare(a.key(), b.key()))
	})
	return slices.CompactFunc(list, func(a, b Finding) bool { return a.key() == b.key() })
}
