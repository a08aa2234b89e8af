package image

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/example/mysdk/internal/host/hosttest"
)

// someFiles are those of a small bundle.
func someFiles() Files {
	return Files{
		"manifests/csv.yaml":        []byte("kind: ClusterServiceVersion\n"),
		"metadata/annotations.yaml": []byte("annotations: {}\n"),
		"tests/scorecard/c.yaml":    []byte("kind: Configuration\n"),
	}
}

func TestFilesIsAFileSystem(t *testing.T) {
	if err := fstest.TestFS(someFiles().FS(), "manifests/csv.yaml", "metadata/annotations.yaml", "tests/scorecard/c.yaml"); err != nil {
		t.Error(err)
	}
	if err := fstest.TestFS(Files{}.FS()); err != nil {
		t.Error(err)
	}
	if _, err := fs.ReadFile(someFiles().FS(), "../etc/passwd"); err == nil {
		t.Error("a path out of it was read")
	}
	if d := cmp.Diff(Files{"c.yaml": []byte("kind: Configuration\n")}, someFiles().Sub("/tests/scorecard/")); d != "" {
		t.Error(d)
	}
}

// TestBuildFiles builds the same image twice, under two names, and reads it.
func TestBuildFiles(t *testing.T) {
	w := hosttest.New(t)
	o := FilesOptions{Image: "example.com/a/bundle:v1", Files: someFiles(), Labels: map[string]string{"k": "v", "org.opencontainers.image.title": "it"}, CreatedBy: "test"}
	one, err := BuildFiles(t.Context(), w.Host, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Image = "example.com/b/bundle:v2"
	two, err := BuildFiles(t.Context(), hosttest.New(t).Host, o)
	if err != nil {
		t.Fatal(err)
	}
	if one.Digest != two.Digest || one.Image != "example.com/a/bundle:v1" || one.Base != Scratch {
		t.Errorf("built %+v and %+v", one, two)
	}
	img := stored(t, w, "example.com/a/bundle:v1").image
	if err := validate.Image(img); err != nil {
		t.Error(err)
	}
	headers, contents := files(t, img)
	if contents["manifests/csv.yaml"] != "kind: ClusterServiceVersion\n" || headers["manifests/csv.yaml"].Mode != 0o644 || headers["tests/scorecard"].Mode != 0o755 || len(headers) != 7 {
		t.Errorf("in the image: %v %v", headers, contents)
	}
	w.Env["SOURCE_DATE_EPOCH"] = "1700000000"
	if dated, err := BuildFiles(t.Context(), w.Host, o); err != nil || dated.Digest == one.Digest {
		t.Errorf("with a date the digest is %s (%v)", dated.Digest, err)
	}
}

func TestBuildFilesRefuses(t *testing.T) {
	w := hosttest.New(t)
	for want, o := range map[string]FilesOptions{
		"is not an image's name":       {Image: "Bundle:v1"},
		"names an image by its digest": {Image: "team/a@sha256:" + strings.Repeat("0", 64)},
	} {
		if _, err := BuildFiles(t.Context(), w.Host, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	w.Env["SOURCE_DATE_EPOCH"] = "today"
	if _, err := BuildFiles(t.Context(), w.Host, FilesOptions{Image: "team/a:b"}); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("error %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w.Env["SOURCE_DATE_EPOCH"] = ""
	if _, err := BuildFiles(ended, w.Host, FilesOptions{Image: "team/a:b"}); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

const recipe = `# the labels
FROM scratch

LABEL operators.operatorframework.io.bundle.mediatype.v1=registry+v1
LABEL "a b"="c d" \
   # in between
   e=f\ g
LABEL old form
COPY bundle/manifests /manifests/
COPY bundle/metadata/annotations.yaml /metadata/
COPY ./bundle/tests/scorecard /tests/scorecard/
`

func TestParseRecipe(t *testing.T) {
	r, err := ParseRecipe([]byte(recipe), "bundle.Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a b": "c d", "e": "f g", "old": "form", "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1"}
	if d := cmp.Diff(want, r.Labels); d != "" {
		t.Errorf("labels (-want +got):\n%s", d)
	}
	dir := t.TempDir()
	for name, data := range someFiles() {
		write(t, filepath.Join(dir, "bundle", filepath.FromSlash(name)), string(data))
	}
	got, err := r.Gather(os.DirFS(dir), "bundle.Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(someFiles(), got); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	r.Copies = []Copy{{From: []string{"."}, Line: 3}, {From: []string{"bundle/manifests/csv.yaml"}, To: "renamed.yaml", Line: 4}}
	if got, err = r.Gather(os.DirFS(dir), "d"); err != nil || got["bundle/manifests/csv.yaml"] == nil || got["renamed.yaml"] == nil {
		t.Errorf("all of it: %v, %v", got, err)
	}
	link := "bundle/manifests/link.yaml"
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, link)); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"bundle", link} {
		r.Copies = []Copy{{From: []string{from}, Line: 3}}
		if _, err := r.Gather(os.DirFS(dir), "d"); err == nil || !strings.Contains(err.Error(), "d:3: copy "+from+": "+link+" is a symbolic link") {
			t.Errorf("a link in %s: %v", from, err)
		}
	}
}

func TestParseRecipeRefuses(t *testing.T) {
	tests := map[string]string{
		"":                                      "d: there is no FROM in it",
		"FROM golang:1.26":                      "d:1: FROM golang:1.26: only an image FROM scratch",
		"FROM scratch\nRUN true":                "d:2: RUN needs a container to run in",
		"FROM scratch\n\nLABEL a=\"b":           "d:3: LABEL: a quote \" is not closed",
		"FROM scratch\nLABEL":                   "d:2: LABEL: there is no label",
		"FROM scratch\nLABEL a=b c":             `d:2: LABEL: "c" is not KEY=VALUE`,
		"FROM scratch\nCOPY a":                  "d:2: COPY takes a source and a target",
		"FROM scratch\nCOPY --chown=1 a /":      "d:2: COPY --chown=1 cannot be followed",
		"FROM scratch\nCOPY ../../etc/passwd /": "d:2: COPY ../../etc/passwd: a source is a plain path",
		"FROM scratch\nCOPY *.yaml /":           "d:2: COPY *.yaml: a source is a plain path",
		"FROM scratch\nCOPY <<EOF /a\nb\nEOF":   "d:2: COPY <<EOF: a source is a plain path",
		"FROM scratch\nCOPY a $TO":              "d:2: COPY to \"$TO\": a target is a plain path",
	}
	for text, want := range tests {
		if _, err := ParseRecipe([]byte(text), "d"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	r, err := ParseRecipe([]byte("FROM scratch\nCOPY bundle/manifests /manifests/\n"), "d")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Gather(os.DirFS(t.TempDir()), "d"); err == nil || !strings.HasPrefix(err.Error(), "d:2: copy bundle/manifests: ") {
		t.Errorf("error %v", err)
	}
}

func FuzzParseRecipe(f *testing.F) {
	f.Add(recipe)
	f.Add("FROM scratch\nCOPY a/../.. /x\n")
	f.Add("FROM scratch\nLABEL a='b\\'\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRecipe([]byte(text), "d")
		if err != nil {
			return
		}
		for _, c := range r.Copies {
			for _, from := range c.From {
				if !fs.ValidPath(from) {
					t.Errorf("the source %q leads out", from)
				}
			}
			if to := strings.TrimSuffix(c.To, "/"); to != "" && !fs.ValidPath(to) {
				t.Errorf("the target %q leads out", c.To)
			}
		}
	})
}
