package gotest_test

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/explore"
	"github.com/example/mysdk/internal/explore/gotest"
)

const mainGo = `package main

import (
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	cachev1 "example.com/shop/api/v1"
	"example.com/shop/internal/controller"
)

func init() {
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(cachev1.AddToScheme(scheme))
}

func main() {
	var limit int
	m, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{})
	if err = (&controller.ShopReconciler{Client: m.GetClient(), Log: ctrl.Log}).SetupWithManager(m); err != nil {
		os.Exit(1)
	}
}
`

// TestSetupOf: what the main package gives the controllers, and nothing that a
// test cannot know.
func TestSetupOf(t *testing.T) {
	got, err := gotest.SetupOf("main.go", []byte(mainGo))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(gotest.Setup{
		Imports: []string{`"example.com/shop/internal/controller"`, `cachev1 "example.com/shop/api/v1"`},
		Schemes: []string{"cachev1.AddToScheme"},
		Setups:  []string{"(&controller.ShopReconciler{Client: mgr.GetClient(), Log: ctrl.Log}).SetupWithManager(mgr)"},
	}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for name, tc := range map[string]struct{ src, want string }{
		"a variable":     {strings.Replace(mainGo, "Log: ctrl.Log", "Limit: limit", 1), "main.go:19:69: the controller gets limit, which a test does not know"},
		"no controllers": {strings.Replace(mainGo, "SetupWithManager", "Start", 1), "main.go sets no controller up by SetupWithManager"},
		"a taken name":   {strings.ReplaceAll(strings.Replace(mainGo, `"example.com/shop/internal/controller"`, `operator "example.com/shop/internal/controller"`, 1), "controller.Shop", "operator.Shop"), `main.go imports "example.com/shop/internal/controller" as operator`},
		"no Go":          {"package", "read the operator's main package"},
	} {
		_, err := gotest.SetupOf("main.go", []byte(tc.src))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
		if name != "no Go" && clierr.HintOf(err) == "" {
			t.Errorf("%s: no hint", name)
		}
	}
}

// TestRender: each check has its steps, faults and wants, in Go that parses.
func TestRender(t *testing.T) {
	setup, err := gotest.SetupOf("main.go", []byte(mainGo))
	if err != nil {
		t.Fatal(err)
	}
	shop := func(size int64) map[string]any {
		return map[string]any{"apiVersion": "example.com/v1", "kind": "Shop", "metadata": map[string]any{"name": "s"}, "spec": map[string]any{"size": size, "text": "a`b"}}
	}
	apply := func(size int64) explore.Step { return explore.Step{Do: explore.Apply, Object: shop(size)} }
	gone := explore.Step{Do: explore.Delete, Object: shop(1)}
	replicas := []explore.Difference{
		{Object: "Pod/p", Path: "spec.x", Want: "1"}, {Object: "Deployment/s", APIVersion: "apps/v1", Path: "spec.replicas", Want: "5", Got: "3"},
		{Object: "Deployment/s", APIVersion: "apps/v1", Path: "status.replicas", Want: "5", Got: "3"}, {Object: "Shop/s", APIVersion: "example.com/v1", Path: "status.ready", Want: "5"},
	}
	wants := `o.want(t, object3, "spec.replicas", "5")`
	fault := func(do string, restart bool) *explore.Fault {
		return &explore.Fault{Step: 1, Restart: restart, Injection: state.Injection{Do: do, Verb: "patch", Group: "apps", Resource: "deployments", Name: "s", Nth: 2, Code: 409}}
	}
	for name, tc := range map[string]struct {
		f    explore.Finding
		want []string // statements, after the test's operator has started
	}{
		"history":   {explore.Finding{Check: explore.History, Plan: explore.Plan{Steps: []explore.Step{apply(3), apply(5)}}, Differences: replicas}, []string{"o.apply(t, object1)", "o.apply(t, object2)", wants}},
		"recovery":  {explore.Finding{Check: explore.Recovery, Plan: explore.Plan{Steps: []explore.Step{apply(3), apply(5), apply(3)}}, Differences: replicas}, []string{"o.apply(t, object1)", "o.apply(t, object2)", "o.apply(t, object1)", wants}},
		"crash":     {explore.Finding{Check: explore.Crash, Plan: explore.Plan{Steps: []explore.Step{apply(3), apply(5)}, Fault: fault(state.FaultHold, true)}, Differences: replicas}, []string{"o.apply(t, object1)", `o.fail(fault{do: "kill", verb: "patch", group: "apps", resource: "deployments", subresource: "", name: "s", nth: 2})`, "o.apply(t, object2)", "o.stop()", "o.heal()", "o.start(t)", wants}},
		"lost":      {explore.Finding{Check: explore.Unreachable, Plan: explore.Plan{Steps: []explore.Step{apply(3), apply(5)}, Fault: fault(state.FaultLose, false)}, Differences: replicas}, []string{"o.apply(t, object1)", `o.fail(fault{do: "lose", verb: "patch", group: "apps", resource: "deployments", subresource: "", name: "s", nth: 2})`, "o.apply(t, object2)", "o.heal()", wants}},
		"refused":   {explore.Finding{Check: explore.Unreachable, Plan: explore.Plan{Steps: []explore.Step{apply(3), apply(5)}, Fault: fault(state.FaultRefuse, false)}, Differences: replicas}, []string{"o.apply(t, object1)", `o.fail(fault{do: "refuse", verb: "patch", group: "apps", resource: "deployments", subresource: "", name: "s", nth: 2, code: 409})`, "o.apply(t, object2)", "o.heal()", wants}},
		"always":    {explore.Finding{Check: explore.Unreachable, Plan: explore.Plan{Steps: []explore.Step{apply(3)}, Fault: &explore.Fault{Injection: state.Injection{Do: state.FaultRefuse, Verb: "create", Resource: "pods", Code: 500}}}, Differences: replicas}, []string{`o.fail(fault{do: "refuse", verb: "create", group: "", resource: "pods", subresource: "", name: "", nth: 0, code: 500})`, "o.apply(t, object1)", "o.heal()", strings.Replace(wants, "object3", "object2", 1)}},
		"stale":     {explore.Finding{Check: explore.Stale, Plan: explore.Plan{Steps: []explore.Step{apply(3), apply(5)}, Fault: fault(state.FaultStale, true)}, Differences: replicas}, []string{"o.apply(t, object1)", "past := o.revision(t, object1)", "o.apply(t, object2)", "o.stop()", `o.fail(fault{do: "past", group: "apps", resource: "deployments", revision: past})`, "o.start(t)", "o.heal()", wants}},
		"gap":       {explore.Finding{Check: explore.Stale, Plan: explore.Plan{Steps: []explore.Step{apply(3), {Do: explore.Apply, Object: shop(5), Via: shop(3)}}, Fault: fault(state.FaultGap, false)}, Differences: replicas}, []string{"o.apply(t, object1)", "o.stop() // it misses what happens now", "o.applyUnseen(t, object1)", "o.apply(t, object2)", "o.start(t)", wants}},
		"leftovers": {explore.Finding{Check: explore.Leftovers, Plan: explore.Plan{Steps: []explore.Step{apply(1), gone}}}, []string{"o.apply(t, object1)", "o.delete(t, object1)", `o.want(t, object1, "", "")`}},
		"ignored":   {explore.Finding{Check: explore.Ignored, Plan: explore.Plan{Steps: []explore.Step{apply(3), apply(5)}}}, []string{"o.apply(t, object1)", "o.forget()", "o.apply(t, object2)", "o.wantWrites(t, object2)"}},
		"observed":  {explore.Finding{Check: explore.Observed, Plan: explore.Plan{Steps: []explore.Step{apply(3)}}}, []string{"o.apply(t, object1)", "o.wantObserved(t, object1)"}},
		"unrest":    {explore.Finding{Check: explore.Unrest, Plan: explore.Plan{Steps: []explore.Step{apply(3)}}}, []string{"o.apply(t, object1)", "if !o.rest() {", `t.Error("the operator does not come to rest")`, "}"}},
		"exits":     {explore.Finding{Check: explore.Exits, Plan: explore.Plan{Steps: []explore.Step{apply(3)}}}, []string{"o.apply(t, object1)"}},
		"status":    {explore.Finding{Check: explore.History, Plan: explore.Plan{Steps: []explore.Step{apply(3)}}, Differences: replicas[2:]}, []string{"o.apply(t, object1)", `o.want(t, object2, "status.ready", "5")`}},
		"elsewhere": {explore.Finding{Check: explore.History, Plan: explore.Plan{Steps: []explore.Step{apply(3)}}, Differences: []explore.Difference{{Object: "Deployment/default/s", APIVersion: "apps/v1", Path: "spec.replicas", Want: "5"}}}, []string{"o.apply(t, object1)", `o.want(t, object2, "spec.replicas", "5")`}},
		"versions":  {explore.Finding{Check: explore.Versions, Plan: explore.Plan{Steps: []explore.Step{apply(3)}}, Differences: []explore.Difference{{Object: "Shop/s written as v1", Path: "spec.x", Want: "1"}}}, nil},
		"invalid":   {explore.Finding{Check: explore.Invalid, Plan: explore.Plan{Steps: []explore.Step{apply(3)}}}, nil},
		"seen once": {explore.Finding{Check: explore.Unrest, Unconfirmed: true, Plan: explore.Plan{Steps: []explore.Step{apply(3)}}}, nil},
		"no test":   {explore.Finding{Check: explore.Forbidden, Plan: explore.Plan{Steps: []explore.Step{apply(3)}}}, nil},
		"deleted":   {explore.Finding{Check: explore.Stale, Plan: explore.Plan{Steps: []explore.Step{apply(3), gone, apply(3)}, Fault: &explore.Fault{Step: 2, As: 1, Injection: state.Injection{Do: state.FaultStale, Group: "apps", Resource: "deployments"}}}, Differences: replicas}, nil},
		"nor here":  {explore.Finding{Check: explore.Crash, Plan: explore.Plan{Steps: []explore.Step{apply(3)}}, Differences: replicas[:1]}, nil},
	} {
		tc.f.ID, tc.f.Kind, tc.f.Title = "3f2a9c11", "Shop", "it ends\nbadly"
		p := gotest.Project{Setup: setup, Runtime: "v0.21.0", Dir: "test/explore", Package: "explore_test"}
		files, without, err := gotest.Render(p, []explore.Finding{tc.f})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if tc.want == nil {
			why := map[string]string{"versions": "write the object back", "invalid": "what the API refuses", "seen once": "no time to confirm it", "no test": "add the marker", "nor here": "not written by the operator itself, or has a generated name"}[name]
			if len(files) != 0 || len(without) != 1 || !strings.HasPrefix(without[0], "3f2a9c11 ") || !strings.Contains(without[0], why) {
				t.Errorf("%s: %d files, without %v", name, len(files), without)
			}
			continue
		}
		text := string(files["explore_3f2a9c11_test.go"])
		var got []string
		_, body, _ := strings.Cut(text, "o := startOperator(t)\n")
		for line := range strings.Lines(strings.TrimSuffix(body, "}\n")) {
			got = append(got, strings.TrimSpace(line))
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", name, d, text)
		}
		if apart := strings.Contains(text, "if ranApart(t) {"); apart != (name == "exits") {
			t.Errorf("%s: in a process of its own: %v", name, apart)
		}
		for file, src := range files {
			if _, err := parser.ParseFile(token.NewFileSet(), file, src, parser.AllErrors); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if helper := string(files["explore_operator_test.go"]); !strings.Contains(helper, `filepath.FromSlash("../../config/crd/bases")`) || !strings.Contains(helper, "RecoverPanic") {
			t.Errorf("%s: the operator's file\n%s", name, helper)
		}
		p.Runtime = "v0.16.6"
		if files, _, err = gotest.Render(p, []explore.Finding{tc.f}); err != nil || strings.Contains(string(files["explore_operator_test.go"]), "RecoverPanic") {
			t.Errorf("%s: with an old controller-runtime: %v", name, err)
		}
	}
}

// TestRender_Beside: what samples refer to is there before the operator starts, in
// the test's namespace.
func TestRender_Beside(t *testing.T) {
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s", "namespace": "own"}}}
	f := explore.Finding{ID: "3f2a9c11", Check: explore.Unrest, Plan: explore.Plan{Steps: []explore.Step{{Do: explore.Apply, Object: secret.Object}}}}
	const applied = "\to.applyUnseen(t, `{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"Secret\",\n  \"metadata\": {\n    \"name\": \"s\"\n  }\n}`)\n\to.start(t)\n"
	for _, beside := range [][]*unstructured.Unstructured{nil, {secret}} {
		files, _, err := gotest.Render(gotest.Project{Runtime: "v0.21.0", Package: "explore_test", Beside: beside}, []explore.Finding{f})
		if helper := string(files["explore_operator_test.go"]); err != nil || strings.Contains(helper, applied) != (beside != nil) {
			t.Errorf("beside %v: %v\n%s", beside, err, helper)
		}
	}
	if secret.GetNamespace() != "own" {
		t.Error("the caller's object has changed")
	}
}
