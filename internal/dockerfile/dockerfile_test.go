package dockerfile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	got := Parse([]byte("# syntax=docker/dockerfile:1\n\nfrom\tscratch\r\n# Ours.\n# All.\nLABEL a=b \\\n  # between\n\n  c=\"d e\"\nCOPY . /\n\n\\\nUSER 65532\n"))
	want := []Instruction{
		{Name: "FROM", Args: "scratch", Text: "from\tscratch", Line: 3},
		{Name: "LABEL", Args: `a=b c="d e"`, Text: "LABEL a=b \\\n  # between\n\n  c=\"d e\"", Line: 6, Above: "# Ours.\n# All."},
		{Name: "COPY", Args: ". /", Text: "COPY . /", Line: 10, Above: "# Ours.\n# All."},
		{Name: "USER", Args: "65532", Text: "\\\nUSER 65532", Line: 12},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestWords(t *testing.T) {
	for args, want := range map[string]struct{ words, values []string }{
		"":                      {},
		`a  b`:                  {[]string{"a", "b"}, []string{"a", "b"}},
		`k="a b" c\ d`:          {[]string{`k="a b"`, `c\ d`}, []string{"k=a b", "c d"}},
		`'a\' "" "x\"y"`:        {[]string{`'a\'`, `""`, `"x\"y"`}, []string{`a\`, "", `x"y`}},
		`end\`:                  {[]string{`end\`}, []string{`end\`}},
		`"never closed, 'is it`: {[]string{`"never closed, 'is it`}, nil},
	} {
		if d := cmp.Diff(want.words, Words(args)); d != "" {
			t.Errorf("%s: words (-want +got):\n%s", args, d)
		}
		values, err := Values(args)
		if d := cmp.Diff(want.values, values); d != "" || (err != nil) != (want.values == nil && args != "") {
			t.Errorf("%s: %v, values (-want +got):\n%s", args, err, d)
		}
	}
}
