package cmd_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/host/hosttest"
)

// typedGuides maps the pages on guides that others have written to the scripts
// that type them.
var typedGuides = map[string]string{
	"quickstart-v0": "quickstart_v0", "getting-started-olm": "getting_started_olm", "walkthrough": "walkthrough",
	"redis": "redis", "getting-started": "getting_started",
}

// TestGuidePagesHaveScripts: each of these pages names its script, every script
// has a page, and what the tables of the pages give as today's spelling are
// commands and flags that exist.
func TestGuidePagesHaveScripts(t *testing.T) {
	scripts, err := filepath.Glob("../testdata/script/guides/*.txtar")
	if err != nil || len(scripts) != len(typedGuides) {
		t.Errorf("%d scripts for %d pages: %v", len(scripts), len(typedGuides), err)
	}
	for page, script := range typedGuides {
		data, err := os.ReadFile(filepath.Join(guidesDir, page+".md"))
		if err != nil {
			t.Fatal(err)
		}
		name := "testdata/script/guides/" + script + ".txtar"
		if _, err := os.Stat("../" + name); err != nil || !strings.Contains(string(data), "`"+name+"`") {
			t.Errorf("%s.md does not name its script %s: %v", page, name, err)
		}
	}
	shown := 0
	for _, page := range append([]string{"old-verbs"}, sortedKeys(typedGuides)...) {
		for _, code := range inlineCommands(t, page) {
			shown++
			checkShown(t, page, code)
		}
	}
	if shown < 60 {
		t.Errorf("only %d commands in the tables: are they read right?", shown)
	}
}

func sortedKeys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// inlineCommands are the commands of mysdk that the text of a page shows, without
// what it leaves out.
func inlineCommands(t *testing.T, page string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(guidesDir, page+".md"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(string(data), -1) {
		for _, part := range strings.Split(m[1], " && ") {
			part, elided := strings.ReplaceAll(part, `\|`, "|"), strings.Contains(part, "…")
			if strings.HasPrefix(part, "mysdk ") && !elided && !strings.HasSuffix(part, "--help") {
				out = append(out, part)
			}
		}
	}
	return out
}

// TestGuideCommandsRun: every command of mysdk in a block of a guide is typed by
// a script, a test here or a page that is run itself, with the same flags at least.
func TestGuideCommandsRun(t *testing.T) {
	tree := root.Root(hosttest.New(t).Host)
	var typed []shape
	for _, line := range typedCommands(t) {
		if s, ok := shapeOf(tree, line); ok {
			typed = append(typed, s)
		}
	}
	if len(typed) < 500 {
		t.Fatalf("only %d commands are typed: are the scripts read right?", len(typed))
	}
	pages, err := filepath.Glob(filepath.Join(guidesDir, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if slices.Contains(guides, strings.TrimSuffix(filepath.Base(page), ".md")) {
			continue // run block by block
		}
		for _, line := range blockCommands(t, page) {
			s, ok := shapeOf(tree, line)
			if !ok || !slices.ContainsFunc(typed, s.within) {
				t.Errorf("%s: no test runs %q", filepath.Base(page), line)
			}
		}
	}
}

// shape is a command line without its values.
type shape struct {
	path  string
	flags []string
	args  bool
}

// within reports whether other is the same command with the same flags, or more.
func (s shape) within(other shape) bool {
	return s.path == other.path && s.args == other.args &&
		!slices.ContainsFunc(s.flags, func(f string) bool { return !slices.Contains(other.flags, f) })
}

func shapeOf(tree *cobra.Command, line string) (shape, bool) {
	words := regexp.MustCompile(`(?:[^\s"']|"[^"]*"|'[^']*')+`).FindAllString(line, -1)
	if len(words) < 2 || words[0] != "mysdk" {
		return shape{}, false
	}
	c, rest, err := tree.Find(words[1:])
	if err != nil {
		return shape{}, false
	}
	s := shape{path: c.CommandPath(), args: len(rest) > 0}
	if c.DisableFlagParsing {
		return s, true
	}
	// A set of its own: parsing leaves its mark on the command's.
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	add := func(f *pflag.Flag) {
		fs.AddFlag(&pflag.Flag{Name: f.Name, Shorthand: f.Shorthand, NoOptDefVal: f.NoOptDefVal, Value: &anyValue{}})
	}
	c.LocalFlags().VisitAll(add)
	c.InheritedFlags().VisitAll(add)
	fs.Usage, fs.ParseErrorsAllowlist.UnknownFlags = func() {}, true // flags of external plugins
	if err := fs.Parse(rest); err != nil {
		return shape{}, false
	}
	fs.Visit(func(f *pflag.Flag) {
		// Which cluster it is and how long to wait is the reader's.
		if !slices.Contains([]string{"context", "timeout", "wait-time"}, f.Name) {
			s.flags = append(s.flags, f.Name)
		}
	})
	s.args = fs.NArg() > 0
	return s, true
}

// anyValue takes what it is given.
type anyValue struct{ text string }

func (v *anyValue) String() string     { return v.text }
func (v *anyValue) Set(s string) error { v.text = s; return nil }
func (v *anyValue) Type() string       { return "any" }

// typedCommands are the lines of all scripts, and of the pages that are run.
func typedCommands(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir("../testdata/script", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		for line := range strings.Lines(string(data)) {
			if _, command, ok := strings.Cut(line, "mysdk "); ok && !strings.HasPrefix(line, "#") {
				command, _, _ = strings.Cut(command, " &")
				out = append(out, "mysdk "+strings.TrimSpace(command))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range guides {
		out = append(out, blockCommands(t, filepath.Join(guidesDir, page+".md"))...)
	}
	return append(out, testedCommands(t)...)
}

// testedCommands are the lines of this package's tests whose texts, one after
// the other, may be a command line.
func testedCommands(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`"([^"\\]*)"`)
	var out []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			words := []string{"mysdk"}
			for _, m := range text.FindAllStringSubmatch(line, -1) {
				words = append(words, m[1])
			}
			if len(words) > 2 {
				out = append(out, strings.Join(words, " "))
			}
		}
	}
	return out
}

// blockCommands are the commands of mysdk in the blocks of a page.
func blockCommands(t *testing.T, page string) []string {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	fenced := false
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		code, _, _ := strings.Cut(strings.TrimSpace(line), "  #")
		if (fenced || strings.HasPrefix(line, "    ")) && strings.HasPrefix(code, "mysdk ") {
			out = append(out, strings.TrimSpace(code))
		}
	}
	return out
}
