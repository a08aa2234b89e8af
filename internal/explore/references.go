package explore

// references are the outcomes of plans in which nothing went wrong, by the ID of
// their steps.
type references map[string]*reference

type reference struct {
	Outcome
	runs    int  // with no other trial beside it
	patient bool // it has waited for requeues
}

// hurried reports whether the outcome is from before a requeue that others wait for.
func (r *reference) hurried() bool { return !r.patient && r.last().hurried() }

// stepsID names a plan's steps, whatever they were tried for.
func stepsID(steps []Step) string { return Plan{Steps: steps}.ID() }

// add keeps the outcome of a plan, which is that of all plans that end sooner.
// The first run counts, or the first patient one where that differs; the others tell
// what differs from run to run.
func (r references) add(p Plan, o Outcome, patient bool, m mask) {
	for n := 1; n <= min(len(p.Steps), len(o.Steps)); n++ {
		one := r.at(p, o, n)
		if one.runs++; one.runs == 1 || patient && one.hurried() {
			one.Steps, one.runs, one.patient = o.Steps[:n], 1, patient
		} else {
			m.add(one.last().State, o.Steps[n-1].State)
		}
	}
}

// guess keeps the outcome of a plan that others ran beside, until it has run
// alone: an operator that is busy elsewhere looks as if it were done.
func (r references) guess(p Plan, o Outcome) {
	for n := 1; n <= min(len(p.Steps), len(o.Steps)); n++ {
		r.at(p, o, n)
	}
}

// at is what is known of a plan's first n steps: for the time being this.
func (r references) at(p Plan, o Outcome, n int) *reference {
	id := stepsID(p.Steps[:n])
	if r[id] == nil {
		r[id] = &reference{Outcome: Outcome{Steps: o.Steps[:n], Faulted: true}}
	}
	return r[id]
}

func (r references) of(p Plan) (o Outcome, ok bool) {
	if one := r[stepsID(p.Steps)]; one != nil {
		return one.Outcome, true
	}
	return Outcome{}, false
}

// sure reports whether a plan's steps were tried alone, to their end, and more than once.
func (r references) sure(p Plan) bool {
	one := r[stepsID(p.Steps)]
	return one != nil && one.runs > 1 && !one.hurried()
}
