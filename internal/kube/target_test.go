package kube

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

const twoContexts = `apiVersion: v1
kind: Config
current-context: production
clusters:
- {name: far, cluster: {server: "https://far.example.com:6443"}}
- {name: near, cluster: {server: "https://127.0.0.1:1", certificate-authority: ca.crt}}
users:
- {name: me, user: {token: secret}}
contexts:
- {name: production, context: {cluster: far, user: me, namespace: shop}}
- {name: kind-dev, context: {cluster: near, user: me}}
`

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestResolve(t *testing.T) {
	tests := map[string]struct {
		file, home      string // contents of ./config and of ~/.kube/config
		env             string // KUBECONFIG
		options         Options
		context, server string
		namespace       string
		err             string
		hint            string
	}{
		"current context of a file":   {file: twoContexts, options: Options{Kubeconfig: "config"}, context: "production", server: "https://far.example.com:6443", namespace: "shop"},
		"named context":               {file: twoContexts, options: Options{Kubeconfig: "config", Context: "kind-dev"}, context: "kind-dev", server: "https://127.0.0.1:1", namespace: "default"},
		"from KUBECONFIG":             {file: twoContexts, env: "missing:config", options: Options{Context: "kind-dev"}, context: "kind-dev", server: "https://127.0.0.1:1", namespace: "default"},
		"from home":                   {home: twoContexts, options: Options{Context: "production"}, context: "production", server: "https://far.example.com:6443", namespace: "shop"},
		"KUBECONFIG goes before home": {home: "x: [", file: twoContexts, env: "config", options: Options{Context: "production"}, context: "production", server: "https://far.example.com:6443", namespace: "shop"},
		"no such file":                {options: Options{Kubeconfig: "nope"}, err: "no file ", hint: "--kubeconfig"},
		"not YAML":                    {file: "a: [", options: Options{Kubeconfig: "config"}, err: "config", hint: "repair the file"},
		"empty file":                  {file: "", options: Options{Kubeconfig: "config"}, err: "it has no contexts", hint: "--kubeconfig"},
		"nothing at home":             {options: Options{Context: "x"}, err: "no file ", hint: "--kubeconfig"},
		"nothing where it points":     {env: "a:b", options: Options{Context: "x"}, err: "no file ", hint: "--kubeconfig"},
		"misspelt context":            {file: twoContexts, options: Options{Kubeconfig: "config", Context: "kind-dve"}, err: `no context "kind-dve"`, hint: `did you mean "kind-dev"? it has: kind-dev, production`},
		"unknown context":             {file: twoContexts, options: Options{Kubeconfig: "config", Context: "zzzzzz"}, err: `no context "zzzzzz"`, hint: "it has: kind-dev, production"},
		"no current context":          {file: strings.Replace(twoContexts, "current-context: production\n", "", 1), options: Options{Kubeconfig: "config"}, err: "no current context is set", hint: "--context: kind-dev, production"},
		"current context is gone":     {file: strings.Replace(twoContexts, "current-context: production\n", "current-context: old\n", 1), options: Options{Kubeconfig: "config"}, err: `the current context does not exist: "old"`, hint: "it has:"},
		"cluster is gone":             {file: strings.Replace(twoContexts, "cluster: far,", "cluster: gone,", 1), options: Options{Kubeconfig: "config"}, err: `config: context "production" names cluster "gone", which it does not have`, hint: "--context"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t)
			w.Env["HOME"], w.Env["KUBECONFIG"] = t.TempDir(), strings.ReplaceAll(tc.env, ":", string(filepath.ListSeparator))
			write(t, w.Path("config"), tc.file)
			if tc.home != "" {
				write(t, filepath.Join(w.Env["HOME"], ".kube", "config"), tc.home)
			}
			write(t, w.Path("ca.crt"), "")
			tc.options.Host = w.Host
			got, _, err := resolve(tc.options)
			if tc.err != "" {
				checkError(t, err, []string{tc.err})
				if hint := clierr.HintOf(err); !strings.Contains(hint, tc.hint) || clierr.CodeOf(err) != clierr.CodeUsage {
					t.Errorf("hint %q, code %d; want %q, %d", hint, clierr.CodeOf(err), tc.hint, clierr.CodeUsage)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Context != tc.context || got.Server != tc.server || got.Namespace != tc.namespace || got.Named != (tc.options.Context != "") {
				t.Errorf("got %s, namespace %s, named %v", got.Name(), got.Namespace, got.Named)
			}
		})
	}
}

func TestResolveWithoutHome(t *testing.T) {
	w := hosttest.New(t)
	delete(w.Env, "HOME")
	_, _, err := resolve(Options{Host: w.Host, Context: "x"})
	checkError(t, err, []string{"neither KUBECONFIG nor HOME is set"})
}

// TestKubeconfig: another program must reach the named context, whatever the
// file's current one is and wherever the file is put.
func TestKubeconfig(t *testing.T) {
	w := hosttest.New(t)
	write(t, w.Path("config"), twoContexts)
	write(t, w.Path("ca.crt"), serverCert(t))
	target, _, err := resolve(Options{Host: w.Host, Kubeconfig: "config", Context: "kind-dev"})
	if err != nil {
		t.Fatal(err)
	}
	data, err := target.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := clientcmd.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.CurrentContext != "kind-dev" || len(cfg.Contexts) != 1 || len(cfg.Clusters["near"].CertificateAuthorityData) == 0 {
		t.Errorf("kubeconfig:\n%s", data)
	}
	if strings.Contains(string(data), "far.example.com") {
		t.Error("the kubeconfig still has the other cluster")
	}
}

func TestGuard(t *testing.T) {
	const here, far = "https://127.0.0.1:6443", "https://kind.example.com"
	tests := map[string]struct {
		context, server string
		named           bool
		allow           []string
		ok              bool
	}{
		"our prefix, here":      {context: "mysdk-default", server: here},
		"our prefix, far":       {context: "mysdk-prod", server: far},
		"kind":                  {context: "kind-x", server: here, ok: true},
		"kind, IPv6":            {context: "kind-x", server: "https://[::1]:6443", ok: true},
		"kind, far":             {context: "kind-x", server: far},
		"kind, in the office":   {context: "kind-x", server: "https://10.1.2.3:6443"},
		"minikube":              {context: "minikube", server: "https://192.168.49.2:8443", ok: true},
		"minikube, far":         {context: "minikube", server: "https://203.0.113.7:8443"},
		"k3d":                   {context: "k3d-x", server: "https://0.0.0.0:40001", ok: true},
		"k3d, far":              {context: "k3d-x", server: far},
		"docker desktop":        {context: "docker-desktop", server: "https://kubernetes.docker.internal:6443", ok: true},
		"docker desktop, far":   {context: "docker-desktop", server: "https://docker.internal.example.com"},
		"production":            {context: "production", server: here},
		"production, named":     {context: "production", server: far, named: true, ok: true},
		"allowed":               {context: "lab", server: far, allow: []string{"lab"}, ok: true},
		"kind in the name":      {context: "my-kind-cluster", server: here},
		"bare prefix":           {context: "kind-", server: here},
		"a space":               {context: "my lab", server: far},
		"minikube's cousin":     {context: "minikube-prod", server: here},
		"an address is missing": {context: "kind-x", server: "%"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := Target{Context: tc.context, Server: tc.server, Named: tc.named}.Guard(tc.allow)
			if (err == nil) != tc.ok {
				t.Fatalf("error: %v", err)
			}
			if err != nil && !strings.Contains(clierr.HintOf(err), "--context "+host.ShellQuote(tc.context)) {
				t.Errorf("hint %q", clierr.HintOf(err))
			}
		})
	}
}

// TestEmbedded: a cluster is embedded if its server is the one that a state
// directory has running on loopback, and answers with the UID recorded there.
// Any other is refused; nobody but a server at our own address is asked for that.
func TestEmbedded(t *testing.T) {
	pid := os.Getpid()
	start, err := state.ProcessStart(pid)
	if err != nil {
		t.Fatal(err)
	}
	running := state.State{Name: "test", PID: pid, ProcessStart: start, UID: "here"}
	tests := map[string]struct {
		context string
		own     bool               // the file is the cluster's, and another context is the current one
		uid     string             // of what answers
		change  func(*state.State) // what the state file says; nil: running
		ok      bool
		asked   bool
		err     string
	}{
		"embedded":             {context: "mysdk-test", uid: "here", ok: true, asked: true},
		"by another name":      {context: "prod", uid: "here", ok: true, asked: true},
		"another UID":          {context: "mysdk-test", uid: "there", asked: true, err: "not a local cluster"},
		"UID is a secret":      {context: "mysdk-test", uid: "", asked: true, err: "not a local cluster"},
		"no UID yet":           {context: "mysdk-test", uid: "here", change: func(s *state.State) { s.UID = "" }, ok: true, asked: true},
		"another address":      {context: "mysdk-test", uid: "here", change: func(s *state.State) { s.Server = "https://127.0.0.1:1" }, err: "not a local cluster"},
		"not running":          {context: "mysdk-test", uid: "here", change: func(s *state.State) { s.PID = 0 }, err: "cluster test is not running"},
		"a stranger's process": {context: "mysdk-test", uid: "here", change: func(s *state.State) { s.ProcessStart = "x" }, err: "cluster test is not running"},

		"own file":                  {context: "mysdk-test", own: true, uid: "here", ok: true, asked: true},
		"own file, another UID":     {context: "mysdk-test", own: true, uid: "there", asked: true, err: "is another cluster"},
		"own file, another address": {context: "mysdk-test", own: true, uid: "here", change: func(s *state.State) { s.Server = "https://127.0.0.1:1" }, err: "is another cluster"},
		"own file, not running":     {context: "mysdk-test", own: true, uid: "here", change: func(s *state.State) { s.PID = 0 }, err: "cluster test is not running"},
		"own file without context":  {context: "prod", own: true, uid: "here", err: "it has no context mysdk-test"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			asked := false
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = true
				w.Header().Set("Content-Type", "application/json")
				if tc.uid == "" && r.URL.Path != "/version" {
					w.WriteHeader(http.StatusForbidden)
					fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
					return
				}
				fmt.Fprintf(w, `{"gitVersion":"v1.36.3","kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":%q}}`, tc.uid)
			}))
			defer s.Close()
			w := hosttest.New(t)
			own := running
			own.Server = s.URL
			if tc.change != nil {
				tc.change(&own)
			}
			l := state.New(w.Env["MYSDK_STATE_DIR"], own.Name)
			write(t, l.StateFile(), "")
			if err := l.Write(own); err != nil {
				t.Fatal(err)
			}
			options, current := Options{Host: w.Host, Kubeconfig: "config"}, tc.context
			if tc.own {
				options.Embedded, current = own.Name, "kind-far"
			}
			write(t, w.Path("config"), fmt.Sprintf("current-context: %s\nclusters: [{name: x, cluster: {server: %[3]q}}, {name: far, cluster: {server: 'https://127.0.0.1:2'}}]\ncontexts: [{name: %[2]s, context: {cluster: x}}, {name: kind-far, context: {cluster: far}}]\n", current, tc.context, s.URL))
			c, err := Connect(t.Context(), options)
			if asked != tc.asked {
				t.Errorf("asked: %v", asked)
			}
			if tc.ok {
				if err != nil || c.Embedded != own.Name {
					t.Errorf("%v", err)
				}
				return
			}
			checkError(t, err, []string{tc.err})
			if clierr.HintOf(err) == "" {
				t.Error("no hint")
			}
		})
	}
}

func TestConnectBadCertificate(t *testing.T) {
	w := hosttest.New(t)
	write(t, w.Path("config"), twoContexts)
	write(t, w.Path("ca.crt"), "no certificate")
	_, err := Connect(t.Context(), Options{Host: w.Host, Kubeconfig: "config", Context: "kind-dev"})
	checkError(t, err, []string{`use context "kind-dev"`})
	if clierr.CodeOf(err) != clierr.CodeUsage {
		t.Errorf("code %d", clierr.CodeOf(err))
	}
}

func serverCert(t *testing.T) string {
	t.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

// TestConnectUnavailable: what answers wrongly, or not at all, is reported as
// unavailable, with the place and without Go's wording of an HTTP request.
func TestConnectUnavailable(t *testing.T) {
	answer := func(code int, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body)) // a client that is gone is the test's failure already
		}
	}
	tests := map[string]struct {
		handler http.HandlerFunc // nil: nothing listens
		err     string
	}{
		"nobody listens":     {err: "connection refused"},
		"a web site":         {handler: answer(200, "<html>"), err: "the answer is not a version"},
		"another JSON":       {handler: answer(200, "{}"), err: "the answer has no gitVersion"},
		"wrong credentials":  {handler: answer(401, ""), err: "refuses the credentials"},
		"no rights":          {handler: answer(403, ""), err: "refuses the credentials"},
		"broken server":      {handler: answer(500, "boom"), err: "connect to context x"},
		"moved out of sight": {handler: answer(404, ""), err: "connect to context x"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t)
			s := httptest.NewServer(tc.handler)
			defer s.Close()
			if tc.handler == nil {
				s.Close()
			}
			write(t, w.Path("config"), "current-context: x\nclusters: [{name: x, cluster: {server: \""+s.URL+"\"}}]\ncontexts: [{name: x, context: {cluster: x}}]\n")
			_, err := Connect(t.Context(), Options{Host: w.Host, Kubeconfig: "config", Context: "x"})
			checkError(t, err, []string{tc.err})
			if clierr.CodeOf(err) != clierr.CodeUnavailable || strings.Contains(err.Error(), "Get \"") {
				t.Errorf("code %d, error %q", clierr.CodeOf(err), err)
			}
		})
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestConnectTimeout: a credential plugin may ask the user for as long as it takes,
// and a server that does not answer is reported.
func TestConnectTimeout(t *testing.T) {
	for name, tc := range map[string]struct {
		plugin, server time.Duration
		fails          error
		err            string
	}{
		"a plugin that asks": {plugin: time.Minute},
		"a silent server":    {server: time.Minute, err: "no answer within 10s"},
		"no handshake":       {fails: os.ErrDeadlineExceeded, err: "no answer within 10s"}, // of net/http, which waits as long
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &Client{Target: Target{Context: "x"}}
				err := c.open(&rest.Config{Host: "http://x", QPS: -1, Transport: transport(func(r *http.Request) (*http.Response, error) {
					time.Sleep(tc.plugin)
					if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GetConn != nil {
						trace.GetConn("x") // as net/http does when it needs a connection
					}
					select {
					case <-r.Context().Done():
						return nil, r.Context().Err()
					case <-time.After(tc.server):
					}
					if tc.fails != nil {
						return nil, tc.fails
					}
					return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"gitVersion":"v1.37.0"}`)), Request: r}, nil
				})})
				if err != nil {
					t.Fatal(err)
				}
				if err = c.askVersion(t.Context()); tc.err != "" {
					checkError(t, err, []string{tc.err})
				} else if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// FuzzKubeconfig: whatever a file holds, it names a cluster or is refused with
// a way out, and never as if the user's program were at fault.
func FuzzKubeconfig(f *testing.F) {
	for _, s := range []string{
		twoContexts, "", "a: [", "current-context: x\ncontexts: [{name: x}]\n", "contexts: [{name: x, context: {cluster: y}}]\ncurrent-context: x\n",
		"clusters: [{name: x, cluster: {server: ':'}}]\ncontexts: [{name: x, context: {cluster: x}}]\ncurrent-context: x\n",
		"apiVersion: v9\nkind: Config\n", "users: [{name: u, user: {exec: {command: x}}}]\n", "clusters: 3\n", "contexts: null\ncurrent-context: 1\n",
	} {
		f.Add([]byte(s), "")
		f.Add([]byte(s), "x")
	}
	f.Fuzz(func(t *testing.T, data []byte, context string) {
		w := hosttest.New(t)
		target, _, err := resolve(Options{Host: w.Host, Kubeconfig: write(t, w.Path("config"), string(data)), Context: context})
		if err == nil {
			if target.Context == "" || target.Server == "" || context != "" && target.Context != context {
				t.Errorf("accepted as %+v", target)
			}
			return
		}
		if clierr.CodeOf(err) != clierr.CodeUsage || clierr.HintOf(err) == "" {
			t.Errorf("code %d, hint %q: %v", clierr.CodeOf(err), clierr.HintOf(err), err)
		}
	})
}

// TestKubectl: a hint's command is for the cluster that failed, not for another.
func TestKubectl(t *testing.T) {
	for want, target := range map[string]Target{
		"mysdk kubectl":                                              {Context: "mysdk-default", Embedded: "default"},
		"mysdk kubectl --cluster test":                               {Context: "mysdk-test", Embedded: "test"},
		"mysdk kubectl --context kind-dev":                           {Context: "kind-dev"},
		"mysdk kubectl --kubeconfig /home/me/dev --context kind-dev": {Context: "kind-dev", file: "/home/me/dev"},
	} {
		if got := target.Kubectl(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
