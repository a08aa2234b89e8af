package explore

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/fields"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/recording"
)

// Sample is an object to begin with.
type Sample struct {
	Object *unstructured.Unstructured
	CRD    *unstructured.Unstructured
	File   string // where it is from, for people
}

func (s Sample) clusterScoped() bool {
	scope, _, _ := unstructured.NestedString(s.CRD.Object, "spec", "scope")
	return scope == "Cluster"
}

func (s Sample) plural() string {
	plural, _, _ := unstructured.NestedString(s.CRD.Object, "spec", "names", "plural")
	return plural
}

// Minimal is an object of a CRD's kind with what its schema asks for at least, as
// far as that can be known.
func Minimal(crd *unstructured.Unstructured) *unstructured.Unstructured {
	gvk := kube.ServedKind(crd)
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if spec, ok, _ := unstructured.NestedMap(fields.Schema(crd, gvk.Version), "properties", "spec"); ok {
		u.Object["spec"] = map[string]any{}
		if v, ok := minimal(spec, "spec").(map[string]any); ok {
			u.Object["spec"] = runtime.DeepCopyJSONValue(v)
		}
	}
	u.SetGroupVersionKind(gvk)
	u.SetName(strings.ToLower(gvk.Kind) + "-sample")
	return u
}

// idea is a plan that is worth a trial, and the plan whose end it is compared
// with; nil where it is judged by itself.
type idea struct {
	plan    Plan
	against *Plan
	rank    int      // the lower, the sooner
	change  mutation // that a round is about, if it is one
}

// Ranks of ideas.
const (
	sooner = iota
	usual
	later
)

// byRank sorts ideas, and leaves those of one rank in their order.
func byRank(list []idea) []idea {
	slices.SortStableFunc(list, func(a, b idea) int { return cmp.Compare(a.rank, b.rank) })
	return list
}

// life is the plan that all others of a sample begin with.
func (s Sample) life() Plan {
	return Plan{Steps: []Step{{Do: Apply, Object: s.Object.Object}, s.deletion()}}
}

func (s Sample) deletion() Step {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(s.Object.GroupVersionKind())
	u.SetName(s.Object.GetName())
	return Step{Do: Delete, Object: u.Object}
}

// round is a change of a property, or of several at once, and back.
func (s Sample) round(changes ...mutation) (plan Plan, fresh Plan, ok bool) {
	a := Step{Do: Apply, Object: s.Object.Object}
	b := a
	var notes []string
	for _, m := range changes {
		one := Step{Do: Apply, Object: m.apply(s.Object.Object), Path: strings.Join(m.path, "."), Note: m.note}
		if b.Object = m.apply(b.Object); one.Object == nil || b.Object == nil {
			return plan, fresh, false
		}
		b.Parts, notes = append(b.Parts, one), append(notes, m.note)
	}
	if b.Note = strings.Join(notes, " and "); len(b.Parts) == 1 {
		b = b.Parts[0]
	}
	back := a
	back.Note = "as before"
	return Plan{Steps: []Step{a, b, back, s.deletion()}}, Plan{Steps: []Step{b}}, true
}

// faultsOf are plans in which something goes wrong during one step of a plan
// that went well. An end after something was deleted, before it is made again, is
// what hurts most; that the same write has come before, least.
func faultsOf(p Plan, o Outcome, step int) []idea {
	steps := slices.Clone(p.Steps[:step+1])
	against := Plan{Steps: steps}
	var list []idea
	add := func(check string, rank int, f Fault) {
		f.Step = step
		list = append(list, idea{plan: Plan{Check: check, Steps: steps, Fault: &f}, against: &against, rank: rank})
	}
	seen := map[state.Injection]int{}
	for _, q := range o.Steps[step].Writes {
		at := state.Injection{Verb: q.Verb, Group: q.Group, Resource: q.Resource, Subresource: q.Subresource, Name: nameOf(q, o)}
		if namespace, name, ok := strings.Cut(at.Name, "/"); ok {
			at.Namespace, at.Name = namespace, name
		}
		if at.Verb == "create" {
			at.Name = "" // which is in the body of such a request, and not in its path
		}
		seen[at]++
		at.Nth = seen[at]
		at.Do = state.FaultHold
		if at.Nth > 1 {
			add(Crash, later, Fault{Injection: at, Restart: true})
			continue
		}
		rank := usual
		if q.Verb == "delete" {
			rank = sooner
		}
		add(Crash, rank, Fault{Injection: at, Restart: true})
		at.Do = state.FaultLose
		add(Unreachable, later, Fault{Injection: at})
		// One refusal of several writes would heal by the next one, whoever asks for it.
		at.Do, at.Nth, at.Code = state.FaultRefuse, 0, http.StatusInternalServerError
		if q.Verb == "update" || q.Verb == "patch" {
			at.Code = http.StatusConflict
		}
		add(Unreachable, usual, Fault{Injection: at})
	}
	return byRank(list)
}

// nameOf is the name in a request, unless the API server has made it up.
func nameOf(q recording.Request, o Outcome) string {
	for _, rest := range o.Steps {
		if _, ok := rest.State[q.Kind+"/"+q.Name]; ok {
			return q.Name
		}
	}
	return ""
}

// recreated is the plan that deletes an object and creates it again under its
// name, while the operator restarts and still sees the one that is being deleted.
func (s Sample) recreated() []idea {
	a := Step{Do: Apply, Object: s.Object.Object}
	again := a
	again.Note = "again"
	i := s.blind(state.FaultStale, true, a, s.deletion(), again)
	i.plan.Fault.Step, i.plan.Fault.As, i.rank = 2, 1, sooner
	return []idea{i}
}

// staleOf are plans in which the operator lives in the past while an object
// changes.
func (s Sample) staleOf(list []mutation) []idea {
	var ideas []idea
	first := map[string]Step{} // by path
	for _, m := range list {
		changed := m.apply(s.Object.Object)
		if changed == nil {
			continue
		}
		path := strings.Join(m.path, ".")
		a, b := Step{Do: Apply, Object: s.Object.Object}, Step{Do: Apply, Object: changed, Path: path, Note: m.note}
		if was, ok := first[path]; ok {
			b.Via, b.Note = was.Object, m.note+", right after "+was.Note
			ideas = append(ideas, s.blind(state.FaultGap, false, a, b))
			continue
		}
		first[path] = b
		ideas = append(ideas, s.blind(state.FaultStale, true, a, b))
	}
	return ideas
}

// blind is a plan in which the operator sees nothing of the second step.
func (s Sample) blind(do string, restart bool, steps ...Step) idea {
	against := Plan{Steps: steps}
	group := s.Object.GroupVersionKind().Group
	return idea{plan: Plan{Check: Stale, Steps: steps, Fault: &Fault{
		Step: 1, Injection: state.Injection{Do: do, Group: group, Resource: s.plural()}, Restart: restart,
	}}, against: &against, rank: usual}
}
