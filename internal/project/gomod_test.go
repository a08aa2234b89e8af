package project_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/project"
)

const scaffoldMod = "module example.com/op\n\ngo 1.26.0\n\nrequire a.b/c v1.2.0\n\nrequire d.e/f v0.3.0 // indirect\n"
const scaffoldSum = "j.k/l v1.4.0 h1:1\nj.k/l v1.4.0/go.mod h1:1\nj.k/l v1.3.0/go.mod h1:1\n"

// merge puts mine into a directory, those of the scaffold into a change, and
// merges them.
func merge(t *testing.T, mine map[string]string) (tree fileset.Tree, set fileset.Set, kept bool, err error) {
	t.Helper()
	dir := t.TempDir()
	for file, data := range mine {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for file, data := range map[string]string{"go.mod": scaffoldMod, "go.sum": scaffoldSum} {
		if err := set.Put(file, fileset.File{Data: []byte(data), New: true}); err != nil {
			t.Fatal(err)
		}
	}
	tree = fileset.Tree{FS: host.OSFiles{}, Root: dir}
	kept, err = project.MergeModule(tree, &set)
	return tree, set, kept, err
}

func TestMergeModule(t *testing.T) {
	for name, c := range map[string]struct {
		mine, want map[string]string
		kept       bool
	}{
		"fresh": {want: map[string]string{"go.mod": scaffoldMod, "go.sum": scaffoldSum}},
		"bare": {
			mine: map[string]string{"go.mod": "module example.com/op\n\ngo 1.21\n"},
			want: map[string]string{"go.mod": scaffoldMod, "go.sum": scaffoldSum},
		},
		"empty": {mine: map[string]string{"go.mod": ""}, want: map[string]string{"go.mod": scaffoldMod}},
		"with requirements": {
			mine: map[string]string{
				"go.mod": "// ours\nmodule example.com/op\n\ngo 1.27.0\n\nrequire (\n\ta.b/c v1.9.0\n\td.e/f v0.1.0 // indirect\n\tg.h/i v1.0.0\n)\n\nreplace g.h/i => ./i\n",
				"go.sum": "g.h/i v1.0.0 h1:2\nj.k/l v1.4.0 h1:1\n",
			},
			want: map[string]string{
				"go.mod": "// ours\nmodule example.com/op\n\ngo 1.27.0\n\nrequire (\n\ta.b/c v1.9.0\n\tg.h/i v1.0.0\n)\n\nrequire d.e/f v0.3.0 // indirect\n\nreplace g.h/i => ./i\n",
				"go.sum": "g.h/i v1.0.0 h1:2\nj.k/l v1.3.0/go.mod h1:1\nj.k/l v1.4.0 h1:1\nj.k/l v1.4.0/go.mod h1:1\n",
			},
			kept: true,
		},
		"with less than the build loads": {
			mine: map[string]string{"go.mod": "module example.com/op\n\ngo 1.26.0\n\nrequire j.k/l v1.3.0 // ours\n"},
			want: map[string]string{"go.mod": "module example.com/op\n\ngo 1.26.0\n\nrequire (\n\ta.b/c v1.2.0\n\tj.k/l v1.4.0 // ours\n)\n\nrequire d.e/f v0.3.0 // indirect\n"},
			kept: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree, set, kept, err := merge(t, c.mine)
			if err != nil {
				t.Fatal(err)
			}
			if kept != c.kept {
				t.Errorf("kept %v, want %v", kept, c.kept)
			}
			for file, want := range c.want {
				f, _ := set.Get(file)
				if d := cmp.Diff(want, string(f.Data)); d != "" {
					t.Errorf("%s (-want +got):\n%s", file, d)
				}
			}
			if _, err := tree.Check(set); err != nil {
				t.Errorf("the merged files are in their own way: %v", err)
			}
		})
	}
}

func TestMergeModuleRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		mine, want string
		code       int
	}{
		"broken":         {"module \"op\n", "go.mod:1:", clierr.CodeFailed},
		"another module": {"module example.com/other\n", "go.mod says module example.com/other", clierr.CodeUsage},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, _, err := merge(t, map[string]string{"go.mod": c.mine})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			if clierr.CodeOf(err) != c.code || clierr.HintOf(err) == "" {
				t.Errorf("code %d, hint %q", clierr.CodeOf(err), clierr.HintOf(err))
			}
		})
	}
}

func TestKeepTexts(t *testing.T) {
	const scaffold = "# mine\n/bin/\n*.test\n"
	for name, c := range map[string]struct {
		mine, want map[string]string
		said       string
	}{
		"none":              {nil, map[string]string{"README.md": "scaffold", ".gitignore": scaffold}, ""},
		"a text":            {map[string]string{"README.md": "mine"}, map[string]string{".gitignore": scaffold}, "kept your README.md"},
		"a line":            {map[string]string{".gitignore": "*.test"}, map[string]string{"README.md": "scaffold", ".gitignore": "*.test\n\n# Operator\n/bin/\n"}, "added to your .gitignore"},
		"all lines":         {map[string]string{".gitignore": "*.test\n/bin/\n"}, map[string]string{"README.md": "scaffold", ".gitignore": "*.test\n/bin/\n"}, ""},
		"what is not to be": {map[string]string{"README.md": "mine", ".gitignore": "!/bin/\n"}, map[string]string{".gitignore": "!/bin/\n\n# Operator\n*.test\n"}, "kept your README.md, added to your .gitignore"},
	} {
		t.Run(name, func(t *testing.T) {
			tree, set, _, err := merge(t, c.mine)
			if err != nil {
				t.Fatal(err)
			}
			for file, data := range map[string]string{"README.md": "scaffold", ".gitignore": scaffold} {
				if err := set.Put(file, fileset.File{Data: []byte(data), New: true}); err != nil {
					t.Fatal(err)
				}
			}
			said, err := project.KeepTexts(tree, &set)
			if err != nil || strings.Join(said, ", ") != c.said {
				t.Errorf("said %q, error %v", said, err)
			}
			for _, file := range []string{"README.md", ".gitignore"} {
				f, _ := set.Get(file)
				if d := cmp.Diff(c.want[file], string(f.Data)); d != "" {
					t.Errorf("%s (-want +got):\n%s", file, d)
				}
			}
		})
	}
}
