// Package certmanager stands in for cert-manager on a cluster that has none and
// can run none, as the embedded one: it makes the Secrets that cert-manager would
// make of Certificates, and puts their authority where its CA injector would. It
// knows manifests, not clusters, and of cert-manager's API what kubebuilder
// scaffolds: Certificates for servers, each its own authority.
package certmanager

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// Group is that of Issuers and Certificates.
	Group = "cert-manager.io"
	// injectAnnotation names, as namespace/name, the Certificate whose authority
	// an object is to trust.
	injectAnnotation = "cert-manager.io/inject-ca-from"
)

// How long certificates are good for, and how long before that new ones are made.
const (
	life  = 365 * 24 * time.Hour
	renew = life / 3
)

// clockSkew is how far the clock of a cluster, which may run in a virtual
// machine that slept, may be behind.
const clockSkew = time.Hour

// Live is an object as the cluster has it; nil where it has none.
type Live func(u *unstructured.Unstructured) (*unstructured.Unstructured, error)

// StandIn returns objs without those of cert-manager, with the Secrets that
// Certificates among them name, and with the authorities of these in the webhook
// configurations and CRDs that ask for them. A Secret that is live, and good for
// some time, stays as it is: a process that serves with it goes on.
func StandIn(objs []*unstructured.Unstructured, live Live, now time.Time) ([]*unstructured.Unstructured, error) {
	var secrets, rest []*unstructured.Unstructured
	authorities := map[string]string{} // base64 of PEM, by namespace/name of the Certificate
	for _, u := range objs {
		switch {
		case u.GroupVersionKind().Group != Group:
			rest = append(rest, u)
		case u.GetKind() == "Certificate":
			secret, err := secretOf(u, live, now)
			if err != nil {
				return nil, fmt.Errorf("make the Secret of Certificate %s/%s: %w", u.GetNamespace(), u.GetName(), err)
			}
			secrets = append(secrets, secret)
			authorities[u.GetNamespace()+"/"+u.GetName()], _, _ = unstructured.NestedString(secret.Object, "data", "ca.crt")
		}
	}
	for i, u := range rest {
		if ca := authorities[u.GetAnnotations()[injectAnnotation]]; ca != "" {
			rest[i] = u.DeepCopy()
			trust(rest[i], ca)
		}
	}
	return append(rest, secrets...), nil
}

// secretOf is the Secret of a Certificate: the one that is live where that
// serves, else a new one.
func secretOf(certificate *unstructured.Unstructured, live Live, now time.Time) (*unstructured.Unstructured, error) {
	name, _, err := unstructured.NestedString(certificate.Object, "spec", "secretName")
	if err != nil || name == "" {
		return nil, errors.Join(errors.New("it has no spec.secretName"), err)
	}
	hosts, err := hostsOf(certificate)
	if err != nil {
		return nil, err
	}
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls"}}
	secret.SetNamespace(certificate.GetNamespace())
	secret.SetName(name)
	old, err := live(secret)
	if err != nil {
		return nil, err
	}
	data := map[string]any{}
	if old != nil {
		if data, _, err = unstructured.NestedMap(old.Object, "data"); err != nil {
			return nil, err
		}
	}
	if !serves(data, hosts, now) {
		cert, key, err := Make(now, life, hosts)
		if err != nil {
			return nil, err
		}
		// As cert-manager has it.
		encode := base64.StdEncoding.EncodeToString
		data = map[string]any{"ca.crt": encode(cert), "tls.crt": encode(cert), "tls.key": encode(key)}
	}
	secret.Object["data"] = data
	return secret, nil
}

// hostsOf are the names and addresses that a Certificate is for.
func hostsOf(certificate *unstructured.Unstructured) ([]string, error) {
	var hosts []string
	for _, field := range []string{"dnsNames", "ipAddresses"} {
		list, _, err := unstructured.NestedStringSlice(certificate.Object, "spec", field)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, list...)
	}
	common, _, err := unstructured.NestedString(certificate.Object, "spec", "commonName")
	if err != nil {
		return nil, err
	}
	if common != "" && !slices.Contains(hosts, common) {
		hosts = append(hosts, common)
	}
	if len(hosts) == 0 {
		return nil, errors.New("it names no host in spec.dnsNames")
	}
	return hosts, nil
}

// Make makes a server's certificate for the hosts, which are names or IP
// addresses, and its key, PEM encoded. As those of a selfSigned issuer it is its
// own authority, and can be none of others.
func Make(now time.Time, life time.Duration, hosts []string) (cert, key []byte, err error) {
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	// No more than a server needs: Go and the API server go by the alternative
	// names, never by the common name.
	c := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "mysdk"}, // x509 gives it a random serial number
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(life), BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, h)
		}
	}
	certDER, err := x509.CreateCertificate(rand.Reader, c, c, signer.Public(), signer)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(signer)
	encode := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	return encode("CERTIFICATE", certDER), encode("PRIVATE KEY", keyDER), err
}

// serves reports whether the data of a Secret have certificates for hosts that
// need no renewal.
func serves(data map[string]any, hosts []string, now time.Time) bool {
	decoded := func(key string) []byte {
		text, _ := data[key].(string)
		value, _ := base64.StdEncoding.DecodeString(text) // what is no base64 serves nobody
		return value
	}
	pair, err := tls.X509KeyPair(decoded("tls.crt"), decoded("tls.key"))
	if err != nil {
		return false
	}
	leaf, _ := x509.ParseCertificate(pair.Certificate[0]) // X509KeyPair has parsed it; Leaf is nil with GODEBUG=x509keypairleaf=0
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(decoded("ca.crt"))
	for _, h := range hosts {
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: h, Roots: roots, CurrentTime: now.Add(renew)}); err != nil {
			return false
		}
	}
	return true
}

// trust has the webhooks of a configuration, and the conversion of a CRD, trust
// the authority. What calls a URL is not served by the Certificate's owner.
func trust(u *unstructured.Unstructured, ca string) {
	set := func(client any) {
		if client, ok := client.(map[string]any); ok && client["service"] != nil {
			client["caBundle"] = ca
		}
	}
	hooks, _ := u.Object["webhooks"].([]any)
	for _, h := range hooks {
		if h, ok := h.(map[string]any); ok {
			set(h["clientConfig"])
		}
	}
	conversion, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "conversion", "webhook", "clientConfig")
	set(conversion)
}
