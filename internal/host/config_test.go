package host_test

import (
	"os"
	"testing"

	"github.com/example/mysdk/internal/host"
)

// TestConfigDir: the environment leads where os.UserConfigDir is.
func TestConfigDir(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", "")
	for _, name := range []string{"HOME", "AppData"} {
		t.Setenv(name, t.TempDir())
	}
	want, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := (host.Host{Getenv: os.Getenv}).ConfigDir(); err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	none := host.Host{Getenv: func(string) string { return "" }}
	if got, err := none.ConfigDir(); err == nil {
		t.Errorf("without a home: %q", got)
	}
}
