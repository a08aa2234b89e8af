package explore

import (
	"encoding/xml"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

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
	for _, check := range Checks() {
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
	for _, check := range Checks() {
		rules = append(rules, sarif.Rule{ID: check[0], Text: check[1]})
	}
	var results []sarif.Result
	for _, f := range r.Findings {
		file, line, ok := position(f.Frames)
		if ok {
			file = path.Join(dir, file)
		} else {
			file, line = "", 0
		}
		results = append(results, sarif.Result{
			Rule: f.Check, Level: "error", Text: f.Kind + ": " + f.Title + "\n" + f.detail(), File: file, Line: line,
			Fingerprints: map[string]string{"plan/v1": f.ID},
		})
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
