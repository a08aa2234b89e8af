package image

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/registry"
)

// explain turns an error of a registry into one that says what is wrong and
// what to type. doing begins the message, as "push ghcr.io/you/operator:v1".
func explain(ctx context.Context, err error, doing string, repo name.Repository) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err() // Ctrl-C
	}
	host := repo.RegistryStr()
	// On this machine both TLS and plain http are tried, and both errors are in
	// err: that of TLS says more.
	var unknown x509.UnknownAuthorityError
	var answer *transport.Error
	var dns *net.DNSError
	var dial *net.OpError
	switch {
	case errors.As(err, &unknown):
		return clierr.Failedf("have this machine trust the CA that signed it; on Linux, SSL_CERT_FILE may name a file with the CA's certificate", "%s: the certificate of %s is not signed by an authority that this machine trusts", doing, host)
	case errors.As(err, &answer):
		return explainAnswer(answer, doing, repo)
	case errors.Is(err, registry.ErrPlainHTTP) || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return clierr.Failedf("check the address, or add --use-http if the network between is yours", "%s: %s does not answer with TLS", doing, host)
	case errors.As(err, &dns):
		return clierr.Failedf("check the name and the network", "%s: the name %s cannot be resolved", doing, dns.Name)
	case errors.As(err, &dial):
		return clierr.Failedf("check the address and the network", "%s: %s cannot be reached: %w", doing, host, dial.Err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// isAbsent reports whether an error says that a registry has no such image, or cannot
// be reached.
func isAbsent(err error) bool {
	var answer *transport.Error
	var dial *net.OpError
	return errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound || errors.As(err, &dial) && dial.Op == "dial"
}

// explainAnswer is explain for what a registry has answered.
func explainAnswer(answer *transport.Error, doing string, repo name.Repository) error {
	host := repo.RegistryStr()
	if host == name.DefaultRegistry {
		host = "docker.io"
	}
	said := ""
	for _, d := range answer.Errors {
		said = strings.TrimPrefix(said+"; "+cmp.Or(d.Message, string(d.Code)), "; ")
	}
	pushing := answer.Request != nil && answer.Request.Method == http.MethodPost
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return clierr.Failedf(fmt.Sprintf("log in with 'docker login %[1]s' or 'podman login %[1]s' to an account that has access", host),
			"%s: %s does not permit it (%s)", doing, host, cmp.Or(said, http.StatusText(answer.StatusCode)))
	case http.StatusNotFound:
		hint, what := "check the name, the tag, and that your account has access", "image"
		if pushing {
			hint, what = "create it first, or check the name", "repository"
		}
		if said != "" {
			what += " (" + said + ")"
		}
		return clierr.Failedf(hint, "%s: %s has no such %s", doing, host, what)
	}
	return fmt.Errorf("%s: %w", doing, answer)
}
