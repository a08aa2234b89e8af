package dockerfile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	got := Parse([]byte("# syntax=docker/dockerfile:1\n\nfrom\tscratch\r\n# Ours.\n# All.\nLABEL a=b \\\n  # between\n\n  c=\"d e\"\nCOPY . /\n\n\\\nUSER 65532\nrun\t<<-\"A b\" 3<<C go \\\n  vet\n# x\nUSER 1\n\t A b\n\tA b\nCMD x\n\nC\nCOPY <<EOF a\n\tEOF\nENV x\nEOF\nRUN cat <<<EOF \"<<EOF x\"\nCMD y\n"))
	want := []Instruction{
		{Name: "FROM", Args: "scratch", Text: "from\tscratch", Line: 3},
		{Name: "LABEL", Args: `a=b c="d e"`, Text: "LABEL a=b \\\n  # between\n\n  c=\"d e\"", Line: 6, Above: "# Ours.\n# All."},
		{Name: "COPY", Args: ". /", Text: "COPY . /", Line: 10, Above: "# Ours.\n# All."},
		{Name: "USER", Args: "65532", Text: "\\\nUSER 65532", Line: 12},
		{Name: "RUN", Args: `<<-"A b" 3<<C go vet USER 1 A b CMD x`, Text: "run\t<<-\"A b\" 3<<C go \\\n  vet\n# x\nUSER 1\n\t A b\n\tA b\nCMD x\n\nC", Line: 14},
		{Name: "COPY", Args: "<<EOF a", Text: "COPY <<EOF a\n\tEOF\nENV x\nEOF", Line: 23},
		{Name: "RUN", Args: `cat <<<EOF "<<EOF x"`, Text: `RUN cat <<<EOF "<<EOF x"`, Line: 27},
		{Name: "CMD", Args: "y", Text: "CMD y", Line: 28},
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
