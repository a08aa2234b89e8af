package explore

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/cluster/state"
)

// found is a report with one finding.
func found(t *testing.T) Report {
	sample := Sample{Object: object(t, shop), CRD: object(t, shopCRD)}
	plan := Plan{Check: Crash, Steps: sample.life().Steps, Fault: &Fault{Step: 1, Injection: state.Injection{Do: state.FaultHold, Verb: "delete", Resource: "pods"}, Restart: true}}
	f := Finding{
		ID: "3f2a9c11", Check: Crash, Kind: "Shop", Title: "Pod/p is missing", Plan: plan, Confirmed: 3, Tries: 3,
		Differences: []Difference{{Object: "Pod/p", Want: there}}, Frames: []string{"internal/controller/shop.go:7", "internal/controller/shop.go:3"},
	}
	return Report{Seed: 1, Took: time.Minute, Trials: 20, Changes: 40, Faults: 5, Left: 3, Ended: EndedTime, Findings: []Finding{f}, Notes: []string{"a note"}}
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	WriteText(&b, found(t))
	if d := cmp.Diff(`Shop crash: Pod/p is missing
  1. apply Shop/s
  2. delete Shop/s, where the operator is killed after delete pods
     Pod/p is missing
     last written at internal/controller/shop.go:7, called from internal/controller/shop.go:3
     seen 3 of 3 times; again: mysdk explore --replay 3f2a9c11

Note: a note
trials: 20 in 1m0s, 5 with a fault; changes: 40; findings: 1; seed 1; out of time, with 3 left to try
`, b.String()); d != "" {
		t.Errorf("text (-want +got):\n%s", d)
	}
}

// TestText_At: a line of code is what the check makes of it.
func TestText_At(t *testing.T) {
	for check, want := range map[string]string{Exits: "panics at shop.go:7", Forbidden: "asked for at shop.go:7", Leftovers: "last written at shop.go:7"} {
		f := Finding{Check: check, Frames: []string{"shop.go:7"}}
		if text := f.detail(); !strings.Contains(text, "     "+want+"\n") {
			t.Errorf("%s:\n%s", check, text)
		}
	}
}

func TestJUnit(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJUnit(&b, found(t)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<testsuite name="mysdk explore" tests="14" failures="1" time="60">`, `<testcase name="exits" classname="explore"></testcase>`,
		`<failure message="Shop: Pod/p is missing">`, "killed after delete pods",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
}

func TestSARIF(t *testing.T) {
	data, err := json.Marshal(SARIF(found(t), "operators/shop"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"ruleId":"crash"`, `"uri":"operators/shop/internal/controller/shop.go"`, `"startLine":7`, `"plan/v1":"3f2a9c11"`, `"version":"2.1.0"`,
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in\n%s", want, data)
		}
	}
	if data, err = json.Marshal(SARIF(Report{}, ".")); err != nil || !strings.Contains(string(data), `"results":[]`) {
		t.Errorf("without findings: %s %v", data, err)
	}
}

func TestHTML(t *testing.T) {
	r := found(t)
	r.Findings[0].Title = "<script>alert(1)</script>"
	read := func(name string) ([]byte, error) {
		if name != "internal/controller/shop.go" {
			t.Errorf("read %s", name)
		}
		return []byte(strings.Repeat("line\n", 6) + "\tr.Update(<-c)\n" + strings.Repeat("line\n", 9)), nil
	}
	var b bytes.Buffer
	if err := WriteHTML(&b, r, read); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{
		`<html lang="en">`, "default-src 'none'; style-src 'sha256-", "1 finding</h1>", "&lt;script&gt;alert(1)&lt;/script&gt;", "delete Shop/s, where the operator is killed after delete pods",
		"kind: Shop", "<td>(the object)</td><td>there</td><td>(absent)</td>", "<mark>    7     r.Update(&lt;-c)</mark>", "    3 line\n", "   11 line\n", "seen 3 of 3 times", "mysdk explore --replay 3f2a9c11", "trials: 20 in 1m0s",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	for _, bad := range []string{"<script", "http:", "https:", "   12 line", "ZgotmplZ"} {
		if strings.Contains(page, bad) {
			t.Errorf("%s in\n%s", bad, page)
		}
	}
	sum := sha256.Sum256([]byte(pageStyle))
	if _, style, _ := strings.Cut(page, "<style>"); !strings.HasPrefix(style, pageStyle+"</style>") || !strings.Contains(page, base64.StdEncoding.EncodeToString(sum[:])) {
		t.Errorf("the style is not the one that is allowed:\n%s", page)
	}
	unreadable := func(string) ([]byte, error) { return nil, errors.New("gone") }
	b.Reset()
	if err := WriteHTML(&b, r, unreadable); err != nil || strings.Contains(b.String(), "<mark>") {
		t.Errorf("without the code: %v\n%s", err, b.String())
	}
}
