package cmd_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/host/hosttest"
)

// pages are the texts that show commands.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"../README.md", "../docs/*.md", "../docs/guides/*.md", "../docs/adr/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, files...)
	}
	return all
}

// TestDocsShowRealCommands: every line of code in README and docs that begins
// with mysdk names a command and flags that exist, every make target exists,
// and every link to a file leads somewhere.
func TestDocsShowRealCommands(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	commands := 0
	for _, page := range pages(t) {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		fenced := false
		for line := range strings.Lines(string(data)) {
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
			}
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				if fenced {
					break // code
				}
				if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
					t.Errorf("%s: link to %s: %v", page, m[1], err)
				}
			}
			code := strings.TrimSpace(line)
			if !fenced && !strings.HasPrefix(line, "    ") {
				continue
			}
			code, _, _ = strings.Cut(code, "  #")
			if target, ok := strings.CutPrefix(code, "make "); ok && filepath.Base(page) == "README.md" && filepath.Dir(page) == ".." {
				target, _, _ = strings.Cut(strings.TrimSpace(target), " ")
				if !strings.Contains(string(makefile), "\n"+target+":") {
					t.Errorf("%s: no make target %q", page, target)
				}
			}
			if strings.HasPrefix(code, "mysdk ") {
				commands++
				checkShown(t, page, code)
			}
		}
	}
	if commands < 10 {
		t.Errorf("only %d commands found: are the pages read right?", commands)
	}
}

// checkShown parses a command line that a page shows.
func checkShown(t *testing.T, page, line string) {
	t.Helper()
	tree := root.Root(hosttest.New(t).Host)
	words := regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`).FindAllString(line, -1)
	if i := slices.Index(words, ">"); i > 0 {
		words = words[:i] // the rest is the shell's
	}
	found, rest, err := tree.Find(words[1:])
	if err != nil {
		t.Errorf("%s: %q: %v", page, line, err)
		return
	}
	if found.DisableFlagParsing {
		return
	}
	if err := found.ParseFlags(rest); err != nil {
		t.Errorf("%s: %q: %v", page, line, err)
		return
	}
	if err := found.ValidateArgs(found.Flags().Args()); err != nil {
		t.Errorf("%s: %q: %v", page, line, err)
	}
}
