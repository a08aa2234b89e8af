package catalog

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	registrycache "github.com/operator-framework/operator-registry/pkg/cache"
)

// readTree maps the paths below dir to what is there.
func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestCacheIsOperatorRegistrys holds the cache against the one that
// operator-registry builds, and has it accept ours as a server does.
func TestCacheIsOperatorRegistrys(t *testing.T) {
	for _, format := range []string{JSON, YAML} {
		c := fullCatalog(t)
		files, err := c.Files(format)
		if err != nil {
			t.Fatal(err)
		}
		ours, err := c.CacheFiles(files)
		if err != nil {
			t.Fatal(err)
		}
		configs, dir, built := onDisk(t, text(files)), onDisk(t, text(ours)), t.TempDir()
		for _, d := range []string{configs, dir} {
			if err := os.Chmod(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		theirs, err := registrycache.New(built, registrycache.WithFormat(registrycache.FormatJSON))
		if err != nil {
			t.Fatal(err)
		}
		if err := theirs.Build(t.Context(), os.DirFS(configs)); err != nil {
			t.Fatal(err)
		}
		want, got := readTree(t, built), readTree(t, dir)
		delete(want, "digest") // theirs counts other permissions
		delete(got, "digest")
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-operator-registry +ours):\n%s", format, d)
		}
		serve, err := registrycache.New(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := serve.CheckIntegrity(t.Context(), os.DirFS(configs)); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		if err := serve.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		b, err := serve.GetBundleForChannel(t.Context(), "memcached", "stable")
		if err != nil || b.GetCsvName() != "memcached.v0.2.0" {
			t.Errorf("%s: the head of stable is %v (%v)", format, b.GetCsvName(), err)
		}
	}
}

func text(files map[string][]byte) map[string]string {
	out := map[string]string{}
	for name, data := range files {
		out[name] = string(data)
	}
	return out
}
