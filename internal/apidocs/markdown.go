package apidocs

import (
	"fmt"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/fields"
)

var (
	pattern = lazy.Delayed(`^((?:each )?matches )(.+)$`)
	item    = lazy.Delayed(`\n *(?:-|\\\*|[0-9]+[.)]) `)
)

// Markdown is the reference as GitHub and others show it, with tables.
func Markdown(kinds []Kind) []byte {
	var b strings.Builder
	b.WriteString("# API reference\n\nWritten by `mysdk generate docs` from the Go types; do not edit.\n\n")
	for _, k := range kinds {
		fmt.Fprintf(&b, "* [%s](#%s) %s\n", k.Kind, k.Anchor(), code(k.APIVersion))
	}
	for _, k := range kinds {
		fmt.Fprintf(&b, "\n## <a id=%q></a>%s %s\n\n%s\n", k.Anchor(), k.Kind, code(k.APIVersion), escaped(k.About))
		for _, note := range k.Notes {
			fmt.Fprintf(&b, "\n**%s**\n", escaped(note))
		}
		if k.Description != "" {
			fmt.Fprintf(&b, "\n%s\n", escaped(k.Description))
		}
		writeRules(&b, k.Rules)
		if k.Example != "" {
			fence := "```"
			for strings.Contains(k.Example, fence) {
				fence += "`"
			}
			fmt.Fprintf(&b, "\n%syaml\n%s\n%s\n", fence, k.Example, fence)
		}
		for _, o := range k.Objects {
			if o.Path != "" {
				fmt.Fprintf(&b, "\n### %s\n", code(o.Path))
			}
			if o.Description != "" {
				fmt.Fprintf(&b, "\n%s\n", escaped(o.Description))
			}
			writeRules(&b, o.Rules)
			b.WriteString("\n| Field | Type | Default | Description |\n|---|---|---|---|\n")
			for _, f := range o.Fields {
				fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cell(nameOf(f)), cell(escaped(typeOf(f))), cell(code(f.Default)), cell(described(f)))
			}
		}
	}
	return []byte(b.String())
}

func nameOf(f *fields.Field) string {
	if f.Required {
		return code(f.Name) + " **required**"
	}
	return code(f.Name)
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

func writeRules(b *strings.Builder, rules []fields.Rule) {
	if len(rules) > 0 {
		b.WriteString("\n")
	}
	for _, r := range rules {
		fmt.Fprintf(b, "* %s\n", rule(r))
	}
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
	fence, pad := "`", ""
	for strings.Contains(s, fence) {
		fence, pad = fence+"`", " "
	}
	return fence + pad + strings.Join(strings.Fields(s), " ") + pad + fence
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
