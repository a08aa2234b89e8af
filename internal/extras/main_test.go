package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/host/hosttest"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	if err := write(root.Root(hosttest.New(t).Host), dir); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"share/man/man1/mysdk.1":            "mysdk - Scaffold, run, test and ship",
		"share/man/man1/mysdk-create-api.1": "--kind",
		"share/completions/mysdk.bash":      "__start_mysdk",
		"share/completions/_mysdk":          "#compdef mysdk",
		"share/completions/mysdk.fish":      "complete -c mysdk",
		"share/completions/mysdk.ps1":       "Register-ArgumentCompleter",
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.Contains(strings.ReplaceAll(string(text), `\-`, "-"), want) {
			t.Errorf("%s lacks %q: %v", file, want, err)
		}
	}
}
