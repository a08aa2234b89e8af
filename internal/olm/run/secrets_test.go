package run

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/kube"
)

// secretYAML is a Secret of namespace ns.
func secretYAML(name, kind, data string) string {
	return "---\napiVersion: v1\nkind: Secret\nmetadata: {name: " + name + ", namespace: ns}\ntype: " + kind + "\ndata: {" + data + "}\n"
}

// TestPullSecret reads what registries are logged in to with.
func TestPullSecret(t *testing.T) {
	w := worldOf(t, secretYAML("new", "kubernetes.io/dockerconfigjson", ".dockerconfigjson: e30=")+secretYAML("old", "kubernetes.io/dockercfg", ".dockercfg: e30=")+
		secretYAML("opaque", "Opaque", ".dockerconfigjson: e30=")+secretYAML("empty", "kubernetes.io/dockerconfigjson", "")+
		secretYAML("garbled", "kubernetes.io/dockerconfigjson", ".dockerconfigjson: '?'"))
	for name, tc := range map[string]struct{ want, err string }{
		"new": {"{}", ""}, "old": {"{}", ""}, "none": {"", ""}, "opaque": {"", "it is of type Opaque, which holds no registry's credentials"},
		"empty": {"", "it has no key .dockerconfigjson"}, "garbled": {"", "key .dockerconfigjson is not in base64"},
	} {
		got, _, err := PullSecret(t.Context(), w, "ns", name)
		if string(got) != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestCASecret reads a registry's CA, and says how to make the Secret.
func TestCASecret(t *testing.T) {
	w := worldOf(t, secretYAML("ca", "Opaque", "cert.pem: aGVsbG8=")+secretYAML("tls", "kubernetes.io/tls", "tls.crt: aGVsbG8="))
	if got, err := CASecret(t.Context(), w, "ns", "ca"); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	for name, want := range map[string]string{"tls": "it has no key cert.pem", "none": "not found"} {
		_, err := CASecret(t.Context(), w, "ns", name)
		if err == nil || err.Error() != want || clierr.CodeOf(err) != clierr.CodeUsage || !strings.Contains(clierr.HintOf(err), "create secret generic -n ns "+name+" --from-file=cert.pem=FILE") {
			t.Errorf("%s: %v, hint %q", name, err, clierr.HintOf(err))
		}
	}
}

// TestRegistryAnnotations tell the embedded cluster, and no other, how the
// registries of a catalog's bundles are spoken to.
func TestRegistryAnnotations(t *testing.T) {
	for name, tc := range map[string]struct {
		options Options
		want    map[string]string
	}{
		"nothing special": {Options{Embedded: true}, map[string]string{}},
		"a CA":            {Options{Embedded: true, CASecret: "ca"}, map[string]string{state.RegistryCAAnnotation: "ca"}},
		"any certificate": {Options{Embedded: true, SkipVerify: true}, map[string]string{state.RegistryTLSAnnotation: "skip-verify"}},
		"plain http":      {Options{Embedded: true, PlainHTTP: true}, map[string]string{state.RegistryTLSAnnotation: "plain-http"}},
		"both":            {Options{Embedded: true, PlainHTTP: true, SkipVerify: true}, map[string]string{state.RegistryTLSAnnotation: "skip-verify,plain-http"}},
		"another cluster": {Options{PlainHTTP: true, SkipVerify: true, CASecret: "ca"}, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			in := running(t, nsYAML, tc.options)
			if err := in.plan(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := in.render(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, u := range in.apply {
				if u.GetKind() != "CatalogSource" {
					continue
				}
				got := u.GetAnnotations()
				delete(got, contentAnnotation)
				if d := cmp.Diff(tc.want, got); d != "" {
					t.Errorf("annotations (-want +got):\n%s", d)
				}
			}
		})
	}
}

// TestMakeSecretShared: what another package's run has put there stays.
func TestMakeSecretShared(t *testing.T) {
	there := base64.StdEncoding.EncodeToString([]byte(`{"auths":{"a.example.com":{"auth":"1"},"b.example.com":{"auth":"old"}}}`))
	secret := strings.Replace(secretYAML("pull", "kubernetes.io/dockerconfigjson", ".dockerconfigjson: "+there), "metadata: {", "metadata: {labels: {"+runLabel+": cart}, ", 1)
	in := running(t, nsYAML+secret, Options{PullSecrets: []string{"pull"}, Credentials: func([]string) ([]byte, error) {
		return []byte(`{"auths":{"b.example.com":{"auth":"2"}}}`), nil
	}})
	if err := in.plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := pullSecretData(in.secrets[0])
	if want := `{"auths":{"a.example.com":{"auth":"1"},"b.example.com":{"auth":"2"}}}`; string(got) != want || err != nil || in.secrets[0].GetLabels()[runLabel] != "cart" {
		t.Errorf("%s of %v, %v", got, in.secrets[0].GetLabels(), err)
	}
}

// TestMakeSecretAgain: what a registry accepts for some hours only is renewed, and
// the user's own Secret never written.
func TestMakeSecretAgain(t *testing.T) {
	secret := secretYAML("pull", "kubernetes.io/dockerconfigjson", ".dockerconfigjson: e30=")
	ours := strings.Replace(secret, "metadata: {", "metadata: {labels: {"+runLabel+": shop}, ", 1)
	for name, tc := range map[string]struct {
		world string
		knows []byte
		want  int
	}{
		"ours":                    {ours, []byte(`{"auths":{}}`), 1},
		"ours, and nothing known": {ours, nil, 0},
		"the user's":              {secret, []byte(`{"auths":{}}`), 0},
	} {
		in := running(t, nsYAML+tc.world, Options{PullSecrets: []string{"pull"}, Credentials: func([]string) ([]byte, error) { return tc.knows, nil }})
		if err := in.plan(t.Context()); err != nil || len(in.secrets) != tc.want {
			t.Errorf("%s: %d Secrets, %v", name, len(in.secrets), err)
		}
		in.apply = in.secrets
		if added := kube.Without(in.apply, in.before.all()); len(added) > 0 || len(in.before.all()) != tc.want {
			t.Errorf("%s: a rollback deletes %v, and brings back %v", name, refs(added), refs(in.before.all()))
		}
		if _, made, err := PullSecret(t.Context(), in.reader, "ns", "pull"); made != (tc.world == ours) || err != nil {
			t.Errorf("%s: made %t, %v", name, made, err)
		}
	}
}

// TestMakeSecret needs credentials to make a pull secret of.
func TestMakeSecret(t *testing.T) {
	var asked []string
	o := Options{PullSecrets: []string{"pull"}, CatalogImages: []string{"r.example.com/catalog:v1"}, Credentials: func(images []string) ([]byte, error) {
		asked = images
		return nil, nil
	}}
	in := running(t, nsYAML, o)
	err := in.plan(t.Context())
	if err == nil || !strings.Contains(clierr.HintOf(err), "create secret docker-registry -n ns pull") {
		t.Errorf("%v, hint %q", err, clierr.HintOf(err))
	}
	if d := cmp.Diff([]string{"r.example.com/catalog:v1", "shop:v0.0.2", "proxy"}, asked); d != "" {
		t.Errorf("asked for (-want +got):\n%s", d)
	}
}
