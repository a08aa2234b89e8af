package quickstart

import (
	"os"
	"strings"
	"testing"
)

// TestQuickstartDoesWhatTheReadmeSays: the commands of the README's first
// session are steps of the quickstart, word by word, so they are run for real.
func TestQuickstartDoesWhatTheReadmeSays(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var done []string
	for _, s := range steps() {
		done = append(done, strings.TrimSpace(s.what))
	}
	all := strings.Join(done, "\n") + "\n"
	_, lines, ok := strings.Cut(string(readme), "## Quickstart")
	lines, _, _ = strings.Cut(lines, "## Everyday commands")
	if !ok {
		t.Fatal("the README has no section 'Quickstart'")
	}
	found := 0
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "mysdk ") {
			continue
		}
		found++
		if !strings.Contains(all, line) {
			t.Errorf("the quickstart does not run %q", line)
		}
	}
	if found < 8 {
		t.Errorf("only %d commands found in the README's first session", found)
	}
}
