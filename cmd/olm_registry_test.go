package cmd_test

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host/hosttest"
)

// twoDoors is one registry behind two addresses: by open anybody of this
// machine comes in, by closed over TLS only who knows the password and the
// certificate.
type twoDoors struct {
	open, closed string
	certificate  []byte
}

func newTwoDoors(t *testing.T) twoDoors {
	t.Helper()
	t.Setenv("DOCKER_CONFIG", t.TempDir()) // whatever this machine knows
	inside := registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0)))
	open := httptest.NewServer(inside)
	t.Cleanup(open.Close)
	closed := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED"}]}`, http.StatusUnauthorized)
			return
		}
		inside.ServeHTTP(w, r)
	}))
	closed.Config.ErrorLog = log.New(io.Discard, "", 0)
	closed.StartTLS()
	t.Cleanup(closed.Close)
	return twoDoors{
		open: strings.TrimPrefix(open.URL, "http://"), closed: strings.TrimPrefix(closed.URL, "https://"),
		certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: closed.Certificate().Raw}),
	}
}

// privateRegistry has the bundles and the catalog of an operator in a registry that
// wants a password and has a certificate of its own making.
func (r *olmRun) privateRegistry(t *testing.T) {
	r.t = t
	at := newTwoDoors(t)
	if err := os.WriteFile(filepath.Join(r.h.Dir, "ca.pem"), at.certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	r.writeBundle(t, "next", "2", "  replaces: cache.v0.0.1\n")
	r.mysdk("bundle build ./one --image "+at.open+"/cache:v1 --push", "bundle build ./next --image "+at.open+"/cache:v2 --push")
	r.apply(groupYAML("mine", "v1"))
	secrets := func(namespace string) {
		t.Helper()
		r.mysdk("kubectl create secret docker-registry -n "+namespace+" pull --docker-server="+at.closed+" --docker-username=me --docker-password=secret",
			"kubectl create secret generic -n "+namespace+" ca --from-file=cert.pem=ca.pem")
	}
	secrets("mine")

	t.Run("the client asks with the cluster's Secrets", func(t *testing.T) {
		r.t = t
		r.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: client}\n")
		secrets("client")
		run := "run bundle " + at.closed + "/cache:v1 --no-push --kubeconfig elsewhere.yaml -n client"
		r.fails(clierr.CodeFailed, run, "is not signed by an authority that this machine trusts")
		r.fails(clierr.CodeFailed, run+" --skip-tls-verify", "does not permit it")
		r.fails(clierr.CodeFailed, run+" --pull-secret-name pull", "is not signed by an authority that this machine trusts")
		r.fails(clierr.CodeUsage, run+" --ca-secret-name none", "Secret client/none: not found", "elsewhere.yaml create secret generic -n client none --from-file=cert.pem=FILE")
		r.fails(clierr.CodeUsage, run+" --pull-secret-name ca", "Secret client/ca: it is of type Opaque")
		r.mysdk(run + " --pull-secret-name pull --ca-secret-name ca")
		if strings.Contains(r.err.String(), "container runtime") {
			t.Errorf("the nodes pull nothing:\n%s", r.err)
		}
		// What the nodes pull themselves they pull by their own settings: it is
		// told, and found.
		upgrade := "run bundle-upgrade " + at.closed + "/cache:v2 --kubeconfig elsewhere.yaml -n client --pull-secret-name pull --skip-tls-verify"
		r.fails(clierr.CodeFailed, upgrade+" --rollback", "--skip-tls-verify is for this command: the nodes of the cluster pull the catalog's image",
			"CatalogSource client/cache-catalog: its catalog cannot be read from image "+at.closed+"/cache-catalog@sha256:", "Rolled back")
		r.mysdk(upgrade + " --no-push")
		r.mysdk("cleanup cache --delete-all -n client --kubeconfig elsewhere.yaml")
	})
	t.Run("the cluster asks with the catalog's Secrets", func(t *testing.T) {
		hosttest.LeaveToNightly(t, "the registry is asked as it is for the client")
		r.t = t
		const csv = "mine/cache.v0.0."
		index := "bundle catalog --tag " + at.open + "/index:latest --push ./one=" + at.closed + "/cache:v1"
		r.mysdk(index)
		r.apply(`
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: mine, namespace: mine, annotations: {mysdk.dev/registry-ca: ca}}
spec:
  sourceType: grpc
  image: ` + at.closed + `/index:latest
  secrets: [pull]
  updateStrategy: {registryPoll: {interval: 1s}}
` + subscriptionYAML("mine", "stable", "Automatic", "cache.v0.0.1"))
		r.phase(csv+"1", "Succeeded")
		// The tag moves, and the catalog follows.
		r.mysdk(index + " ./next=" + at.closed + "/cache:v2")
		r.phase(csv+"2", "Succeeded")
		r.phase(csv+"1", "")
	})
}
