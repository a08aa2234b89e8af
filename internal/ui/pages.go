package ui

import (
	"context"
	"embed"
	"fmt"
	"html/template"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fields"
	"github.com/example/mysdk/internal/objects"
	"github.com/example/mysdk/internal/recording"
)

//go:embed pages
var templates embed.FS

//go:embed assets
var assets embed.FS

// valueShown bounds a value in a page, in characters.
const valueShown = 300

// loopsEvery is how often loops are looked for: all of the recording is read.
const loopsEvery = 2 * time.Second

// allPages are the pages in the order of the navigation. The first one is shown
// at the start.
func allPages() []Page {
	var known rules
	return []Page{
		{Name: "objects", Title: "Objects", Question: "What belongs to my object, and is it well?",
			Fragments: []string{"list"}, Render: renderObjects},
		{Name: "reconciles", Title: "Reconciles", Question: "Why was an object reconciled, and what did each reconcile do?",
			Fragments: []string{"objects", "calls"},
			Render:    func(_ context.Context, r *Request) (any, error) { return listCalls(r.Recording, r.Query), nil }},
		{Name: "loops", Title: "Loops", Question: "Does the operator do the same again and again?",
			Fragments: []string{"loops"}, Every: loopsEvery,
			Render: func(_ context.Context, r *Request) (any, error) { return r.Recording.Loops(), nil }},
		{Name: "requests", Title: "Requests", Question: "What did the operator ask of the API server, and what was the answer?",
			Fragments: []string{"list"},
			Render:    func(_ context.Context, r *Request) (any, error) { return listRequests(r.Recording, r.Query), nil }},
		{Name: "logs", Title: "Logs", Question: "What did the operator say, and in which reconcile?",
			Fragments: []string{"list"},
			Render:    func(_ context.Context, r *Request) (any, error) { return listLines(r.Recording, r.Query), nil }},
		{Name: "rights", Title: "Rights", Question: "Which rights does the operator use, and which ones do its markers grant?",
			Fragments: []string{"rights"}, Render: known.render},
		{Name: "webhooks", Title: "Webhooks", Question: "What were the operator's webhooks given, and what did they answer?",
			Fragments: []string{"calls"}, Render: renderWebhooks},
		{Name: "try", Title: "Try", Question: "What does the operator do when I …?",
			Fragments: []string{"own"}, Render: renderTry, Act: actTry, Check: checkTry},
		{Name: "kinds", Title: "Kinds", Question: "Which fields do my kinds have?",
			Fragments: []string{"list"}, Render: renderKinds},
		{Name: "time", Title: "Time", Question: "What was the cluster like before?",
			Fragments: []string{"list"},
			Render:    func(_ context.Context, r *Request) (any, error) { return timeline(r) }},
	}
}

func parse(p Page, zone *time.Location) (*template.Template, error) {
	t, err := template.New("layout.html").Funcs(functions(zone)).ParseFS(templates, "pages/layout.html", "pages/shared.html", "pages/"+p.Name+".html")
	if err != nil {
		return nil, fmt.Errorf("page %s: %w", p.Name, err)
	}
	for _, id := range append([]string{"main"}, p.Fragments...) {
		if t.Lookup(id) == nil {
			return nil, fmt.Errorf("page %s: pages/%[1]s.html does not define %q", p.Name, id)
		}
	}
	return t, nil
}

// functions are what templates may call besides the methods of their data.
func functions(zone *time.Location) template.FuncMap {
	return template.FuncMap{
		"clock":     func(t time.Time) string { return t.In(zone).Format("15:04:05.000") },
		"date":      func(t time.Time) string { return t.In(zone).Format("2006-01-02 15:04:05") },
		"took":      took,
		"indented":  indented,
		"value":     func(v any) string { return recording.ValueText(v, valueShown) },
		"codeText":  codeText,
		"resource":  resourceOf,
		"unchanged": unchanged,
		"logURL":    logURL,
		"loopURL":   loopURL,
		"callURL":   callURL,
		"callsURL":  addressOf,
		"reconcilesURL": func(key objects.Key) string {
			return addressOf(recording.Object{Group: recording.GroupName(key.Group), Kind: key.Kind, Namespace: key.Namespace, Name: key.Name})
		},
		"objectURL": objectURL,
		"hint":      clierr.HintOf,
		"tryURL":    func(key objects.Key) string { return "/try?" + objectQuery(key).Encode() },
		"asked":     func(f *fields.Field, form *tryForm) askedField { return askedField{f, form} },
	}
}

// indented is an object as people read it.
func indented(v any) (string, error) {
	data, err := yaml.Marshal(v)
	return string(data), err
}

// took is a duration for people: three digits are enough.
func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
