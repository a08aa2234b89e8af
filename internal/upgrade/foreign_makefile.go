package upgrade

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
)

// foreignMakefile takes our Makefile, with the targets and variables of the
// project's that the other tool did not write, and those that they need.
func (p *planner) foreignMakefile(mine, after []byte) error {
	ours, theirs := makeSections(p.sparingE2E(after)), makeSections(mine)
	if theirs == nil && len(bytes.TrimSpace(mine)) > 0 {
		p.note("Makefile", Kept, "a conditional or definition in it has no end")
		return nil
	}
	var out, conflicts []section
	own, spare := map[string]bool{}, []section{}
	for _, s := range theirs {
		switch {
		case strings.TrimSpace(s.String()) == "":
		case p.foreign.match("Makefile#"+s.key, p.foreign.facts.normal("Makefile", []byte(s.String()))) == nil:
			own[s.key] = true
		case find(ours, s.key) == nil:
			spare = append(spare, s)
		}
	}
	for _, s := range ours {
		if t := find(theirs, s.key); t != nil && own[s.key] && !same(t, &s) {
			out = append(out, under(heading(s), *t))
			if !strings.HasPrefix(s.key, "variable ") { // a value of the user's is just that
				conflicts = append(conflicts, s)
			}
			continue
		}
		out = append(out, s)
	}
	// What only the other tool needed, such as its way to fetch tools, goes.
	used := p.usedBy(theirs, own, spare)
	for _, s := range theirs {
		if find(ours, s.key) == nil && (own[s.key] || used[s.key]) {
			out = append(out, s)
		}
	}
	merged, wanted := []byte(join(out)), slices.Clone(out)
	for _, c := range conflicts {
		*find(wanted, c.key) = c
	}
	if len(conflicts) == 0 {
		p.note("Makefile", Updated, "")
		return p.tree.Write("Makefile", merged)
	}
	p.plan.Files = append(p.plan.Files, File{Path: "Makefile", Action: Conflict, Reject: "Makefile" + RejectSuffix, Detail: "targets that you have changed stay"})
	if err := p.reject("Makefile", merged, []byte(join(wanted))); err != nil {
		return err
	}
	return p.tree.Write("Makefile", merged)
}

// sparingE2E is our Makefile for the project. In one of ours nothing in
// test/e2e runs without being asked for; other tools' Makefiles left that
// directory out, and its tests install and remove things in the cluster of the
// user's kubeconfig.
func (p *planner) sparingE2E(makefile []byte) []byte {
	if _, unasked := p.e2e(); unasked == "" {
		return makefile
	}
	return bytes.Replace(makefile, []byte(" test $(ARGS) ./...\n"), []byte(" test $(ARGS) $$(go list ./... | grep -v /test/e2e)\n"), 1)
}

// e2e lists the tests in test/e2e, and the first of those that any go test of
// the whole project runs, because no build constraint keeps it out.
func (p *planner) e2e() (tests []string, unasked string) {
	entries, err := p.Files.ReadDir(p.path("test/e2e"))
	if err != nil {
		return nil, "" // there are none
	}
	for _, e := range entries {
		name := path.Join("test/e2e", e.Name())
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		tests = append(tests, name)
		if s := parseSource(name, p.read(name)); unasked == "" && s != nil && !s.constrained() {
			unasked = name
		}
	}
	return tests, unasked
}

// heading is the line by which 'make help' groups targets, where a section
// begins with one.
func heading(s section) string {
	first, _, _ := strings.Cut(strings.TrimLeft(s.head, "\n"), "\n")
	if !strings.HasPrefix(first, "##@") {
		return ""
	}
	return first
}

// under puts a section under a heading, unless it has one.
func under(heading string, s section) section {
	if heading != "" && !strings.Contains(s.head, "##@") {
		s.head = "\n" + heading + "\n\n" + strings.TrimLeft(s.head, "\n")
	}
	return s
}

// usedBy lists those of the spare sections that something which stays asks for:
// a target of the user's, a workflow, a test, or another one of them.
func (p *planner) usedBy(theirs []section, own map[string]bool, spare []section) map[string]bool {
	var text strings.Builder
	for _, s := range theirs {
		if own[s.key] {
			text.WriteString(s.String())
		}
	}
	for _, name := range []string{".github/workflows/test-e2e.yml", ".github/workflows/test-chart.yml", ".gitlab-ci.yml", "test/e2e/e2e_test.go", "test/e2e/e2e_suite_test.go"} {
		text.Write(p.read(name))
	}
	if tests, _ := p.e2e(); len(tests) > 0 {
		text.WriteString("\ntest-e2e\n")
	}
	// What is needed may need more: go on until nothing is found.
	used := map[string]bool{}
	for more := true; more; {
		more = false
		for _, s := range spare {
			_, name, _ := strings.Cut(s.key, " ")
			if used[s.key] || !mentions(text.String(), name) {
				continue
			}
			used[s.key], more = true, true
			text.WriteString(s.String())
		}
	}
	return used
}

// mentions says whether a text has a name as a word of its own. Blocks are
// named after their first line, of which the last word counts.
func mentions(text, name string) bool {
	if f := strings.Fields(name); len(f) > 0 {
		name = f[len(f)-1]
	}
	name = strings.Trim(name, "$(),")
	return name != "" && regexp.MustCompile(`(^|[^\w-])`+regexp.QuoteMeta(name)+`($|[^\w-])`).MatchString(text)
}
