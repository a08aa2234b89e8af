package catalog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/operator-framework/operator-registry/pkg/cache"

	"github.com/example/mysdk/internal/catalog/opm"
)

// TestCache has operator-registry accept the cache as a server does, and refuse
// it for another catalog.
func TestCache(t *testing.T) {
	for _, format := range []string{JSON, YAML} {
		files, err := fullCatalog(t).Files(format)
		if err != nil {
			t.Fatal(err)
		}
		ours, err := opm.CacheFiles(t.Context(), files)
		if err != nil {
			t.Fatal(err)
		}
		configs, dir := onDisk(t, text(files)), onDisk(t, text(ours))
		for _, d := range []string{configs, dir} {
			if err := os.Chmod(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		serve, err := cache.New(dir)
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
		if err := os.WriteFile(filepath.Join(configs, "more.json"), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
		if serve.CheckIntegrity(t.Context(), os.DirFS(configs)) == nil {
			t.Errorf("%s: the cache is taken for that of another catalog", format)
		}
	}
}

func TestCacheRefuses(t *testing.T) {
	for name, files := range map[string]map[string][]byte{
		"outside":      {"../a.json": []byte("{}")},
		"no catalog":   {"a.json": []byte("{")},
		"two packages": {"a.json": []byte(`{"schema":"olm.package","name":"a"}{"schema":"olm.package","name":"a"}`)},
	} {
		if got, err := opm.CacheFiles(t.Context(), files); err == nil {
			t.Errorf("%s: %d files", name, len(got))
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
