package host

import "testing"

func TestShellQuote(t *testing.T) {
	for in, want := range map[string]string{
		"": "''", "/a/b.c": "/a/b.c", "/a/b-c": "/a/b-c", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "a;b": "'a;b'", "a,b=c": "a,b=c", "ü": "'ü'",
	} {
		if got := ShellQuote(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	if got := ShellJoin([]string{"edit", "--owner", "Acme Inc"}); got != "edit --owner 'Acme Inc'" {
		t.Errorf("joined: %s", got)
	}
}

func TestExport(t *testing.T) {
	for goos, want := range map[string]string{"linux": `export A='it'\''s'`, "windows": `$env:A = 'it''s'`} {
		if got := export(goos, "A", "it's"); got != want {
			t.Errorf("on %s: %s, want %s", goos, got, want)
		}
	}
}
