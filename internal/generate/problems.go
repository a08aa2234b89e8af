package generate

import (
	"cmp"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// problem is one finding in the sources.
type problem struct {
	file      string // relative to the root where it lies below, else absolute; may be empty
	line, col int    // from 1; 0 is unknown
	msg       string
}

func newProblem(t *tree, pos token.Position, msg string) problem {
	p := problem{file: pos.Filename, line: pos.Line, col: pos.Column, msg: msg}
	if rel, below := t.rel(pos.Filename); below && filepath.IsAbs(pos.Filename) {
		p.file = rel
	}
	return p
}

// String is the finding in the form file:line:col: message.
func (p problem) String() string {
	at := p.file
	if p.line > 0 {
		at += fmt.Sprintf(":%d", p.line)
	}
	if p.line > 0 && p.col > 0 {
		at += fmt.Sprintf(":%d", p.col)
	}
	if at == "" {
		return p.msg
	}
	return at + ": " + p.msg
}

// tidy sorts the findings and drops repeats: every generator that meets a
// broken package reports it once more.
func tidy(ps []problem) []problem {
	ps = slices.Clone(ps)
	slices.SortStableFunc(ps, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line),
			cmp.Compare(a.col, b.col), cmp.Compare(a.msg, b.msg))
	})
	return slices.Compact(ps)
}

func lines(ps []problem) (out []string) {
	for _, p := range tidy(ps) {
		out = append(out, p.String())
	}
	return out
}

// SourceError is what is wrong with the project's sources, all of it at once.
type SourceError struct {
	problems []problem
}

// Error gives each finding as file:line:col: message; more than one stand on lines of their own.
func (e *SourceError) Error() string {
	if len(e.problems) == 1 {
		return "generate: " + e.problems[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "generate: %d errors", len(e.problems))
	for _, p := range e.problems {
		b.WriteString("\n  " + strings.ReplaceAll(p.String(), "\n", "\n  "))
	}
	return b.String()
}
