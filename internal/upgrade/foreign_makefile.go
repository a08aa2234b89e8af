package upgrade

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/rewrite/merge3"
)

// foreignMakefile takes our Makefile, with the targets and variables of the
// project's that the other tool did not write, and those that they need. What
// only the other tool needed, such as its way to fetch tools, goes. Where the
// user has changed what both have, his stays.
func (p *planner) foreignMakefile(mine, after []byte) error {
	ours, theirs := merge3.Makefile(p.sparingE2E(after)), merge3.Makefile(mine)
	if theirs == nil && len(bytes.TrimSpace(mine)) > 0 {
		p.note("Makefile", Kept, "a conditional or definition in it has no end")
		return nil
	}
	theirs = slices.DeleteFunc(theirs, func(s merge3.Section) bool { return strings.TrimSpace(s.String()) == "" })
	known := func(s merge3.Section) bool {
		return p.foreign.match("Makefile#"+s.Key, p.foreign.facts.normal("Makefile", []byte(s.String()))) != nil
	}
	merged, wanted := slices.Clone(ours), slices.Clone(ours)
	used := p.used(theirs, func(s merge3.Section) bool { return !known(s) }, func(s merge3.Section) bool { return merge3.Find(ours, s.Key) == nil })
	for _, t := range theirs {
		switch s := merge3.Find(merged, t.Key); {
		case s == nil && used[t.Key]:
			merged, wanted = append(merged, t), append(wanted, t)
		case s != nil && !known(t) && !merge3.Same(&t, s):
			*s = under(heading(*s), t)
			if strings.HasPrefix(t.Key, "variable ") { // a value of the user's is just that
				*merge3.Find(wanted, t.Key) = *s
			}
		}
	}
	return p.write(File{Path: "Makefile", Action: Updated}, []byte(merge3.Join(merged)), []byte(merge3.Join(wanted)))
}

// sparingE2E is our Makefile for the project. In one of ours nothing in
// test/e2e runs without being asked for; other tools' Makefiles left that
// directory out, and its tests install and remove things in the cluster of the
// user's kubeconfig.
func (p *planner) sparingE2E(makefile []byte) []byte {
	if p.unaskedE2E() == "" {
		return makefile
	}
	return bytes.Replace(makefile, []byte(" test $(ARGS) ./...\n"), []byte(" test $(ARGS) $$(go list ./... | grep -v /test/e2e)\n"), 1)
}

// unaskedE2E is the first test in test/e2e that any go test of the whole
// project runs, because no build constraint keeps it out.
func (p *planner) unaskedE2E() string {
	entries, err := p.Files.ReadDir(p.path("test/e2e"))
	if err != nil {
		return "" // there are none
	}
	for _, e := range entries {
		name := path.Join("test/e2e", e.Name())
		if strings.HasSuffix(name, "_test.go") && !buildConstraint.Match(p.read(name)) {
			return name
		}
	}
	return ""
}

var buildConstraint = lazy.Delayed(`(?m)^//go:build `)

// heading is the line by which 'make help' groups targets, where a section
// begins with one.
func heading(s merge3.Section) string {
	first, _, _ := strings.Cut(strings.TrimLeft(s.Head, "\n"), "\n")
	if !strings.HasPrefix(first, "##@") {
		return ""
	}
	return first
}

// under puts a section under a heading, unless it has one.
func under(heading string, s merge3.Section) merge3.Section {
	if heading != "" && !strings.Contains(s.Head, "##@") {
		s.Head = "\n" + heading + "\n\n" + strings.TrimLeft(s.Head, "\n")
	}
	return s
}

// used are the sections that are the user's own, and those of the spare ones
// for which something asks that stays: a target of the user's, a workflow, a
// script, a test, or another one of them.
func (p *planner) used(theirs []merge3.Section, own, spare func(merge3.Section) bool) map[string]bool {
	used := map[string]bool{}
	var text strings.Builder
	files := []string{".gitlab-ci.yml", "Dockerfile", "test/e2e/e2e_test.go", "test/e2e/e2e_suite_test.go"}
	for _, dir := range []string{".github/workflows", "hack"} {
		entries, _ := p.Files.ReadDir(p.path(dir)) // one that cannot be read calls nothing
		for _, e := range entries {
			files = append(files, path.Join(dir, e.Name()))
		}
	}
	for _, name := range files {
		text.Write(p.read(name))
		if strings.HasSuffix(name, "_test.go") && len(p.read(name)) > 0 {
			text.WriteString("\ntest-e2e\n")
		}
	}
	// What is needed may need more: go on until nothing is found.
	for more := true; more; {
		more = false
		for _, s := range theirs {
			_, name, _ := strings.Cut(s.Key, " ")
			if !used[s.Key] && (own(s) || spare(s) && mentions(text.String(), name)) {
				used[s.Key], more = true, true
				text.WriteString(s.String())
			}
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
