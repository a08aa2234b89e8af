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

// certificates are those of one run's webhooks, PEM encoded.
type certificates struct {
	ca        []byte // what the API server trusts
	cert, key []byte // what the servers show
}

// makeCertificates makes those for the hosts, and for this machine: what is
// checked is the address that a client dialled.
func makeCertificates(now time.Time, hosts []string) (*certificates, error) {
	hosts = append([]string{"localhost", "127.0.0.1", "::1"}, hosts...)
	cert, key, err := certmanager.Make(now, certificateLife, hosts)
	return &certificates{ca: cert, cert: cert, key: key}, err
}

// trusted is the pool of the authority alone.
func (c *certificates) trusted() (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(c.ca) {
		return nil, fmt.Errorf("read back the webhooks' own authority")
	}
	return pool, nil
}
