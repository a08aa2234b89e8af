package image

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// spdxMediaType is the registered media type of SPDX documents in JSON, which
// is the artifact type of the manifest that carries one as well.
const spdxMediaType types.MediaType = "application/spdx+json"

// noAssertion is what SPDX has for what was not looked into.
const noAssertion = "NOASSERTION"

// spdxDocument is an SPDX 2.3 document (https://spdx.github.io/spdx-spec/v2.3/),
// with the fields that are filled here.
type spdxDocument struct {
	SPDXID            string             `json:"SPDXID"`
	SPDXVersion       string             `json:"spdxVersion"`
	DataLicense       string             `json:"dataLicense"`
	Name              string             `json:"name"`
	DocumentNamespace string             `json:"documentNamespace"`
	CreationInfo      spdxCreation       `json:"creationInfo"`
	Packages          []spdxPackage      `json:"packages"`
	Files             []spdxFile         `json:"files"`
	Relationships     []spdxRelationship `json:"relationships"`
}

type spdxCreation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	SPDXID           string          `json:"SPDXID"`
	Name             string          `json:"name"`
	Version          string          `json:"versionInfo,omitempty"`
	Purpose          string          `json:"primaryPackagePurpose,omitempty"`
	DownloadLocation string          `json:"downloadLocation"`
	FilesAnalyzed    bool            `json:"filesAnalyzed"`
	LicenseConcluded string          `json:"licenseConcluded"`
	LicenseDeclared  string          `json:"licenseDeclared"`
	Copyright        string          `json:"copyrightText"`
	SourceInfo       string          `json:"sourceInfo,omitempty"`
	Checksums        []spdxChecksum  `json:"checksums,omitempty"`
	ExternalRefs     []spdxReference `json:"externalRefs,omitempty"`
}

type spdxFile struct {
	SPDXID    string         `json:"SPDXID"`
	Name      string         `json:"fileName"`
	Types     []string       `json:"fileTypes"`
	Checksums []spdxChecksum `json:"checksums"`
}

type spdxChecksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type spdxReference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type spdxRelationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// Identifiers of what every document here has.
const (
	documentID = "SPDXRef-DOCUMENT"
	imageID    = "SPDXRef-Image"
	baseID     = "SPDXRef-Base"
	fileID     = "SPDXRef-File-manager"
)

// sbom is the bill of materials of one platform's image as an artifact that
// refers to it: what the linker recorded in the program, and the base.
func (b *builder) sbom(base *base, img v1.Image, bin *binary) (v1.Image, error) {
	digest, err := img.Digest()
	if err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(b.spdx(base, digest, bin), "", "  ")
	if err != nil {
		return nil, err
	}
	size, err := img.Size()
	if err != nil {
		return nil, err
	}
	return newArtifact(spdxMediaType, append(data, '\n'),
		v1.Descriptor{MediaType: types.OCIManifestSchema1, Digest: digest, Size: size},
		map[string]string{"org.opencontainers.image.created": b.epoch.Format(time.RFC3339)})
}

func (b *builder) spdx(base *base, digest v1.Hash, bin *binary) spdxDocument {
	d := spdxDocument{
		SPDXID: documentID, SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0", Name: b.Title,
		// Unique, as it must be, and the same for the same image.
		DocumentNamespace: "https://spdx.org/spdxdocs/" + url.PathEscape(b.Title) + "-" + digest.Hex,
		CreationInfo:      spdxCreation{Created: b.epoch.Format(time.RFC3339), Creators: []string{"Tool: " + cmp.Or(b.Tool, "mysdk")}},
		Files: []spdxFile{{
			SPDXID: fileID, Name: "." + entrypoint, Types: []string{"BINARY"},
			Checksums: []spdxChecksum{{"SHA1", bin.sha1}, {"SHA256", bin.sha256}},
		}},
	}
	root := newPackage(imageID, b.Title, digest.String(), ociPURL(b.Title, digest.String(), "arch="+bin.platform.Architecture))
	root.Purpose = "CONTAINER"
	root.Checksums = []spdxChecksum{{"SHA256", digest.Hex}}
	d.Packages = append(d.Packages, root)
	d.relate(documentID, "DESCRIBES", imageID)
	d.relate(imageID, "CONTAINS", fileID)
	if base.digest != "" {
		d.addBase(base)
	}
	d.addModules(bin.info)
	return d
}

func (d *spdxDocument) relate(a, how, b string) {
	d.Relationships = append(d.Relationships, spdxRelationship{a, how, b})
}

func (d *spdxDocument) addBase(base *base) {
	repo := split(base.fullName)
	short := repo.repository[strings.LastIndexByte(repo.repository, '/')+1:]
	where := url.QueryEscape(repo.registry + "/" + repo.repository)
	p := newPackage(baseID, base.fullName, base.digest, ociPURL(short, base.digest, "repository_url="+where))
	p.Purpose = "CONTAINER"
	d.Packages = append(d.Packages, p)
	d.relate(imageID, "DESCENDANT_OF", baseID)
}

// addModules adds the modules that the program was linked from, its own first,
// and Go's standard library.
func (d *spdxDocument) addModules(info *debug.BuildInfo) {
	ids := map[string]bool{}
	mainID := d.addModule(&info.Main, ids)
	d.relate(fileID, "GENERATED_FROM", mainID)
	for _, dep := range info.Deps {
		d.relate(mainID, "DEPENDS_ON", d.addModule(dep, ids))
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(info.GoVersion, "go"), " ") // experiments follow a space
	std := &debug.Module{Path: "stdlib", Version: version}
	d.relate(mainID, "DEPENDS_ON", d.addModule(std, ids))
}

// addModule adds a module and returns its identifier. A replacement is what was
// compiled, unless it is a directory: that has no name elsewhere.
func (d *spdxDocument) addModule(m *debug.Module, ids map[string]bool) string {
	note := ""
	if r := m.Replace; r != nil {
		note = fmt.Sprintf("replaces %s %s", m.Path, m.Version)
		if r.Version != "" && r.Version != "(devel)" {
			m = r
		} else {
			m = &debug.Module{Path: m.Path}
			note = "compiled from a directory"
		}
	}
	version := m.Version
	if version == "(devel)" {
		version = ""
	}
	id := "SPDXRef-Module-" + regexp.MustCompile(`[^A-Za-z0-9.-]+`).ReplaceAllString(strings.Trim(m.Path+"-"+version, "-"), "-")
	for base, n := id, 2; ids[id]; n++ {
		id = fmt.Sprintf("%s-%d", base, n)
	}
	ids[id] = true
	p := newPackage(id, cmp.Or(m.Path, "command-line-arguments"), version, golangPURL(m.Path, version))
	if m.Sum != "" {
		note = strings.TrimPrefix(note+"; go.sum "+m.Sum, "; ")
	}
	p.SourceInfo = note
	d.Packages = append(d.Packages, p)
	return id
}

func newPackage(id, name, version, purl string) spdxPackage {
	return spdxPackage{
		SPDXID: id, Name: name, Version: version, DownloadLocation: noAssertion,
		LicenseConcluded: noAssertion, LicenseDeclared: noAssertion, Copyright: noAssertion,
		ExternalRefs: []spdxReference{{"PACKAGE-MANAGER", "purl", purl}},
	}
}

// golangPURL is a module's package URL (https://github.com/package-url/purl-spec).
func golangPURL(path, version string) string {
	var parts []string
	for p := range strings.SplitSeq(strings.ToLower(path), "/") {
		parts = append(parts, url.PathEscape(p))
	}
	purl := "pkg:golang/" + strings.Join(parts, "/")
	if version != "" {
		purl += "@" + strings.ReplaceAll(url.PathEscape(version), "+", "%2B")
	}
	return purl
}

func ociPURL(name, digest, qualifiers string) string {
	return "pkg:oci/" + url.PathEscape(strings.ToLower(name)) + "@" + url.QueryEscape(digest) + "?" + qualifiers
}

// A configuration that says nothing.
const (
	emptyType = types.MediaType("application/vnd.oci.empty.v1+json")
	emptyData = "{}"
)

// artifact is a manifest that carries a file instead of a root file system and
// refers to an image, its subject (OCI image specification 1.1, "Guidelines
// for Artifact Usage"): a partial.CompressedImageCore.
type artifact struct {
	manifest []byte
	blob     v1.Layer
}

// newArtifact makes an artifact with one file of the given media type, which
// is the artifact's type too.
func newArtifact(kind types.MediaType, data []byte, subject v1.Descriptor, annotations map[string]string) (v1.Image, error) {
	config, err := partial.Descriptor(static.NewLayer([]byte(emptyData), emptyType))
	if err != nil {
		return nil, err
	}
	blob := static.NewLayer(data, kind)
	file, err := partial.Descriptor(blob)
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: string(kind),
		Config: *config, Layers: []v1.Descriptor{*file}, Subject: &subject, Annotations: annotations,
	})
	if err != nil {
		return nil, err
	}
	return partial.CompressedToImage(&artifact{manifest, blob})
}

func (a *artifact) RawManifest() ([]byte, error)        { return a.manifest, nil }
func (a *artifact) RawConfigFile() ([]byte, error)      { return []byte(emptyData), nil }
func (a *artifact) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

func (a *artifact) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	if d, err := a.blob.Digest(); err != nil || d != h {
		return nil, fmt.Errorf("there is no layer %s in the artifact", h)
	}
	return a.blob, nil
}
