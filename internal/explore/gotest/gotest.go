// Package gotest writes Go tests of an operator from findings of explore. They
// need nothing but controller-runtime, its envtest and the project itself: the
// requests of the operator are made to fail by the transport of its client,
// which sees those of every client library. Where the tests are written, and
// that nothing is overwritten, is the caller's business.
package gotest

import (
	"bytes"
	_ "embed" // templates are files
	"encoding/json"
	"fmt"
	"go/format"
	"path"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"golang.org/x/mod/semver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/explore"
)

var (
	//go:embed operator_test.go.tmpl
	operatorText string
	//go:embed finding_test.go.tmpl
	findingText string
)

// CRDs is the directory of a project's CRDs, with slashes.
const CRDs = "config/crd/bases"

// wanted bounds how many differences a test looks at: the first ones say it.
const wanted = 8

// Project is what tests need to know of one.
type Project struct {
	Setup   Setup
	Runtime string                       // version of controller-runtime, such as v0.21.0
	Dir     string                       // the tests', below that of the project, with slashes
	Package string                       // of the tests
	Beside  []*unstructured.Unstructured // as in explore.Rig
}

// Test is a finding as a test.
type Test struct {
	explore.Finding
	Package string
	Body    []string // statements
	Raw     []string // objects, by index
}

// Render returns the test files by name within Project.Dir, and the findings that
// no test can show, each with the reason.
func Render(p Project, findings []explore.Finding) (files map[string][]byte, without []string, err error) {
	files = map[string][]byte{}
	for _, f := range findings {
		t := Test{Finding: f, Package: p.Package}
		if why := t.write(); why != "" {
			without = append(without, fmt.Sprintf("%s %s: %s", f.ID, f.Check, why))
			continue
		}
		if files["explore_"+f.ID+"_test.go"], err = execute("finding", findingText, &t); err != nil {
			return nil, nil, err
		}
	}
	if len(files) == 0 {
		return files, without, nil
	}
	data := struct {
		Project
		Setup
		CRDs, Own  string
		Keys       []string
		Beside     []string // as literals
		Controller bool     // the manager has options for its controllers
	}{p, p.Setup, strings.Repeat("../", strings.Count(path.Clean(p.Dir), "/")+1) + CRDs, explore.OwnNamespace, explore.ItemKeys, nil, semver.Compare(p.Runtime, "v0.19.0") >= 0}
	for _, u := range p.Beside {
		u = u.DeepCopy()
		u.SetNamespace("") // the test has its own
		data.Beside = append(data.Beside, quote(u.Object))
	}
	files["explore_operator_test.go"], err = execute("operator", operatorText, data)
	return files, without, err
}

func execute(name, text string, data any) ([]byte, error) {
	t, err := template.New(name).Funcs(template.FuncMap{"comment": comment, "add": func(a, b int) int { return a + b }}).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse the template of tests: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return nil, fmt.Errorf("render a test: %w", err)
	}
	out, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("format a test: %w\n%s", err, b.Bytes())
	}
	return out, nil
}

// comment is a text as comment lines.
func comment(text string) string {
	return "// " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n// ")
}

// quote is an object as a literal of its JSON.
func quote(u map[string]any) string {
	data, _ := json.MarshalIndent(u, "", "  ") // it comes from JSON
	if bytes.Contains(data, []byte("`")) {
		return strconv.Quote(string(data))
	}
	return "`" + string(data) + "`"
}

// object returns the name of the constant that holds an object.
func (t *Test) object(u map[string]any) string {
	text := quote(u)
	for i, have := range t.Raw {
		if have == text {
			return "object" + strconv.Itoa(i+1)
		}
	}
	t.Raw = append(t.Raw, text)
	return "object" + strconv.Itoa(len(t.Raw))
}

// Ends reports whether the operator ends the process that the test is in.
func (t *Test) Ends() bool { return t.Check == explore.Exits }

func (t *Test) say(line string, args ...any) { t.Body = append(t.Body, fmt.Sprintf(line, args...)) }

// write writes the body, or says why there is none.
func (t *Test) write() (why string) {
	if t.Unconfirmed {
		return "there was no time to confirm it; --replay does, and writes the test"
	}
	switch t.Check {
	case explore.Forbidden:
		return "add the marker; envtest's user may do everything"
	case explore.Versions:
		return "write the object back in the version that the finding names; a test does not do that"
	case explore.Invalid:
		return "the finding has what the API refuses, which a test does not see"
	}
	if f := t.Plan.Fault; f != nil && f.Do == state.FaultStale && t.Plan.Steps[f.As].Do == explore.Delete {
		return "the operator sees the past of an object that is deleted, which a test cannot name"
	}
	for i, s := range t.Plan.Steps {
		if f := t.Plan.Fault; f != nil && f.Step == i {
			t.faulty(*f, s)
		} else {
			if t.Check == explore.Ignored && i == 1 {
				t.say("o.forget()")
			}
			t.step(s)
		}
		if t.Check == explore.Ignored && i == 1 {
			t.say("o.wantWrites(t, %s)", t.object(s.Object))
		}
	}
	return t.wants()
}

func (t *Test) step(s explore.Step) {
	if s.Do == explore.Delete {
		t.say("o.delete(t, %s)", t.object(s.Object))
		return
	}
	if s.Via != nil {
		t.say("o.applyUnseen(t, %s)", t.object(s.Via))
	}
	t.say("o.apply(t, %s)", t.object(s.Object))
}

// faulty is a step under a fault.
func (t *Test) faulty(f explore.Fault, s explore.Step) {
	match := fmt.Sprintf("verb: %q, group: %q, resource: %q, subresource: %q, name: %q, nth: %d", f.Verb, f.Group, f.Resource, f.Subresource, f.Name, f.Nth)
	switch f.Do {
	case state.FaultGap:
		t.say("o.stop() // it misses what happens now")
		t.step(s)
		t.say("o.start(t)")
	case state.FaultStale:
		t.say("past := o.revision(t, %s)", t.object(t.Plan.Steps[f.As].Object))
		t.step(s)
		t.say("o.stop()")
		t.say(`o.fail(fault{do: "past", group: %q, resource: %q, revision: past})`, f.Group, f.Resource)
		t.say("o.start(t)")
		t.say("o.heal()")
	case state.FaultHold:
		t.say("o.fail(fault{do: \"kill\", %s})", match)
		t.step(s)
		t.say("o.stop()")
		t.say("o.heal()")
		t.say("o.start(t)")
	case state.FaultLose:
		t.say("o.fail(fault{do: \"lose\", %s})", match)
		t.step(s)
		t.say("o.heal()")
	case state.FaultRefuse:
		t.say("o.fail(fault{do: \"refuse\", %s, code: %d})", match, f.Code)
		t.step(s)
		t.say("o.heal()")
	}
}

// wants is what must be at the end.
func (t *Test) wants() (why string) {
	last := t.Plan.Steps[len(t.Plan.Steps)-1]
	switch t.Check {
	case explore.Unrest:
		t.say("if !o.rest() {")
		t.say("t.Error(%q)", "the operator does not come to rest")
		t.say("}")
		return ""
	case explore.Observed:
		t.say("o.wantObserved(t, %s)", t.object(last.Object))
		return ""
	case explore.Exits, explore.Ignored:
		return ""
	case explore.Leftovers:
		if len(t.Differences) == 0 {
			t.say(`o.want(t, %s, "", "")`, t.object(last.Object))
			return ""
		}
	}
	list := slices.DeleteFunc(slices.Clone(t.Differences), func(d explore.Difference) bool { return d.APIVersion == "" || t.others(d) })
	// What its own status says may follow from that of others.
	if sure := slices.DeleteFunc(slices.Clone(list), status); len(sure) > 0 {
		list = sure
	}
	for _, d := range list[:min(len(list), wanted)] {
		kind, name, _ := strings.Cut(d.Object, "/")
		meta := map[string]any{"name": name}
		if namespace, within, ok := strings.Cut(name, "/"); ok {
			meta = map[string]any{"name": within, "namespace": namespace}
		}
		u := map[string]any{"apiVersion": d.APIVersion, "kind": kind, "metadata": meta}
		t.say("o.want(t, %s, %q, %q)", t.object(u), d.Path, d.Want)
	}
	switch {
	case len(t.Differences) == 0:
		return "no object differs in the end"
	case len(list) == 0:
		return "what differs is not written by the operator itself, or has a generated name"
	}
	return ""
}

func status(d explore.Difference) bool { return strings.HasPrefix(d.Path, "status.") }

// others reports whether somebody else decides about what differs: the status of
// others' kinds needs their controllers, which envtest has none of.
func (t *Test) others(d explore.Difference) bool {
	return status(d) && !strings.HasPrefix(d.Object, t.Kind+"/")
}
