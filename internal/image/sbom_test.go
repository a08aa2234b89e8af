package image

import (
	"encoding/json"
	"io"
	"net/url"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func spdxOf(t *testing.T, info *debug.BuildInfo, base *base) spdxDocument {
	t.Helper()
	b := &builder{BuildOptions: BuildOptions{Title: "Shop op", Tool: "mysdk-v1"}, epoch: time.Unix(0, 0).UTC()}
	digest := v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("a", 64)}
	return b.spdx(base, digest, &binary{platform: v1.Platform{OS: "linux", Architecture: "arm64"}, sha1: "51", sha256: "52", info: info})
}

func TestSPDX(t *testing.T) {
	d := spdxOf(t, &debug.BuildInfo{
		GoVersion: "go1.26.8 X:nodwarf5",
		Main:      debug.Module{Path: "example.com/shop", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "k8s.io/api", Version: "v0.36.3", Sum: "h1:abc="},
			{Path: "github.com/BurntSushi/toml", Version: "v1.0.0+incompatible"},
			{Path: "example.com/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.0.1"}},
			{Path: "example.com/local", Version: "v0.0.0", Replace: &debug.Module{Path: "../local", Version: "(devel)"}},
			{Path: "example.com/a-b", Version: "v1"}, {Path: "example.com/a/b", Version: "v1"}, // the same but for what an identifier cannot have
		},
	}, &base{name: "static", fullName: "gcr.io/distroless/static:nonroot", digest: "sha256:" + strings.Repeat("b", 64)})
	checkSPDX(t, d)
	type row struct{ Name, Version, PURL, Note string }
	var got []row
	for _, p := range d.Packages {
		got = append(got, row{p.Name, p.Version, p.ExternalRefs[0].Locator, p.SourceInfo})
	}
	a, b := "sha256%3A"+strings.Repeat("a", 64), "sha256%3A"+strings.Repeat("b", 64)
	want := []row{
		{"Shop op", "sha256:" + strings.Repeat("a", 64), "pkg:oci/shop%20op@" + a + "?arch=arm64", ""},
		{"gcr.io/distroless/static:nonroot", "sha256:" + strings.Repeat("b", 64), "pkg:oci/static@" + b + "?repository_url=gcr.io%2Fdistroless%2Fstatic", ""},
		{"example.com/shop", "", "pkg:golang/example.com/shop", ""},
		{"k8s.io/api", "v0.36.3", "pkg:golang/k8s.io/api@v0.36.3", "go.sum h1:abc="},
		{"github.com/BurntSushi/toml", "v1.0.0+incompatible", "pkg:golang/github.com/burntsushi/toml@v1.0.0%2Bincompatible", ""},
		{"example.com/fork", "v1.0.1", "pkg:golang/example.com/fork@v1.0.1", "replaces example.com/old v1.0.0"},
		{"example.com/local", "", "pkg:golang/example.com/local", "compiled from a directory"},
		{"example.com/a-b", "v1", "pkg:golang/example.com/a-b@v1", ""},
		{"example.com/a/b", "v1", "pkg:golang/example.com/a/b@v1", ""},
		{"stdlib", "1.26.8", "pkg:golang/stdlib@1.26.8", ""},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("packages (-want +got):\n%s", d)
	}
	for _, want := range []spdxRelationship{
		{documentID, "DESCRIBES", imageID}, {imageID, "CONTAINS", fileID}, {imageID, "DESCENDANT_OF", baseID},
		{fileID, "GENERATED_FROM", "SPDXRef-Module-example.com-shop"},
		{"SPDXRef-Module-example.com-shop", "DEPENDS_ON", "SPDXRef-Module-k8s.io-api-v0.36.3"},
		{"SPDXRef-Module-example.com-shop", "DEPENDS_ON", "SPDXRef-Module-stdlib-1.26.8"},
	} {
		if !slices.Contains(d.Relationships, want) {
			t.Errorf("%v is missing", want)
		}
	}
}

// checkSPDX holds a document to what SPDX 2.3 demands of every document.
func checkSPDX(t *testing.T, d spdxDocument) {
	t.Helper()
	if d.SPDXVersion != "SPDX-2.3" || d.DataLicense != "CC0-1.0" || d.SPDXID != "SPDXRef-DOCUMENT" || d.Name == "" {
		t.Errorf("document %q, %q, %q, %q", d.SPDXVersion, d.DataLicense, d.SPDXID, d.Name)
	}
	if u, err := url.Parse(d.DocumentNamespace); err != nil || !u.IsAbs() || u.Fragment != "" {
		t.Errorf("namespace %q: %v", d.DocumentNamespace, err)
	}
	if _, err := time.Parse("2006-01-02T15:04:05Z", d.CreationInfo.Created); err != nil || len(d.CreationInfo.Creators) == 0 {
		t.Errorf("created %+v: %v", d.CreationInfo, err)
	}
	ids := map[string]bool{d.SPDXID: true}
	add := func(id string) {
		if !regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`).MatchString(id) || ids[id] {
			t.Errorf("%q is no identifier, or not unique", id)
		}
		ids[id] = true
	}
	for _, p := range d.Packages {
		add(p.SPDXID)
		if p.Name == "" || p.DownloadLocation == "" || p.FilesAnalyzed {
			t.Errorf("package %+v", p)
		}
	}
	for _, f := range d.Files {
		add(f.SPDXID)
		if !strings.HasPrefix(f.Name, "./") || f.Checksums[0].Algorithm != "SHA1" {
			t.Errorf("file %+v", f)
		}
	}
	for _, r := range d.Relationships {
		if !ids[r.Element] || !ids[r.Related] {
			t.Errorf("%v relates what is not there", r)
		}
	}
}

// TestStoredSBOM: the artifact refers to its image and carries the document.
func TestStoredSBOM(t *testing.T) {
	w, _ := faked(t)
	built := build(t, w, BuildOptions{Title: "shop", Base: Scratch})
	s := stored(t, w, "").sboms[0]
	m := must(s.Manifest())(t)
	if m.Subject == nil || m.Subject.Digest.String() != built.Digest || m.ArtifactType != "application/spdx+json" || m.Config.MediaType != emptyType {
		t.Errorf("manifest %+v", m)
	}
	var d spdxDocument
	if err := json.Unmarshal([]byte(sbomText(t, s)), &d); err != nil {
		t.Fatal(err)
	}
	checkSPDX(t, d)
	if d.Packages[0].Version != built.Digest || d.Packages[len(d.Packages)-1].Version != strings.TrimPrefix(runtime.Version(), "go") {
		t.Errorf("it is about %s, with Go %s", d.Packages[0].Version, d.Packages[len(d.Packages)-1].Version)
	}
	if slices.ContainsFunc(d.Packages, func(p spdxPackage) bool { return p.SPDXID == baseID }) {
		t.Error("scratch is no image to be named")
	}
}

func sbomText(t *testing.T, s v1.Image) string {
	t.Helper()
	l := must(s.LayerByDigest(must(s.Manifest())(t).Layers[0].Digest))(t)
	r := must(l.Compressed())(t)
	defer r.Close()
	return string(must(io.ReadAll(r))(t))
}
