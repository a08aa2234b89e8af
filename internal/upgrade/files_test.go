package upgrade

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// baseline is a change of what the older version wrote.
func (s *shop) baseline(change func(Baseline) Baseline) {
	s.t.Helper()
	b := change(older(s.t)[1])
	data, err := b.Archive()
	if err != nil {
		s.t.Fatal(err)
	}
	s.opts.Further = mapOf(midVersion, data)
}

// A text for people is his who changed it: there is no reject of it.
func TestUpgrade_ReadMe(t *testing.T) {
	s := newShop(t)
	lines := strings.SplitAfter(s.read("README.md"), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "##") {
			lines[i] = "## Mine\n"
		}
		lines[i] = strings.ReplaceAll(lines[i], "@"+midVersion, "@mine")
	}
	mine := strings.Join(lines, "")
	s.write("README.md", mine)
	p := s.upgrade()
	if p.actions()["README.md"] != Kept || len(p.Conflicts()) > 0 {
		t.Errorf("%v", p.Files)
	}
	if d := cmp.Diff(mine, s.read("README.md")); d != "" {
		t.Errorf("(-mine +now):\n%s", d)
	}
}

// A file for the output of generators comes where the scaffold did not have it
// before, and what is there is left to them.
func TestUpgrade_Generated(t *testing.T) {
	const role = "config/rbac/role.yaml"
	tests := map[string]struct {
		was, there bool
		want       Action
	}{
		"new to the scaffold":          {false, false, New},
		"new, and there":               {false, true, ""},
		"removed by the user":          {true, false, ""},
		"as the generators left it":    {true, true, ""},
		"removed, and new once before": {true, false, ""},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.baseline(func(b Baseline) Baseline {
				if tree := templateTree(t); !c.was {
					delete(tree, "init/"+role+".tmpl")
					b.Templates = tree
				}
				return b
			})
			if c.there {
				s.write(role, "kind: Role\nmine: true\n")
			} else {
				s.remove(role)
			}
			p := s.upgrade()
			if got := p.actions()[role]; got != c.want {
				t.Errorf("it is %q, want %q", got, c.want)
			}
			if now, there := s.files()[role]; there != (c.there || c.want == New) || c.there && now != "kind: Role\nmine: true\n" {
				t.Errorf("there: %v\n%s", there, now)
			}
		})
	}
}

// What is wired into a main.go ends where its block ends, and a block that is
// something else is the user's.
func TestBuilderEnd(t *testing.T) {
	tests := map[string]struct {
		text string
		want int
	}{
		"a controller":          {"\tif err := (&controller.R{\n\t\tA: 1,\n\t}).SetupWithManager(mgr); err != nil {\n\t\tos.Exit(1)\n\t}\n\tnext()\n", 5},
		"a webhook":             {"\tif os.Getenv(\"ENABLE_WEBHOOKS\") != \"false\" {\n\t\tif err := v1.SetupTWebhookWithManager(mgr); err != nil {\n\t\t}\n\t}\n", 4},
		"of a type itself":      {"\tif err = (&crewv1.T{}).SetupWebhookWithManager(mgr); err != nil {\n\t}\n", 2},
		"something else":        {"\tif err := (&T{}).Run(); err != nil {\n\t\treturn\n\t}\n", 0},
		"without an end":        {"\tif err := (&T{}).SetupWithManager(mgr); err != nil {\n", 0},
		"no beginning":          {"\tfmt.Println()\n", 0},
		"at the wrong depth":    {"\t\tif err := (&T{}).SetupWithManager(mgr); err != nil {\n\t\t}\n", 0},
		"what says not to look": {"\t// nolint:goconst\n\tif os.Getenv(\"ENABLE_WEBHOOKS\") != \"false\" {\n\t\tSetupTWebhookWithManager(mgr)\n\t}\n", 4},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			if got := builderEnd(strings.SplitAfter(c.text, "\n"), 0); got != c.want {
				t.Errorf("ends at %d, want %d", got, c.want)
			}
		})
	}
}

// The notes of a plan are in the order of their places, each once.
func TestRewriter_Said(t *testing.T) {
	w := &rewriter{notes: []note{{"b.go", 10, "x"}, {"b.go", 9, "y"}, {"a.go", 20, "z"}, {"b.go", 9, "y"}}}
	if d := cmp.Diff([]string{"a.go:20: z", "b.go:9: y", "b.go:10: x"}, w.said()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Formats are checked where the language passes the version that refuses some. A
// note says so where conflicts come before what is next.
func TestUpgrade_Formats(t *testing.T) {
	goLine := regexp.MustCompile(`(?m)^go [0-9.]+$`)
	for was, want := range map[string]bool{"go 1.22.0": true, "go 1.25.0": false} {
		for _, reject := range []bool{false, true} {
			s, table := otherTool(t, foreignProject)
			s.opts.peers = table
			s.write("go.mod", goLine.ReplaceAllString(s.read("go.mod"), was))
			if reject {
				s.write("Makefile.rej", "mine\n")
			}
			p := s.upgrade()
			if noted := strings.Contains(strings.Join(p.Notes, "\n"), "run 'go vet -printf -fix ./...'"); p.Formats != want || noted != (want && reject) {
				t.Errorf("%s, %v: %v, noted %q", was, reject, p.Formats, p.Notes)
			}
			if p := s.upgrade(); p.Formats {
				t.Errorf("%s, %v: also the second time", was, reject)
			}
		}
	}
}

// What go.mod says, or nothing where it says nothing.
func TestModuleFacts(t *testing.T) {
	for text, want := range map[string][2]string{
		"module a\n\ngo 1.24\n\nrequire " + runtimePath + " v0.19.0\n":                                                            {"v0.19.0", "v1.24"},
		"module a\n\nrequire b.c/d v1.0.0\n":                                                                                      {"", ""},
		"module a\n\nrequire " + runtimePath + " v0.22.0\n\nreplace " + runtimePath + " => " + runtimePath + " v0.19.0\n":         {"v0.19.0", ""},
		"module a\n\nrequire " + runtimePath + " v0.22.0\n\nreplace " + runtimePath + " v0.19.0 => " + runtimePath + " v0.18.0\n": {"v0.22.0", ""},
		"module a\n\nrequire " + runtimePath + " v0.22.0\n\nreplace " + runtimePath + " => ../runtime\n":                          {"", ""},
		"modul": {"", ""},
		"":      {"", ""},
	} {
		if got := [2]string{v4.RuntimeVersion([]byte(text)), language([]byte(text))}; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
