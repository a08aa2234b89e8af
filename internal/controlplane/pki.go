package controlplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/keyutil"

	"github.com/example/mysdk/internal/cluster/state"
)

const (
	caYears   = 10
	leafYears = 1
	// renewBefore is how long before its end a certificate is recreated: the
	// time for which a server may run without a restart.
	renewBefore = 90 * 24 * time.Hour
	// adminGroup is bound to everything in every cluster.
	adminGroup = "system:masters"
	// frontProxyName is the API server's name towards aggregated APIs.
	frontProxyName = "front-proxy-client"
)

// pki is the cluster's keys and certificates. They are kept across starts, so
// that a kubeconfig handed out stays good.
type pki struct {
	ca, admin, server pair
	proxyCA, proxy    pair   // of the API server as a client of aggregated APIs
	saKey             string // file of the key that signs service account tokens
}

// pair is a certificate with its key, in PEM, and the files they stand in.
type pair struct {
	cert, key         []byte
	certFile, keyFile string
	parsed            *x509.Certificate
	signer            crypto.Signer
}

// ensurePKI returns the keys in dir and makes those that are missing, damaged
// or near their end.
func ensurePKI(dir string, now time.Time) (pki, error) {
	var p pki
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return p, err
	}
	for _, want := range []struct {
		pair     *pair
		name     string
		template x509.Certificate
		ca       *pair
	}{
		{&p.ca, "ca", caTemplate(), nil},
		{&p.server, "apiserver", serverTemplate(), &p.ca},
		{&p.admin, "admin", clientTemplate("mysdk-admin", adminGroup), &p.ca},
		// A CA of its own: who has a certificate of it may speak for any user.
		{&p.proxyCA, "front-proxy-ca", caTemplate(), nil},
		{&p.proxy, "front-proxy-client", clientTemplate(frontProxyName), &p.proxyCA},
	} {
		var err error
		if *want.pair, err = ensurePair(dir, want.name, want.template, now, want.ca); err != nil {
			return p, err
		}
	}
	p.saKey = filepath.Join(dir, "sa.key")
	return p, ensureServiceAccountKey(p.saKey)
}

func caTemplate() x509.Certificate {
	return x509.Certificate{
		Subject: pkix.Name{CommonName: "mysdk-ca"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
}

func serverTemplate() x509.Certificate {
	return x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1).To4(), net.IPv6loopback, net.IPv4(240, 0, 0, 1).To4()},
	}
}

func clientTemplate(name string, groups ...string) x509.Certificate {
	return x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

// ensurePair loads the pair of that name or issues it, signed by ca or, where
// that is nil, by itself.
func ensurePair(dir, name string, template x509.Certificate, now time.Time, ca *pair) (pair, error) {
	p := pair{certFile: filepath.Join(dir, name+".crt"), keyFile: filepath.Join(dir, name+".key")}
	if err := p.load(); err != nil {
		return p, err
	}
	if p.good(now, ca) {
		return p, nil
	}
	if err := p.issue(template, now, ca); err != nil {
		return p, fmt.Errorf("issue the certificate %s: %w", name, err)
	}
	// The key first: a certificate without its key is seen as damaged.
	if err := errors.Join(state.WriteFile(p.keyFile, p.key), state.WriteFile(p.certFile, p.cert)); err != nil {
		return p, err
	}
	return p, nil
}

// load reads the pair. What is missing or damaged stays empty.
func (p *pair) load() error {
	var errs [2]error
	p.cert, errs[0] = os.ReadFile(p.certFile)
	p.key, errs[1] = os.ReadFile(p.keyFile)
	for _, err := range errs {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if both, err := tls.X509KeyPair(p.cert, p.key); err == nil {
		p.parsed, _ = x509.ParseCertificate(both.Certificate[0]) // Leaf is nil with GODEBUG=x509keypairleaf=0
		p.signer, _ = both.PrivateKey.(crypto.Signer)
	}
	return nil
}

// good reports whether the pair is whole, will last and is signed by ca.
func (p *pair) good(now time.Time, ca *pair) bool {
	if p.parsed == nil || now.Before(p.parsed.NotBefore) || now.Add(renewBefore).After(p.parsed.NotAfter) {
		return false
	}
	return ca == nil || p.parsed.CheckSignatureFrom(ca.parsed) == nil
}

// issue makes a key and a certificate for it, signed by ca or, without one, by
// itself.
func (p *pair) issue(template x509.Certificate, now time.Time, ca *pair) error {
	// Below a millisecond, where RSA takes hundreds.
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	const serialBits = 120
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
	if err != nil {
		return err
	}
	years := leafYears
	if ca == nil {
		years = caYears
	}
	template.SerialNumber = serial
	// An hour back, for clocks that are set a little later.
	template.NotBefore, template.NotAfter = now.Add(-time.Hour), now.AddDate(years, 0, 0)
	parent, signer := &template, crypto.Signer(key)
	if ca != nil {
		parent, signer = ca.parsed, ca.signer
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, parent, key.Public(), signer)
	if err != nil {
		return err
	}
	if p.parsed, err = x509.ParseCertificate(der); err != nil {
		return err
	}
	p.signer = key
	p.cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	p.key, err = keyutil.MarshalPrivateKeyToPEM(key)
	return err
}

func ensureServiceAccountKey(file string) error {
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := keyutil.ParsePrivateKeyPEM(data); err == nil {
		return nil
	}
	if data, err = keyutil.MakeEllipticPrivateKeyPEM(); err != nil {
		return err
	}
	return state.WriteFile(file, data)
}
