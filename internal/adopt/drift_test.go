package adopt

import (
	"testing"

	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/relayout"
)

func TestDifference(t *testing.T) {
	const versioned = "metadata:\n  annotations:\n    controller-gen.kubebuilder.io/version: "
	for name, c := range map[string]struct {
		old  string // empty: there is no such file
		file fileset.File
		line int
		why  string
	}{
		"another generator": {versioned + "v0.14.0\nspec: 1\n", fileset.File{Data: []byte(versioned + "v0.23.0\nspec: 1\n")}, 3,
			"only the version of controller-gen (v0.14.0, now v0.23.0)"},
		"and more": {versioned + "v0.14.0\nspec: 1\n", fileset.File{Data: []byte(versioned + "v0.23.0\nspec: 2\n")}, 3,
			"content"},
		"content":  {"a: 1\nb: 2\n", fileset.File{Data: []byte("a: 1\nb: 3\n")}, 2, "content"},
		"longer":   {"a: 1\n", fileset.File{Data: []byte("a: 1\nb: 3\n")}, 2, "content"},
		"header":   {"/*\nCopyright 2023.\n*/\n\npackage v1\n", fileset.File{Data: []byte("/*\nCopyright 2026.\n*/\n\npackage v1\n")}, 2, "content"},
		"a pragma": {"//go:build a\npackage v1\n", fileset.File{Data: []byte("//go:build b\npackage v1\n")}, 1, "content"},
		"new":      {"", fileset.File{Data: []byte("a: 1\n")}, 1, "it does not exist yet"},
		"gone":     {"a: 1\n", fileset.File{Removed: true}, 1, "it is no longer generated"},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t)
			if c.old != "" {
				if err := w.Files.WriteFile(w.Path("f"), []byte(c.old), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var set fileset.Set
			if err := set.Put("f", c.file); err != nil {
				t.Fatal(err)
			}
			in := &inspection{tree: relayout.NewTree(w.Files, w.Dir)}
			line, why, err := in.difference("f", set)
			if err != nil || line != c.line || why != c.why {
				t.Errorf("line %d: %q, %v; want line %d: %q", line, why, err, c.line, c.why)
			}
		})
	}
}
