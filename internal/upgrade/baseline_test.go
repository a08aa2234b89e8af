package upgrade

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/semver"

	v4 "github.com/example/mysdk/plugins/golang/v4"
)

var keep = flag.String("baseline", "", "write today's scaffold as that of this `version`")

func mapOf(version string, archive []byte) fs.FS {
	return fstest.MapFS{version + archiveExt: &fstest.MapFile{Data: archive}}
}

// TestBaseline_Keep is what 'make baseline VERSION=v1.2.3' runs.
func TestBaseline_Keep(t *testing.T) {
	if *keep == "" {
		t.Skip("no -baseline version: one is written before a release")
	}
	if !semver.IsValid(*keep) || semver.Build(*keep) != "" {
		t.Fatalf("%q is not a version such as v1.2.3", *keep)
	}
	b, err := current(v4.Plugin{CLIVersion: *keep})
	if err != nil {
		t.Fatal(err)
	}
	data, err := b.Archive()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("baselines", *keep+archiveExt)
	if _, err := os.Stat(file); err == nil {
		t.Fatalf("%s exists: baselines of releases do not change", file)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d bytes", file, len(data))
}

// Today's baseline can be made, and writes to the byte what today's templates
// write.
func TestBaseline_Current(t *testing.T) {
	now, err := current(v4.Plugin{CLIVersion: nowVersion})
	if err != nil {
		t.Fatal(err)
	}
	data, err := now.Archive()
	if err != nil {
		t.Fatal(err)
	}
	again, err := now.Archive()
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("two archives of the same differ, %v", err)
	}
	kept, err := Open(nowVersion, data)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(now.Pins, kept.Pins); d != "" {
		t.Errorf("pins (-want +got):\n%s", d)
	}
	s := newShop(t)
	live, thawed := emptyShop(t, s.opts), emptyShop(t, s.opts)
	text := s.read("PROJECT")
	live.fill(now, text)
	thawed.fill(kept, text)
	if d := cmp.Diff(live.files(), thawed.files()); d != "" {
		t.Errorf("(-live +baseline):\n%s", d)
	}
}

// Every release's baseline can be read and renders.
func TestReleases(t *testing.T) {
	all, err := Releases()
	if err != nil {
		t.Fatal(err)
	}
	s := newShop(t)
	for i, b := range all {
		if i > 0 && semver.Compare(all[i-1].Version, b.Version) >= 0 {
			t.Errorf("%s comes after %s", b.Version, all[i-1].Version)
		}
		emptyShop(t, s.opts).fill(b, s.read("PROJECT"))
	}
}

func TestCurrent_Names(t *testing.T) {
	name := func(p v4.Plugin) string {
		b, err := current(p)
		if err != nil {
			t.Fatal(err)
		}
		return b.Version
	}
	devel := name(v4.Plugin{CLIVersion: "(devel)"})
	if !strings.HasPrefix(devel, "devel-") || devel != name(v4.Plugin{}) {
		t.Errorf("a build between releases is called %s and %s", devel, name(v4.Plugin{}))
	}
	changed := older(t)[0]
	if other := name(v4.Plugin{Templates: changed.Templates}); other == devel {
		t.Errorf("other templates have the same name, %s", other)
	}
	if got := name(v4.Plugin{CLIVersion: "v1.2.3"}); got != "v1.2.3" {
		t.Errorf("a release is called %s", got)
	}
}

func TestOpen_Broken(t *testing.T) {
	good, err := older(t)[0].Archive()
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"nothing": nil, "no archive": []byte("x"), "half of it": good[:len(good)/2]} {
		if _, err := Open("v1", data); err == nil || !strings.Contains(err.Error(), "v1") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
