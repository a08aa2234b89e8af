// Package explore looks for faults of an operator: it changes the samples of a
// project in every way that their schema allows, kills the operator after each
// write, loses and refuses answers, lets it live in the past, and compares where
// that ends with where it ends undisturbed. It knows what is worth trying and
// what counts as a fault; how an operator is started is internal/localrun's
// business, and how requests are made to fail internal/controlplane/faults'.
//
// The idea is Acto's (SOSP 2023) and Sieve's (OSDI 2022).
package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	lazy "go.podman.io/storage/pkg/regexp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/recording"
)

const (
	// quiet is without a request before the cluster counts as at rest.
	quiet = 600 * time.Millisecond
	// restless is after which one that does not come to rest is judged as it is.
	restless = 12 * time.Second
	// confirmations is how often a finding is to be seen.
	confirmations = 3
)

// Options say what to explore, and for how long.
type Options struct {
	Samples  []Sample
	Beside   []*unstructured.Unstructured // see Rig
	Notes    []string                     // for the report, about the samples
	Time     time.Duration                // never exceeded
	Seed     uint64                       // of the order; the same seed has the same order
	Checks   []string                     // names of checks, or Faults; none: all
	Replay   *Finding                     // nil: everything; else only the plan of a finding, once
	Progress func(line string)            // may be nil
	// RoleNamespace is that of markers to add; empty: all namespaces.
	RoleNamespace string
}

// Report is what was found.
type Report struct {
	Seed     uint64        `json:"seed"`
	Took     time.Duration `json:"took"` // nanoseconds
	Trials   int           `json:"trials"`
	Faults   int           `json:"faults"`  // of the trials, those in which something went wrong
	Changes  int           `json:"changes"` // changes of an object
	Left     int           `json:"left"`    // ideas that there was no time for
	Findings []Finding     `json:"findings"`
	Notes    []string      `json:"notes,omitempty"` // what could not be tried, or the operator could not do, and why
	Ended    string        `json:"ended"`           // why it ended: one of the Ended constants
}

// Why an exploration ended.
const (
	EndedDone        = "done" // there was nothing left to try
	EndedTime        = "time"
	EndedInterrupted = "interrupted"
	EndedFailed      = "failed" // a trial could not be made; Run's error says why
)

type explorer struct {
	*Rig
	Options
	limits limits
	began  time.Time
	report Report
	kinds  map[schema.GroupVersionKind]bool
	known  map[string]int // keys of findings: how often one was to be confirmed
	ends   references
	mask   mask            // what differs between two runs of the same steps
	ways   map[string]bool // sequences of writes that an operator was killed in
	noted  map[string]bool // what the operator fails to do
	plans  []*agenda
}

// trialPrefix begins the names of the trials' namespaces.
const trialPrefix = "explore-"

// errOver says that there is no time for another trial.
var errOver = errors.New("the time is over")

// Run explores until the time is over, ctx ends or there is nothing left to
// try. What was found so far is returned in any case, with an error too. The
// end of ctx is no error.
func Run(ctx context.Context, r *Rig, o Options) (Report, error) {
	e := newExplorer(r, o)
	limited, cancel := context.WithDeadline(ctx, e.began.Add(o.Time))
	defer cancel()
	err := e.run(limited)
	if e.Replay == nil && (err == nil || errors.Is(err, errOver)) {
		err = cmp.Or(e.shrinkAll(limited), err)
	}
	e.report.Took = r.Now().Sub(e.began)
	for _, a := range e.plans {
		e.report.Left += a.left()
	}
	e.report.Findings = unique(e.report.Findings)
	e.report.Ended = ended(ctx, limited, err)
	if e.report.Ended != EndedFailed {
		err = nil
	}
	if e.Replay != nil && e.report.Ended == EndedTime {
		err = clierr.Failedf("use a longer --time", "the finding could not be tried: %w", errOver)
	}
	return e.report, err
}

// ended is why a run ended with an error, or without.
func ended(ctx, limited context.Context, err error) string {
	interrupted := errors.Is(context.Cause(ctx), context.Canceled)
	switch {
	case err == nil && !interrupted:
		return EndedDone
	case errors.Is(err, errOver) && !interrupted, ctx.Err() == nil && limited.Err() != nil:
		return EndedTime
	case interrupted:
		return EndedInterrupted
	}
	return EndedFailed
}

func newExplorer(r *Rig, o Options) *explorer {
	if slices.Contains(o.Checks, Faults) {
		o.Checks = append(slices.Clone(o.Checks), faultChecks...)
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return &explorer{
		Rig: r, Options: o, began: r.Now(), limits: limits{quiet: quiet, rest: restless}, report: Report{Seed: o.Seed, Findings: []Finding{}, Notes: o.Notes},
		kinds: map[schema.GroupVersionKind]bool{}, known: map[string]int{}, ends: references{}, mask: mask{}, ways: map[string]bool{}, noted: map[string]bool{},
	}
}

// run tries the references first, and then what there is to try, in turn.
func (e *explorer) run(ctx context.Context) error {
	if e.Replay != nil {
		return e.replay(ctx, *e.Replay)
	}
	for i, s := range e.Samples {
		before := e.report.Trials
		if err := e.begin(ctx, s); err != nil {
			e.leave(i + min(e.report.Trials-before, 1))
			return err
		}
	}
	if len(e.plans) == 0 {
		return clierr.Failedf("correct the sample, or what refuses it: the schema or a webhook; or add the controller to cmd/main.go",
			"there is nothing to explore: %s", e.report.Notes[len(e.report.Notes)-1])
	}
	return e.work(ctx)
}

// leave counts the samples from the given one on as left, and notes kinds of which no
// other one was tried.
func (e *explorer) leave(from int) {
	var kinds []string
	for i, s := range e.Samples[from:] {
		gk := s.Object.GroupVersionKind().GroupKind()
		if e.report.Left++; !slices.ContainsFunc(e.Samples[:from+i], func(o Sample) bool { return o.Object.GroupVersionKind().GroupKind() == gk }) {
			kinds = append(kinds, gk.Kind)
		}
	}
	if len(kinds) > 0 {
		e.report.Notes = append(e.report.Notes, "not explored: "+strings.Join(slices.Compact(kinds), ", "))
	}
}

func (e *explorer) wants(names ...string) bool {
	return len(e.Checks) == 0 || slices.ContainsFunc(names, func(n string) bool { return slices.Contains(e.Checks, n) })
}

// trial tries a plan in the next namespace, if its kind has namespaces. What looks like
// a finding takes the patience to wait for requeues.
func (e *explorer) trial(ctx context.Context, p Plan, patience time.Duration) (o Outcome, err error) {
	t, err := e.prepare(ctx, p)
	if err != nil {
		return o, err
	}
	t.patience = patience
	err = e.recorded(ctx, func(ctx context.Context) error {
		o, err = t.run(ctx)
		return err
	})
	if err == nil && p.Fault == nil {
		e.ends.add(p, o, patience > 0, e.mask)
	}
	return o, err
}

// prepare counts a trial, if there is time for it.
func (e *explorer) prepare(ctx context.Context, p Plan) (*trial, error) {
	if deadline, ok := ctx.Deadline(); ok && e.report.Trials > 0 && deadline.Sub(e.Now()) < e.limits.quiet*time.Duration(len(p.Steps)+1) {
		return nil, errOver
	}
	e.report.Trials++
	e.report.Changes += len(p.Steps)
	if p.Fault != nil {
		e.report.Faults++
	}
	e.Progress(fmt.Sprintf("trial %d (%s): %s", e.report.Trials, e.Now().Sub(e.began).Round(time.Second), p))
	namespace := fmt.Sprintf("%s%04d", trialPrefix, e.report.Trials)
	if e.clusterScoped(p) {
		namespace = ""
	}
	t := e.newTrial(p, namespace, e.limits, e.kinds)
	t.resource = e.sampleOf(p).plural()
	return t, nil
}

func (e *explorer) clusterScoped(p Plan) bool { return e.sampleOf(p).clusterScoped() }

// sampleOf is a sample of the kind that a plan is about, if there is one.
func (e *explorer) sampleOf(p Plan) Sample {
	gk := p.Steps[0].in("").GroupVersionKind().GroupKind()
	for _, s := range e.Samples {
		if s.Object.GroupVersionKind().GroupKind() == gk {
			return s
		}
	}
	return Sample{CRD: &unstructured.Unstructured{}}
}

// judge finds what is wrong with an outcome, and confirms it.
func (e *explorer) judge(ctx context.Context, p Plan, against *Plan, o Outcome) error {
	found, err := e.findings(ctx, p, against, o)
	if err != nil {
		return err
	}
	for _, f := range found {
		if e.known[f.key()] >= confirmations || !e.wants(f.Check) {
			continue
		}
		confirmed, err := e.confirm(ctx, f)
		if e.known[f.key()]++; confirmed {
			e.known[f.key()] = confirmations
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findings are what is wrong with one outcome.
func (e *explorer) findings(ctx context.Context, p Plan, against *Plan, o Outcome) ([]Finding, error) {
	list := always(p, o, e.RoleNamespace)
	var want Outcome
	if against != nil && !o.down() {
		more, err := e.against(ctx, p, *against, o)
		if err != nil {
			return list, err
		}
		for _, f := range more {
			f.Against = against
			list = append(list, f)
		}
		want, _ = e.ends.of(*against) // tried just now
	}
	for i := range list {
		list[i].Kind, list[i].hurried = p.kind(), slices.ContainsFunc(o.Steps, Rest.hurried)
		versioned(list[i].Differences, p, want, o)
	}
	return list, nil
}

// against compares an outcome with that of a plan undisturbed. What differs is
// looked at again when it is known what differs from run to run.
func (e *explorer) against(ctx context.Context, p, undisturbed Plan, o Outcome) ([]Finding, error) {
	compare := func(want Outcome) []Finding {
		if p.Check == History {
			return e.rounds(p, want, o)
		}
		return compared(p.Check, p, want, o, e.mask)
	}
	if _, ok := e.ends.of(undisturbed); !ok {
		if _, err := e.trial(ctx, undisturbed, 0); err != nil {
			return nil, err
		}
	}
	for {
		want, _ := e.ends.of(undisturbed)
		list := compare(want)
		i := slices.IndexFunc(list, func(f Finding) bool { return len(f.Differences) > 0 })
		if i < 0 || e.ends.sure(undisturbed) {
			return list, nil
		}
		e.Progress("perhaps: " + list[i].Check + ": " + list[i].Title)
		if _, err := e.trial(ctx, undisturbed, patience); err != nil {
			return nil, err
		}
	}
}

// rounds judges a change of a property and back. What cannot be done for a spec
// that asks for the impossible is for the operator to say; that it recovers is
// expected all the same. What takes the application cannot be judged without it.
func (e *explorer) rounds(p Plan, fresh, o Outcome) []Finding {
	first := func(n int) Outcome { return Outcome{Steps: o.Steps[:n]} }
	for _, rest := range o.Steps[1:min(len(o.Steps), 3)] {
		if unreached.MatchString(rest.Failure) {
			e.noteFailure(p.Steps[1].Note, p, rest)
			return nil
		}
	}
	var list []Finding
	if len(o.Steps) > 2 && !declines(o.Steps[2].Object) { // else it was made smaller
		list = compared(Recovery, p.upTo(2), first(1), first(3), e.mask)
	}
	p = p.upTo(1) // where the rest is seen
	begun := fresh.Steps[0]
	if e.noteFailure(p.Steps[1].Note, p, begun) || begun.Refused != "" || failed.MatchString(phase(begun.Object)) ||
		declines(o.Steps[1].Object) && !declines(begun.Object) {
		return list
	}
	list = append(list, compared(History, p, fresh, first(2), e.mask)...)
	if p.Steps[1].Path == "" {
		return list // of several changes, each has been tried by itself
	}
	list = append(list, e.mistaken(p, o)...)
	if !removes(p.Steps[1]) && !waits(o.Steps[0].Object) && !moved(o, p) &&
		elsewhere(o.Steps[0].Writes, p) && !elsewhere(o.Steps[1].Writes, p) {
		list = append(list, Finding{Check: Ignored, Plan: p,
			Title: p.Steps[1].Path + " is changed, and nothing but the object itself follows"})
	}
	return list
}

// removes reports whether a step leaves its property out. That nothing follows is
// right where the property had its default: History compares with an object that
// never had it.
func removes(s Step) bool {
	_, found, err := unstructured.NestedFieldNoCopy(s.Object, strings.Split(s.Path, ".")...)
	return err == nil && !found
}

// unreached matches the errors of connections.
var unreached = lazy.Delayed(`(?i)\bdial |(could not|cannot|can't|failed to|unable to) (connect|reach)|connection re(fused|set)|no such host|i/o timeout|deadline exceeded|\bEOF\b`)

// noteFailure notes that the operator fails to do what a new object asks for, once
// for all that fails alike, and reports whether it does.
func (e *explorer) noteFailure(what string, p Plan, begun Rest) bool {
	why := "what the operator writes is refused: " + begun.Invalid
	switch {
	case begun.Invalid != "":
	case begun.Failure == "":
		return false
	case unreached.MatchString(begun.Failure):
		why = "it needs the application, which simulated pods do not run: " + begun.Failure
	default:
		why = "Reconcile fails again and again: " + begun.Failure
	}
	why, _, _ = strings.Cut(why, "\n")
	const telling = 80 // what comes then are names and identities
	alike := p.kind() + figures.ReplaceAllString(why, "0")
	if alike = alike[:min(len(alike), telling)]; !e.noted[alike] {
		e.noted[alike] = true
		e.report.Notes = append(e.report.Notes, fmt.Sprintf("%s with %s: %s", p.kind(), what, why))
	}
	return true
}

var (
	// failed matches phases that say that there is nothing to be done for a spec.
	failed = lazy.Delayed(`(?i)fail|error|invalid`)
	// waiting matches phases of an operator that goes on when something has happened.
	waiting = lazy.Delayed(`(?i)^(pending|waiting|init|starting|creating|installing|provisioning|progressing|reconciling|updating|bootstrap)`)
)

// declining matches what operators say of a change that they do not make. What the
// API server says of their own writes does not count.
var declining = lazy.Delayed(`(?i)unsupported|not ?(supported|allowed)|immutable|cannot be (changed|decreased|reduced|removed|updated)`)

// declines reports whether a condition says that the operator does not do what
// the object asks for.
func declines(u *unstructured.Unstructured) bool {
	if u == nil {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, _ := c.(map[string]any)
		text := fmt.Sprint(m["reason"], ": ", m["message"])
		return declining.MatchString(text) && !strings.Contains(text, "is invalid")
	})
}

// phase is what an object's status calls its state, as far as it has a word for it.
func phase(u *unstructured.Unstructured) string {
	if u == nil {
		return ""
	}
	for _, field := range []string{"phase", "state"} {
		if text, _, _ := unstructured.NestedString(u.Object, "status", field); text != "" {
			return text
		}
	}
	return ""
}

// waits reports whether an object is not ready, which it may never be without the
// application that simulated pods do not run: changes may have to wait, too.
func waits(u *unstructured.Unstructured) bool {
	return u != nil && (kube.NotReady(u) != "" || waiting.MatchString(phase(u)) || failed.MatchString(phase(u)))
}

// counting are names that custom resources have for the replicas of workloads.
var counting = lazy.Delayed(`(?i)(size|count|nodes|instances|members)$`)

// mistaken finds fields of other objects that had the property's value, and were
// changed with it to another one.
func (e *explorer) mistaken(p Plan, o Outcome) []Finding {
	path := p.Steps[1].Path
	before, after := o.Steps[0].State[p.key()][path], o.Steps[1].State[p.key()][path]
	if before == "" || after == "" || before == after {
		return nil
	}
	leaf := path[strings.LastIndex(path, ".")+1:]
	for _, d := range e.mask.without(differences(o.Steps[0].State, o.Steps[1].State)) {
		named := strings.HasPrefix(d.Path, "spec.") && strings.HasSuffix(d.Path, "."+leaf) || d.Path == "spec.replicas" && counting.MatchString(leaf)
		if named && d.Want == before && d.Got != after && d.Got != "" && !strings.HasPrefix(d.Object, p.kind()+"/") {
			d.Want = after
			return []Finding{{Check: Mistaken, Plan: p, Differences: []Difference{d}, Frames: framesOf(d, o), Title: d.String() + " like " + path}}
		}
	}
	return nil
}

func elsewhere(writes []recording.Request, p Plan) bool {
	return slices.ContainsFunc(writes, func(q recording.Request) bool { return q.Kind != p.kind() })
}

func moved(o Outcome, p Plan) bool {
	diffs := differences(o.Steps[0].State, o.Steps[1].State)
	return slices.ContainsFunc(diffs, func(d Difference) bool { return !strings.HasPrefix(d.Object, p.kind()+"/") })
}
