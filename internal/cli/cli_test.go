package cli

import (
	"testing"
)

func TestShellQuote(t *testing.T) {
	for s, want := range map[string]string{"/a/b-c": "/a/b-c", "/a b": "'/a b'", "it's": `'it'\''s'`, "": "''", "$x": "'$x'"} {
		if got := ShellQuote(s); got != want {
			t.Errorf("shellQuote(%q) = %s, want %s", s, got, want)
		}
	}
}

func TestInstallable(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "v1.2.3", "(devel)": "(devel)", "v0.0.0-20260102030405-0123456789ab": "v0.0.0-20260102030405-0123456789ab",
		"v0.0.0-20260102030405-0123456789ab+dirty": "(devel)",
	} {
		if got := installable(version); got != want {
			t.Errorf("installable(%q) = %q, want %q", version, got, want)
		}
	}
}
