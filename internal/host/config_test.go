package host_test

import (
	"os"
	"path/filepath"
	"slices"
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

func TestFilesOf(t *testing.T) {
	for name, tc := range map[string]struct {
		env  map[string]string
		want []string
	}{
		"listed":        {map[string]string{"FILES": "a" + string(filepath.ListSeparator) + string(filepath.ListSeparator) + "b", "HOME": "/home"}, []string{"/dir/a", "/dir/b"}},
		"at home":       {map[string]string{"HOME": "/home", "USERPROFILE": "/users"}, []string{"/home/.x/config"}},
		"on Windows":    {map[string]string{"USERPROFILE": "/users"}, []string{"/users/.x/config"}},
		"nobody's home": {nil, nil},
	} {
		h := host.Host{Dir: "/dir", Getenv: func(name string) string { return tc.env[name] }}
		got := h.FilesOf("FILES", ".x/config")
		for i := range got {
			got[i] = filepath.ToSlash(got[i])
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
