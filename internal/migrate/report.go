package migrate

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/oldapi"
)

// todoMark begins a line that says what is left to do at that place.
const todoMark = "TODO(migrate): "

// ReportName is the file that lists what is left to do.
const ReportName = "MIGRATION.md"

// reportTitle is how its first line begins.
const reportTitle = "# Migration from the layout of "

// marks finds the marked lines of a text.
func marks(data []byte) []Note {
	var out []Note
	n := 0
	for line := range bytes.Lines(data) {
		n++
		trimmed := strings.TrimLeft(string(line), " \t/#")
		if text, ok := strings.CutPrefix(trimmed, todoMark); ok {
			out = append(out, Note{Line: n, Text: strings.TrimSpace(text)})
		}
	}
	return out
}

//go:embed files/report.md.tmpl
var reportText string

// Report is the text of MIGRATION.md.
func (p *Plan) Report() ([]byte, error) {
	var needs, moved, dropped []Entry
	for _, e := range p.Files {
		if e.Status == Needs {
			needs = append(needs, e)
		}
		if e.Status == Dropped {
			dropped = append(dropped, e)
		} else if e.From != "" {
			moved = append(moved, e)
		}
	}
	return fill(reportText, map[string]any{
		"Title": reportTitle, "Plan": p, "Needs": needs, "Kept": keptMain, "Main": newMain, "Moved": moved, "Dropped": dropped,
	})
}

// lacksMethod is what the compiler says wherever a value of a type is passed that
// lacks a method.
var lacksMethod = lazy.Delayed(`\S+ does not implement \S+ \(.+\)$`)

// Lacks is the type that lacks a method, with it, where the compiler says that.
func (c Problem) Lacks() string { return lacksMethod.FindString(c.Text) }

// Grouped lists the problems of one key once, at the first place: a mock without a
// method can have hundreds of them. One with an empty key is alone.
func Grouped(problems []Problem, key func(i int) string) []Problem {
	var out []Problem
	first, more := map[string]int{}, map[int]int{} // indexes in out by key, and how many others there are
	for n, p := range problems {
		k := key(n)
		if i, known := first[k]; known && k != "" {
			more[i]++
			continue
		}
		first[k] = len(out)
		out = append(out, p)
	}
	for i, n := range more {
		out[i].Text += fmt.Sprintf(" (and %d more like this)", n)
	}
	return out
}

// Cause is why the compiler says so, where it is known.
func (c Problem) Cause() string { return oldapi.Cause(c.Text) }

// todoLine is a marked line for Go code.
func todoLine(format string, args ...any) string {
	return "// " + todoMark + fmt.Sprintf(format, args...)
}

// fill is the text that a template makes of data.
func fill(text string, data any) ([]byte, error) {
	var b bytes.Buffer
	t, err := template.New("").Parse(text)
	if err == nil {
		err = t.Execute(&b, data)
	}
	if err != nil {
		return nil, fmt.Errorf("fill in the template: %w", err)
	}
	return b.Bytes(), nil
}
