package image

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func TestWriteLayer(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big")
	write(t, big, string(bytes.Repeat([]byte("operator "), 100_000)))
	entries := []entry{{name: "d/", mode: 0o1777, uid: 5, gid: 6}, {name: "d/small", mode: 0o644, data: []byte("x")}, {name: "big", mode: 0o755, file: big}}
	at := time.Unix(42, 0)
	var sums []string
	for _, name := range []string{"one", "two"} {
		if err := os.Chtimes(big, time.Now(), time.Now()); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		l, err := writeLayer(path, at, entries)
		if err != nil {
			t.Fatal(err)
		}
		// This compares both digests and the size with what is in the file.
		if err := validate.Layer(l); err != nil {
			t.Error(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, string(data))
	}
	if sums[0] != sums[1] {
		t.Error("two layers of the same files differ")
	}
}

func TestWriteLayerFails(t *testing.T) {
	dir := t.TempDir()
	for name, path := range map[string]string{"no directory": filepath.Join(dir, "none", "layer"), "no file": filepath.Join(dir, "layer")} {
		_, err := writeLayer(path, time.Unix(0, 0), []entry{{name: "a", file: filepath.Join(dir, "missing")}})
		if err == nil {
			t.Errorf("%s: a layer is written", name)
		}
	}
}
