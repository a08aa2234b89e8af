//go:build linux

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority signs the certificates of one purpose.
type authority struct {
	dir    string
	serial int64
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
}

func newAuthority(dir, name string) (*authority, error) {
	a := &authority{dir: dir, serial: 1}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	der, err := a.sign(template, template, a.key, &a.key.PublicKey)
	if err != nil {
		return nil, err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	return a, writePEM(filepath.Join(dir, name+".crt"), "CERTIFICATE", der)
}

func (a *authority) sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey, public any) ([]byte, error) {
	template.SerialNumber = big.NewInt(a.serial)
	a.serial++
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	return x509.CreateCertificate(rand.Reader, template, parent, public, key)
}

// issue writes name.crt and name.key, good for servers and for clients.
func (a *authority) issue(name, commonName, group string, hosts []string, ips ...net.IP) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: commonName}, DNSNames: hosts, IPAddresses: ips,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if group != "" {
		template.Subject.Organization = []string{group}
	}
	der, err := a.sign(template, a.cert, a.key, &key.PublicKey)
	if err != nil {
		return err
	}
	if err := writePEM(filepath.Join(a.dir, name+".crt"), "CERTIFICATE", der); err != nil {
		return err
	}
	return writeKey(filepath.Join(a.dir, name+".key"), key)
}

func writeKey(file string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(file, "EC PRIVATE KEY", der)
}

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

// writePKI makes everything that the components of a cluster show each other.
func writePKI(dir string) error {
	ca, err := newAuthority(dir, "ca")
	if err != nil {
		return err
	}
	front, err := newAuthority(dir, "front-proxy-ca")
	if err != nil {
		return err
	}
	names := []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	ips := []net.IP{net.ParseIP("127.0.0.1"), net.ParseIP(nodeIP), net.ParseIP(firstServiceIP)}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return ca.issue("apiserver", "kube-apiserver", "", names, ips...) },
		func() error { return ca.issue("admin", "admin", "system:masters", nil) },
		func() error { return ca.issue("kubelet-client", "kubelet-client", "system:masters", nil) },
		func() error { return front.issue("front-proxy-client", "front-proxy-client", "", nil) },
		func() error { return writeKey(filepath.Join(dir, "sa.key"), key) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("make the certificates: %w", err)
		}
	}
	return nil
}
