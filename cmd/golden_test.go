package cmd_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/host/hosttest"
)

// goldenCases lists the folders of testdata/golden.
func goldenCases(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("../testdata/golden/*/cmd.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden cases: %v", err)
	}
	var cases []string
	for _, f := range files {
		cases = append(cases, filepath.Dir(f))
	}
	return cases
}

// scaffold types the commands of a case's cmd.txt in an empty directory named
// after it and returns the world they ran in.
func scaffold(t testing.TB, dir string) *hosttest.World {
	t.Helper()
	w := hosttest.New(t)
	w.Dir = filepath.Join(w.Dir, filepath.Base(dir))
	if err := os.Mkdir(w.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join(dir, "cmd.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(script)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		args := strings.Fields(line)
		if args[0] != "mysdk" {
			t.Fatalf("%s: not a command of mysdk: %s", dir, line)
		}
		if code := root.Main(t.Context(), w.Host, args[1:]); code != 0 {
			t.Fatalf("%s: exit code %d\n%s", line, code, w.Err)
		}
	}
	return w
}

// shortGolden are the trees of the short lane, which take the least time for
// most of the templates.
var shortGolden = []string{"controller-only", "memcached", "multigroup", "webhook-self"}

// TestGolden compares whole scaffolded trees with testdata/golden; -update
// rewrites them.
func TestGolden(t *testing.T) {
	for _, dir := range goldenCases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			if testing.Short() && !*update && !slices.Contains(shortGolden, filepath.Base(dir)) {
				t.Skip("loads the packages of many projects")
			}
			t.Parallel()
			w := scaffold(t, dir)
			want := filepath.Join(dir, "want")
			if *update {
				if err := os.RemoveAll(want); err != nil {
					t.Fatal(err)
				}
				if err := os.CopyFS(want, os.DirFS(w.Dir)); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(hosttest.Snapshot(t, want), hosttest.Snapshot(t, w.Dir)); d != "" {
				t.Errorf("tree (-want +got), rewrite it with -update:\n%s", d)
			}
		})
	}
}
