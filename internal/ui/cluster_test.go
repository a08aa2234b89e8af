package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kube/kubetest"
	"github.com/example/mysdk/internal/manifests"
	"github.com/example/mysdk/internal/objects"
	"github.com/example/mysdk/internal/recording"
)

const shopSample = `
apiVersion: example.com/v1
kind: Shop
metadata: {name: sample, namespace: default, labels: {team: blue}}
spec: {size: 2, color: red}
beside: {note: written once}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
---
apiVersion: v1
kind: Secret
metadata: {name: hidden, namespace: default}
stringData: {password: hunter2}
`

func parseObjects(t testing.TB, data string) []*unstructured.Unstructured {
	t.Helper()
	objs, err := kube.ParseManifests([]byte(data), "test")
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

// reader is a person who reads pages of a cluster and sends their forms.
type reader struct {
	t   *testing.T
	c   *http.Client
	srv *Server
}

// shows waits until a page has all the texts.
func (r reader) shows(path string, texts ...string) string {
	r.t.Helper()
	return r.until(path, fmt.Sprintf("%q", texts), func(body string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(body, text) })
	})
}

// until asks for a page until is holds of it.
func (r reader) until(path, what string, is func(body string) bool) string {
	r.t.Helper()
	var body string
	for end := time.Now().Add(1 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if _, body = get(r.t, r.c, at(r.srv, path)); is(body) {
			return body
		}
	}
	r.t.Fatalf("%s does not come to show %s:\n%s", path, what, body)
	return ""
}

// send submits a form, and returns where that leads or what is answered.
func (r reader) send(path string, form url.Values) (int, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, at(r.srv, path), strings.NewReader(form.Encode()))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", "http://"+r.srv.listener.Addr().String())
	resp, err := r.c.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	if resp.StatusCode == http.StatusSeeOther {
		return resp.StatusCode, resp.Header.Get("Location")
	}
	return resp.StatusCode, string(body)
}

// TestCluster uses the pages about a cluster on a real one.
func TestCluster(t *testing.T) {
	config := kubetest.Start(t)
	c, err := kube.Connect(t.Context(), kube.Options{Kubeconfig: config, Host: kubetest.World(t), Allow: []string{"mysdk-default"}})
	if err != nil {
		t.Fatal(err)
	}
	crd, err := os.ReadFile("testdata/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := sourceOf(recording.Recording{Operator: operator, Active: true, Since: time.Now(), Next: 1})
	s.Now = time.Now
	s.Connect = func(context.Context) (*kube.Client, error) { return c, nil }
	s.Samples = func(context.Context) ([]manifests.File, error) {
		return []manifests.File{{Name: "shop.yaml", Objects: parseObjects(t, shopSample)}}, nil
	}
	injected, ended := make(chan state.Fault, 1), make(chan struct{}, 1)
	s.Inject = func(ctx context.Context, f state.Fault, hit func()) error {
		if f.Do == state.FaultRefuse && f.Code < http.StatusBadRequest {
			return errors.New("between 400 and 511") // as the API server does
		}
		injected <- f
		hit() // armed
		hit()
		<-ctx.Done()
		ended <- struct{}{}
		return ctx.Err()
	}
	srv := serve(t, s)
	r := reader{t, browser(t, srv), srv}
	r.c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r.shows("/objects", "no such objects")
	crds := parseObjects(t, string(crd))
	if _, err := c.Apply(t.Context(), crds, kube.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitEstablished(t.Context(), crds); err != nil {
		t.Fatal(err)
	}
	r.shows("/kinds", "shops.example.com", "gold is for small shops", "How many people work there.", "at most 10 characters", "default 1")
	r.shows("/try?kind=Shop.example.com", "shop.yaml", `name="spec.size"`, `value="sample"`, "<option>gold", `name="new"`)

	checkForm(r)
	if code, to := r.send("/try", url.Values{"do": {"sample"}, "sample": {"shop.yaml"}}); code != http.StatusSeeOther || to != "/objects" {
		t.Fatalf("apply the sample: %d %s", code, to)
	}
	r.shows("/objects", "Shop", "sample")
	changeObjects(r)
	clearField(r, c)

	body := r.shows("/objects?kind=Secret&namespace=default&name=hidden", "password: hidden:")
	if strings.Contains(body, "hunter") || strings.Contains(body, "aHVudGVy") {
		t.Error("the page shows a Secret")
	}
	if code, to := r.send("/try", url.Values{"do": {"fault"}, "delay": {"20"}, "code": {"503"}, "seconds": {"600"}}); code != http.StatusSeeOther {
		t.Errorf("fault: %d %s", code, to)
	}
	want := state.Fault{Operator: operator, Injection: state.Injection{Do: state.FaultRefuse, Delay: 20 * time.Millisecond, Code: 503}}
	if diff := cmp.Diff(want, <-injected); diff != "" {
		t.Errorf("faults (-want +got)\n%s", diff)
	}
	if code, body := r.send("/try", url.Values{"do": {"fault"}, "code": {"100"}, "seconds": {"600"}}); code != http.StatusUnprocessableEntity {
		t.Errorf("a fault that is none: %d %s", code, body)
	}
	if _, body := get(t, r.c, at(srv, "/try")); !strings.Contains(body, "each request of the operator is refused with 503") {
		t.Error("a fault that is none has ended the one before")
	}
	if code, to := r.send("/try", url.Values{"do": {"fault"}, "delay": {"0"}, "code": {"0"}, "seconds": {"600"}}); code != http.StatusSeeOther {
		t.Errorf("end of the fault: %d %s", code, to)
	}
	<-ended
	if _, body := get(t, r.c, at(srv, "/try")); strings.Contains(body, "each request of the operator is") {
		t.Error("a fault without delay and refusal goes on")
	}
	if code, _ := r.send("/try", url.Values{"do": {"crash"}}); code != http.StatusUnprocessableEntity {
		t.Errorf("crash of an operator that is not ours: %d", code)
	}
}

// checkForm asks what is wrong with a form.
func checkForm(r reader) {
	r.t.Helper()
	for name, tc := range map[string]struct {
		form url.Values
		want map[string]string // parts, by field
	}{
		"right":         {url.Values{"name": {"a"}, "spec.size": {"2"}}, map[string]string{}},
		"not a number":  {url.Values{"name": {"a"}, "spec.size": {"two"}}, map[string]string{"spec.size": "whole number"}},
		"too small":     {url.Values{"name": {"a"}, "spec.size": {"0"}}, map[string]string{"spec.size": "greater than or equal to 1"}},
		"enum":          {url.Values{"name": {"a"}, "spec.color": {"blue"}}, map[string]string{"spec.color": `"red", "gold"`}},
		"nested":        {url.Values{"name": {"a"}, "spec.owner.name": {"somebody with a long name"}}, map[string]string{"spec.owner.name": "10"}},
		"CEL":           {url.Values{"name": {"a"}, "spec.size": {"3"}, "spec.color": {"gold"}}, map[string]string{"spec": "gold is for small shops"}},
		"no name":       {url.Values{"spec.size": {"2"}}, map[string]string{"name": "required"}},
		"not a name":    {url.Values{"name": {"A B"}}, map[string]string{"name": "lowercase"}},
		"items":         {url.Values{"name": {"a"}, "spec.tags": {"- a\n- 1"}}, map[string]string{"spec.tags": "string"}},
		"two at a time": {url.Values{"name": {"a"}, "spec.size": {"0"}, "spec.color": {"blue"}}, map[string]string{"spec.size": "1", "spec.color": "gold"}},
	} {
		tc.form.Set("kind", "Shop.example.com")
		code, body := r.send("/check/try", tc.form)
		var said map[string]string
		if err := json.Unmarshal([]byte(body), &said); err != nil || code != http.StatusOK {
			r.t.Errorf("%s: %d %s", name, code, body)
			continue
		}
		for field, text := range said {
			if want, ok := tc.want[field]; ok && strings.Contains(text, want) {
				said[field] = want
			}
		}
		if d := cmp.Diff(tc.want, said); d != "" {
			r.t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// clearField empties a field that another client has set.
func clearField(r reader, c *kube.Client) {
	r.t.Helper()
	sample := parseObjects(r.t, shopSample)[0]
	err := c.Edit(r.t.Context(), sample, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return live, unstructured.SetNestedField(live.Object, "me", "spec", "owner", "name")
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.shows("/try?kind=Shop.example.com&namespace=default&name=sample", ">\nme</textarea>")
	form := url.Values{"do": {"apply"}, "kind": {"Shop.example.com"}, "namespace": {"default"}, "name": {"sample"}, "spec.size": {"7"}}
	if code, body := r.send("/try", form); code != http.StatusSeeOther {
		r.t.Errorf("clear fields: %d %s", code, body)
	}
	live, err := c.Read(r.t.Context(), sample)
	if err != nil {
		r.t.Fatal(err)
	}
	want := map[string]any{"spec": map[string]any{"size": int64(7)}, "beside": map[string]any{"note": "written once"}, "team": "blue"}
	if d := cmp.Diff(want, map[string]any{"spec": live.Object["spec"], "beside": live.Object["beside"], "team": live.GetLabels()["team"]}); d != "" {
		r.t.Errorf("with cleared fields (-want +got):\n%s", d)
	}
}

// changeObjects makes, changes, scales and deletes objects, and looks back.
func changeObjects(r reader) {
	r.t.Helper()
	form := url.Values{"do": {"apply"}, "kind": {"Shop.example.com"}, "name": {"mine"}, "spec.size": {"2"}, "spec.owner.name": {"a\r\nb"}}
	mine := "/objects?kind=Shop.example.com&name=mine&namespace=default"
	if code, to := r.send("/try", form); code != http.StatusSeeOther || to != mine {
		r.t.Fatalf("apply: %d %s", code, to)
	}
	r.shows(mine, `<span class="mark good">ready</span>`, "created")
	form.Set("spec.size", "0")
	if code, body := r.send("/try", form); code != http.StatusUnprocessableEntity || !strings.Contains(body, "greater than or equal to 1") {
		r.t.Errorf("apply what is refused: %d %s", code, body)
	}
	form.Set("spec.size", "5")
	if code, body := r.send("/try", form); code != http.StatusSeeOther {
		r.t.Errorf("apply a change: %d %s", code, body)
	}
	// The form does not show the sample's labels and what is beside its fields, and
	// keeps them.
	sample := url.Values{"do": {"apply"}, "kind": {"Shop.example.com"}, "namespace": {"default"}, "name": {"sample"}, "spec.size": {"7"}, "spec.color": {"red"}}
	if code, body := r.send("/try", sample); code != http.StatusSeeOther {
		r.t.Errorf("apply a change of the sample: %d %s", code, body)
	}
	r.shows("/objects?kind=Shop.example.com&name=sample&namespace=default", "<ins>7</ins>", "team: blue", "note: written once")
	sample.Set("new", "yes")
	sample.Set("namespace", "")
	if code, body := r.send("/check/try", sample); code != http.StatusOK || !strings.Contains(body, `{"name":"Shop default/sample already exists`) {
		r.t.Errorf("check a new object of that name: %d %s", code, body)
	}
	if code, body := r.send("/try", sample); code != http.StatusUnprocessableEntity || !strings.Contains(body, "already exists") {
		r.t.Errorf("apply a new object of that name: %d %s", code, body)
	}
	r.shows(mine, "spec.size", "<del>2</del>", "<ins>5</ins>")
	r.shows("/try?kind=Shop.example.com&namespace=default&name=mine", `value="5"`, "readonly", ">\na\nb</textarea>")

	web := url.Values{"kind": {"Deployment.apps"}, "namespace": {"default"}, "name": {"web"}}
	r.shows("/try?"+web.Encode(), `name="replicas"`)
	web.Set("do", "scale")
	web.Set("replicas", "2")
	if code, body := r.send("/try", web); code != http.StatusSeeOther {
		r.t.Fatalf("scale: %d %s", code, body)
	}
	at := "/objects?kind=Deployment.apps&name=web&namespace=default"
	r.shows(at, "spec.replicas", "ReplicaSet", "<h3>Conditions</h3>", `<h2 class="object"><span class="kind">Deployment</span> default/web <span class="mark good">ready</span>`)
	// A pod may be told of after the Deployment that counts it.
	r.until(at, "two pods below the Deployment", func(body string) bool {
		return strings.Count(body, `<span class="kind">Pod</span> <a`) == 2
	})
	form.Set("do", "delete")
	form.Set("namespace", "default")
	if code, body := r.send("/try", form); code != http.StatusSeeOther {
		r.t.Fatalf("delete: %d %s", code, body)
	}
	r.shows(mine, "There is no such object any more", "deleted")

	now := r.shows("/time?namespace=default", "mine deleted", "the cluster as it is")
	before, after, _ := strings.Cut(now, "Shop mine created")
	if after == "" {
		r.t.Fatalf("the time has no beginning of the object:\n%s", now)
	}
	link := before[strings.LastIndex(before, `href="`)+len(`href="`):]
	link, _, _ = strings.Cut(link, `"`)
	then := r.shows(strings.ReplaceAll(link, "&amp;", "&"), `name=mine&amp;namespace=default">mine</a>`, "The objects then")
	if strings.Contains(then, "the cluster as it is") {
		r.t.Error("a change of before is the newest")
	}
}

// TestNotRunning: pages about a cluster that does not run say so, and not that it has
// nothing.
func TestNotRunning(t *testing.T) {
	s := sourceOf(fixed(t))
	s.Connect = func(context.Context) (*kube.Client, error) {
		return nil, clierr.Unavailablef("start it", "cluster default is not running")
	}
	srv := serve(t, s)
	r := reader{t, browser(t, srv), srv}
	for path, wrong := range map[string]string{
		"/objects": "Reading the cluster", "/objects?kind=Shop.example.com&namespace=default&name=s": "no such object",
		"/try": "has no CRDs", "/kinds": "Reading the cluster", "/time": "Reading the cluster",
	} {
		if body := r.shows(path, "cluster default is not running: start it", "The cluster cannot be read."); strings.Contains(body, wrong) {
			t.Errorf("%s: %s\n%s", path, wrong, body)
		}
	}
}

// TestStarting: a run starts its cluster, so that one which is not there yet is no problem.
func TestStarting(t *testing.T) {
	gone := errors.New("cluster default is not running")
	f := newFeed(Source{Crash: func(context.Context) error { return nil }})
	for i, tc := range []struct{ is, want error }{{gone, nil}, {nil, nil}, {gone, gone}, {nil, nil}} {
		f.reached(tc.is)
		if _, _, _, offline := f.read(); !errors.Is(offline, tc.want) {
			t.Errorf("%d: %v, want %v", i, offline, tc.want)
		}
	}
}

// TestScaleNumber: what is not a number of replicas does not reach the cluster.
func TestScaleNumber(t *testing.T) {
	for _, n := range []string{"", "-1", "two", "999999999999"} {
		r := &Request{Form: url.Values{"do": {"scale"}, "replicas": {n}}, Mirror: objects.New(time.Now)}
		r.Source.Connect = func(context.Context) (*kube.Client, error) { return nil, nil }
		if _, err := actTry(t.Context(), r); err == nil || !strings.Contains(err.Error(), "is not a number of replicas") {
			t.Errorf("%q: %v", n, err)
		}
	}
}
