package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const source = `// Package p is counted.
package p

var (
	table  = map[string]int{"a": 1}
	re     = regexp.MustCompile("x")
	_      I = T{}
	mutable int // counted
)

//go:embed templates
var files embed.FS

func f() {
	g()
}
`

func TestCodeFigures(t *testing.T) {
	dir := t.TempDir()
	for path, text := range map[string]string{
		"a/a.go":          source,
		"a/a_test.go":     "package p\n",
		"a/testdata/x.go": "not Go",
		"templates/x.go":  "not Go",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := codeFigures(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		got = append(got, r.value)
	}
	file := filepath.Join(dir, "a/a.go")
	want := []string{"16", "0.06", "18.8 %", "1, 1", "1", "16 lines, " + file, "3 lines, " + file + " f"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
