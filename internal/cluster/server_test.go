package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/example/mysdk/internal/host"
)

// testTimeout bounds each wait for the cluster to do something. It is long
// for machines that are busy: no test is about time.
const testTimeout = 2 * time.Minute

// builtServer is the directory of the binary that the tests share.
var builtServer string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == operatorArg {
		os.Exit(playOperator(os.Args[2:]))
	}
	code := m.Run()
	if builtServer != "" {
		if err := os.RemoveAll(builtServer); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

// buildServer builds mysdk-cluster once for all tests.
var buildServer = sync.OnceValues(func() (string, error) {
	var err error
	if builtServer, err = os.MkdirTemp("", "mysdk-test-"); err != nil {
		return "", err
	}
	path := filepath.Join(builtServer, exeName())
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, packagePath).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

// realHost is a host in a temporary directory with the real binary: the one
// that BinaryEnv names, else one built for these tests.
func realHost(tb testing.TB) host.Host {
	tb.Helper()
	if testing.Short() {
		tb.Skip("builds and runs the control plane")
	}
	binary := os.Getenv(BinaryEnv)
	if binary == "" {
		var err error
		if binary, err = buildServer(); err != nil {
			tb.Fatal(err)
		}
	}
	dir := tb.TempDir()
	env := map[string]string{"MYSDK_STATE_DIR": filepath.Join(dir, "state"), "HOME": dir, BinaryEnv: binary}
	h := host.Host{
		IO:  host.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard},
		Dir: dir, Executable: filepath.Join(dir, "mysdk"),
		Getenv: func(name string) string { return env[name] },
		Environ: func() []string {
			list := os.Environ()
			for k, v := range env {
				list = append(list, k+"="+v)
			}
			return list
		},
		Now: time.Now, Files: host.OSFiles{}, Exec: host.OSExec{},
	}
	tb.Cleanup(func() {
		// The test's own context has ended.
		list, err := List(context.Background(), h)
		if err != nil {
			tb.Error(err)
		}
		for _, c := range list {
			if _, err := Stop(context.Background(), h, c.Name); err != nil {
				tb.Error(err)
			}
		}
	})
	return h
}

// start starts a cluster and returns a client for it.
func start(tb testing.TB, h host.Host, o Options) (*Info, *client) {
	tb.Helper()
	if o.Progress == nil {
		o.Progress = func(step string) { tb.Log(step) }
	}
	info, err := Start(tb.Context(), h, o)
	if err != nil {
		tb.Fatal(err)
	}
	return info, newClient(tb, info)
}

// client speaks to the API server in plain JSON.
type client struct {
	tb     testing.TB
	http   *http.Client
	server string
}

func newClient(tb testing.TB, info *Info) *client {
	tb.Helper()
	data, err := os.ReadFile(info.Kubeconfig)
	if err != nil {
		tb.Fatal(err)
	}
	var config struct {
		Clusters []struct {
			Cluster map[string]string `yaml:"cluster"`
		} `yaml:"clusters"`
		Users []struct {
			User map[string]string `yaml:"user"`
		} `yaml:"users"`
	}
	if err := yaml.Unmarshal(data, &config); err != nil {
		tb.Fatal(err)
	}
	field := func(m map[string]string, name string) []byte {
		b, err := base64.StdEncoding.DecodeString(m[name])
		if err != nil {
			tb.Fatal(err)
		}
		return b
	}
	user, cluster := config.Users[0].User, config.Clusters[0].Cluster
	pair, err := tls.X509KeyPair(field(user, "client-certificate-data"), field(user, "client-key-data"))
	if err != nil {
		tb.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(field(cluster, "certificate-authority-data")) {
		tb.Fatal("no CA in the kubeconfig")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots}}
	tb.Cleanup(transport.CloseIdleConnections)
	return &client{tb, &http.Client{Transport: transport}, info.Server}
}

// object is a Kubernetes object, or part of one.
type object map[string]any

// at walks down the fields of a path like "status.replicas".
func (o object) at(path string) any {
	var v any = map[string]any(o)
	for field := range strings.SplitSeq(path, ".") {
		if own, ok := v.(object); ok {
			v = map[string]any(own) // made by a test
		}
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[field]
	}
	return v
}

// try sends a request and returns what came back.
func (c *client) try(method, path string, body any) (object, int, error) {
	var data bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&data).Encode(body); err != nil {
			return nil, 0, err
		}
	}
	r, err := http.NewRequestWithContext(c.tb.Context(), method, c.server+path, &data)
	if err != nil {
		return nil, 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	switch {
	case method != http.MethodPatch:
	case strings.Contains(path, "fieldManager="):
		r.Header.Set("Content-Type", "application/apply-patch+yaml")
	default:
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	var o object
	return o, resp.StatusCode, json.NewDecoder(resp.Body).Decode(&o)
}

// do is try where nothing but success will do.
func (c *client) do(method, path string, body any) object {
	c.tb.Helper()
	o, code, err := c.try(method, path, body)
	if code >= http.StatusBadRequest || o == nil {
		c.tb.Fatalf("%s %s: %d %v %v", method, path, code, o["message"], err)
	}
	return o
}

func (c *client) get(path string) object { c.tb.Helper(); return c.do(http.MethodGet, path, nil) }
func (c *client) post(path string, o object) object {
	c.tb.Helper()
	return c.do(http.MethodPost, path, o)
}

func (c *client) del(path string) {
	c.tb.Helper()
	c.do(http.MethodDelete, path, object{"propagationPolicy": "Background"})
}

// await waits until the object at path passes, or is gone where pass is nil. It
// asks less and less often: a CronJob takes a minute.
func (c *client) await(path string, pass func(object) bool) object {
	c.tb.Helper()
	deadline := time.Now().Add(testTimeout)
	for pause := pollInterval; ; pause = min(pause+pause/4, time.Second) {
		o, code, err := c.try(http.MethodGet, path, nil)
		switch {
		case pass == nil && code == http.StatusNotFound:
			return nil
		case pass != nil && code == http.StatusOK && pass(o):
			return o
		}
		if time.Now().After(deadline) {
			c.tb.Fatalf("%s: gave up at %d %v %v", path, code, o, err)
		}
		time.Sleep(pause)
	}
}

// is is a condition for await.
func is(path string, want any) func(object) bool {
	return func(o object) bool { return o.at(path) == want }
}

// Paths and objects that several tests use.
const (
	configMaps  = "/api/v1/namespaces/default/configmaps"
	deployments = "/apis/apps/v1/namespaces/default/deployments"
)

func configMap(name string) object {
	return object{"metadata": object{"name": name}, "data": object{"k": "v"}}
}

func podTemplate(labels object) object {
	return object{
		"metadata": object{"labels": labels},
		"spec":     object{"containers": []object{{"name": "c", "image": "nginx"}}},
	}
}

func deployment(name string, replicas int) object {
	labels := object{"app": name}
	return object{
		"metadata": object{"name": name},
		"spec": object{
			"replicas": replicas, "selector": object{"matchLabels": labels}, "template": podTemplate(labels),
		},
	}
}
