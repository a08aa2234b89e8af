package apidocs

import (
	_ "embed"
	"strings"
	"text/template"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/fields"
)

var (
	pattern = lazy.Delayed(`^((?:each )?matches )(.+)$`)
	item    = lazy.Delayed(`\n *(?:-|\\\*|[0-9]+[.)]) `)
)

//go:embed templates/page.md.tmpl
var markdownPage string

// Markdown is the reference as GitHub and others show it, with tables.
func Markdown(kinds []Kind) ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"cell": cell, "code": code, "described": described, "escaped": escaped, "fence": fence, "rule": rule, "typeOf": typeOf,
	}).Parse(markdownPage)
	return render(t, err, kinds)
}

// described is all of a field but its name, type and default.
func described(f *fields.Field) string {
	parts := []string{}
	if f.Description != "" {
		parts = append(parts, escaped(f.Description))
	}
	for _, v := range validation(f) {
		if m := pattern.FindStringSubmatch(v); m != nil {
			parts = append(parts, m[1]+code(m[2]))
		} else {
			parts = append(parts, escaped(v))
		}
	}
	if len(f.Fields) == 0 { // else they are with the object
		for _, r := range f.Rules {
			parts = append(parts, rule(r))
		}
	}
	return strings.Join(parts, "\n\n")
}

func rule(r fields.Rule) string {
	if r.Message == "" {
		return code(r.Rule)
	}
	return code(r.Rule) + ": " + escaped(r.Message)
}

// escaped is text in which nothing is HTML or emphasis. Spans of code stay.
func escaped(s string) string {
	plain := strings.NewReplacer(`\`, `\\`, "&", "&amp;", "<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`, "`", "\\`")
	parts := strings.Split(strings.TrimSpace(s), "`")
	if len(parts)%2 == 0 { // one that does not end
		return plain.Replace(strings.TrimSpace(s))
	}
	for i := 0; i < len(parts); i += 2 {
		parts[i] = plain.Replace(parts[i])
	}
	return strings.Join(parts, "`")
}

// code is a span of code, with as many backticks as it takes.
func code(s string) string {
	if s == "" {
		return ""
	}
	ticks, pad := fence("`", s), ""
	if len(ticks) > 1 {
		pad = " "
	}
	return ticks + pad + strings.Join(strings.Fields(s), " ") + pad + ticks
}

// fence is the ticks, and as many more as it takes for the text not to have them.
func fence(ticks, text string) string {
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	return ticks
}

// cell is text in a cell of a table, where lines end and columns begin by what
// is no text. Entries of lists keep their lines.
func cell(s string) string {
	var paragraphs []string
	for _, p := range strings.Split(item.ReplaceAllString(s, "\n$0"), "\n\n") {
		if p = strings.Join(strings.Fields(p), " "); p != "" {
			paragraphs = append(paragraphs, p)
		}
	}
	return strings.ReplaceAll(strings.Join(paragraphs, "<br>"), "|", `\|`)
}
