package ui

import (
	"embed"
	"fmt"
	"html/template"
	"time"

	"sigs.k8s.io/yaml"

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

// allPages are the pages in the order of the navigation. The first one is shown
// at the start.
func allPages() []Page {
	return []Page{
		objectsPage(),
		reconcilesPage(),
		loopsPage(),
		requestsPage(),
		logsPage(),
		rightsPage(),
		webhooksPage(),
		tryPage(),
		kindsPage(),
		timePage(),
	}
}

// parse reads the templates of a page.
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
		"reconcilesURL": func(key objects.Key) string {
			return addressOf(recording.Object{Group: recording.GroupName(key.Group), Kind: key.Kind, Namespace: key.Namespace, Name: key.Name})
		},
		"objectURL": objectURL,
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
