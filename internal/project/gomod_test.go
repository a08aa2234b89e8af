package project_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/project"
)

func TestMergeModule(t *testing.T) {
	const scaffold = "module example.com/op\n\ngo 1.26.0\n\nrequire a.b/c v1.2.0\n\nrequire d.e/f v0.3.0 // indirect\n"
	for name, c := range map[string]struct{ mine, sums, want, wantSums string }{
		"fresh": {"", "", scaffold, "x v1 h1:1\n"},
		"bare":  {"module example.com/op\n\ngo 1.21\n", "", scaffold, "x v1 h1:1\n"},
		"with requirements": {
			"// ours\nmodule example.com/op\n\ngo 1.27.0\n\nrequire (\n\ta.b/c v1.9.0\n\td.e/f v0.1.0 // indirect\n\tg.h/i v1.0.0\n)\n\nreplace g.h/i => ./i\n", "g v1 h1:2\nx v1 h1:1\n",
			"// ours\nmodule example.com/op\n\ngo 1.27.0\n\nrequire (\n\ta.b/c v1.9.0\n\tg.h/i v1.0.0\n)\n\nrequire d.e/f v0.3.0 // indirect\n\nreplace g.h/i => ./i\n",
			"g v1 h1:2\nx v1 h1:1\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, data := range map[string]string{"go.mod": c.mine, "go.sum": c.sums} {
				if data == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(data), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var set fileset.Set
			for file, data := range map[string]string{"go.mod": scaffold, "go.sum": "x v1 h1:1\n"} {
				if err := set.Put(file, fileset.File{Data: []byte(data), New: true}); err != nil {
					t.Fatal(err)
				}
			}
			tree := fileset.Tree{FS: host.OSFiles{}, Root: dir}
			if err := project.MergeModule(tree, &set); err != nil {
				t.Fatal(err)
			}
			for file, want := range map[string]string{"go.mod": c.want, "go.sum": c.wantSums} {
				f, _ := set.Get(file)
				if d := cmp.Diff(want, string(f.Data)); d != "" {
					t.Errorf("%s (-want +got):\n%s", file, d)
				}
			}
			if err := tree.Check(set); err != nil {
				t.Errorf("the merged files are in their own way: %v", err)
			}
		})
	}
}
