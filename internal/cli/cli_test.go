package cli

import (
	"strings"
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

func TestMinorVersion(t *testing.T) {
	all := MinorVersions()
	if len(all) != 4 || !strings.HasPrefix(ThisBuild().Kubernetes, "v"+all[0]+".") {
		t.Fatalf("MinorVersions() = %v of Kubernetes %s", all, ThisBuild().Kubernetes)
	}
	for given, want := range map[string]string{all[0]: all[0], "v" + all[3]: all[3], all[3] + ".1": "", "1": "", "": ""} {
		if got, err := MinorVersion(given); got != want || (err == nil) != (want != "") {
			t.Errorf("MinorVersion(%q) = %q, %v, want %q", given, got, err, want)
		}
	}
}
