package explore

import (
	"crypto/sha256"
	_ "embed" // the page is a file
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

var (
	//go:embed report.html.tmpl
	pageText string
	//go:embed report.css
	pageStyle string
)

// around is how many lines of code are shown on each side of a line.
const around = 4

// htmlFinding is a Finding with what only the page has.
type htmlFinding struct {
	Finding
	Means string // the check
	Steps []htmlStep
	Code  []codeLine // around the innermost frame; empty where it cannot be read
}

type htmlStep struct{ Text, Object string }

type codeLine struct {
	Number string
	Text   string
	Here   bool
}

// WriteHTML writes a report as a page that needs nothing else. read reads a file
// of the project by its path there.
func WriteHTML(w io.Writer, r Report, read func(name string) ([]byte, error)) error {
	t, err := template.New("report").Parse(pageText)
	if err != nil {
		return fmt.Errorf("parse the page: %w", err)
	}
	sum := sha256.Sum256([]byte(pageStyle))
	page := struct {
		Report
		Findings  []htmlFinding
		Summary   string
		Style     template.CSS
		StyleHash string
	}{r, nil, r.summary(), template.CSS(pageStyle), "sha256-" + base64.StdEncoding.EncodeToString(sum[:])} //nolint:gosec // it is a file of ours
	means := map[string]string{}
	for _, c := range Checks {
		means[c[0]] = c[1]
	}
	for _, f := range r.Findings {
		one := htmlFinding{Finding: f, Means: means[f.Check]}
		for i, line := range f.Lines() {
			_, text, _ := strings.Cut(line, ". ")
			step := htmlStep{Text: text}
			if f.Plan.Steps[i].Do == Apply {
				data, err := yaml.Marshal(f.Plan.Steps[i].Object)
				if err != nil {
					return fmt.Errorf("print an object: %w", err)
				}
				step.Object = string(data)
			}
			one.Steps = append(one.Steps, step)
		}
		if file, line, ok := position(f.Frames); ok {
			if data, err := read(file); err == nil { // it may have changed since
				one.Code = excerpt(string(data), line)
			}
		}
		page.Findings = append(page.Findings, one)
	}
	if err := t.Execute(w, page); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// excerpt is the lines around one, counted from 1.
func excerpt(text string, line int) []codeLine {
	lines := strings.Split(text, "\n")
	if line > len(lines) {
		return nil
	}
	var list []codeLine
	for n := max(1, line-around); n <= min(len(lines), line+around); n++ {
		list = append(list, codeLine{fmt.Sprintf("%5d", n), strings.ReplaceAll(lines[n-1], "\t", "    "), n == line})
	}
	return list
}
