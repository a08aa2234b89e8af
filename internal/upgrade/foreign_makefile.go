package upgrade

import (
	"bytes"
	"path"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/rewrite/merge3"
)

// makefile is our Makefile for the project, or why the other tool's stays. It
// is one or the other: make evaluates much of a Makefile while it reads it, so
// that the same lines in another order, or without those that the user did not
// write, can mean something else.
func (p *planner) makefile() (text []byte, why string) {
	mine := p.original("Makefile")
	ours, theirs := merge3.Makefile(p.sparingE2E(p.after["Makefile"])), merge3.Makefile(mine)
	changed := theirs == nil && len(bytes.TrimSpace(mine)) > 0 // a block in it has no end
	for _, s := range theirs {
		known := p.foreign.match("Makefile#"+s.Key, p.foreign.facts.normal("Makefile", []byte(s.String()))) != nil
		changed = changed || !known && strings.TrimSpace(s.String()) != ""
		if extra.MatchString(s.Key) {
			ours = append(ours, s)
		}
	}
	if changed {
		return nil, "not as " + p.plan.Tool + " wrote it"
	}
	if name := p.caller(theirs, ours); name != "" {
		return nil, name + " calls a target that ours does not have"
	}
	return []byte(merge3.Join(ours)), ""
}

// extra matches what other tools' Makefiles have for what stays: the tests in
// test/e2e and charts. It needs nothing else that ours does not have.
var extra = lazy.Delayed(`^(target ((setup-|cleanup-)?test-e2e|install-helm|helm-[a-z]+)|variable (KIND|HELM)(_[A-Z_]+)?)(#|$)`)

// caller is a file that stays and calls a target of the project's Makefile
// which ours does not have, empty for none.
func (p *planner) caller(theirs, ours []merge3.Section) string {
	files := []string{".gitlab-ci.yml", "Dockerfile"}
	for _, dir := range []string{".github/workflows", "hack"} {
		entries, _ := p.Files.ReadDir(p.path(dir)) // one that cannot be read calls nothing
		for _, e := range entries {
			files = append(files, path.Join(dir, e.Name()))
		}
	}
	for _, name := range files {
		text := p.original(name)
		if p.foreign.match(name, p.foreign.facts.normal(name, text)) != nil {
			continue // ours takes its place
		}
		for _, call := range makeCall.FindAllString(string(text), -1) {
			for _, word := range strings.Fields(call) {
				if key := "target " + word; merge3.Find(theirs, key) != nil && merge3.Find(ours, key) == nil {
					return name
				}
			}
		}
	}
	return ""
}

// makeCall matches a command line of make.
var makeCall = lazy.Delayed(`\bmake [^\n;&|]*`)

// needsMakefile says whether a file of ours goes with our Makefile, and that
// one does not come: the file calls its targets, or is for the version of
// golangci-lint that it runs.
func (p *planner) needsMakefile(name string, after []byte) bool {
	if name != ".golangci.yml" && (strings.HasPrefix(name, "config/") || !makeCall.Match(after)) {
		return false
	}
	_, why := p.makefile()
	return why != ""
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
