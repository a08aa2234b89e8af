package migrate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReport(t *testing.T) {
	const head = "# Migration from the layout of go.kubebuilder.io/v3\n\nThis page lists what 'mysdk migrate' could not do, and what it did that you should know. Remove it when you are done.\n\n## Left to do\n\n"
	const none = "Nothing: no line is marked.\n"
	const some = "Each of these places is marked with `TODO(migrate)`, unless it is a whole file.\n\n"
	const then = "\n## Then\n\n    go mod tidy\n    mysdk generate\n    go build ./... && go vet ./...\n    mysdk test\n"
	tests := map[string]struct {
		files    []Entry
		general  []Note
		want     string
		problems []Problem
		breaks   []Problem
	}{
		"nothing": {want: head + none + then},
		"errors": {problems: []Problem{{"a.go", 1, 2, "undefined: x"}, {"go.mod", 0, 0, "no module has y"}},
			want: head + none + "\n## Does not build\n\nThe errors when the project was migrated (`go vet ./...` and `mysdk build-installer` show those that are left):\n\n- [ ] `a.go:1:2`: undefined: x\n- [ ] `go.mod`: no module has y\n" + then},
		"an error of a known cause": {problems: []Problem{{"a.go", 1, 2, "*mock does not implement client.Client (missing method Apply)"}},
			want: head + none + "\n## Does not build\n\nThe errors when the project was migrated (`go vet ./...` and `mysdk build-installer` show those that are left):\n\n- [ ] `a.go:1:2`: *mock does not implement client.Client (missing method Apply) (the interface has more or other methods today: embed a value of it in a mock, or use fake.NewClientBuilder)\n" + then},
		"breaks": {breaks: []Problem{{"a.yaml", 1, 2, "spec.x is gone"}},
			want: head + none + "\n## Breaks objects\n\nThe CRDs were other ones before. Objects that are stored, or those who write them, may depend on these:\n\n- [ ] `a.yaml:1:2`: spec.x is gone\n" + then},
		"the old main program": {files: []Entry{{Path: keptMain, Status: Needs, Notes: []Note{{3, "do it"}}}},
			want: head + some + "`" + keptMain + "` is your old main program, which is not compiled. `" + newMain + "` has what could be carried over;\ncopy to it what else you need, then delete the old one.\n\n- [ ] `" + keptMain + ":3`: do it\n" + then},
		"new, clean and changed ones are not listed": {files: []Entry{{Path: "a", Status: New}, {Path: "b", Status: Clean}, {Path: "c", Status: Changed}}, want: head + none + then},
		"a line and a file": {files: []Entry{{Path: "a.go", Status: Needs, Notes: []Note{{3, "do it"}, {9, "and that"}}}, {Path: "b", Status: Needs, Notes: []Note{{0, "look"}}}},
			want: head + some + "- [ ] `a.go:3`: do it\n- [ ] `a.go:9`: and that\n- [ ] `b`: look\n" + then},
		"what is good to know": {general: []Note{{Text: "One."}, {Text: "Two."}}, want: head + none + then + "\n## To know\n\n- One.\n- Two.\n"},
		"moved": {files: []Entry{{Path: "b", From: "a", Status: Clean}, {Path: "d", From: "c", Status: Needs, Notes: []Note{{0, "x"}}}},
			want: head + some + "- [ ] `d`: x\n" + then + "\n## Moved\n\n| from | to |\n|---|---|\n| a | b |\n| c | d |\n"},
		"dropped": {files: []Entry{{Path: "a", Status: Dropped, Notes: []Note{{Text: "no use"}}}}, want: head + none + then + "\n## Dropped\n\n| file | why |\n|---|---|\n| a | no use |\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := &Plan{From: LayoutGo3, Files: test.files, General: test.general, Problems: test.problems, Breaks: test.breaks}
			got, err := p.Report()
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestGrouped(t *testing.T) {
	lacks := func(file, use, method string) Problem {
		return Problem{file, 1, 2, "cannot use c (variable of type *test.Mock) as common.Client value in " + use + ": *test.Mock does not implement common.Client (missing method " + method + ")"}
	}
	undefined := Problem{"a.go", 9, 2, "undefined: x"}
	all := []Problem{lacks("a.go", "argument to f", "Apply"), undefined, lacks("b.go", "argument to g", "Apply"), lacks("b.go", "assignment", "Get"), undefined, lacks("c.go", "return statement", "Apply")}
	got := Grouped(all, func(i int) string { return all[i].Lacks() })
	first := lacks("a.go", "argument to f", "Apply")
	first.Text += " (and 2 more like this)"
	if d := cmp.Diff([]Problem{first, undefined, lacks("b.go", "assignment", "Get"), undefined}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestReportAgrees holds that the page has a line for each note of the plan,
// and that the lines that it names are marked.
func TestReportAgrees(t *testing.T) {
	files := goV3()
	swap(files, "main.go", "SyncPeriod: &sync", "SyncPeriod: &sync, Strange: 1")
	files["config/prod/patch.yaml"] = "- name: kube-rbac-proxy\n"
	p := mustPlan(t, files)
	got := content(p.Result)
	n := 0
	for _, e := range p.Files {
		for _, note := range e.Notes {
			if e.Status != Needs {
				continue
			}
			n++
			at := e.Path
			if note.Line > 0 {
				at = fmt.Sprintf("%s:%d", e.Path, note.Line)
				want := todoMark + note.Text
				if e.Path == keptMain {
					want, _, _ = strings.Cut(strings.TrimPrefix(note.Text, "not in "+newMain+": "), " …")
				}
				if line := strings.Split(got[e.Path], "\n")[note.Line-1]; !strings.Contains(line, want) {
					t.Errorf("%s is %q, want %q in it", at, line, note.Text)
				}
			}
			if line := "- [ ] `" + at + "`: " + note.Text + "\n"; !strings.Contains(got[ReportName], line) {
				t.Errorf("no %q in\n%s", line, got[ReportName])
			}
		}
	}
	if n == 0 || strings.Count(got[ReportName], "- [ ] ") != n {
		t.Errorf("%d notes, and the page\n%s", n, got[ReportName])
	}
	// What is marked is what a second look finds.
	left := mustPlan(t, got).Left
	if len(left) == 0 {
		t.Error("the second look found no marks")
	}
	for _, line := range left {
		at, _, _ := strings.Cut(line, ": ")
		if !strings.Contains(got[ReportName], "`"+at+"`") {
			t.Errorf("%s is not on the page", at)
		}
	}
}

func TestMarks(t *testing.T) {
	got := marks([]byte("a\n\t// TODO(migrate): one\n  # TODO(migrate): two\n// TODO: mine\n"))
	if d := cmp.Diff([]Note{{2, "one"}, {3, "two"}}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
