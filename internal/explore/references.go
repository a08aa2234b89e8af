package explore

// references are the outcomes of plans in which nothing went wrong, by the ID of
// their steps.
type references map[string]*reference

type reference struct {
	Outcome
	runs int
}

// stepsID names a plan's steps, whatever they were tried for.
func stepsID(steps []Step) string { return Plan{Steps: steps}.ID() }

// add keeps the outcome of a plan, which is that of all plans that end sooner.
// The first run counts; the others tell what differs from run to run.
func (r references) add(p Plan, o Outcome, m mask) {
	for n := 1; n <= min(len(p.Steps), len(o.Steps)); n++ {
		id := stepsID(p.Steps[:n])
		if r[id] == nil {
			r[id] = &reference{Outcome: Outcome{Steps: o.Steps[:n], Faulted: true}}
		}
		r[id].runs++
		m.add(r[id].last().State, o.Steps[n-1].State)
	}
}

// of is the outcome of a plan's steps.
func (r references) of(p Plan) (o Outcome, ok bool) {
	if one := r[stepsID(p.Steps)]; one != nil {
		return one.Outcome, true
	}
	return Outcome{}, false
}

// sure reports whether a plan's steps were tried more than once.
func (r references) sure(p Plan) bool {
	one := r[stepsID(p.Steps)]
	return one != nil && one.runs > 1
}
