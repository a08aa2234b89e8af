package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/registry"
)

// bundled is a world with an image of someFiles, and its digest.
func bundled(t testing.TB, image string) (*hosttest.World, string) {
	t.Helper()
	w := hosttest.New(t)
	built, err := BuildFiles(t.Context(), w.Host, FilesOptions{Image: image, Files: someFiles(), Labels: map[string]string{"k": "v"}})
	if err != nil {
		t.Fatal(err)
	}
	return w, built.Digest
}

// TestOpen finds an image in the store, then in its registry, whole or in part.
func TestOpen(t *testing.T) {
	at := serve(t) + "/team/bundle:v1"
	w, digest := bundled(t, at)
	want := &Contents{Digest: digest, Project: w.Dir, Platform: "linux/amd64", Labels: map[string]string{"k": "v"}, Files: someFiles()}
	check := func(o OpenOptions) {
		t.Helper()
		got, err := Open(t.Context(), w.Host, o)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", o.Image, d)
		}
	}
	check(OpenOptions{Image: at, Offline: true})
	check(OpenOptions{Image: at + "@" + digest, Offline: true})
	if _, err := BuildFiles(t.Context(), w.Host, FilesOptions{Image: strings.TrimSuffix(at, "v1") + "v0", Files: Files{"older": nil}}); err != nil {
		t.Fatal(err)
	}
	check(OpenOptions{Image: PinnedRef(at, digest), Offline: true})
	if c, err := Open(t.Context(), w.Host, OpenOptions{Image: PinnedRef("ghcr.io/a/b:v1", digest), Offline: true}); !errors.Is(err, ErrNotHere) {
		t.Errorf("in another repository: %v, %v", c, err)
	}
	if _, err := Push(t.Context(), w.Host, PushOptions{Image: at}); err != nil {
		t.Fatal(err)
	}
	// A newer one of the store comes first, and last where the registry is asked first.
	if _, err := BuildFiles(t.Context(), w.Host, FilesOptions{Image: at, Files: Files{"newer": nil}}); err != nil {
		t.Fatal(err)
	}
	var warned []string
	warn := func(text string) { warned = append(warned, text) }
	local, err := Open(t.Context(), w.Host, OpenOptions{Image: at})
	if err != nil || local.Digest == digest {
		t.Errorf("from the store: %+v, %v", local, err)
	}
	want.Project = ""
	check(OpenOptions{Image: at, RegistryFirst: true, Warn: warn})
	if len(warned) != 1 || !strings.Contains(warned[0], "of the registry, and not the other one on this machine") {
		t.Errorf("warnings %q", warned)
	}
	warned = nil
	if _, err := Open(t.Context(), w.Host, OpenOptions{Image: at + "@" + local.Digest, RegistryFirst: true, Warn: warn}); err != nil || len(warned) > 0 {
		t.Errorf("%v, and warnings %q", err, warned)
	}
	other := "127.0.0.1:1/team/a:b"
	for image, wanted := range map[string]string{other: "127.0.0.1:1 cannot be reached", strings.TrimSuffix(at, "v1") + "v2": "has no such image"} {
		if _, err := BuildFiles(t.Context(), w.Host, FilesOptions{Image: image, Files: someFiles()}); err != nil {
			t.Fatal(err)
		}
		warned = nil
		if _, err := Open(t.Context(), w.Host, OpenOptions{Image: image, RegistryFirst: true, Warn: warn}); err != nil || len(warned) != 1 || !strings.Contains(warned[0], wanted) {
			t.Errorf("%v, and warnings %q", err, warned)
		}
	}
	for image, wanted := range map[string]string{other: "127.0.0.1:1 cannot be reached", serveAnswer(t, http.StatusNotImplemented) + "/team/a:b": "501", serveAnswer(t, http.StatusUnauthorized) + "/team/a:b": "does not permit it"} {
		if _, err := BuildFiles(t.Context(), w.Host, FilesOptions{Image: image, Files: someFiles()}); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), w.Host, OpenOptions{Image: image, RegistryFirst: true, RegistryOnly: image == other}); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("%s: error %v, want %q", image, err, wanted)
		}
	}
	w = hosttest.New(t) // where it is not in the store
	check(OpenOptions{Image: at + "@" + digest})
	want.Files = Files{"manifests/csv.yaml": someFiles()["manifests/csv.yaml"]}
	check(OpenOptions{Image: at, Roots: func(l map[string]string) []string {
		if l["k"] != "v" {
			t.Errorf("labels %v", l)
		}
		return []string{"manifests/"}
	}})
	for wanted, o := range map[string]OpenOptions{
		"is not on this machine":        {Image: at, Offline: true},
		"has no such image":             {Image: strings.TrimSuffix(at, ":v1") + ":v2"},
		"is not an image's name":        {Image: "Not/An/Image"},
		"127.0.0.1:1 cannot be reached": {Image: "127.0.0.1:1/team/a:b"},
	} {
		if _, err := Open(t.Context(), w.Host, o); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("%s: error %v, want %q", o.Image, err, wanted)
		}
	}
}

// TestOpenOfDockerHub: a name without a registry is asked for there, unless it is one word.
func TestOpenOfDockerHub(t *testing.T) {
	w := hosttest.New(t)
	ended, end := context.WithCancel(t.Context())
	end() // so that nobody is asked in fact
	for image, asked := range map[string]bool{"you/bundle:v1": true, "bundle:v1": false} {
		if _, err := BuildFiles(t.Context(), w.Host, FilesOptions{Image: image, Files: someFiles()}); err != nil {
			t.Fatal(err)
		}
		var said []string
		_, _ = Open(ended, w.Host, OpenOptions{Image: image, RegistryFirst: true, Progress: func(text string) { said = append(said, text) }})
		if slices.Contains(said, "pulling "+image) != asked {
			t.Errorf("%s: said %q", image, said)
		}
	}
}

// serveAnswer is a registry that answers everything with a status.
func serveAnswer(t *testing.T, status int) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// TestOpenArchive reads what every tool makes of the same image.
func TestOpenArchive(t *testing.T) {
	w, digest := bundled(t, "bundle:v1")
	save := func(o SaveOptions) {
		o.Image = "bundle:v1"
		if _, err := Save(t.Context(), w.Host, o); err != nil {
			t.Fatal(err)
		}
	}
	save(SaveOptions{File: "docker.tar"})
	save(SaveOptions{Layout: "layout"})
	tarDir(t, filepath.Join(w.Dir, "oci.tar"), filepath.Join(w.Dir, "layout"), "")
	plain := filepath.Join(w.Dir, "plain")
	for name, data := range someFiles() {
		write(t, filepath.Join(plain, filepath.FromSlash(name)), string(data))
	}
	tarDir(t, filepath.Join(w.Dir, "plain.tar"), plain, "")
	tarDir(t, filepath.Join(w.Dir, "out.tar"), plain, "../")
	tarDir(t, filepath.Join(w.Dir, "deep.tar"), plain, "./a/bundle/")
	squeeze(t, filepath.Join(w.Dir, "deep.tar"))
	for file, wantDigest := range map[string]bool{"docker.tar": false, "oci.tar": true, "plain.tar": false, "out.tar": false, "deep.tar.gz": false} {
		c, err := OpenArchive(w.Host, file, nil, "manifests", "metadata/annotations.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(someFiles(), c.Files); d != "" {
			t.Errorf("%s (-want +got):\n%s", file, d)
		}
		if wantDigest && c.Digest != digest {
			t.Errorf("%s has the digest %s, want %s", file, c.Digest, digest)
		}
	}
	dir := filepath.Join(w.Dir, "layout")
	c, err := OpenLayout(dir, nil)
	if err != nil || !IsLayout(dir) || IsLayout(plain) || c.Digest != digest {
		t.Fatalf("the layout: %+v, %v", c, err)
	}
	if d := cmp.Diff(someFiles(), c.Files); d != "" {
		t.Errorf("the layout (-want +got):\n%s", d)
	}
}

func TestOpenArchiveRefuses(t *testing.T) {
	w, _ := bundled(t, "bundle:v1")
	if _, err := Save(t.Context(), w.Host, SaveOptions{Image: "bundle:v1", Layout: "layout"}); err != nil {
		t.Fatal(err)
	}
	blobs, err := filepath.Glob(filepath.Join(w.Dir, "layout", "blobs", "sha256", "*"))
	if err != nil || len(blobs) == 0 {
		t.Fatal(blobs, err)
	}
	for _, b := range blobs {
		write(t, b, "{}")
	}
	tarDir(t, filepath.Join(w.Dir, "broken.tar"), filepath.Join(w.Dir, "layout"), "")
	for _, name := range []string{"project/config/manifests/k.yaml", "project/bundle/manifests/a.yaml", "project/bundle/metadata/a.yaml", "several/b/metadata/a.yaml", "several/a/metadata/a.yaml", "several/a/manifests/a.yaml", "several/c/d/metadata/a.yaml"} {
		write(t, filepath.Join(w.Dir, filepath.FromSlash(name)), "a: b")
	}
	write(t, filepath.Join(w.Dir, "text.tar"), "no archive, and longer than the longest of magic numbers")
	write(t, filepath.Join(w.Dir, "cut.tar.gz"), "\x1f\x8bnothing")
	tarDir(t, filepath.Join(w.Dir, "project.tar"), filepath.Join(w.Dir, "project"), "")
	tarDir(t, filepath.Join(w.Dir, "several.tar"), filepath.Join(w.Dir, "several"), "")
	if c, err := OpenArchive(w.Host, "project.tar", nil, "metadata", "manifests"); err != nil || c.Files["metadata/a.yaml"] == nil {
		t.Errorf("the bundle of a project: %v, %v", c, err)
	}
	tests := map[string]string{"several.tar": "there are several bundles in it: a, b", "broken.tar": "is broken", "text.tar": "it is not a tar file", "cut.tar.gz": "read the archive cut.tar.gz", "missing.tar": "no such file"}
	for file, want := range tests {
		if _, err := OpenArchive(w.Host, file, nil, "metadata", "manifests"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", file, err, want)
		}
	}
	if _, err := OpenLayout(filepath.Join(w.Dir, "layout"), nil); err == nil {
		t.Error("a broken layout is read")
	}
}

// tarDir writes what is in dir to a tar file, below prefix.
func tarDir(t *testing.T, file, dir, prefix string) {
	t.Helper()
	var b bytes.Buffer
	archive := tar.NewWriter(&b)
	err := filepath.Walk(dir, func(p string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if err := archive.WriteHeader(&tar.Header{Name: prefix + filepath.ToSlash(rel), Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(data))}); err != nil {
			return err
		}
		_, err = archive.Write(data)
		return err
	})
	if err == nil {
		err = archive.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, b.String())
}

// squeeze makes FILE.gz of FILE.
func squeeze(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	if _, err := zip.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, file+".gz", b.String())
}

// FuzzReadTar: what is read stays below the root, whatever the archive says.
func FuzzReadTar(f *testing.F) {
	for _, name := range []string{"a/b", "../../etc/passwd", "/abs", "./.", "a//b", "a/../../c", "a\xff"} {
		var b bytes.Buffer
		archive := tar.NewWriter(&b)
		if err := archive.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: 1, Format: tar.FormatGNU}); err != nil {
			f.Fatal(err)
		}
		if _, err := archive.Write([]byte("x")); err != nil {
			f.Fatal(err)
		}
		if err := archive.Close(); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := registry.Files(bytes.NewReader(data), nil, 1<<20)
		if err != nil {
			return
		}
		for name := range files {
			if !isClean(name) {
				t.Errorf("%q is read", name)
			}
		}
		// An archive of anything must not make archiveContents panic either.
		_, _ = archiveContents(data, nil, []string{"manifests"}, 1<<20)
	})
}

func isClean(name string) bool {
	return fs.ValidPath(name) && name == strings.Trim(filepath.ToSlash(filepath.Clean("/"+name)), "/")
}

func TestReadLimit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.tar")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "big"), strings.Repeat("x", 100))
	tarDir(t, file, dir, "")
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := registry.Files(f, nil, 99); err == nil || !strings.Contains(err.Error(), "too large for a bundle or catalog") {
		t.Errorf("error %v", err)
	}
}

func TestPlatforms(t *testing.T) {
	w, _ := faked(t)
	at := serve(t) + "/team/op:v1"
	build(t, w, BuildOptions{Image: at, Base: Scratch, Platforms: []string{"linux/arm64", "linux/amd64"}})
	want := []Platform{{"linux", "arm64"}, {"linux", "amd64"}}
	for _, where := range []string{"store", "registry"} {
		got, err := Platforms(t.Context(), w.Host, at, false)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", where, d)
		}
		if _, err := Push(t.Context(), w.Host, PushOptions{Image: at}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(CheckName(at), CheckName(at+"0")); err != nil || CheckName("No Name") == nil {
		t.Errorf("names: %v", err)
	}
	fresh := hosttest.New(t)
	if got, err := Platforms(t.Context(), fresh.Host, at, false); err != nil || len(got) != 2 {
		t.Errorf("from the registry alone: %v, %v", got, err)
	}
	if _, err := Platforms(t.Context(), fresh.Host, "127.0.0.1:1/team/a:b", false); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("error %v", err)
	}
}
