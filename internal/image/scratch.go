package image

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/example/mysdk/internal/clierr"
)

// certPath is where Go programs look first.
const certPath = "/etc/ssl/certs/ca-certificates.crt"

const (
	passwd = `root:x:0:0:root:/root:/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin
nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin
`
	group = `root:x:0:
nobody:x:65534:
nonroot:x:65532:
`
)

// systemBundles are the files that systems keep the certificates of the
// authorities they trust in, those that crypto/x509 reads.
var systemBundles = []string{
	"/etc/ssl/certs/ca-certificates.crt",                // Debian, Ubuntu, Arch
	"/etc/pki/tls/certs/ca-bundle.crt",                  // Fedora, RHEL
	"/etc/ssl/ca-bundle.pem",                            // SUSE
	"/etc/pki/tls/cacert.pem",                           // OpenELEC
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // RHEL 7
	"/etc/ssl/cert.pem",                                 // Alpine, macOS
}

// scratch makes a base with nothing in it but what an operator needs.
func (b *builder) scratch() (*base, error) {
	certs, err := b.certificates()
	if err != nil {
		return nil, err
	}
	l, err := b.layer(filepath.Join(b.work, "scratch.tar.gz"), "mysdk image build --base scratch",
		"certificates, passwd, group, /tmp", scratchFiles(certs))
	if err != nil {
		return nil, err
	}
	made := &base{name: Scratch}
	for _, p := range b.platforms {
		img, err := b.newImage(v1.ConfigFile{
			OS: p.OS, Architecture: p.Architecture, Variant: p.Variant,
			Config: v1.Config{Env: []string{"PATH=/", "SSL_CERT_FILE=" + certPath}},
		}, l)
		if err != nil {
			return nil, err
		}
		made.images = append(made.images, img)
	}
	return made, nil
}

func scratchFiles(certs []byte) []entry {
	return []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, data: []byte(group)},
		{name: "etc/passwd", mode: 0o644, data: []byte(passwd)},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: certPath[1:], mode: 0o644, data: certs},
		{name: "home/", mode: 0o755},
		{name: "home/nonroot/", mode: 0o700, uid: 65532, gid: 65532},
		{name: "tmp/", mode: 0o1777},
	}
}

// certificates are those that this machine trusts: SSL_CERT_FILE, else the
// first of the systems' bundles that is there.
func (b *builder) certificates() ([]byte, error) {
	const hint = "set SSL_CERT_FILE to a file of certificates in PEM"
	files := systemBundles
	named := b.host.Getenv("SSL_CERT_FILE")
	if named != "" {
		files = []string{b.host.Path(named)}
	}
	for _, file := range files {
		data, err := b.host.Files.ReadFile(file)
		certs, n := onlyCertificates(data)
		switch {
		case err == nil && n > 0:
			b.progress("reading %d CA certificates from %s", n, file)
			return certs, nil
		case named != "" && err == nil:
			return nil, clierr.Failedf(hint+", or unset it", "there is no certificate in %s", file)
		case named != "":
			return nil, clierr.Failedf(hint+", or unset it", "read the certificates for the base scratch: %w", err)
		}
	}
	return nil, clierr.Failedf(hint+", such as https://curl.se/ca/cacert.pem",
		"this machine has no file with CA certificates, which the base scratch needs")
}

// onlyCertificates leaves everything else behind: comments, which differ
// between systems, and keys, which must not get into an image.
func onlyCertificates(data []byte) ([]byte, int) {
	var out bytes.Buffer
	n := 0
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return out.Bytes(), n
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			continue // what cannot be read here cannot be used there
		}
		out.Write(pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes}))
		n++
	}
}
