package image

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
)

// TestOnlyCertificates: a key beside a certificate must not get into an image.
func TestOnlyCertificates(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	private := string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
	broken := "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	for name, c := range map[string]struct {
		in, want string
		n        int
	}{
		"one":      {authority(), authority(), 1},
		"comments": {"# Amtliche Stelle\n" + authority() + "\n\n# end\n" + authority(), authority() + authority(), 2},
		"key":      {private + authority() + private, authority(), 1},
		"broken":   {broken + authority(), authority(), 1},
		"none":     {private + broken, "", 0},
		"empty":    {"", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got, n := onlyCertificates([]byte(c.in)); string(got) != c.want || n != c.n {
				t.Errorf("%d certificates:\n%s\nwant %d:\n%s", n, got, c.n, c.want)
			}
		})
	}
}

func FuzzOnlyCertificates(f *testing.F) {
	f.Add([]byte(authority()))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END"))
	f.Fuzz(func(t *testing.T, data []byte) {
		once, n := onlyCertificates(data)
		twice, m := onlyCertificates(once)
		if string(once) != string(twice) || n != m {
			t.Errorf("%d certificates are %d when read again", n, m)
		}
	})
}

// torn ends a file that cannot be read to its end.
const torn = "(torn)"

// systems is a file system of which only some files are there.
type systems struct {
	host.Files
	there map[string]string
}

func (s systems) ReadFile(name string) ([]byte, error) {
	if data, ok := s.there[name]; ok {
		if read, ok := strings.CutSuffix(data, torn); ok {
			return []byte(read), io.ErrUnexpectedEOF
		}
		return []byte(data), nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func TestCertificates(t *testing.T) {
	const hint = "set SSL_CERT_FILE to a file of certificates in PEM"
	for name, c := range map[string]struct {
		named string
		there map[string]string
		err   string
	}{
		"debian":         {"", map[string]string{"/etc/ssl/certs/ca-certificates.crt": authority()}, ""},
		"fedora":         {"", map[string]string{"/etc/pki/tls/certs/ca-bundle.crt": authority()}, ""},
		"alpine":         {"", map[string]string{"/etc/ssl/cert.pem": authority()}, ""},
		"an empty first": {"", map[string]string{"/etc/ssl/certs/ca-certificates.crt": "", "/etc/ssl/cert.pem": authority()}, ""},
		"a torn first": {"", map[string]string{
			"/etc/ssl/certs/ca-certificates.crt": authority() + authority() + torn, "/etc/ssl/cert.pem": authority(),
		}, ""},
		"named":          {"/my.pem", map[string]string{"/my.pem": authority()}, ""},
		"none":           {"", nil, "this machine has no file with CA certificates"},
		"named, missing": {"/my.pem", map[string]string{"/etc/ssl/cert.pem": authority()}, "open /my.pem"},
		"named, torn":    {"/my.pem", map[string]string{"/my.pem": authority() + torn}, "unexpected EOF"},
		"named, empty":   {"/my.pem", map[string]string{"/my.pem": "hello"}, "no certificate in /my.pem"},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := faked(t)
			w.Env["SSL_CERT_FILE"] = c.named
			w.Files = systems{w.Files, c.there}
			b := &builder{host: w.Host}
			data, err := b.certificates()
			if c.err == "" {
				if err != nil || string(data) != authority() {
					t.Errorf("%v\n%s", err, data)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(clierr.HintOf(err), hint) {
				t.Errorf("%v, hint %q", err, clierr.HintOf(err))
			}
		})
	}
}

// TestCertificatesOfProject: a relative SSL_CERT_FILE counts from where the
// command runs.
func TestCertificatesOfProject(t *testing.T) {
	w, _ := faked(t)
	write(t, filepath.Join(w.Dir, "ca.pem"), authority())
	w.Env["SSL_CERT_FILE"] = "ca.pem"
	build(t, w, BuildOptions{Base: Scratch})
}
