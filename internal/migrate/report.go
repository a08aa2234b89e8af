package migrate

import (
	"bytes"
	"fmt"
	"strings"

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

// Report is the text of MIGRATION.md.
func (p *Plan) Report() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\n\n", reportTitle, p.From)
	b.WriteString("This page lists what 'mysdk migrate' could not do, and what it did that you should know. Remove it when you are done.\n")
	b.WriteString("\n## Left to do\n\n")
	if p.Open() == 0 {
		b.WriteString("Nothing: no line is marked.\n")
	} else {
		b.WriteString("Each of these places is marked with `TODO(migrate)`, unless it is a whole file.\n\n")
	}
	for _, e := range p.Files {
		if e.Path == keptMain && e.Status == Needs {
			fmt.Fprintf(&b, "`%s` is your old main program, which is not compiled. `%s` sets up the controllers, types and webhooks;\ncopy to it what else you need, then delete the old one.\n\n", keptMain, newMain)
		}
	}
	for _, e := range p.Files {
		if e.Status != Needs {
			continue
		}
		for _, n := range e.Notes {
			at := e.Path
			if n.Line > 0 {
				at = fmt.Sprintf("%s:%d", e.Path, n.Line)
			}
			fmt.Fprintf(&b, "- [ ] `%s`: %s\n", at, n.Text)
		}
	}
	p.writeProblems(&b)
	b.WriteString("\n## Then\n\n    go mod tidy\n    mysdk generate\n    go build ./... && go vet ./...\n    mysdk test\n")
	if len(p.General) > 0 {
		b.WriteString("\n## To know\n\n")
	}
	for _, n := range p.General {
		fmt.Fprintf(&b, "- %s\n", n.Text)
	}
	var dropped, moved []Entry
	for _, e := range p.Files {
		switch {
		case e.Status == Dropped:
			dropped = append(dropped, e)
		case e.From != "":
			moved = append(moved, e)
		}
	}
	if len(moved) > 0 {
		b.WriteString("\n## Moved\n\n| from | to |\n|---|---|\n")
	}
	for _, e := range moved {
		fmt.Fprintf(&b, "| %s | %s |\n", e.From, e.Path)
	}
	writeDropped(&b, dropped)
	return []byte(b.String())
}

// writeProblems lists what does not compile, and what breaks objects.
func (p *Plan) writeProblems(b *strings.Builder) {
	if len(p.Problems) > 0 {
		fmt.Fprintf(b, "\n## Does not compile\n\nThe compiler's errors (`go vet ./...`), when the project was migrated:\n\n")
	}
	for _, c := range p.Problems {
		fmt.Fprintf(b, "- [ ] `%s`: %s%s\n", c.At(), c.Text, c.because())
	}
	if len(p.Breaks) > 0 {
		fmt.Fprintf(b, "\n## Breaks objects\n\nThe CRDs were other ones before. Objects that are stored, or those who write them, may depend on these:\n\n")
	}
	for _, c := range p.Breaks {
		fmt.Fprintf(b, "- [ ] `%s`: %s\n", c.At(), c.Text)
	}
}

// lacksMethod is what the compiler says wherever a value of a type is passed that
// lacks a method.
var lacksMethod = lazy.Delayed(`\S+ does not implement \S+ \(.+\)$`)

// Grouped lists the errors of a type that lacks a method once, at the first
// place: a mock without one can have hundreds of them.
func Grouped(problems []Problem) []Problem {
	var out []Problem
	first, more := map[string]int{}, map[int]int{} // indexes in out by cause, and how many others there are
	for _, p := range problems {
		cause := lacksMethod.FindString(p.Text)
		if i, known := first[cause]; known && cause != "" {
			more[i]++
			continue
		}
		first[cause] = len(out)
		out = append(out, p)
	}
	for i, n := range more {
		out[i].Text += fmt.Sprintf(", and %d more like this", n)
	}
	return out
}

// because is the cause of a problem in parentheses, where it is known.
func (c Problem) because() string {
	if cause := oldapi.Cause(c.Text); cause != "" {
		return " (" + cause + ")"
	}
	return ""
}

// writeDropped lists dropped files.
func writeDropped(b *strings.Builder, dropped []Entry) {
	if len(dropped) == 0 {
		return
	}
	b.WriteString("\n## Dropped\n\n| file | why |\n|---|---|\n")
	for _, e := range dropped {
		fmt.Fprintf(b, "| %s | %s |\n", e.Path, e.Notes[0].Text)
	}
}

// todoLine is a marked line for Go code.
func todoLine(format string, args ...any) string {
	return "// " + todoMark + fmt.Sprintf(format, args...)
}
