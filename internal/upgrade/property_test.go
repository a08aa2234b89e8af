package upgrade

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/relayout"
	"github.com/example/mysdk/internal/rewrite/merge3"
)

// userEdit is something that a user may do to a scaffolded project.
type userEdit struct {
	name, line string // what must be there afterwards; no line: the file must be away
}

// randomEdits makes a few changes that keep every file valid.
func randomEdits(s *shop, r *rand.Rand) []userEdit {
	names := []string{}
	for name := range s.files() {
		if name != project.FileName && name != "go.sum" && !relayout.IsGenerated(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out []userEdit
	touched := map[string]bool{}
	for i := range 12 {
		name := names[r.IntN(len(names))]
		if r.IntN(8) == 0 && !touched[name] && name != "go.mod" {
			s.remove(name)
			touched[name] = true
			out = append(out, userEdit{name, ""})
			continue
		}
		if slices.Contains(out, userEdit{name, ""}) {
			continue
		}
		touched[name] = true
		line := insertLine(s, r, name, i)
		out = append(out, userEdit{name, line})
	}
	return out
}

// insertLine writes a line of the user's at a random place of a file.
func insertLine(s *shop, r *rand.Rand, name string, i int) string {
	lines := strings.SplitAfter(s.read(name), "\n")
	at := r.IntN(len(lines))
	line := fmt.Sprintf("# mine %d\n", i)
	switch {
	case path.Ext(name) == ".go":
		line = fmt.Sprintf("// mine %d\n", i)
	case name == "Makefile":
		for strings.HasPrefix(lines[at], "\t") || at > 0 && strings.HasSuffix(lines[at-1], "\\\n") {
			at-- // recipes and continued lines stay whole
		}
	case isYAML(name):
		for at > 0 && strings.HasPrefix(lines[at], " ") {
			at--
		}
		if r.IntN(2) == 0 {
			line = fmt.Sprintf("mine-%d: true\n", i)
			if strings.HasPrefix(lines[at], "- ") || len(lines) > at && lines[at] == "" || !mapping(lines) {
				line = fmt.Sprintf("# mine %d\n", i)
			}
		}
	}
	if path.Base(name) == "go.mod" || path.Ext(name) == ".txt" {
		line = fmt.Sprintf("// mine %d\n", i)
	}
	if path.Ext(name) == ".json" {
		line = "\n"
	}
	changed := strings.Join(slices.Insert(slices.Clone(lines), at, line), "")
	if !merge3.Valid(name, []byte(changed)) {
		s.write(name, strings.Join(lines, "")+"\n") // such a place is none for a line
		return strings.TrimSpace(lines[0])
	}
	s.write(name, changed)
	return strings.TrimSpace(line)
}

// mapping says whether a YAML file is one document with keys at its left.
func mapping(lines []string) bool {
	return !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "- ") || strings.HasPrefix(l, "---") })
}

// survived fails the test where an edit of the user's is gone, or a file cannot
// be parsed.
func survived(t *testing.T, edits []userEdit, before, now map[string]string) {
	t.Helper()
	for _, e := range edits {
		text, there := now[e.name]
		switch {
		case e.line == "" && there && before[e.name] == "":
			t.Errorf("%s is back", e.name)
		case e.line != "" && !strings.Contains(text, e.line):
			t.Errorf("%s has lost %q:\n%s", e.name, e.line, text)
		}
	}
	for name, text := range now {
		if !merge3.Valid(name, []byte(text)) {
			t.Errorf("%s cannot be parsed:\n%s", name, text)
		}
	}
}

// Whatever a user writes into the project survives an upgrade, what he removed
// stays away, everything can still be parsed, and a second run does nothing.
func TestUpgrade_RandomEdits(t *testing.T) {
	for seed := range hosttest.Rounds(32) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			edits := randomEdits(s, rand.New(rand.NewPCG(uint64(seed), 1)))
			before := s.files()
			p := s.upgrade()
			survived(t, edits, before, s.files())
			if again := s.upgrade(); !again.Empty() {
				t.Errorf("the second time: %v", again.Set.Paths())
			}
			for _, name := range p.Conflicts() {
				s.remove(name + RejectSuffix)
			}
			last, err := s.opts.Finish()
			if err != nil {
				t.Fatal(err)
			}
			s.commit(last.Set)
			if again := s.upgrade(); !again.Empty() || again.From != nowVersion {
				t.Errorf("after the end: from %s, %v", again.From, again.Set.Paths())
			}
		})
	}
}

// The same goes for projects of other tools, whose webhooks are rewritten, too.
func TestForeign_RandomEdits(t *testing.T) {
	for seed := range hosttest.Rounds(24) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s, table := otherTool(t, foreignProject)
			s.opts.peers = table
			s.edit("go.mod", runtimeModule+" v0.22.0", runtimeModule+" v0.15.0")
			s.write("api/v1/memcached_webhook.go", strings.ReplaceAll(shopTypes, "type Shop struct{ Size int }\n\n", ""))
			s.write("api/v1/shop_types.go", "package v1\n\ntype Shop struct{ Size int }\n")
			r := rand.New(rand.NewPCG(uint64(seed), 3))
			edits := randomEdits(s, r)
			// More of them where calls are rewritten.
			for i := range 4 {
				const name = "api/v1/memcached_webhook.go"
				if !slices.Contains(edits, userEdit{name, ""}) {
					edits = append(edits, userEdit{name, insertLine(s, r, name, 100+i)})
				}
			}
			before := s.files()
			p := s.upgrade()
			survived(t, edits, before, s.files())
			if again := s.upgrade(); !again.Empty() {
				t.Errorf("the second time: %v", again.Set.Paths())
			}
			for _, name := range p.Conflicts() {
				s.remove(name + RejectSuffix)
			}
			last, err := s.opts.Finish()
			if err != nil {
				t.Fatal(err)
			}
			s.commit(last.Set)
			if again := s.upgrade(); !again.Empty() || again.Tool != "" {
				t.Errorf("after the end: of %s, %v", again.Tool, again.Set.Paths())
			}
		})
	}
}
