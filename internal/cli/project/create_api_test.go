package project

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/openapi"
)

// Only what there is, and stays, is out of date.
func TestNoteFromDisk(t *testing.T) {
	const (
		applyNote   = "Warning: apply configurations are out of date until you run 'mysdk generate'\n"
		applyMarker = "// +kubebuilder:ac:generate=true\npackage v1\n"
		openapiNote = "Warning: zz_generated.openapi.go is out of date until you run 'mysdk generate'\n"
	)
	for name, c := range map[string]struct {
		defined, applied, last bool
		group                  string // text of groupversion_info.go
		doc                    string // text of doc.go
		want                   string
	}{
		"neither":         {},
		"definitions":     {defined: true, want: openapiNote},
		"apply":           {applied: true, group: applyMarker, want: applyNote},
		"apply in doc.go": {applied: true, doc: applyMarker, want: applyNote},
		"apply elsewhere": {applied: true},
		"both":            {defined: true, applied: true, group: applyMarker, want: applyNote + openapiNote},
		"last kind":       {defined: true, last: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t)
			dir := filepath.Join(w.Dir, "api", "v1")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"groupversion_info.go": c.group, "doc.go": c.doc} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if c.defined {
				if err := os.WriteFile(filepath.Join(dir, openapi.FileName), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var set fileset.Set
			err := set.Put("api/v1/a_types.go", fileset.File{Removed: c.last})
			if c.last {
				err = errors.Join(err, set.Put("api/v1/"+openapi.FileName, fileset.File{Removed: true}))
			}
			if err != nil {
				t.Fatal(err)
			}
			noteFromDisk(&cli.Factory{Host: w.Host}, set, c.applied)
			if d := cmp.Diff(c.want, w.Err.String()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
