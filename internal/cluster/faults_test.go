package cluster

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/recording"
)

// inject injects one fault until disarm is called.
func inject(t *testing.T, control state.Control, f state.Injection) (hits <-chan struct{}, disarm func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	told, ended := make(chan struct{}, 100), make(chan struct{})
	go func() {
		defer close(ended)
		// It ends with ctx, which is an error.
		_ = control.Inject(ctx, state.Fault{Operator: operatorUser, Injection: f}, func() { told <- struct{}{} })
	}()
	<-told
	return told, func() { cancel(); <-ended }
}

// names are the objects of a list.
func names(list object) (names []string) {
	items, _ := list["items"].([]any)
	for _, i := range items {
		m, _ := i.(map[string]any)
		name, _ := object(m).at("metadata.name").(string)
		if name != "kube-root-ca.crt" {
			names = append(names, name)
		}
	}
	return names
}

// TestExploredCluster tries what operators are explored on.
func TestExploredCluster(t *testing.T) {
	h := realHost(t)
	info, admin := start(t, h, Options{Name: "explored", RemovedAPIs: true, History: time.Hour})
	control, err := Control(t.Context(), h, "explored")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("faults", func(t *testing.T) { injectsFaults(t, info, control, admin) })
	t.Run("removed APIs", func(t *testing.T) { answersRemovedAPIs(t, admin) })
}

// injectsFaults: what goes wrong for the operator, for nobody else, and no
// longer than asked.
func injectsFaults(t *testing.T, info *Info, control state.Control, admin *client) {
	op := recordAs(t, info, control, "system:masters")
	defer record(t, control)()
	code := func(c *client, method, path string, body any) int {
		t.Helper()
		_, code, err := c.try(method, path, body)
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	configMap := func(name string) object { return object{"metadata": object{"name": name}} }

	// The second write is refused, the others are served.
	hits, disarm := inject(t, control, state.Injection{Do: state.FaultRefuse, Verb: "create", Resource: "configmaps", Nth: 2, Code: http.StatusConflict})
	codes := []int{code(op, http.MethodPost, configMaps, configMap("a")), code(admin, http.MethodPost, configMaps, configMap("b")), code(op, http.MethodPost, configMaps, configMap("c")), code(op, http.MethodPost, configMaps, configMap("d"))}
	if <-hits; !slices.Equal(codes, []int{201, 201, 409, 201}) {
		t.Errorf("codes %v", codes)
	}
	disarm()
	if got := names(admin.get(configMaps)); !slices.Equal(got, []string{"a", "b", "d"}) {
		t.Errorf("there are %v", got)
	}

	// A refusal may come late, and is noted.
	_, disarm = inject(t, control, state.Injection{Do: state.FaultRefuse, Verb: "get", Code: http.StatusServiceUnavailable, Delay: time.Millisecond})
	if code := code(op, http.MethodGet, configMaps+"/late", nil); code != http.StatusServiceUnavailable {
		t.Errorf("refused late: %d", code)
	}
	disarm()
	rec, err := control.Recording(t.Context(), recording.Position{}, 0)
	if err != nil || strings.Count(summary(rec), "get configmaps late refused *\n") != 1 {
		t.Errorf("the refusal is not noted once: %v\n%s", err, summary(rec))
	}
	err = control.Inject(t.Context(), state.Fault{Operator: operatorUser, Injection: state.Injection{Do: state.FaultRefuse, Code: http.StatusOK}}, func() {})
	if err == nil || !strings.Contains(err.Error(), "between 400") {
		t.Errorf("refused with 200: %v", err)
	}

	// A write is done, and nobody hears of it; one that changes nothing does not count.
	before, _ := admin.get(configMaps).at("metadata.resourceVersion").(string)
	hits, disarm = inject(t, control, state.Injection{Do: state.FaultLose, Verb: "patch", Resource: "configmaps", Name: "a", Nth: 1})
	codes = []int{code(op, http.MethodPatch, configMaps+"/a", object{}), code(op, http.MethodPatch, configMaps+"/a", object{"data": object{"k": "1"}})}
	if <-hits; !slices.Equal(codes, []int{200, 504}) {
		t.Errorf("codes %v", codes)
	}
	disarm()
	if got := admin.get(configMaps + "/a").at("data.k"); got != "1" {
		t.Errorf("the lost write: %v", got)
	}

	// An answer is held until the operator goes.
	hits, disarm = inject(t, control, state.Injection{Do: state.FaultHold, Verb: "delete", Resource: "configmaps", Nth: 1})
	answered := make(chan int, 1)
	go func() {
		_, code, _ := op.try(http.MethodDelete, configMaps+"/b", nil)
		answered <- code
	}()
	<-hits
	admin.await(configMaps+"/b", nil)
	select {
	case code := <-answered:
		t.Errorf("the answer that is held: %d", code)
	default:
	}
	disarm()
	if code := <-answered; code != http.StatusOK {
		t.Errorf("the answer that was held: %d", code)
	}

	// Lists are as they were, for the operator.
	_, disarm = inject(t, control, state.Injection{Do: state.FaultStale, Resource: "configmaps", Revision: before})
	if got := names(op.get(configMaps)); !slices.Equal(got, []string{"a", "b", "d"}) {
		t.Errorf("an old list has %v", got)
	}
	if got := names(admin.get(configMaps)); !slices.Equal(got, []string{"a", "d"}) {
		t.Errorf("a new list has %v", got)
	}
	disarm()

	// A watch gets nothing, and is told to list again.
	watching := make(chan int, 1)
	hits, disarm = inject(t, control, state.Injection{Do: state.FaultGap, Resource: "configmaps"})
	go func() {
		_, code, _ := op.try(http.MethodGet, configMaps+"?watch=true&resourceVersion="+before, nil)
		watching <- code
	}()
	<-hits
	admin.post(configMaps, configMap("e"))
	select {
	case code := <-watching:
		t.Errorf("the watch that misses events: %d", code)
	default:
	}
	disarm()
	if code := <-watching; code != http.StatusGone {
		t.Errorf("the watch that has missed events: %d", code)
	}
	if code := code(op, http.MethodPost, configMaps, configMap("f")); code != http.StatusCreated {
		t.Errorf("without faults: %d", code)
	}
}
