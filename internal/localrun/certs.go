package localrun

import (
	"crypto/x509"
	"fmt"
	"time"

	"github.com/example/mysdk/internal/certmanager"
)

// certificateLife is how long a run's certificates are good for: longer than
// anybody leaves a run alone.
const certificateLife = 30 * 24 * time.Hour

// certificates are what the servers of one run's webhooks show, PEM encoded. The API
// server trusts the same certificate: it is its own authority.
type certificates struct{ cert, key []byte }

// makeCertificates makes those for the hosts, and for this machine: what is
// checked is the address that a client dialled.
func makeCertificates(now time.Time, hosts []string) (*certificates, error) {
	hosts = append([]string{"localhost", "127.0.0.1", "::1"}, hosts...)
	cert, key, err := certmanager.Make(now, certificateLife, hosts)
	return &certificates{cert, key}, err
}

// trusted is the pool of the authority alone.
func (c *certificates) trusted() (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(c.cert) {
		return nil, fmt.Errorf("read back the webhooks' own authority")
	}
	return pool, nil
}
