package merge3

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lines makes lines of the words of s.
func lines(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(strings.Join(strings.Fields(s), "\n") + "\n")
}

func TestLines(t *testing.T) {
	tests := map[string]struct {
		base, mine, theirs string
		want               string
		conflicts          []Conflict
	}{
		"nothing changed":             {"a b c", "a b c", "a b c", "a b c", nil},
		"only mine":                   {"a b c", "a x c", "a b c", "a x c", nil},
		"only theirs":                 {"a b c", "a b c", "a y c", "a y c", nil},
		"far apart":                   {"a b c d e", "x b c d e", "a b c d y", "x b c d y", nil},
		"the same change":             {"a b c", "a x c", "a x c", "a x c", nil},
		"neighbouring lines":          {"a b c d", "a x c d", "a b y d", "a x y d", nil},
		"mine before theirs":          {"a b c", "a n b c", "a y c", "a n y c", nil},
		"mine after theirs":           {"a b c", "a b n c", "a y c", "a y n c", nil},
		"mine after what goes":        {"a b c", "a b n c", "a c", "a n c", nil},
		"both insert":                 {"a c", "a x c", "a y c", "a x c", []Conflict{{2, 2}}},
		"both replace":                {"a b c", "a x c", "a y c", "a x c", []Conflict{{2, 2}}},
		"mine deleted":                {"a b c", "a c", "a y c", "a c", []Conflict{{2, 1}}},
		"inside of what goes":         {"a b c d", "a b n c d", "a d", "a b n c d", []Conflict{{2, 4}}},
		"a conflict after lines more": {"a b c", "n n a x c", "a y c", "n n a x c", []Conflict{{4, 4}}},
		"both delete":                 {"a b c", "a c", "a c", "a c", nil},
		"a block that mine moved":     {"a one two b c", "a b one two c", "a b c", "a b c", nil},
		"what goes, mine has below":   {"a if one end b c d e", "a b c d e if one end", "a b c d e", "a b c d e", nil},
		"and has twice in base":       {"x y a x y b c", "a x y b c", "a x y b c", "a x y b c", nil},
		"a moved block that is twice": {"a b q c d", "q a b s c d q", "a b c d", "q a b s c d q", []Conflict{{4, 4}}},
		"a line that came between":    {"m n r s w", "m n w r s", "M N R S w", "M N w R S", nil},
		"and one that is missing":     {"m n r s w", "m n w s", "M N R S w", "m n w s", []Conflict{{1, 2}}},
		"the same move":               {"s m", "m s", "m s", "m s", nil},
		"a move that both made":       {"s m a b", "m s a x", "m s a b", "m s a x", nil},
		"and one of a block":          {"a { } x { } b { }", "x { } a { } b { } n", "x { } a { } b { }", "x { } a { } b { } n", nil},
		"blocks in another order":     {"if one end if two end if six end", "if two end if six end if one end", "if one end if six end", "if six end if one end", nil},
		"a line that both moved":      {"s m a", "x m s a", "m s a", "x m s a", nil},
		"one of two alike":            {"a x a y", "b x a y", "x a y", "b x a y", []Conflict{{1, 1}}},
		"and theirs put another for":  {"s m a", "x m s a", "y m s a", "x m s a", []Conflict{{1, 1}}},
		"a line that theirs moved":    {"s m a", "x m a", "m s a", "x m s a", []Conflict{{1, 1}}},
		"nothing there before":        {"", "a", "b", "a", []Conflict{{1, 1}}},
		"all of it goes":              {"a b", "a b", "", "", nil},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			got, conflicts := Lines(lines(c.base), lines(c.mine), lines(c.theirs))
			if d := cmp.Diff(string(lines(c.want)), string(got)); d != "" {
				t.Errorf("merged (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.conflicts, conflicts); d != "" {
				t.Errorf("conflicts (-want +got):\n%s", d)
			}
		})
	}
}

// A last line without its line end is a line of its own kind.
func TestLines_NoLineEnd(t *testing.T) {
	got, conflicts := Lines([]byte("a\nb\nc"), []byte("a\nb\nc"), []byte("x\nb\nc"))
	if string(got) != "x\nb\nc" || len(conflicts) > 0 {
		t.Errorf("got %q, %v", got, conflicts)
	}
}

// Two large texts that have nothing in common are compared without a table.
func TestLines_Large(t *testing.T) {
	base := lines(strings.Repeat("a b ", 5000))
	mine := lines(strings.Repeat("c d ", 5000))
	got, conflicts := Lines(base, mine, lines("x"))
	if !bytes.Equal(got, mine) || len(conflicts) != 1 {
		t.Errorf("%d bytes, %v", len(got), conflicts)
	}
}

// FuzzLines holds what a merge promises: no line of the user's gets lost,
// what one side alone changed is taken over as it is, and conflicts are lines
// of his text.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\nc\n"), []byte("a\nx\nc\n"), []byte("a\nb\ny\n"))
	f.Add([]byte("a\nb\nb\na\n"), []byte("b\na\nb"), []byte(""))
	f.Add([]byte("one\ntwo\nthree\n"), []byte("two\none\nthree\n"), []byte("one\nthree\n"))
	f.Add([]byte("one\ntwo\n"), []byte("two\none\n"), []byte("two\none\n"))
	f.Add([]byte("s\nm\na\n"), []byte("x\nm\ns\na\n"), []byte("y\nm\ns\na\n"))
	f.Fuzz(func(t *testing.T, base, mine, theirs []byte) {
		if got, c := Lines(base, base, theirs); !bytes.Equal(got, theirs) || len(c) > 0 {
			t.Fatalf("unchanged by the user: %q, %v", got, c)
		}
		if got, c := Lines(base, mine, base); !bytes.Equal(got, mine) || len(c) > 0 {
			t.Fatalf("unchanged by the scaffold: %q, %v", got, c)
		}
		if got, c := Lines(base, mine, mine); !bytes.Equal(got, mine) || len(c) > 0 {
			t.Fatalf("the same change: %q, %v", got, c)
		}
		got, conflicts := Lines(base, mine, theirs)
		left := count(splitLines(mine))
		for line, n := range count(splitLines(base)) {
			left[line] -= n
		}
		have := count(splitLines(got))
		for line, n := range left {
			if have[line] < n {
				t.Fatalf("line %q is %d times in %q, want %d", line, have[line], got, n)
			}
		}
		for line, n := range count(splitLines(base)) {
			if n == 1 && count(splitLines(mine))[line] == 1 && count(splitLines(theirs))[line] == 1 && have[line] == 0 && len(conflicts) == 0 {
				t.Fatalf("line %q, which all three have, is not in %q", line, got)
			}
		}
		for _, c := range conflicts {
			if c.First < 1 || c.Last > len(splitLines(mine)) || c.Last < c.First-1 {
				t.Fatalf("conflict %v in %d lines", c, len(splitLines(mine)))
			}
		}
	})
}

func count(lines []string) map[string]int {
	n := map[string]int{}
	for _, l := range lines {
		n[strings.TrimSuffix(l, "\n")]++
	}
	return n
}
