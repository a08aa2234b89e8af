package cmd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTestArgs(t *testing.T) {
	for name, c := range map[string]struct {
		args              []string
		want              []string // of go
		controllers, keep bool
	}{
		"nothing":             {nil, []string{"test", "./..."}, false, false},
		"flags only":          {[]string{"-v", "-run", "TestX"}, []string{"test", "-v", "-run", "TestX", "./..."}, false, false},
		"a package":           {[]string{"./api/...", "-v"}, []string{"test", "./api/...", "-v"}, false, false},
		"value behind =":      {[]string{"-run=TestX", "-count=1"}, []string{"test", "-run=TestX", "-count=1", "./..."}, false, false},
		"ours are ours":       {[]string{"--controllers", "-v"}, []string{"test", "-v", "./..."}, true, false},
		"keep needs one":      {[]string{"--keep", "./x"}, []string{"test", "./x"}, true, true},
		"the test binary's":   {[]string{"./x", "-args", "--keep"}, []string{"test", "./x", "-args", "--keep"}, false, false},
		"only theirs":         {[]string{"-v", "-args", "x"}, []string{"test", "-v", "./...", "-args", "x"}, false, false},
		"two dashes, a value": {[]string{"--run", "X", "--timeout", "5m"}, []string{"test", "--run", "X", "--timeout", "5m", "./..."}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var o testOptions
			if o.read(c.args) {
				t.Fatal("help was not asked for")
			}
			if d := cmp.Diff(c.want, testArgs(o.args, []string{everyPackage})); d != "" {
				t.Errorf("arguments (-want +got):\n%s", d)
			}
			if o.controllers != c.controllers || o.keep != c.keep {
				t.Errorf("controllers %t, keep %t", o.controllers, o.keep)
			}
		})
	}
}

func TestTestEnv(t *testing.T) {
	for name, c := range map[string]struct{ env, args, want []string }{
		"no cgo":         {[]string{"A=b"}, nil, []string{"A=b", "K=v", "CGO_ENABLED=0"}},
		"the user's cgo": {[]string{"CGO_ENABLED=1"}, nil, []string{"CGO_ENABLED=1", "K=v"}},
		"race needs cgo": {nil, []string{"-race"}, []string{"K=v"}},
		"-args not ours": {nil, []string{"./x"}, []string{"K=v", "CGO_ENABLED=0"}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, testEnv(c.env, c.args, "K=v")); d != "" {
				t.Errorf("environment (-want +got):\n%s", d)
			}
		})
	}
}

func TestShellQuote(t *testing.T) {
	for s, want := range map[string]string{"/a/b-c": "/a/b-c", "/a b": "'/a b'", "it's": `'it'\''s'`, "": "''", "$x": "'$x'"} {
		if got := shellQuote(s); got != want {
			t.Errorf("shellQuote(%q) = %s, want %s", s, got, want)
		}
	}
}

func TestNamesCluster(t *testing.T) {
	for args, want := range map[string][2]bool{
		"get pods": {false, true}, "--context=x get pods": {true, true}, "get --kubeconfig f pods": {true, true},
		"version --client": {false, false}, "completion bash": {false, false}, "": {false, false}, "get --help": {false, false},
	} {
		list := words(args)
		if got := [2]bool{namesCluster(list), needsServer(list)}; got != want {
			t.Errorf("%q: %v, want %v", args, got, want)
		}
	}
}

func words(s string) []string {
	var out []string
	for w := range strings.FieldsSeq(s) {
		out = append(out, w)
	}
	return out
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
