package image

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/example/mysdk/internal/clierr"
)

func TestSaveArchive(t *testing.T) {
	w, g := faked(t)
	build(t, w, BuildOptions{Base: Scratch, Image: "ghcr.io/me/op:v1"})
	saved, err := Save(t.Context(), w.Host, SaveOptions{Image: "ghcr.io/me/op:v1", File: "op.tar"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.Dir, "op.tar")
	if saved.Path != path || saved.Image != "ghcr.io/me/op:v1" {
		t.Errorf("saved %+v", saved)
	}
	manifest := must(tarball.LoadManifest(opener(path)))(t)
	if len(manifest) != 1 || !slices.Equal(manifest[0].RepoTags, []string{"ghcr.io/me/op:v1"}) {
		t.Errorf("manifest %+v", manifest)
	}
	img := must(tarball.ImageFromPath(path, nil))(t)
	if err := validate.Image(img); err != nil {
		t.Error(err)
	}
	if _, contents := files(t, img); contents["manager"] != string(g.program) {
		t.Error("the manager in the archive is not what was compiled")
	}
	if config := must(img.ConfigFile())(t); config.Config.User != User {
		t.Errorf("user %s", config.Config.User)
	}
	if left := must(filepath.Glob(filepath.Join(w.Dir, ".*")))(t); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	data := must(os.ReadFile(path))(t)
	if _, err := Save(t.Context(), w.Host, SaveOptions{Image: "ghcr.io/me/op:v1", File: Stdout}); err != nil || w.Out.String() != string(data) {
		t.Errorf("to stdout: %v, %d bytes, want %d", err, w.Out.Len(), len(data))
	}
}

// TestSaveToDevice: as root a rename would make a file of /dev/null.
func TestSaveToDevice(t *testing.T) {
	w, _ := faked(t)
	build(t, w, BuildOptions{Base: Scratch})
	link := filepath.Join(w.Dir, "null")
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Skip(err)
	}
	if _, err := Save(t.Context(), w.Host, SaveOptions{File: "null"}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(link); err != nil || info.Mode().IsRegular() {
		t.Errorf("the device has become a file: %v, %v", info.Mode(), err)
	}
	if _, err := Save(t.Context(), w.Host, SaveOptions{File: "cmd"}); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("over a directory: %v", err)
	}
}

// TestSaveToLink: a link stays one, and the file behind it is replaced.
func TestSaveToLink(t *testing.T) {
	w, _ := bundled(t, "bundle:v1")
	write(t, filepath.Join(w.Dir, "real.tar"), "old")
	link := filepath.Join(w.Dir, "link.tar")
	if err := os.Symlink("real.tar", link); err != nil {
		t.Skip(err)
	}
	if _, err := Save(t.Context(), w.Host, SaveOptions{Image: "bundle:v1", File: "link.tar"}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	if _, err := OpenArchive(w.Host, "real.tar", nil); err != nil {
		t.Error(err)
	}
}

// TestSaveOfAnotherProject: all projects share the default name, so the image of
// that name may be another's.
func TestSaveOfAnotherProject(t *testing.T) {
	w, _ := faked(t)
	build(t, w, BuildOptions{Base: Scratch})
	from := w.Dir
	w.Dir = t.TempDir()
	_, err := Save(t.Context(), w.Host, SaveOptions{File: "op.tar"})
	if err == nil || !strings.Contains(err.Error(), "built from another project, "+from) || !strings.Contains(clierr.HintOf(err), "'mysdk image build'") {
		t.Errorf("%v, hint %q", err, clierr.HintOf(err))
	}
	if left := must(filepath.Glob(filepath.Join(w.Dir, "*")))(t); len(left) > 0 {
		t.Errorf("written: %v", left)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(from, link); err == nil { // Windows may refuse
		there := w.Host
		there.Dir = link
		if _, err := Save(t.Context(), there, SaveOptions{File: filepath.Join(t.TempDir(), "op.tar")}); err != nil {
			t.Errorf("from the project, by another path: %v", err)
		}
	}
	var warnings []string
	o := SaveOptions{Image: DefaultName, File: "op.tar", Warn: func(s string) { warnings = append(warnings, s) }}
	if _, err := Save(t.Context(), w.Host, o); err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], from) {
		t.Errorf("by its name: %v, warned of %q", err, warnings)
	}
}

func opener(path string) tarball.Opener {
	return func() (io.ReadCloser, error) { return os.Open(path) }
}

// TestSaveOneOfSeveral: docker's archive has room for one platform.
func TestSaveOneOfSeveral(t *testing.T) {
	w, _ := faked(t)
	build(t, w, BuildOptions{Base: Scratch, Platforms: []string{"linux/" + runtime.GOARCH, "linux/s390x", "linux/arm/v7"}})
	for platform, want := range map[string]string{"": "linux/" + runtime.GOARCH, "linux/s390x": "linux/s390x", "linux/arm": "linux/arm/v7"} {
		saved, err := Save(t.Context(), w.Host, SaveOptions{File: "op.tar", Platform: platform})
		if err != nil || saved.Platform != want {
			t.Errorf("%q: saved %+v, %v", platform, saved, err)
			continue
		}
		config := must(must(tarball.ImageFromPath(saved.Path, nil))(t).ConfigFile())(t)
		if got := platformName(*config.Platform()); got != want {
			t.Errorf("%q: the archive is for %s", platform, got)
		}
	}
	build(t, w, BuildOptions{Base: Scratch, Image: "far:1", Platforms: []string{"linux/s390x", "linux/ppc64le"}})
	for name, o := range map[string]SaveOptions{
		"choose one with --platform: linux/ppc64le, linux/s390x": {Image: "far:1", File: "x.tar"},
		"it has linux/ppc64le, linux/s390x":                      {Image: "far:1", File: "x.tar", Platform: "linux/386"},
		`did you mean "linux/s390x"?`:                            {Image: "far:1", File: "x.tar", Platform: "linux/s390"},
	} {
		if _, err := Save(t.Context(), w.Host, o); clierr.HintOf(err) != name || clierr.CodeOf(err) != clierr.CodeUsage {
			t.Errorf("%+v: %v, hint %q", o, err, clierr.HintOf(err))
		}
	}
}

func TestSaveLayout(t *testing.T) {
	w, _ := faked(t)
	built := build(t, w, BuildOptions{Base: Scratch, Image: "op:v1", Platforms: []string{"linux/amd64", "linux/arm64"}})
	dir := filepath.Join(w.Dir, "dist", "op")
	if err := os.MkdirAll(dir, 0o755); err != nil { // empty is as good as new
		t.Fatal(err)
	}
	before := must(os.Stat(dir))(t)
	saved, err := Save(t.Context(), w.Host, SaveOptions{Image: "op:v1", Layout: "dist/op"})
	if err != nil || saved.Path != dir || must(OpenLayout(dir, nil))(t).Digest != built.Digest {
		t.Fatalf("saved %+v, %v", saved, err)
	}
	if !os.SameFile(before, must(os.Stat(dir))(t)) {
		t.Error("the directory is another one: a mount point could not be replaced")
	}
	if names := slices.Collect(namesOf(must(os.ReadDir(dir))(t))); !slices.Equal(names, []string{"blobs", "index.json", "oci-layout"}) {
		t.Errorf("in the directory: %v", names)
	}
	index := must(layout.ImageIndexFromPath(dir))(t)
	main := must(index.IndexManifest())(t).Manifests[0].Digest
	if err := validate.Index(must(index.ImageIndex(main))(t)); err != nil {
		t.Error(err)
	}
	type row struct{ Digest, Type, Name string }
	var got []row
	for _, m := range must(index.IndexManifest())(t).Manifests {
		got = append(got, row{m.Digest.String(), m.ArtifactType, m.Annotations["io.containerd.image.name"] + m.Annotations["org.opencontainers.image.ref.name"]})
	}
	want := []row{
		{built.Digest, "", "docker.io/library/op:v1v1"},
		{built.Platforms[0].SBOM, "application/spdx+json", ""}, {built.Platforms[1].SBOM, "application/spdx+json", ""},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("index.json (-want +got):\n%s", d)
	}
	if _, err := os.Stat(filepath.Join(dir, originFile)); err == nil {
		t.Error("what the store notes is none of a layout's business")
	}
	if _, err := Save(t.Context(), w.Host, SaveOptions{Image: "op:v1", Layout: "dist/op"}); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("over another layout: %v", err)
	}
}

// TestFillDirFails: a directory that cannot be filled is left empty.
func TestFillDirFails(t *testing.T) {
	for name, files := range map[string][]string{"no layout": {"blobs/half"}, "without its index": {"blobs/half", "oci-layout"}} {
		dir := t.TempDir()
		err := fillDir(dir, func(tmp string) error {
			for _, f := range files {
				write(t, filepath.Join(tmp, f), "x")
			}
			return nil
		})
		if left := must(os.ReadDir(dir))(t); !errors.Is(err, fs.ErrNotExist) || len(left) > 0 {
			t.Errorf("%s: %v, left behind: %v", name, err, left)
		}
	}
}

func TestSaveErrors(t *testing.T) {
	w, _ := faked(t)
	build(t, w, BuildOptions{Base: Scratch, Platforms: []string{"linux/arm64"}})
	write(t, filepath.Join(w.Dir, "file"), "x")
	for name, c := range map[string]struct {
		o          SaveOptions
		text, hint string
		code       int
	}{
		"nowhere":        {SaveOptions{}, "specify where", "mysdk image save controller.tar", 2},
		"both":           {SaveOptions{File: "a", Layout: "b"}, "at once", "mysdk image save", 2},
		"platform":       {SaveOptions{Layout: "b", Platform: "linux/amd64"}, "all platforms", "leave out --platform", 2},
		"bad platform":   {SaveOptions{File: "a", Platform: "amd46"}, "unknown platform", "linux/amd64", 2},
		"other platform": {SaveOptions{File: "a", Platform: "linux/amd64"}, "has no linux/amd64", "it is for linux/arm64", 2},
		"bad name":       {SaveOptions{File: "a", Image: "Op"}, "--image: ", `did you mean "op"?`, 2},
		"not built":      {SaveOptions{File: "a", Image: "far/away:v9"}, "no image far/away:v9", "mysdk image build --image far/away:v9", 1},
		"no directory":   {SaveOptions{File: "none/a.tar"}, "save the image", "name a file", 1},
		"below a file":   {SaveOptions{Layout: "file/x"}, "save the image", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Save(t.Context(), w.Host, c.o)
			if err == nil || !strings.Contains(err.Error(), c.text) || !strings.Contains(clierr.HintOf(err), c.hint) || clierr.CodeOf(err) != c.code {
				t.Errorf("%v\nhint %q\ncode %d", err, clierr.HintOf(err), clierr.CodeOf(err))
			}
		})
	}
	entries := must(os.ReadDir(w.Dir))(t)
	if names := slices.Collect(namesOf(entries)); !slices.Equal(names, []string{"cmd", "file", "go.mod"}) {
		t.Errorf("left behind: %v", names)
	}
}

func namesOf(entries []fs.DirEntry) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, e := range entries {
			if !yield(e.Name()) {
				return
			}
		}
	}
}
