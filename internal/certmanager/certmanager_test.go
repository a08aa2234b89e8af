package certmanager

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// parsed reads objects, one of each text.
func parsed(t *testing.T, texts ...string) []*unstructured.Unstructured {
	t.Helper()
	var list []*unstructured.Unstructured
	for _, text := range texts {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			t.Fatal(err)
		}
		list = append(list, u)
	}
	return list
}

const (
	issuer      = `{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: i, namespace: sys}, spec: {selfSigned: {}}}`
	certificate = `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: c, namespace: sys}, spec: {secretName: s, dnsNames: [hook.sys.svc, hook.sys.svc.cluster.local], ipAddresses: [127.0.0.1], issuerRef: {name: i}}}`
	webhook     = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: v, annotations: {cert-manager.io/inject-ca-from: sys/c}}, webhooks: [{name: own, clientConfig: {service: {name: hook, namespace: sys}}}, {name: far, clientConfig: {url: "https://example.com"}}]}`
	crd         = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: shops, annotations: {cert-manager.io/inject-ca-from: sys/c}}, spec: {conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: hook, namespace: sys}}}}}}`
	plain       = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: carts, annotations: {cert-manager.io/inject-ca-from: sys/other}}, spec: {}}`
)

// serial is the serial number of the certificate in a Secret.
func serial(t *testing.T, secret *unstructured.Unstructured) string {
	t.Helper()
	text, _, _ := unstructured.NestedString(secret.Object, "data", "tls.crt")
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c.SerialNumber.String()
}

// TestStandIn: what of a project with cert-manager a cluster without it gets.
func TestStandIn(t *testing.T) {
	now := time.Now()
	var inCluster *unstructured.Unstructured
	live := func(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return inCluster, nil }
	deploy := func(now time.Time, texts ...string) (got []*unstructured.Unstructured, secret *unstructured.Unstructured) {
		t.Helper()
		got, err := StandIn(parsed(t, texts...), live, now)
		if err != nil {
			t.Fatal(err)
		}
		return got, got[len(got)-1]
	}
	got, secret := deploy(now, issuer, certificate, webhook, crd, plain)
	ca, _, _ := unstructured.NestedString(secret.Object, "data", "ca.crt")
	want := parsed(t, webhook, crd, plain)
	trust(want[0], ca)
	trust(want[1], ca)
	if diff := cmp.Diff(append(want, secret), got); diff != "" || ca == "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	hooks, _, _ := unstructured.NestedSlice(got[0].Object, "webhooks")
	far, _ := hooks[1].(map[string]any)
	if diff := cmp.Diff(map[string]any{"url": "https://example.com"}, far["clientConfig"]); diff != "" {
		t.Errorf("of others (-want +got):\n%s", diff)
	}
	data, _, _ := unstructured.NestedMap(secret.Object, "data")
	if !serves(data, []string{"hook.sys.svc", "127.0.0.1"}, now) || serves(data, []string{"other.sys.svc"}, now) {
		t.Error("the certificate is not for the hosts that are named")
	}

	if _, other := deploy(now, certificate); serial(t, other) == serial(t, secret) {
		t.Error("two certificates of the same issuer have the same serial number")
	}

	inCluster = secret
	for name, c := range map[string]struct {
		now  time.Time
		text string
		kept bool
	}{
		"again":               {now, certificate, true},
		"before it ends":      {now.Add(life - renew/2), certificate, false},
		"with another host":   {now, `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: c, namespace: sys}, spec: {secretName: s, dnsNames: [new.sys.svc]}}`, false},
		"by its name in full": {now, `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: c, namespace: sys}, spec: {secretName: s, commonName: hook.sys.svc}}`, true},
	} {
		if _, now := deploy(c.now, c.text); cmp.Equal(secret, now) != c.kept {
			t.Errorf("%s: kept %v, want %v", name, !c.kept, c.kept)
		}
	}

	t.Setenv("GODEBUG", "x509keypairleaf=0")
	if !serves(data, []string{"127.0.0.1"}, now) {
		t.Error("a pair that does not keep what is parsed serves nobody")
	}
}

// TestStandInRefuses what cert-manager would refuse, and what cannot be read.
func TestStandInRefuses(t *testing.T) {
	gone := errors.New("gone")
	for name, text := range map[string]string{
		"no Secret": `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: c}, spec: {dnsNames: [a]}}`,
		"no host":   `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: c}, spec: {secretName: s}}`,
		"no list":   `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: c}, spec: {secretName: s, dnsNames: 1}}`,
		"no answer": certificate,
	} {
		_, err := StandIn(parsed(t, text), func(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return nil, gone }, time.Now())
		if err == nil || errors.Is(err, gone) != (name == "no answer") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
