package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTimesOfPackage: a package is named from the root, whose path may have a space.
func TestTimesOfPackage(t *testing.T) {
	root := filepath.Join(t.TempDir(), "check out")
	log, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	t.Setenv(logVariable, log.Name())
	dir := filepath.Join(root, "internal", "p")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if code := execTest(os.Args[0], []string{"-test.list=^$"}); code != 0 {
		t.Fatalf("the test ends with %d", code)
	}
	t.Chdir(root)
	each, err := readLog(log)
	if err != nil || len(each) != 1 || each[0].name != filepath.Join("internal", "p") || each[0].wall <= 0 {
		t.Errorf("%v, %v", each, err)
	}
}
