package upgrade

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/rewrite/merge3"
)

// randomMakefile changes another tool's Makefile as a user might: recipes that
// are longer, values that differ, and targets of his own. It says whether
// anything in it is his.
func randomMakefile(r *rand.Rand) (text string, mine bool) {
	for _, s := range merge3.Makefile([]byte(theirMakefile)) {
		part := s.String()
		switch kind, _, _ := strings.Cut(s.Key, " "); {
		case r.IntN(5) == 0: // he has removed it
			continue
		case kind == "target" && r.IntN(6) == 0:
			part, mine = strings.TrimRight(part, "\n")+fmt.Sprintf("\n\techo mine %d\n", r.IntN(100)), true
		case kind == "variable" && r.IntN(6) == 0:
			part, mine = strings.TrimRight(part, "\n")+fmt.Sprintf("-mine%d\n", r.IntN(100)), true
		}
		text += part
		if r.IntN(6) == 0 {
			text += fmt.Sprintf("\n# Mine.\n.PHONY: mine-%[1]d\nmine-%[1]d: spare\n\techo \"$(MINE)\"\n", len(text))
			mine = true
		}
	}
	return text, mine
}

// Whatever is in a Makefile of another tool: it stays as it is where anything in
// it is the user's, else ours comes, and a second time changes nothing.
func TestForeign_RandomMakefiles(t *testing.T) {
	pristine, table := otherTool(t, foreignProject)
	ours := pristine.copied(t)
	ours.opts.peers = table
	ours.upgrade()
	for seed := range hosttest.Rounds(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := pristine.copied(t)
			s.opts.peers = table
			want, mine := randomMakefile(rand.New(rand.NewPCG(uint64(seed), 5)))
			s.write("Makefile", want)
			if !mine {
				want = ours.read("Makefile")
			}
			p := s.upgrade()
			if now := s.read("Makefile"); now != want || (p.actions()["Makefile"] == Kept) != mine {
				t.Errorf("%v, want\n%s\ngot\n%s", p.Files, want, now)
			}
			if again := s.upgrade(); !again.Empty() {
				t.Errorf("the second time: %v", again.Set.Paths())
			}
		})
	}
}

// randomYAML is a tree of mappings, lists and texts.
func randomYAML(r *rand.Rand, depth int) any {
	switch kind := r.IntN(3); {
	case depth == 0 || kind == 0:
		return fmt.Sprint("v", r.IntN(4))
	case kind == 1:
		out := map[string]any{}
		for range 1 + r.IntN(3) {
			out[fmt.Sprint("k", r.IntN(6))] = randomYAML(r, depth-1)
		}
		return out
	}
	var out []any
	for range 1 + r.IntN(3) {
		out = append(out, randomYAML(r, depth-1))
	}
	return out
}

// more is the tree with a field or an entry more, somewhere, in a copy.
func more(r *rand.Rand, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			out[key] = value
		}
		for key, value := range v {
			if !isScalar(value) && r.IntN(2) == 0 {
				out[key] = more(r, value)
				return out
			}
		}
		out["another"] = "x"
		return out
	case []any:
		return append(append([]any{}, v...), "another")
	}
	return map[string]any{"another": "x"} // in place of a text
}

// A file holds itself, and what lacks nothing of it; never what has more.
func TestHolds_Random(t *testing.T) {
	text := func(v any) []byte {
		out, err := yaml.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for seed := range 300 {
		r := rand.New(rand.NewPCG(uint64(seed), 6))
		tree := randomYAML(r, 3)
		bigger := more(r, tree)
		if !holds(text(tree), text(tree)) {
			t.Errorf("seed %d: does not hold itself:\n%s", seed, text(tree))
		}
		if holds(text(tree), text(bigger)) {
			t.Errorf("seed %d: holds what has more:\n%s\n---\n%s", seed, text(tree), text(bigger))
		}
		if !isScalar(tree) && !holds(text(bigger), text(tree)) {
			t.Errorf("seed %d: something was added, and something is missing:\n%s\n---\n%s", seed, text(bigger), text(tree))
		}
	}
}

// Other names of a project make the same fingerprint, and any other change
// makes another one.
func TestFacts_Random(t *testing.T) {
	s, _ := otherTool(t, foreignProject)
	own := facts{"example.com/shop", "shop", "example.com"}
	other := facts{"github.com/acme/till", "till", "acme.dev"}
	r := rand.New(rand.NewPCG(1, 7))
	for name, text := range s.files() {
		if !covered(name) || name == "Makefile" {
			continue
		}
		want := sum(own.normal(name, []byte(text)))
		renamed := replaceWord(replaceWord(replaceWord(text, own.repo, "@repo"), own.domain, other.domain), own.name, other.name)
		if got := sum(other.normal(name, []byte(strings.ReplaceAll(renamed, "@repo", other.repo)))); got != want {
			t.Errorf("%s is another one with other names:\n%s", name, renamed)
		}
		lines := strings.SplitAfter(text, "\n")
		at := len(lines) / 2
		lines[at] += fmt.Sprintf("mine%d\n", r.IntN(100))
		if got := sum(own.normal(name, []byte(strings.Join(lines, "")))); got == want {
			t.Errorf("%s is the same with a line more", name)
		}
	}
}
