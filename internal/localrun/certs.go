package localrun

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
	"slices"
	"time"
)

// certificateLife is how long a run's certificates are good for: longer than
// anybody leaves a run alone.
const certificateLife = 30 * 24 * time.Hour

// clockSkew is how far the clock of a cluster, which may run in a virtual
// machine that slept, may be behind.
const clockSkew = time.Hour

// certificates are those of one run's webhooks, PEM encoded. The authority's
// key is not kept: it signs once.
type certificates struct {
	ca        []byte // what the API server trusts
	cert, key []byte // what the servers show
}

// makeCertificates makes an authority and a server certificate for the hosts,
// which are names or IP addresses.
func makeCertificates(now time.Time, hosts []string) (*certificates, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mysdk run local"},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(certificateLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return nil, err
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	// No more than a server needs: Go and the API server go by the alternative
	// names, never by the common name.
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	leaf.DNSNames, leaf.IPAddresses = names(hosts)
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, ca, leafKey.Public(), caKey)
	if err != nil {
		return nil, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		return nil, err
	}
	return &certificates{ca: pemOf("CERTIFICATE", caDER), cert: pemOf("CERTIFICATE", leafDER), key: pemOf("PRIVATE KEY", key)}, nil
}

// names sorts hosts into names and addresses, this machine's own among them:
// the certificate is checked against the one that a client dialled.
func names(hosts []string) (dns []string, ips []net.IP) {
	hosts = slices.Concat([]string{"localhost", "127.0.0.1", "::1"}, hosts)
	slices.Sort(hosts)
	for _, h := range slices.Compact(hosts) {
		if ip := net.ParseIP(h); ip != nil {
			ips = append(ips, ip)
		} else if h != "" {
			dns = append(dns, h)
		}
	}
	return dns, ips
}

// pemOf is the encoding that Kubernetes and controller-runtime read.
func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// trusted is the pool of the authority alone.
func (c *certificates) trusted() (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(c.ca) {
		return nil, fmt.Errorf("read back the webhooks' own authority")
	}
	return pool, nil
}
