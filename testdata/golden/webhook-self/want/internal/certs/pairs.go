/*
Copyright 2026.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// How long certificates live. They are renewed when a third of that is left.
const (
	caLife      = 365 * 24 * time.Hour
	servingLife = 90 * 24 * time.Hour

	// skew is by how much the clocks of nodes may differ.
	skew = time.Hour

	// settle is the time from a new CA to the first certificate that it signs.
	// By then every API server trusts it.
	settle = 10 * time.Minute
)

// pair is a certificate with its key, both as PEM.
type pair struct{ certPEM, keyPEM []byte }

// bundle is all that the Secret holds.
type bundle struct {
	trusted  []byte // PEM: the CA that signs, then those before it
	caKeyPEM []byte
	serving  pair
}

// renew replaces what is missing, broken or due.
func (b bundle) renew(now time.Time, names []string) (result bundle, changed bool, err error) {
	cas := parseCerts(b.trusted)
	key, keyErr := parseKey(b.caKeyPEM)
	if len(cas) == 0 || keyErr != nil || !key.PublicKey.Equal(cas[0].PublicKey) || due(cas[0], now) {
		if key, cas, err = addCA(cas, now); err != nil {
			return b, false, err
		}
		if b.caKeyPEM, err = encodeKey(key); err != nil {
			return b, false, err
		}
		changed = true
	}
	valid := slices.DeleteFunc(cas, func(c *x509.Certificate) bool { return now.After(c.NotAfter) })
	if trusted := encodeCerts(valid); !bytes.Equal(trusted, b.trusted) {
		b.trusted, changed = trusted, true
	}
	usable := b.serving.verify(valid, now, names) == nil
	fresh := usable && !due(b.serving.cert(), now) && b.serving.cert().CheckSignatureFrom(valid[0]) == nil
	settled := now.After(valid[0].NotBefore.Add(skew + settle))
	if fresh || usable && !settled {
		return b, changed, nil
	}
	b.serving, err = sign(valid[0], key, now, names)
	return b, true, err
}

// due says whether a third of a certificate's life, or less, is left.
func due(c *x509.Certificate, now time.Time) bool {
	return now.After(c.NotAfter.Add(-c.NotAfter.Sub(c.NotBefore) / 3))
}

// addCA puts a new CA before the old ones.
func addCA(old []*x509.Certificate, now time.Time) (*ecdsa.PrivateKey, []*x509.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making the CA's key: %w", err)
	}
	template, err := newTemplate("webhook CA", now, caLife)
	if err != nil {
		return nil, nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, fmt.Errorf("making the CA: %w", err)
	}
	ca, err := x509.ParseCertificate(der)
	return key, append([]*x509.Certificate{ca}, old...), err
}

// sign makes a certificate for the webhook server.
func sign(ca *x509.Certificate, caKey *ecdsa.PrivateKey, now time.Time, names []string) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("making the server's key: %w", err)
	}
	template, err := newTemplate(names[0], now, servingLife)
	if err != nil {
		return pair{}, err
	}
	template.DNSNames = names
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, key.Public(), caKey)
	if err != nil {
		return pair{}, fmt.Errorf("signing the server's certificate: %w", err)
	}
	keyPEM, err := encodeKey(key)
	return pair{certPEM: encodeDER(der), keyPEM: keyPEM}, err
}

// maxCommonName is how long a common name may be (RFC 5280, ub-common-name).
const maxCommonName = 64

func newTemplate(name string, now time.Time, life time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("making a serial number: %w", err)
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name[:min(len(name), maxCommonName)]},
		NotBefore:    now.Add(-skew),
		NotAfter:     now.Add(life),
	}, nil
}

// verify says why the pair cannot serve under one of the names.
func (p pair) verify(cas []*x509.Certificate, now time.Time, names []string) error {
	cert, key := p.cert(), p.keyPEM
	private, err := parseKey(key)
	switch {
	case err != nil:
		return err
	case cert == nil:
		return errors.New("no certificate")
	case !private.PublicKey.Equal(cert.PublicKey):
		return errors.New("the key is another certificate's")
	}
	roots := x509.NewCertPool()
	for _, ca := range cas {
		roots.AddCert(ca)
	}
	for _, name := range names {
		if _, err := cert.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: now}); err != nil {
			return err
		}
	}
	return nil
}

// cert is the pair's certificate, nil where there is none.
func (p pair) cert() *x509.Certificate {
	if certs := parseCerts(p.certPEM); len(certs) > 0 {
		return certs[0]
	}
	return nil
}

// parseCerts returns the certificates up to the first that is broken.
func parseCerts(text []byte) []*x509.Certificate {
	var certs []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			break // renew replaces what is missing
		}
		certs = append(certs, cert)
	}
	return certs
}

func encodeCerts(certs []*x509.Certificate) []byte {
	var text []byte
	for _, cert := range certs {
		text = append(text, encodeDER(cert.Raw)...)
	}
	return text
}

func encodeDER(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func parseKey(text []byte) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no key")
	}
	return x509.ParseECPrivateKey(block.Bytes)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
