package relayout

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
)

// ourMoves are the packages of a project that gets the layout by group.
func ourMoves() map[string]Package {
	return map[string]Package{
		"example.com/op/api/v1":              {Path: "example.com/op/api/cache/v1", OldName: "v1", Name: "v1"},
		"example.com/op/internal/controller": {Path: "example.com/op/internal/controller/cache", OldName: "controller", Name: "cache"},
	}
}

func TestRewrite_Imports(t *testing.T) {
	tests := map[string]struct {
		aliases   map[string]string
		src, want string
	}{
		"nothing of it": {
			nil,
			"package x\n\nimport \"example.com/op/api/v1/more\"\n\nvar _ = more.X\n",
			"package x\n\nimport \"example.com/op/api/v1/more\"\n\nvar _ = more.X\n",
		},
		"the name stays": {
			nil,
			"package x\n\nimport cachev1 \"example.com/op/api/v1\" // why\n\nvar _ = cachev1.X\n",
			"package x\n\nimport cachev1 \"example.com/op/api/cache/v1\" // why\n\nvar _ = cachev1.X\n",
		},
		"no name needed": {
			nil,
			"package x\n\nimport \"example.com/op/api/v1\"\n\nvar _ = v1.X\n",
			"package x\n\nimport \"example.com/op/api/cache/v1\"\n\nvar _ = v1.X\n",
		},
		"the package has another name now": {
			nil,
			"package x\n\nimport \"example.com/op/internal/controller\"\n\nvar _ = controller.X\n",
			"package x\n\nimport controller \"example.com/op/internal/controller/cache\"\n\nvar _ = controller.X\n",
		},
		"a new name in the whole file": {
			map[string]string{"example.com/op/internal/controller/cache": "cachecontroller"},
			"package x\n\nimport (\n\t\"example.com/op/internal/controller\"\n)\n\nfunc f() any {\n\ttype t struct{ controller int }\n\t_ = t{controller: 1}.controller\n\treturn []any{controller.X, &controller.Y{}}\n}\n",
			"package x\n\nimport (\n\tcachecontroller \"example.com/op/internal/controller/cache\"\n)\n\nfunc f() any {\n\ttype t struct{ controller int }\n\t_ = t{controller: 1}.controller\n\treturn []any{cachecontroller.X, &cachecontroller.Y{}}\n}\n",
		},
		"something else of that name": {
			map[string]string{"example.com/op/internal/controller/cache": "cachecontroller"},
			"package x\n\nimport \"example.com/op/internal/controller\"\n\nvar _ = controller.X\n\nfunc f(controller struct{ X int }) int { return controller.X }\n",
			"package x\n\nimport cachecontroller \"example.com/op/internal/controller/cache\"\n\nvar _ = cachecontroller.X\n\nfunc f(controller struct{ X int }) int { return controller.X }\n",
		},
		"another name replaced": {
			map[string]string{"example.com/op/api/cache/v1": "cachev1"},
			"package x\n\nimport api \"example.com/op/api/v1\"\n\nvar _ = api.X\n",
			"package x\n\nimport cachev1 \"example.com/op/api/cache/v1\"\n\nvar _ = cachev1.X\n",
		},
		"for its effects, and into the file": {
			map[string]string{"example.com/op/api/cache/v1": "cachev1"},
			"package x\n\nimport _ \"example.com/op/api/v1\"\nimport . \"example.com/op/internal/controller\"\n",
			"package x\n\nimport _ \"example.com/op/api/cache/v1\"\nimport . \"example.com/op/internal/controller/cache\"\n",
		},
		"imports are sorted again": {
			nil,
			"package x\n\nimport (\n\t\"example.com/op/api/d\"\n\t\"example.com/op/api/v1\"\n)\n",
			"package x\n\nimport (\n\t\"example.com/op/api/cache/v1\"\n\t\"example.com/op/api/d\"\n)\n",
		},
		"what was not formatted stays so": {
			nil,
			"package x\nimport   `example.com/op/api/v1`\nvar _=v1.X\n",
			"package x\nimport   \"example.com/op/api/cache/v1\"\nvar _=v1.X\n",
		},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Rewrite{Packages: ourMoves(), Aliases: c.aliases}.Go("x.go", []byte(c.src))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestRewrite_Moved(t *testing.T) {
	deeper := Package{Path: "example.com/op/internal/controller/cache", OldName: "controller", Name: "cache"}
	tests := map[string]struct {
		file      string
		climb     int
		src, want string
	}{
		"package clause":               {"x.go", 1, "package controller\n", "package cache\n"},
		"external test":                {"x_test.go", 1, "package controller_test\n", "package cache_test\n"},
		"another package in it":        {"x.go", 1, "package main\n", "package main\n"},
		"_test outside of a test":      {"x.go", 1, "package controller_test\n", "package controller_test\n"},
		"paths, deeper":                {"x_test.go", 1, "package controller\n\nconst r = \"../..\"\n", "package cache\n\nconst r = \"../../..\"\n"},
		"paths, less deep":             {"x_test.go", -1, "package controller\n\nconst r = `../../../config`\n", "package cache\n\nconst r = `../../config`\n"},
		"the last one stays":           {"x_test.go", -2, "package controller\n\nconst r = \"../x\"\n", "package cache\n\nconst r = \"../x\"\n"},
		"paths in code are not files'": {"x.go", 1, "package controller\n\nconst r = \"../..\"\n", "package cache\n\nconst r = \"../..\"\n"},
		"Join, deeper":                 {"x_test.go", 2, "package controller\n\nvar r = filepath.Join(\"..\", \"..\", \"a\", \"..\")\n", "package cache\n\nvar r = filepath.Join(\"..\", \"..\", \"..\", \"..\", \"a\", \"..\")\n"},
		"Join, less deep":              {"x_test.go", -1, "package controller\n\nvar r = path.Join(\"..\", \"..\", \"a\")\n", "package cache\n\nvar r = path.Join(\"..\", \"a\")\n"},
		"Join, the last one stays":     {"x_test.go", -2, "package controller\n\nvar r = path.Join(\"..\", \"..\")\n", "package cache\n\nvar r = path.Join(\"..\")\n"},
		"Join of others":               {"x_test.go", 1, "package controller\n\nvar r = strings.Join(\"..\", \"a\")\n", "package cache\n\nvar r = strings.Join(\"..\", \"a\")\n"},
		"Join that leads nowhere else": {"x_test.go", 1, "package controller\n\nvar r = filepath.Join(root, \"..\")\n", "package cache\n\nvar r = filepath.Join(root, \"..\")\n"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Rewrite{Own: &deeper, Climb: c.climb}.Go(c.file, []byte(c.src))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestRewrite_SyntaxError(t *testing.T) {
	_, err := Rewrite{Packages: ourMoves()}.Go("a/x.go", []byte("package x\n\nimport \"example.com/op/api/v1\" oops\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "a/x.go:3:") || clierr.HintOf(err) == "" {
		t.Errorf("got %v", err)
	}
	// A file that has nothing to do with it need not parse.
	if _, err := (Rewrite{Packages: ourMoves()}).Go("a/x.go", []byte("pakage x")); err != nil {
		t.Error(err)
	}
}

// FuzzRewrite: what parses before parses afterwards, and imports nothing that
// has moved.
func FuzzRewrite(f *testing.F) {
	f.Add("package x\n\nimport \"example.com/op/api/v1\"\n\nvar _ = v1.X\n", 1)
	f.Add("package controller_test\n\nimport . \"example.com/op/internal/controller\"\n\nvar x = filepath.Join(\"..\", `../a`)\n", -1)
	f.Fuzz(func(t *testing.T, src string, climb int) {
		if climb > 5 || climb < -5 {
			return
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "x_test.go", src, 0); err != nil {
			return
		}
		own := Package{OldName: "controller", Name: "cache"}
		got, err := Rewrite{Packages: ourMoves(), Own: &own, Climb: climb}.Go("x_test.go", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		tree, err := parser.ParseFile(token.NewFileSet(), "x_test.go", got, 0)
		if err != nil {
			t.Fatalf("%v\n%s", err, got)
		}
		for _, spec := range tree.Imports {
			if _, old := ourMoves()[strings.Trim(spec.Path.Value, "\"`")]; old {
				t.Errorf("still imports %s", spec.Path.Value)
			}
		}
	})
}
