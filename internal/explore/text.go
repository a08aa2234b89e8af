package explore

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// differencesShown bounds how many differences of a finding are listed.
const differencesShown = 6

// WriteText writes a report for people. Write errors are w's to keep.
func WriteText(w io.Writer, r Report) {
	for i, f := range r.Findings {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s %s: %s\n", f.Kind, f.Check, f.Title)
		writeFinding(w, f)
	}
	if len(r.Findings) > 0 {
		fmt.Fprintln(w)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(w, "Note: %s\n", note)
	}
	fmt.Fprintln(w, r.summary())
}

// summary is the report in a line.
func (r Report) summary() string {
	return fmt.Sprintf("trials: %d in %s, %d with a fault; changes: %d; findings: %d; seed %d; %s",
		r.Trials, r.Took.Round(time.Second), r.Faults, r.Changes, len(r.Findings), r.Seed, r.ending())
}

// ending says why an exploration ended, and what it has left out.
func (r Report) ending() string {
	switch r.Ended {
	case EndedDone:
		return "nothing left to try"
	case EndedTime:
		return fmt.Sprintf("out of time, with %d left to try", r.Left)
	}
	return fmt.Sprintf("%s, with %d left to try", r.Ended, r.Left)
}

// writeFinding writes how to see a finding, what differs, and where to look.
func writeFinding(w io.Writer, f Finding) {
	for _, line := range f.Lines() {
		fmt.Fprintf(w, "  %s\n", line)
	}
	for n, d := range f.Differences {
		if n == differencesShown {
			fmt.Fprintf(w, "     … and %d more\n", len(f.Differences)-n)
			break
		}
		fmt.Fprintf(w, "     %s\n", d)
	}
	if len(f.Frames) > 0 {
		fmt.Fprintf(w, "     last written at %s\n", strings.Join(f.Frames, ", called from "))
	}
	fmt.Fprintf(w, "     %s; again: mysdk explore --replay %s\n", f.seen(), f.ID)
}

// seen says how often a finding was seen.
func (f Finding) seen() string {
	s := fmt.Sprintf("seen %d of %d times", f.Confirmed, f.Tries)
	if f.Unconfirmed {
		s += ", with no time to confirm it"
	}
	return s
}

// Lines are the steps of the finding's plan, numbered.
func (f Finding) Lines() []string {
	var list []string
	for n := range f.Plan.Steps {
		list = append(list, fmt.Sprintf("%d. %s", n+1, Plan{Steps: f.Plan.Steps[n : n+1], Fault: f.Plan.faultAt(n)}))
	}
	return list
}

// faultAt is the plan's fault if it is for step n, as of a plan of that step
// alone.
func (p Plan) faultAt(n int) *Fault {
	if p.Fault == nil || p.Fault.Step != n {
		return nil
	}
	f := *p.Fault
	f.Step = 0
	return &f
}
