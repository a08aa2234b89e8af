package ui

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/example/mysdk/internal/recording"
)

var update = flag.Bool("update", false, "write the golden files of pages")

const operator = "system:serviceaccount:shop-system:shop"

// fixed is the recording that the golden files show.
func fixed(t *testing.T) recording.Recording {
	t.Helper()
	data, err := os.ReadFile("testdata/recording.json")
	if err != nil {
		t.Fatal(err)
	}
	var rec recording.Recording
	if err := json.Unmarshal(data, &rec); err != nil {
		t.Fatal(err)
	}
	return rec
}

// sourceOf is a source of a recording that stays as it is.
func sourceOf(rec recording.Recording) Source {
	return Source{
		Rules: func(context.Context) ([]recording.Rule, error) {
			rule := func(line int, group, resource string, verbs ...string) recording.Rule {
				return recording.Rule{PolicyRule: rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}, File: "internal/controller/shop_controller.go", Line: line}
			}
			return []recording.Rule{rule(20, "apps", "deployments", "get", "update", "delete"), rule(21, "", "pods", "list")}, nil
		},
		Project: "shop", Cluster: "default", Zone: time.UTC,
		Recording: func(context.Context, recording.Position, time.Duration) (recording.Recording, error) { return rec, nil },
	}
}

// serve serves the live view until the test ends.
func serve(t testing.TB, s Source) *Server {
	t.Helper()
	srv, err := Listen(t.Context(), s, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return srv
}

// browser opens the address with the token, as a person does.
func browser(t testing.TB, srv *Server) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar}
	if code, body := get(t, c, srv.URL()); code != http.StatusOK || !strings.Contains(body, "<h1>") {
		t.Fatalf("%d: %s", code, body)
	}
	return c
}

func get(t testing.TB, c *http.Client, address string) (int, string) {
	t.Helper()
	resp, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// at is an address of the server without the token.
func at(srv *Server, path string) string { return "http://" + srv.listener.Addr().String() + path }

// TestPages compares each page of the fixed recording with its golden file.
func TestPages(t *testing.T) {
	srv := serve(t, sourceOf(fixed(t)))
	c := browser(t, srv)
	for name, path := range map[string]string{
		"reconciles":        "/reconciles",
		"reconciles-none":   "/reconciles?kind=Shop&namespace=default&name=other",
		"loops":             "/loops",
		"rights":            "/rights",
		"webhooks":          "/webhooks",
		"logs":              "/logs",
		"logs-filtered":     "/logs?level=warning&text=CONFLICT",
		"logs-reconcile":    "/logs?reconcile=0b6e1a52-0f5c-4a57-9b38-5f4b7a1c2d03",
		"requests":          "/requests",
		"requests-none":     "/requests?kind=carts.example.com&code=503",
		"requests-filtered": "/requests?kind=Deployment&verb=update&code=2xx&by=all",
	} {
		t.Run(name, func(t *testing.T) {
			code, body := get(t, c, at(srv, path))
			if code != http.StatusOK {
				t.Fatalf("%d: %s", code, body)
			}
			golden(t, name+".html", body[strings.Index(body, "<main"):]) // what is above is on all pages
		})
	}
}

// TestLackOfRights: where nothing is reconciled, the right that keeps it from that is named.
func TestLackOfRights(t *testing.T) {
	page, err := parse(Page{Name: "reconciles"}, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	for denied, want := range []string{"Create an object of the operator", "The operator may not list shops.example.com, and a controller starts only when it may"} {
		use := recording.Use{Right: recording.Right{Verb: "list", Group: "example.com", Resource: "shops"}, Denied: denied, Allowed: 1 - denied}
		var b strings.Builder
		err := page.ExecuteTemplate(&b, "objects", View{Data: listCalls(recording.Recording{Uses: []recording.Use{use}}, nil)})
		if err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("no %q: %v\n%s", want, err, &b)
		}
	}
}

// TestLoopPatterns: each pattern is named, with what helps.
func TestLoopPatterns(t *testing.T) {
	page, err := parse(Page{Name: "loops"}, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	shop := recording.Object{Kind: "Shop", Namespace: "default", Name: "s"}
	list := []recording.Loop{
		{Pattern: recording.Unchanged, Object: recording.Object{Kind: "Deployment", Namespace: "default", Name: "s-web"}, Reconciled: shop, Count: 3, By: []string{"internal/controller/shop_controller.go:62"}},
		{Pattern: recording.Conflict, Object: shop, Count: 4, Message: "the object has been modified"},
		{Pattern: recording.Fight, Object: shop, Field: "spec.size", Count: 5, By: []string{"shop", "hpa"}, Over: true},
		{Pattern: recording.OwnWrites, Object: shop, Reconciled: shop, Field: "status.seen", Count: 10},
		{Pattern: recording.Storm, Object: shop, Reconciled: shop, Count: 12},
	}
	var b strings.Builder
	if err := page.ExecuteTemplate(&b, "loops", View{Data: list}); err != nil {
		t.Fatal(err)
	}
	golden(t, "loops-patterns.html", b.String())
}

// TestGeneratedName: an object that has no name yet is shown by what its name begins with.
func TestGeneratedName(t *testing.T) {
	page, err := parse(Page{Name: "webhooks"}, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	call := recording.Webhook{Operation: "CREATE", Object: recording.Object{Kind: "Shop", Namespace: "default"}}
	for want, before := range map[string]map[string]any{
		`<td><span class="kind">Shop</span> default/s-…`:       {"metadata": map[string]any{"generateName": "s-"}},
		`<td><span class="kind">Shop</span> in default` + "\n": nil,
	} {
		call.Before = before
		var b strings.Builder
		if err := page.ExecuteTemplate(&b, "calls", View{Data: webhookCalls{1, []recording.Webhook{call}}}); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("no %q: %v\n%s", want, err, &b)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); d != "" {
		t.Errorf("%s (-want +got), -update writes it:\n%s", file, d)
	}
}

// TestEveryPage holds the templates to what live.js and the policy need.
func TestEveryPage(t *testing.T) {
	srv := serve(t, sourceOf(fixed(t)))
	c := browser(t, srv)
	for _, p := range srv.pages {
		_, body := get(t, c, at(srv, "/"+p.Name))
		for _, id := range append([]string{statusFragment}, p.Fragments...) {
			if strings.Count(body, `id="`+id+`"`) != 1 {
				t.Errorf("%s: not one element with id %q", p.Name, id)
			}
		}
		for _, refused := range []string{"<style", " style=", " onclick=", "javascript:", "<script>"} {
			if strings.Contains(body, refused) {
				t.Errorf("%s: the policy refuses %q", p.Name, refused)
			}
		}
		for _, needed := range []string{`class="skip"`, `aria-current="page"`, `lang="en"`} {
			if !strings.Contains(body, needed) {
				t.Errorf("%s: no %s", p.Name, needed)
			}
		}
		if strings.Count(body, "<th>") > 0 {
			t.Errorf("%s: a th without scope", p.Name)
		}
	}
}

// TestWeight: however much was recorded, a page and what it loads stay below
// 150 KB and ten requests.
func TestWeight(t *testing.T) {
	rec := recording.Recording{Operator: operator, Since: time.Unix(1, 0), Next: 5001}
	for i := range 5000 {
		at := time.Unix(1, 0).Add(time.Duration(i) * time.Second)
		id := fmt.Sprintf("reconcile-%d", i/2)
		rec.Requests = append(rec.Requests, recording.Request{
			Seq: uint64(i + 1), Time: at, User: operator, Verb: "update", Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default",
			Name: fmt.Sprintf("shop-%d", i%200), Code: 200, Reconcile: id, Frames: []string{"internal/controller/shop_controller.go:61"},
			Changes: []recording.Change{{Path: "spec.replicas", Old: i, New: i + 1}},
		})
		rec.Lines = append(rec.Lines, recording.Line{Number: uint64(i + 1), Time: at, Level: "info", Text: "scaled the Deployment", LogID: id})
		if i%2 == 0 {
			rec.Reconciles = append(rec.Reconciles, recording.Reconcile{ID: id, LogID: id, Begin: at, End: at.Add(time.Millisecond), Object: recording.Object{Kind: "Shop", Namespace: "default", Name: fmt.Sprintf("shop-%d", i%200)}})
		}
	}
	srv := serve(t, sourceOf(rec))
	c := browser(t, srv)
	loaded := regexp.MustCompile(`(?:src|<link [^>]*href)="([^"]+)"`)
	for _, p := range srv.pages {
		_, body := get(t, c, at(srv, "/"+p.Name))
		size, requests := len(body), 2 // the page and its stream
		for _, m := range loaded.FindAllStringSubmatch(body, -1) {
			_, asset := get(t, c, at(srv, m[1]))
			size, requests = size+len(asset), requests+1
		}
		if size >= 150<<10 || requests >= 10 || requests < 5 {
			t.Errorf("%s: %d bytes in %d requests", p.Name, size, requests)
		}
	}
}

// TestEscapes: text of objects is text in the page.
func TestEscapes(t *testing.T) {
	const evil = `<script>alert("x")</script>`
	rec := recording.Recording{Operator: operator, Since: time.Unix(1, 0), Next: 2, Requests: []recording.Request{{
		Seq: 1, User: operator, Verb: "update", Resource: "shops", Kind: evil, Namespace: evil, Name: evil, Message: evil, Code: 409, Frames: []string{evil},
		Changes: []recording.Change{{Path: evil, Old: evil, New: map[string]any{evil: evil}}},
	}}, Lines: []recording.Line{{Number: 1, Level: evil, Text: evil}}}
	s := sourceOf(rec)
	s.Project = evil
	srv := serve(t, s)
	c := browser(t, srv)
	for _, p := range srv.pages {
		if _, body := get(t, c, at(srv, "/"+p.Name+"?name="+url.QueryEscape(evil))); strings.Contains(body, "<script>alert") {
			t.Errorf("%s does not escape:\n%s", p.Name, body)
		}
	}
}

// TestSecurity tries what others may try, and what the reader does.
func TestSecurity(t *testing.T) {
	srv := serve(t, sourceOf(fixed(t)))
	host, token := srv.listener.Addr().String(), srv.guard.token
	port, own := strings.TrimPrefix(host, "127.0.0.1:"), map[string]string{"Origin": "http://" + host}
	tests := map[string]struct {
		method, path string
		set          map[string]string
		cookie       bool
		want         int
	}{
		"the address that is printed":   {path: "/?token=" + token, want: 303},
		"a page":                        {path: "/requests", cookie: true, want: 200},
		"by name":                       {path: "/requests", set: map[string]string{"Host": "localhost:" + port}, cookie: true, want: 200},
		"its own script":                {path: "/assets/live.js", set: map[string]string{"Sec-Fetch-Site": "same-origin"}, cookie: true, want: 200},
		"no token":                      {path: "/", want: 403},
		"another token":                 {path: "/?token=guessed", want: 403},
		"an empty token":                {path: "/?token=", want: 403},
		"a page without the cookie":     {path: "/requests", want: 403},
		"events without the cookie":     {path: "/live/requests", want: 403},
		"assets without the cookie":     {path: "/assets/live.js", want: 403},
		"token of the page, no cookie":  {path: "/requests?token=" + token, want: 403},
		"DNS rebinding":                 {path: "/requests", set: map[string]string{"Host": "evil.example:" + port}, cookie: true, want: 403},
		"DNS rebinding with the token":  {path: "/?token=" + token, set: map[string]string{"Host": "evil.example:" + port}, want: 403},
		"another port's name":           {path: "/requests", set: map[string]string{"Host": "127.0.0.1:1"}, cookie: true, want: 403},
		"no port":                       {path: "/requests", set: map[string]string{"Host": "127.0.0.1"}, cookie: true, want: 403},
		"fetched by another site":       {path: "/requests", set: map[string]string{"Origin": "https://evil.example"}, cookie: true, want: 403},
		"included by another site":      {path: "/assets/live.js", set: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, cookie: true, want: 403},
		"included by another port":      {path: "/assets/live.js", set: map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}, cookie: true, want: 403},
		"a link from another site":      {path: "/?token=" + token, set: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, want: 303},
		"a form of another site":        {method: "POST", path: "/requests", set: map[string]string{"Origin": "https://evil.example"}, cookie: true, want: 403},
		"a form of another port":        {method: "POST", path: "/requests", set: map[string]string{"Origin": "http://127.0.0.1:1"}, cookie: true, want: 403},
		"a form without origin":         {method: "POST", path: "/requests", cookie: true, want: 403},
		"a form of an opaque origin":    {method: "POST", path: "/requests", set: map[string]string{"Origin": "null"}, cookie: true, want: 403},
		"a form of another host's name": {method: "POST", path: "/requests", set: map[string]string{"Origin": "http://localhost:" + port}, cookie: true, want: 403},
		"a form without the cookie":     {method: "POST", path: "/requests", set: own, want: 403},
		// Nothing can be changed there.
		"a form of the page":         {method: "POST", path: "/requests", set: own, cookie: true, want: 405},
		"another method":             {method: "DELETE", path: "/requests", set: own, cookie: true, want: 405},
		"another method of events":   {method: "PUT", path: "/live/requests", set: own, cookie: true, want: 405},
		"another method of the root": {method: "PUT", path: "/", set: own, cookie: true, want: 405},
		"options":                    {method: "OPTIONS", path: "/requests", set: own, cookie: true, want: 405},
		"another method, no cookie":  {method: "DELETE", path: "/requests", set: own, want: 403},
		"another method, DNS rebinding": {method: "DELETE", path: "/requests", set: map[string]string{
			"Host": "evil.example:" + port, "Origin": "http://evil.example:" + port,
		}, cookie: true, want: 403},
		"no such page": {path: "/none", cookie: true, want: 404},
	}
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), tc.method, at(srv, tc.path), http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range tc.set {
				r.Header.Set(k, v)
			}
			r.Host = r.Header.Get("Host")
			if tc.cookie {
				r.AddCookie(&http.Cookie{Name: srv.guard.cookie, Value: srv.guard.session})
			}
			resp, err := c.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != tc.want {
				t.Errorf("%d, want %d", resp.StatusCode, tc.want)
			}
			for k, v := range map[string]string{"Content-Security-Policy": policy, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"} {
				if resp.Header.Get(k) != v {
					t.Errorf("%s: %q", k, resp.Header.Get(k))
				}
			}
			if resp.StatusCode != http.StatusSeeOther {
				return
			}
			if got := resp.Header.Get("Set-Cookie"); !strings.HasSuffix(got, "; Path=/; HttpOnly; SameSite=Strict") || strings.Contains(got, token) || resp.Header.Get("Location") != "/" {
				t.Errorf("cookie %q, location %q", got, resp.Header.Get("Location"))
			}
		})
	}
}

// TestURLOnce: what other users may have seen is of no use to them.
func TestURLOnce(t *testing.T) {
	srv := serve(t, sourceOf(fixed(t)))
	for i, want := range []int{http.StatusOK, http.StatusForbidden} {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		if code, _ := get(t, &http.Client{Jar: jar}, srv.URLOnce()); code != want {
			t.Errorf("use %d: %d, want %d", i+1, code, want)
		}
	}
}

// script plays answers of a recorder one after the other. The last one stays.
type script struct{ next chan recording.Recording }

func (s script) recording(ctx context.Context, _ recording.Position, _ time.Duration) (recording.Recording, error) {
	select {
	case rec, ok := <-s.next:
		if ok {
			return rec, nil
		}
		return recording.Recording{}, errors.New("the cluster has gone")
	case <-ctx.Done():
		return recording.Recording{}, ctx.Err()
	}
}

// TestNext: what a call says about the next one.
func TestNext(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "after 1s",
		"no":                 "again, later each time, until it succeeds",
		"terminal error: no": "with the next change",
	} {
		c := oneCall{Call: recording.Call{Reconcile: recording.Reconcile{End: time.Unix(1, 0), After: time.Second, Error: text}}}
		if got := c.Next(); got != want {
			t.Errorf("after %q: %q", text, got)
		}
	}
}

// TestFeed: answers to questions that were asked at the same time count once, and
// a run that has ended leaves what was recorded.
func TestFeed(t *testing.T) {
	request := func(seq uint64) recording.Request { return recording.Request{Seq: seq} }
	since := time.Unix(1, 0)
	f := newFeed(Source{})
	for _, got := range []recording.Recording{
		{Since: since, Active: true, Next: 3, Requests: []recording.Request{request(1), request(2)}},
		{Since: since, Active: true, Next: 4, Requests: []recording.Request{request(2), request(3)}},
		{Since: since, Active: true, Next: 4, Requests: []recording.Request{request(2), request(3)}},
		{Since: since, Active: true, Next: 3, Requests: []recording.Request{request(2)}},
		{},
	} {
		f.merge(got, nil)
	}
	now, _, err, _ := f.read()
	if d := cmp.Diff([]recording.Request{request(1), request(2), request(3)}, now.Requests); d != "" || err != nil || now.Active || now.Next != 4 {
		t.Errorf("requests (-want +got):\n%s\n%v, active: %v, next: %d", d, err, now.Active, now.Next)
	}
	f.merge(recording.Recording{Since: since, Active: true, Next: 4}, nil)
	before, changed, _, _ := f.read()
	f.merge(recording.Recording{Since: since.Add(-time.Hour), Next: 9}, nil) // of the run before this one, which has left nothing
	select {
	case <-changed:
	default:
		t.Error("nobody is told that the run has ended")
	}
	if now, _, err, _ := f.read(); !before.Active || now.Active || !now.Since.Equal(since) || len(now.Requests) != 3 || err != nil {
		t.Errorf("after a run without an end: %+v, %v", now, err)
	}
}

// TestEvents: what is new comes by itself, another run replaces the one before,
// and the end of the cluster is said.
func TestEvents(t *testing.T) {
	answers := script{make(chan recording.Recording, 1)}
	s := sourceOf(recording.Recording{})
	s.Recording = answers.recording
	srv := serve(t, s)
	request := func(seq uint64, name string) recording.Request {
		return recording.Request{Seq: seq, User: operator, Verb: "get", Resource: "shops", Name: name, Code: 200}
	}
	since := time.Unix(100, 0)
	answers.next <- recording.Recording{Operator: operator, Since: since, Active: true, Next: 2, Requests: []recording.Request{request(1, "first")}}
	c := browser(t, srv)
	resp, err := c.Get(at(srv, "/live/requests"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("Content-Type: %s", got)
	}
	lines := bufio.NewScanner(resp.Body)
	// until waits for an event for the element that has the text, and not the other.
	until := func(id, text, not string) {
		t.Helper()
		for lines.Scan() {
			var f fragment
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			if err := json.Unmarshal([]byte(data), &f); err != nil {
				t.Fatal(err)
			}
			if f.ID == id && strings.Contains(f.HTML, text) && (not == "" || !strings.Contains(f.HTML, not)) {
				return
			}
		}
		t.Fatalf("the stream ends without %q: %v", text, lines.Err())
	}
	until("list", "first", "")
	answers.next <- recording.Recording{Operator: operator, Since: since, Active: true, Next: 3, Requests: []recording.Request{request(1, "first"), request(2, "second")}}
	until("list", "second", "")
	again := recording.Recording{Operator: operator, Since: since.Add(time.Hour), Active: true, Next: 2, Requests: []recording.Request{request(1, "another run")}}
	answers.next <- again
	answers.next <- again // it is asked for from the start
	until("list", "another run", "first")
	close(answers.next)
	until("status", "the cluster has gone", "")
}
