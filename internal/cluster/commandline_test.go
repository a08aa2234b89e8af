package cluster

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
)

// ranServer runs mysdk-cluster, which is expected to end at once, and returns
// its exit code and what it printed.
func ranServer(t *testing.T, h host.Host, args ...string) (code int, printed string) {
	t.Helper()
	out, err := exec.Command(h.Getenv(BinaryEnv), args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit != nil {
		code = exit.ExitCode()
	}
	return code, string(out)
}

func TestServersBadCommandLinesAreUsageErrors(t *testing.T) {
	h := realHost(t)
	dir := filepath.Join(t.TempDir(), "one")
	tests := map[string]struct {
		args []string
		want string
	}{
		"unknown command": {[]string{"start"}, `unknown command "start"`},
		"unknown flag":    {[]string{"serve", "--bind", "0.0.0.0"}, "bind"},
		"no directory":    {[]string{"serve"}, "--dir is required"},
		"argument":        {[]string{"serve", "--dir", dir, "now"}, `unexpected argument "now"`},
		"name":            {[]string{"serve", "--dir", filepath.Join(dir, "Not A Name")}, "cluster name"},
		"negative nodes":  {[]string{"serve", "--dir", dir, "--nodes", "-1"}, "--nodes -1"},
		"many nodes":      {[]string{"serve", "--dir", dir, "--nodes", "1000"}, "--nodes 1000"},
		"no number":       {[]string{"serve", "--dir", dir, "--nodes", "two"}, "nodes"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			code, printed := ranServer(t, h, tc.args...)
			if code != clierr.CodeUsage || !strings.Contains(printed, "Error: ") || !strings.Contains(printed, tc.want) || !strings.Contains(printed, "\nHint:  ") {
				t.Errorf("exit code %d, want %d, %q and a hint:\n%s", code, clierr.CodeUsage, tc.want, printed)
			}
		})
	}
}

func TestServersHelpNamesEveryFlag(t *testing.T) {
	h := realHost(t)
	for _, args := range [][]string{{"help"}, {"serve", "-h"}} {
		code, printed := ranServer(t, h, args...)
		if code != 0 {
			t.Errorf("%q: exit code %d", args, code)
		}
		for _, want := range []string{
			"mysdk-cluster kubectl", "\n  -dir directory", "\n  -nodes number", "\n  -fsync\n",
			"\n  -v level", "\n  -die-with-parent\n",
		} {
			if !strings.Contains(printed, want) {
				t.Errorf("%q lacks %q:\n%s", args, want, printed)
			}
		}
	}
}
