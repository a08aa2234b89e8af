package localrun

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host/hosttest"
)

// hookYAML is a configuration with the webhooks of a project, as its
// deployment has them.
const hookYAML = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: shop-validating
  annotations: {cert-manager.io/inject-ca-from: shop-system/shop-cert, team: shop}
webhooks:
- {name: a.example.com, failurePolicy: Fail, clientConfig: {service: {name: s, namespace: ns, path: /validate}}}
- {name: b.example.com, clientConfig: {service: {name: s, namespace: ns}}}
- {name: c.example.com, clientConfig: {url: "https://elsewhere.example.com/x"}}
`

// convertedYAML is a CRD whose versions a webhook converts.
const convertedYAML = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: memcacheds.cache.example.com}
spec:
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {service: {name: s, namespace: ns, path: /convert}}
`

func TestRedirect(t *testing.T) {
	config := objects(t, hookYAML)[0]
	whole := config.DeepCopy()
	for name, timeout := range map[string]int64{"": 0, "under a debugger": 30} {
		e := endpoint{base: "https://127.0.0.1:7", ca: []byte("PEM"), timeout: timeout}
		got, err := e.redirect(config)
		if err != nil {
			t.Fatal(err)
		}
		limit := ""
		if timeout > 0 {
			limit = "timeoutSeconds: 30, "
		}
		want := objects(t, strings.NewReplacer(
			"cert-manager.io/inject-ca-from: shop-system/shop-cert, ", "",
			"{service: {name: s, namespace: ns, path: /validate}}", `{url: "https://127.0.0.1:7/validate", caBundle: UEVN}`,
			"{service: {name: s, namespace: ns}}", `{url: "https://127.0.0.1:7/", caBundle: UEVN}`,
			"{name: a", "{"+limit+"name: a", "{name: b", "{"+limit+"name: b").Replace(hookYAML))[0]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(whole, config); diff != "" {
		t.Errorf("the project's configuration was changed (-want +got):\n%s", diff)
	}
}

func TestRedirectRefuses(t *testing.T) {
	for name, hooks := range map[string]string{"no list": "webhooks: 3", "no mapping": "webhooks: [3]"} {
		u := objects(t, "apiVersion: v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: x}\n"+hooks+"\n")[0]
		if _, err := (endpoint{}).redirect(u); err == nil || !strings.Contains(err.Error(), "ValidatingWebhookConfiguration x") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConversion(t *testing.T) {
	e := endpoint{base: "https://[::1]:7", ca: []byte("PEM")}
	tests := map[string]struct{ yaml, url, versions string }{
		"as scaffolded":    {convertedYAML, "https://[::1]:7/convert", "v1"},
		"a path":           {strings.Replace(convertedYAML, "path: /convert", "path: /other", 1), "https://[::1]:7/other", "v1"},
		"no path":          {strings.Replace(convertedYAML, ", path: /convert", "", 1), "https://[::1]:7/convert", "v1"},
		"no versions":      {strings.Replace(convertedYAML, "      conversionReviewVersions: [v1]\n", "", 1), "https://[::1]:7/convert", "v1"},
		"wrong versions":   {strings.Replace(convertedYAML, "[v1]", "[v2, 1]", 1), "https://[::1]:7/convert", "v1"},
		"several versions": {strings.Replace(convertedYAML, "[v1]", "[v1, v1beta1]", 1), "https://[::1]:7/convert", "v1 v1beta1"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			crd := objects(t, tc.yaml)[0]
			var versions []any
			for _, v := range strings.Fields(tc.versions) {
				versions = append(versions, v)
			}
			want := map[string]any{"strategy": "Webhook", "webhook": map[string]any{
				"conversionReviewVersions": versions,
				"clientConfig":             map[string]any{"url": tc.url, "caBundle": base64.StdEncoding.EncodeToString([]byte("PEM"))},
			}}
			if diff := cmp.Diff(want, e.conversion(crd)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCalls(t *testing.T) {
	e := endpoint{base: "https://127.0.0.1:7"}
	config, err := e.redirect(objects(t, hookYAML)[0])
	if err != nil {
		t.Fatal(err)
	}
	crd := objects(t, convertedYAML)[0]
	if err := unstructured.SetNestedMap(crd.Object, e.conversion(crd), "spec", "conversion"); err != nil {
		t.Fatal(err)
	}
	for _, u := range []*unstructured.Unstructured{config, crd} {
		if !calls(u, e.base) || calls(u, "https://127.0.0.1") || calls(u, "https://127.0.0.1:70") {
			t.Errorf("%s: a wrong answer", u.GetKind())
		}
	}
	for _, text := range []string{hookYAML, convertedYAML, "apiVersion: v1\nkind: X\nmetadata: {name: x}\nwebhooks: 3\n"} {
		if calls(objects(t, text)[0], e.base) {
			t.Errorf("nothing was redirected in\n%s", text)
		}
	}
}

func TestHasWebhooks(t *testing.T) {
	plain := objects(t, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\n")
	tests := map[string]struct {
		m    Manifests
		want bool
	}{
		"nothing":    {Manifests{}, false},
		"CRDs":       {Manifests{CRDs: plain}, false},
		"conversion": {Manifests{CRDs: objects(t, convertedYAML)}, true},
		"admission":  {Manifests{CRDs: plain, Webhooks: objects(t, hookYAML)}, true},
	}
	for name, tc := range tests {
		if got := tc.m.hasWebhooks(); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestCertificates(t *testing.T) {
	t.Setenv("GODEBUG", "x509keypairleaf=0") // which the user may have set
	now := hosttest.New(t).Now()
	certs, err := makeCertificates(now, "host.k3d.internal", "172.18.0.1", "localhost")
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(certs.cert)
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true, "host.k3d.internal": true, "172.18.0.1": true, "example.com": false} {
		_, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: certs.client.RootCAs, CurrentTime: now})
		if (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if leaf.PublicKeyAlgorithm != x509.ECDSA || leaf.IsCA {
		t.Errorf("%v, CA %v", leaf.PublicKeyAlgorithm, leaf.IsCA)
	}
	other, err := makeCertificates(now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{DNSName: "localhost", Roots: other.client.RootCAs, CurrentTime: now}); err == nil {
		t.Error("the certificate of one run is good for another")
	}
}

func TestGuessHost(t *testing.T) {
	const docker = `[{"Name":"kind","IPAM":{"Config":[{"Subnet":"fc00::/64","Gateway":"fc00::1"},{"Subnet":"172.18.0.0/16","Gateway":"172.18.0.1"}]}}]`
	const podman = `[{"name":"kind","subnets":[{"subnet":"10.89.0.0/24","gateway":"10.89.0.1"}]}]`
	tests := map[string]struct{ context, answer, want string }{
		"minikube":       {"minikube", "", "host.minikube.internal"},
		"docker desktop": {"docker-desktop", "", "host.docker.internal"},
		"k3d":            {"k3d-dev", "", "host.k3d.internal"},
		"kind, docker":   {"kind-dev", docker, "172.18.0.1"},
		"kind, podman":   {"kind-dev", podman, "10.89.0.1"},
		"kind, no JSON":  {"kind-dev", "Error: no such network", ""},
		"kind, no IPv4":  {"kind-dev", `[{"Gateway":"fc00::1"}]`, ""},
		"something else": {"production", docker, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.answers = map[string]string{"docker": tc.answer, "podman": "", "nerdctl": ""}
			if got := guessHost(t.Context(), w.Host, tc.context); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestSplitListen(t *testing.T) {
	for address, want := range map[string]string{"": ":0", "10.0.0.1": "10.0.0.1:0", "10.0.0.1:9443": "10.0.0.1:9443", ":9443": ":9443", "::": "[::]:0", "[::1]:1": "[::1]:1",
		"9443": "", "eth0": "", "eth0:9443": "", "10.0.0.1:": "", "10.0.0.1:x": "", "10.0.0.1:70000": "", "https://10.0.0.1": ""} {
		host, port, err := splitListen(address)
		if (err == nil) != (want != "") || err == nil && net.JoinHostPort(host, port) != want {
			t.Errorf("%q: %s, %s, %v", address, host, port, err)
		}
		if err != nil && (clierr.CodeOf(err) != clierr.CodeUsage || clierr.HintOf(err) == "") {
			t.Errorf("%q: code %d, hint %q", address, clierr.CodeOf(err), clierr.HintOf(err))
		}
	}
}

func TestCheckWebhookHost(t *testing.T) {
	for name, ok := range map[string]bool{"": true, "10.0.0.1": true, "::1": true, "host.internal": true,
		"https://x": false, "x:1": false, "a b": false, "x/y": false, "u@h": false} {
		if err := checkWebhookHost(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
