package cmd_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/host/hosttest"
)

const referenceDir = "../docs/reference"

// TestReference holds docs/reference to the commands; -update rewrites it.
func TestReference(t *testing.T) {
	w := hosttest.New(t)
	want := map[string]string{}
	render(t, root.Root(w.Host), want)
	if *update {
		if err := os.RemoveAll(referenceDir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(referenceDir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range want {
			if err := os.WriteFile(filepath.Join(referenceDir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if d := cmp.Diff(want, hosttest.Snapshot(t, referenceDir)); d != "" {
		t.Errorf("docs/reference is out of date, rewrite it with -update (-want +got):\n%s", d)
	}
}

// withoutCompletion is the link to cobra's own command, which has no page.
var withoutCompletion = regexp.MustCompile(`(?m)^\* \[mysdk completion\].*\n`)

// render puts a page for c and one for each command below it into pages.
func render(t *testing.T, c *cobra.Command, pages map[string]string) {
	t.Helper()
	// Commands that the help leaves out have their pages too.
	if !c.IsAvailableCommand() && !c.Hidden && c.HasParent() || c.Name() == "completion" {
		return
	}
	c.DisableAutoGenTag = true
	c.InitDefaultHelpFlag()
	var page bytes.Buffer
	if err := doc.GenMarkdown(c, &page); err != nil {
		t.Fatal(err)
	}
	pages[strings.ReplaceAll(c.CommandPath(), " ", "_")+".md"] = withoutCompletion.ReplaceAllString(page.String(), "")
	for _, sub := range c.Commands() {
		render(t, sub, pages)
	}
}

// TestHelpIsComplete: every command says what it does and shows a real example.
func TestHelpIsComplete(t *testing.T) {
	w := hosttest.New(t)
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Name() == "completion" || c.Name() == "help" {
			return
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: the short help is %q: one line without a full stop", c.CommandPath(), c.Short)
		}
		if !strings.Contains(c.Example, "mysdk ") {
			t.Errorf("%s has no example", c.CommandPath())
		}
		if !c.DisableFlagParsing { // kubectl's help is another program's
			if code := root.Main(t.Context(), w.Host, append(strings.Fields(c.CommandPath())[1:], "--help")); code != 0 {
				t.Errorf("%s --help exits with %d: %s", c.CommandPath(), code, w.Err)
			}
		}
		for line := range strings.Lines(c.Example) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "mysdk ") {
				checkShown(t, c.CommandPath(), line)
			}
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root.Root(w.Host))
}
