package scorecard

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// Report renders the tests and their results as text, json, yaml or junit, whose
// older name is xunit.
func Report(list v1alpha3.TestList, format string) ([]byte, error) {
	var data []byte
	var err error
	switch format {
	case "json":
		data, err = json.MarshalIndent(list, "", "  ")
		data = append(data, '\n')
	case "yaml":
		data, err = yaml.Marshal(list)
	case "junit", "xunit":
		data, err = xml.MarshalIndent(junit(list), "", "  ")
		data = fmt.Appendf(nil, "%s%s\n", xml.Header, data)
	default:
		data = []byte(plain(list))
	}
	if err != nil {
		return nil, fmt.Errorf("render the results: %w", err)
	}
	return data, nil
}

// plain is a line for each result, and below it what there is to say about it. The
// log is shown only of what did not pass.
func plain(list v1alpha3.TestList) string {
	var b strings.Builder
	for _, item := range list.Items {
		if len(item.Status.Results) == 0 {
			fmt.Fprintf(&b, "%s (%s)\n", resultName(item.Spec), labels.FormatLabels(item.Spec.Labels))
		}
		for _, r := range item.Status.Results {
			fmt.Fprintf(&b, "%-5s %s\n", strings.ToUpper(string(r.State)), label(item.Spec, r.Name))
			block(&b, "", strings.Join(r.Errors, "\n"))
			block(&b, "suggestion: ", strings.Join(r.Suggestions, "\n"))
			if r.State != v1alpha3.PassState {
				block(&b, "log: ", strings.TrimSpace(r.Log))
			}
		}
	}
	return b.String()
}

func label(t v1alpha3.TestConfiguration, name string) string {
	if suite := t.Labels["suite"]; suite != "" {
		return name + " (" + suite + ")"
	}
	return name
}

func block(b *strings.Builder, prefix, text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(b, "      %s%s\n", prefix, line)
	}
}

// The elements of a JUnit report, as CI servers read it.
type (
	junitReport struct {
		XMLName xml.Name     `xml:"testsuites"`
		Name    string       `xml:"name,attr"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Failure *junitProblem `xml:"failure,omitempty"`
		Error   *junitProblem `xml:"error,omitempty"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

func junit(list v1alpha3.TestList) junitReport {
	report := junitReport{Name: "scorecard"}
	for _, item := range list.Items {
		suite := junitSuite{Name: Name(item.Spec), Properties: []junitProperty{
			{"spec.image", item.Spec.Image}, {"spec.entrypoint", strings.Join(item.Spec.Entrypoint, " ")}, {"labels.test", item.Spec.Labels["test"]},
		}}
		for _, r := range item.Status.Results {
			suite.add(r)
		}
		report.Suites = append(report.Suites, suite)
	}
	return report
}

func (s *junitSuite) add(r v1alpha3.TestResult) {
	c := junitCase{Name: r.Name, Out: r.Log}
	problem := &junitProblem{Text: strings.Join(append(r.Errors, r.Suggestions...), "\n")}
	if len(r.Errors) > 0 {
		problem.Message = r.Errors[0]
	}
	s.Tests++
	switch r.State {
	case v1alpha3.PassState:
	case v1alpha3.FailState:
		s.Failures++
		c.Failure = problem
	default:
		s.Errors++
		c.Error = problem
	}
	s.Cases = append(s.Cases, c)
}
