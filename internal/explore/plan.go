package explore

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/cluster/state"
)

// What a Step does.
const (
	Apply  = "apply"
	Delete = "delete"
)

// Step is something that a user does to an object, after which the cluster is
// left alone until it is at rest.
type Step struct {
	Do     string         `json:"do"`
	Object map[string]any `json:"object"`          // of Delete only its kind and name
	Via    map[string]any `json:"via,omitempty"`   // applied right before, with no time to act on it
	Path   string         `json:"path,omitempty"`  // of the property that is different from the first step, if it is one
	Note   string         `json:"note,omitempty"`  // what is different, for people
	Parts  []Step         `json:"parts,omitempty"` // the step with one change each, if it makes several
}

// Plan is one trial: steps in a namespace of their own, if there are any, and what goes wrong
// meanwhile. The same plan can be tried again at any time.
type Plan struct {
	Check string `json:"check"` // that it is made for; empty: a reference
	Steps []Step `json:"steps"`
	Fault *Fault `json:"fault,omitempty"`
}

// Fault is what goes wrong during a step of a Plan.
type Fault struct {
	Step            int  `json:"step"` // index
	state.Injection      // without a namespace, if it is the trial's
	Restart         bool `json:"restart,omitempty"` // the operator is killed and started when it happens
	As              int  `json:"as,omitempty"`      // of FaultStale: lists are as after that step
}

// cause is the kind of the plan's fault and of the step that it befalls: after another
// step the same step is a change, or creates an object again. Which field is changed
// does not count: one bug may show with each.
func (p Plan) cause() string {
	cause := p.Fault.Do + " " + p.Steps[p.Fault.Step].Do
	if p.Fault.Step > 0 {
		cause += " after " + p.Steps[p.Fault.Step-1].Do
	}
	return cause
}

// upTo is the plan that ends with step i. It leaves out a fault of a later step.
func (p Plan) upTo(i int) Plan {
	if p.Steps = p.Steps[:i+1]; p.Fault != nil && p.Fault.Step > i {
		p.Fault = nil
	}
	return p
}

func (p Plan) kind() string { return p.Steps[0].object().GetKind() }

// key is the object in a State of its namespace.
func (p Plan) key() string { return p.kind() + "/" + p.Steps[0].object().GetName() }

// ID names the plan: the same for the same plan.
func (p Plan) ID() string {
	data, _ := json.Marshal(p) // steps come from JSON
	return hashed(string(data))
}

// hashed is short enough to type.
func hashed(text string) string { return fmt.Sprintf("%.4x", sha256.Sum256([]byte(text))) }

// String is the plan in words.
func (p Plan) String() string {
	var s string
	for i, step := range p.Steps {
		if i > 0 {
			s += ", then "
		}
		u := step.object()
		s += step.Do + " " + u.GetKind() + "/" + u.GetName()
		if step.Note != "" {
			s += " (" + step.Note + ")"
		}
		if p.Fault != nil && p.Fault.Step == i {
			s += ", " + p.Fault.String()
		}
	}
	return s
}

// String is the fault in words.
func (f Fault) String() string {
	what := f.Verb + " " + f.Resource
	if f.Subresource != "" {
		what += "/" + f.Subresource
	}
	if f.Name != "" {
		what += "/" + f.Name
	}
	if f.Nth > 1 {
		what = fmt.Sprintf("%s (the %d. time)", what, f.Nth)
	}
	switch f.Do {
	case state.FaultHold:
		return "where the operator is killed after " + what
	case state.FaultLose:
		return "where the answer to " + what + " is lost"
	case state.FaultRefuse:
		if f.Nth == 0 {
			what = "each " + what
		}
		return fmt.Sprintf("where %s is refused with %d", what, f.Code)
	case state.FaultGap:
		return "where the operator misses the events on " + f.Resource
	case state.FaultStale:
		return fmt.Sprintf("where the operator restarts and sees %s as after step %d", f.Resource, f.As+1)
	}
	return f.Do
}

func (s Step) object() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: s.Object}
}

// in returns the step's object in a namespace.
func (s Step) in(namespace string) *unstructured.Unstructured {
	u := s.object().DeepCopy()
	u.SetNamespace(namespace)
	return u
}

type limits struct {
	quiet time.Duration // without a request of the operator's, and the cluster is at rest
	rest  time.Duration // after which a cluster that does not come to rest is left to itself
	// patience is how late a requeue may come to be waited for; 0: it is not, as most
	// change nothing.
	patience time.Duration
}
