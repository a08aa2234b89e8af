package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestShellQuote(t *testing.T) {
	for s, want := range map[string]string{"/a/b-c": "/a/b-c", "/a b": "'/a b'", "it's": `'it'\''s'`, "": "''", "$x": "'$x'"} {
		if got := ShellQuote(s); got != want {
			t.Errorf("shellQuote(%q) = %s, want %s", s, got, want)
		}
	}
}

func TestAim(t *testing.T) {
	c := &cobra.Command{}
	(&Target{}).Bind(c.Flags())
	if err := c.ParseFlags([]string{"--context", "my dev"}); err != nil {
		t.Fatal(err)
	}
	f := &Factory{Running: c, Given: map[string]bool{"context": true}}
	for text, want := range map[string]string{
		"delete it: mysdk kubectl delete csv -n a b": "delete it: mysdk kubectl --context 'my dev' delete csv -n a b",
		"see 'mysdk olm status', or 'mysdk olm'":     "see 'mysdk olm status --context 'my dev'', or 'mysdk olm'",
		"mysdk generate, then mysdk deploy":          "mysdk generate, then mysdk deploy --context 'my dev'",
		"mysdk kubectl --context other get pods":     "mysdk kubectl --context other get pods",
	} {
		if got := f.Aim(text); got != want {
			t.Errorf("Aim(%q) = %q, want %q", text, got, want)
		}
	}
	if text := "mysdk olm install"; (&Factory{}).Aim(text) != text {
		t.Error("without a cluster that was named a text changes")
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
