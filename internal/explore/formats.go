package explore

import (
	"cmp"
	"crypto/sha256"
	_ "embed" // the page is a file
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"html/template"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/recording"
	"github.com/example/mysdk/internal/sarif"
)

// WriteJUnit writes a report in the format of JUnit, which CI systems show: a
// test case for each check, which fails with its findings.
func WriteJUnit(w io.Writer, r Report) error {
	type failure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	type testCase struct {
		Name     string    `xml:"name,attr"`
		Class    string    `xml:"classname,attr"`
		Failures []failure `xml:"failure"`
	}
	suite := struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Seconds  float64    `xml:"time,attr"`
		Cases    []testCase `xml:"testcase"`
	}{Name: "mysdk explore", Seconds: r.Took.Seconds()}
	for _, check := range Checks {
		c := testCase{Name: check[0], Class: "explore"}
		for _, f := range r.Findings {
			if f.Check == check[0] {
				c.Failures = append(c.Failures, failure{f.Kind + ": " + f.Title, f.detail()})
			}
		}
		suite.Tests++
		suite.Failures += min(len(c.Failures), 1)
		suite.Cases = append(suite.Cases, c)
	}
	data, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, data)
	return err
}

// detail is all of a finding but its title, for people.
func (f Finding) detail() string {
	var b strings.Builder
	writeFinding(&b, f)
	return b.String()
}

// SARIF is a report in the Static Analysis Results Interchange Format 2.1.0
// (OASIS), for encoding as JSON. A finding is at the line that wrote last; dir is the
// project's directory in its repository.
func SARIF(r Report, dir string) sarif.Log {
	var rules []sarif.Rule
	for _, check := range Checks {
		rules = append(rules, sarif.Rule{ID: check[0], Text: check[1]})
	}
	var results []sarif.Result
	for _, f := range r.Findings {
		one := sarif.Result{
			Rule: f.Check, Level: "error", Text: f.Kind + ": " + f.Title + "\n" + f.detail(),
			Fingerprints: map[string]string{"plan/v1": f.ID},
		}
		if file, line, ok := position(f.Frames); ok {
			one.File, one.Line = path.Join(dir, file), line
		}
		results = append(results, one)
	}
	return sarif.New("mysdk explore", "", rules, results)
}

// position splits the innermost frame.
func position(frames []string) (file string, line int, ok bool) {
	if len(frames) == 0 || !recording.InProject(frames[0]) {
		return "", 0, false
	}
	file, rest, _ := strings.Cut(frames[0], ":")
	line, err := strconv.Atoi(rest)
	return file, line, err == nil && line > 0
}

// differencesShown bounds how many differences of a finding are listed.
const differencesShown = 6

// WriteText writes a report for people. Write errors are w's to keep.
func WriteText(w io.Writer, r Report) {
	for i, f := range r.Findings {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s %s: %s\n", f.Kind, f.Check, f.Title)
		writeFinding(w, f)
	}
	if len(r.Findings) > 0 {
		fmt.Fprintln(w)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(w, "Note: %s\n", note)
	}
	fmt.Fprintln(w, r.summary())
}

func (r Report) summary() string {
	return fmt.Sprintf("trials: %d in %s, %d with a fault; changes: %d; findings: %d; seed %d; %s",
		r.Trials, r.Took.Round(time.Second), r.Faults, r.Changes, len(r.Findings), r.Seed, r.ending())
}

// ending says why an exploration ended, and what it has left out.
func (r Report) ending() string {
	switch r.Ended {
	case EndedDone:
		return "nothing left to try"
	case EndedTime:
		return fmt.Sprintf("out of time, with %d left to try", r.Left)
	}
	return fmt.Sprintf("%s, with %d left to try", r.Ended, r.Left)
}

// writeFinding writes how to see a finding, what differs, and where to look.
func writeFinding(w io.Writer, f Finding) {
	for _, line := range f.Lines() {
		fmt.Fprintf(w, "  %s\n", line)
	}
	for n, d := range f.Differences {
		if n == differencesShown {
			fmt.Fprintf(w, "     … and %d more\n", len(f.Differences)-n)
			break
		}
		fmt.Fprintf(w, "     %s\n", d)
	}
	if len(f.Frames) > 0 {
		at := map[string]string{Exits: "panics at", Forbidden: "asked for at"}[f.Check]
		fmt.Fprintf(w, "     %s %s\n", cmp.Or(at, "last written at"), strings.Join(f.Frames, ", called from "))
	}
	fmt.Fprintf(w, "     %s; again: mysdk explore --replay %s\n", f.Seen(), f.ID)
}

// Seen says how often the finding was seen.
func (f Finding) Seen() string {
	s := fmt.Sprintf("seen %d of %d times", f.Confirmed, f.Tries)
	if f.Unconfirmed {
		s += ", with no time to confirm it"
	}
	return s
}

// Lines are the steps of the finding's plan, numbered.
func (f Finding) Lines() []string {
	var list []string
	for n := range f.Plan.Steps {
		list = append(list, fmt.Sprintf("%d. %s", n+1, Plan{Steps: f.Plan.Steps[n : n+1], Fault: f.Plan.faultAt(n)}))
	}
	return list
}

// faultAt is the plan's fault if it is for step n, as of a plan of that step
// alone.
func (p Plan) faultAt(n int) *Fault {
	if p.Fault == nil || p.Fault.Step != n {
		return nil
	}
	f := *p.Fault
	f.Step = 0
	return &f
}

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
