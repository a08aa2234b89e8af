package explore

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// State is what a namespace, or all of the cluster, holds at rest: the values of all
// fields of its objects, by object and path. Names that the API server makes up are
// replaced by their beginning, and the namespace's own by OwnNamespace.
type State map[string]map[string]string

// volatile are fields that differ from run to run whatever an operator does:
// identities, times, addresses and counts of changes.
var volatile = lazy.Delayed(`^metadata\.(uid|resourceVersion|creationTimestamp|deletionTimestamp|deletionGracePeriodSeconds|managedFields|generation|selfLink|generateName)\b` +
	`|\bownerReferences\[[^\]]*\]\.uid$` +
	`|((^|\.)(time|at)|[a-z](Time|At)|[tT]imestamp)$|[oO]bservedGeneration$` +
	`|deployment\.kubernetes\.io/revision|controller-uid|controller-revision-hash` +
	`|(^|\.)(clusterIPs?|podIPs?|hostIPs?|nodeName|nodePort|volumeName|containerID|imageID)\b` +
	`|^status\.loadBalancer\.ingress\[[^\]]*\]\.ip$` +
	`|^status\.(currentRevision|updateRevision|collisionCount)`)

// ignored are kinds that others keep for themselves.
func ignored(kind string) bool {
	return slices.Contains([]string{"Event", "Lease", "Endpoints", "EndpointSlice", "ControllerRevision"}, kind)
}

// retired reports whether an object is the ReplicaSet of a Deployment's earlier
// template, which Kubernetes keeps for a rollback.
func retired(u *unstructured.Unstructured) bool {
	replicas, ok, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
	owner := metav1.GetControllerOfNoCopy(u)
	return u.GetKind() == "ReplicaSet" && ok && replicas == 0 && owner != nil && owner.Kind == "Deployment"
}

// tokenVolume is the name of the volume that the API server adds to each pod.
var tokenVolume = lazy.Delayed(`kube-api-access-[a-z0-9]{5}`)

// stateOf puts a namespace's objects, or with "" those of the cluster, into
// comparable form.
func stateOf(namespace string, objects []*unstructured.Unstructured) State {
	s := State{}
	keys, names := namesOf(namespace, objects)
	text := func(value string) string {
		if namespace != "" {
			value = strings.ReplaceAll(value, namespace, OwnNamespace)
		}
		value = tokenVolume.ReplaceAllString(value, "kube-api-access")
		if to, ok := names[value]; ok {
			return to
		}
		return value
	}
	for _, u := range objects {
		if name := u.GetName(); ignored(u.GetKind()) || retired(u) || name == "kube-root-ca.crt" || u.GetKind() == "ServiceAccount" && name == "default" {
			continue
		}
		fields := map[string]string{}
		flatten(u.Object, "", text, fields)
		for path := range fields {
			if u.GetKind() == "Secret" && strings.HasPrefix(path, "data.") {
				fields[path] = "(secret)"
			}
		}
		s[keys[keyOf(namespace, u, u.GetName())]] = fields
	}
	return s
}

// namesOf returns what stands for each object, by kind and name, and for names that
// the API server has made up: their beginning. Objects with such names are counted,
// as nobody can tell one from another.
func namesOf(namespace string, objects []*unstructured.Unstructured) (keys, names map[string]string) {
	keys, names = map[string]string{}, map[string]string{}
	counts := map[string]int{}
	for _, u := range objects {
		name := u.GetName()
		if prefix := u.GetGenerateName(); prefix != "" {
			names[u.GetName()] = prefix + "*"
			counts[prefix]++
			name = prefix + strconv.Itoa(counts[prefix])
		}
		keys[keyOf(namespace, u, u.GetName())] = keyOf(namespace, u, name)
	}
	return keys, names
}

func keyOf(of string, u *unstructured.Unstructured, name string) string {
	return u.GetKind() + "/" + keyName(of, u.GetNamespace(), name)
}

// keyName is an object's name in a State: with its namespace where the State is not
// that of one.
func keyName(of, namespace, name string) string {
	switch {
	case of != "":
		return strings.ReplaceAll(name, of, OwnNamespace)
	case namespace == "":
		return name
	}
	return namespace + "/" + name
}

// OwnNamespace stands for the trial's namespace, in names too: none can have it.
const OwnNamespace = "<namespace>"

// flatten collects the leaves below v. Items of lists go by the key that the
// API gives such lists, where they have one.
func flatten(v any, path string, text func(string) string, to map[string]string) {
	if volatile.MatchString(path) {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			flatten(e, strings.TrimPrefix(path+"."+k, "."), text, to)
		}
	case []any:
		for i, e := range v {
			flatten(e, path+"["+text(itemKey(e, i))+"]", text, to)
		}
	default:
		// An empty text says as much as none, such as an annotation without a value.
		if value := text(fmt.Sprint(v)); value != "" {
			to[path] = value
		}
	}
}

// ItemKeys are the fields that name an item of a list, the first that it has.
var ItemKeys = []string{"name", "type", "key", "mountPath", "containerPort", "port"}

func itemKey(item any, index int) string {
	if m, ok := item.(map[string]any); ok {
		for _, key := range ItemKeys {
			if v, ok := m[key]; ok {
				return fmt.Sprint(v)
			}
		}
	}
	return strconv.Itoa(index)
}

// Difference is a field, or a whole object, that is not as expected.
type Difference struct {
	Object     string `json:"object"`               // kind and name
	Path       string `json:"path,omitempty"`       // empty: the object
	Want       string `json:"want"`                 // empty: absent
	Got        string `json:"got"`                  // empty: absent
	APIVersion string `json:"apiVersion,omitempty"` // of the object, where the operator writes it
}

// String is the difference in words.
func (d Difference) String() string {
	if d.Path == "" {
		if d.Got == "" {
			return d.Object + " is missing"
		}
		return d.Object + " should not be there"
	}
	return fmt.Sprintf("%s %s: %s, want %s", d.Object, d.Path, orAbsent(d.Got), orAbsent(d.Want))
}

func orAbsent(s string) string {
	if s == "" {
		return "absent"
	}
	const most = 80
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}

const there = "there"

// differences compares two states, sorted by object and path.
func differences(want, got State) []Difference {
	var list []Difference
	for _, object := range keysOf(want, got) {
		switch was, is := want[object], got[object]; {
		case is == nil:
			list = append(list, Difference{Object: object, Want: there})
		case was == nil:
			list = append(list, Difference{Object: object, Got: there})
		default:
			for _, path := range keysOf(was, is) {
				if was[path] != is[path] {
					list = append(list, Difference{Object: object, Path: path, Want: was[path], Got: is[path]})
				}
			}
		}
	}
	return list
}

// keysOf are the keys of two maps, sorted.
func keysOf[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// mask is what differs between runs of the same steps: nobody's fault.
type mask map[string]bool

func (m mask) add(a, b State) {
	for _, d := range differences(a, b) {
		m[d.Object+"\x00"+d.Path] = true
	}
}

// without drops the differences that are nobody's fault.
func (m mask) without(list []Difference) []Difference {
	return slices.DeleteFunc(list, func(d Difference) bool { return m[d.Object+"\x00"+d.Path] || m[d.Object+"\x00"] })
}

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
