package cmd_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/kube/kubetest"
)

// contacts is the API server of a cluster that lets nobody in and counts who
// connects: what is contacted is recorded, not assumed.
type contacts struct {
	*httptest.Server
	n atomic.Int32
}

func newContacts(t *testing.T) *contacts {
	t.Helper()
	c := &contacts{}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/version":
			fmt.Fprint(w, `{"gitVersion":"v1.36.3"}`)
		case "/api/v1/namespaces/kube-system":
			fmt.Fprint(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"embedded"}}`)
		default:
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no","code":403}`)
		}
	}))
	c.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			c.n.Add(1)
		}
	}
	c.Start()
	t.Cleanup(c.Close)
	return c
}

// kubeconfig has a server as the cluster of its current context.
func (c *contacts) kubeconfig(context string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: %[1]s
clusters: [{name: %[1]s, cluster: {server: %[2]q}}]
contexts: [{name: %[1]s, context: {cluster: %[1]s, user: %[1]s}}]
users: [{name: %[1]s, user: {token: secret}}]
`, context, c.URL)
}

// arguments are what each command needs, besides the cluster, to come as far as
// one. Each that takes a cluster must be here, or uses one without a choice.
var arguments = map[string][]string{
	"install": {}, "uninstall": {"--yes"}, "deploy": {"--image", "example.com/shop:v1"}, "undeploy": {}, "run local": {},
	"run bundle": {"bundle"}, "run bundle-upgrade": {"bundle"}, "run packagemanifests": {"packagemanifests"}, "cleanup": {"shop"},
	"olm install": {}, "olm status": {}, "olm uninstall": {}, "olm explain": {}, "scorecard": {"bundle", "--config", "scorecard.yaml"}, "doctor": {},
	"kubectl": {"get", "pods"}, "up local": {},
	"cluster simulate pod": {"web", "crash"}, "run": {"--local"},
	"ui": nil, // refuses both: nothing is recorded there
}

// runnable maps every command that can be run to itself, by its words.
func runnable(c *cobra.Command) map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	for _, sub := range c.Commands() {
		maps.Copy(all, runnable(sub))
	}
	if c.Runnable() && c.HasParent() {
		all[strings.TrimPrefix(c.CommandPath(), "mysdk ")] = c
	}
	return all
}

// takesCluster lists the commands with a flag that names a cluster of the user's.
func takesCluster(tree *cobra.Command) []string {
	var list []string
	for path, c := range runnable(tree) {
		if c.Flags().Lookup("context") != nil || c.Flags().Lookup("kubeconfig") != nil || path == "kubectl" {
			list = append(list, path)
		}
	}
	return list
}

// takes reports whether a command has all flags among args; kubectl has its own.
func takes(c *cobra.Command, args []string) bool {
	return c.DisableFlagParsing || !slices.ContainsFunc(args, func(a string) bool {
		name, isFlag := strings.CutPrefix(a, "--")
		return isFlag && c.Flags().Lookup(name) == nil
	})
}

// TestNeverTheWrongCluster: no command contacts a cluster that was not named,
// whatever the environment says, and each finds its way to one that was.
func TestNeverTheWrongCluster(t *testing.T) {
	tree := root.Root(hosttest.New(t).Host)
	commands := takesCluster(tree)
	if d := missing(commands, slices.Collect(maps.Keys(arguments))); len(d) > 0 || len(commands) < 10 {
		t.Fatalf("commands that take a cluster, and are not tried here: %q, of %q", d, commands)
	}
	file := func(w *wrongWorld) []string { return []string{"--kubeconfig", w.file} }
	named := func(w *wrongWorld) []string { return []string{"--kubeconfig", w.file, "--context", hostile} }
	situations := map[string]struct {
		args    func(*wrongWorld) []string
		allowed bool // the context is in allowed-contexts
		env     func(*wrongWorld)
		foreign bool // is contacted
	}{
		"nothing named": {},
		"KUBECONFIG":    {env: func(w *wrongWorld) { w.Env["KUBECONFIG"] = w.file }},
		"the home directory": {env: func(w *wrongWorld) {
			w.Env["HOME"] = filepath.Dir(filepath.Dir(w.put(".home/.kube/config", w.foreign.kubeconfig(hostile))))
			w.put(".home/.config/go/telemetry/mode", "off") // or the go command writes there when the test has ended
		}},
		"in a cluster":             {env: (*wrongWorld).enterCluster},
		"another tool's context":   {env: (*wrongWorld).letToolsWrite},
		"a file, with our prefix":  {args: file},
		"--context":                {args: named, foreign: true},
		"--context and KUBECONFIG": {args: func(*wrongWorld) []string { return []string{"--context", hostile} }, env: func(w *wrongWorld) { w.Env["KUBECONFIG"] = w.file }, foreign: true},
		"allowed":                  {args: file, allowed: true, foreign: true},
	}
	all := runnable(tree)
	for command, args := range arguments {
		if args == nil {
			continue
		}
		for situation, s := range situations {
			if s.args != nil && !takes(all[command], s.args(&wrongWorld{})) {
				continue
			}
			t.Run(command+"/"+situation, func(t *testing.T) {
				if command == "kubectl" && testing.Short() {
					t.Skip("builds mysdk-cluster")
				}
				t.Parallel()
				w := newWrongWorld(t)
				w.file = w.put("foreign.yaml", w.foreign.kubeconfig(hostile))
				if command == "kubectl" {
					w.takeBinary()
				}
				if s.env != nil {
					s.env(w)
				}
				if s.allowed {
					w.put(".mysdk.yaml", "allowed-contexts: ["+hostile+"]\n")
				}
				args := append(strings.Fields(command), args...)
				if s.args != nil {
					args = append(args, s.args(w)...)
				}
				code := root.Main(t.Context(), w.Host, args)
				// A file that kubectl or doctor is given names its cluster.
				foreign := s.foreign || s.args != nil && (command == "kubectl" || command == "doctor")
				if n := w.foreign.n.Load(); n > 0 != foreign {
					t.Errorf("%d connections to the cluster of somebody else, exit code %d\n%s%s", n, code, w.Out, w.Err)
				}
				// What was not refused is about the embedded cluster. A run builds the operator
				// beside it, which fails here, and may be faster.
				builds := command == "run" || strings.HasSuffix(command, " local")
				if n := w.embedded.n.Load(); n > 0 != (s.args == nil) && command != "doctor" && (n > 0 || !builds) {
					t.Errorf("%d connections to the embedded cluster, exit code %d\n%s%s", n, code, w.Out, w.Err)
				}
			})
		}
	}
}

// noPrograms starts nothing: what needs a compiler, or a cluster, ends there. Tests
// connect where their environment leads controller-runtime's envtest.
type noPrograms struct {
	host.Exec
	foreign *contacts
}

// Start implements host.Exec.
func (n noPrograms) Start(_ context.Context, c host.Cmd) (host.Process, error) {
	env := map[string]string{}
	for _, e := range c.Env {
		name, value, _ := strings.Cut(e, "=")
		env[name] = value // the last one counts
	}
	if c.Name == "go" && c.Args[0] == "test" && (env["USE_EXISTING_CLUSTER"] == "true" || env["KUBERNETES_SERVICE_HOST"] != "") {
		n.foreign.n.Add(1)
	}
	return nil, errors.New("no program is started here")
}

// TestOtherCommandsContactNobody runs every command that takes no cluster, with
// everything around it that could lead to one.
func TestOtherCommandsContactNobody(t *testing.T) {
	further := map[string]string{
		"init": "--domain example.com", "create api": "--group shop --kind Cart", "create webhook": "--group shop --kind Cart --defaulting",
		"delete api": "--group shop --kind Cart", "edit": "--namespaced", "bundle generate": "--version 0.0.1", "bundle validate": "bundle",
		"cluster reset": "--yes", "cluster kubeconfig": "--merge", "cluster start": "--merge", "test": "|--controllers", "upgrade": "--yes", "migrate": "--yes",
		"image build": "--image example.com/shop:v1", "image save": "--image example.com/shop:v1", "build-installer": "--image example.com/shop:v1",
	}
	tree := root.Root(hosttest.New(t).Host)
	commands := runnable(tree)
	for command := range further {
		if commands[command] == nil {
			t.Errorf("there is no command %s", command)
		}
	}
	for command := range commands {
		if _, tried := arguments[command]; tried && arguments[command] != nil {
			continue
		}
		for args := range strings.SplitSeq(further[command], "|") {
			t.Run(command+args, func(t *testing.T) {
				t.Parallel()
				w := newWrongProject(t)
				w.enterCluster()
				w.Env["KUBECONFIG"], w.Env["USE_EXISTING_CLUSTER"] = w.put(".home/.kube/config", w.foreign.kubeconfig(hostile)), "true"
				w.Env["HOME"], w.Env["MYSDK_CLUSTER_BIN"], w.Exec = w.Path(".home"), w.put("mysdk-cluster", ""), noPrograms{w.Exec, w.foreign}
				code := root.Main(t.Context(), w.Host, append(strings.Fields(command), strings.Fields(args)...))
				if n := w.foreign.n.Load(); n > 0 {
					t.Errorf("%d connections to the cluster of somebody else, exit code %d\n%s%s", n, code, w.Out, w.Err)
				}
			})
		}
	}
}

// TestKubectlNeverTheWrongCluster: words that are not kubectl's own flags name no
// cluster, nor does what is in its preferences.
func TestKubectlNeverTheWrongCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("builds mysdk-cluster")
	}
	for command, foreign := range map[string]bool{
		"exec p -- curl -s URL":                        false,
		"run x --image=y -- curl -s URL":               false,
		"run x --image=y -- kubectl --context=prod":    false,
		"exec p -- kubectl --kubeconfig FILE get pods": false,
		"get pods -o name --kubeconfig=":               false,
		"get pods --cluster default":                   false,
		"--cluster=prod get pods":                      false,
		"get pods --user prod":                         false,
		"odd":                                          false, // an alias of kuberc
		"get configmaps":                               false, // has a default in kuberc
		"__complete get pods ":                         false,
		"-s URL get pods":                              true,
		"get pods --server=URL":                        true,
		"get pods --context prod":                      true,
		"--context prod get pods --cluster prod":       true,
		"--cluster prod --context prod get pods":       true,
		"--kubeconfig FILE get pods":                   true,
		"__complete get --context prod pods ":          true,
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			w := newWrongWorld(t)
			w.takeBinary()
			w.file = w.put("foreign.yaml", w.foreign.kubeconfig("prod"))
			w.Env["KUBECONFIG"] = w.file
			w.Env["KUBERC"] = w.put("kuberc", `apiVersion: kubectl.config.k8s.io/v1beta1
kind: Preference
aliases: [{name: odd, command: get, prependArgs: [configmaps], options: [{name: context, default: prod}]}]
defaults: [{command: get, options: [{name: server, default: "`+w.foreign.URL+`"}]}]
`)
			args := strings.Split(strings.NewReplacer("URL", w.foreign.URL, "FILE", w.file).Replace("kubectl "+command), " ")
			code := root.Main(t.Context(), w.Host, args)
			if n := w.foreign.n.Load(); n > 0 != foreign {
				t.Errorf("%d connections to the cluster of somebody else, exit code %d\n%s%s", n, code, w.Out, w.Err)
			}
			if n := w.embedded.n.Load(); n > 0 == foreign && !strings.Contains(command, "--cluster=prod") && !strings.Contains(command, "--user") {
				t.Errorf("%d connections to the embedded cluster, exit code %d\n%s%s", n, code, w.Out, w.Err)
			}
		})
	}
}

// TestCompletionAsksTheRightCluster: names are completed from the embedded cluster that
// the command would use.
func TestCompletionAsksTheRightCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		env, file, flag string
		asked           bool
	}{
		"nothing named":  {asked: true},
		"environment":    {env: "other"},
		"configuration":  {file: "cluster: other\n"},
		"flag":           {env: "other", file: "cluster: other\n", flag: "default", asked: true},
		"broken file":    {file: "cluster: [", asked: true},
		"an empty list":  {file: "cluster: []\n", asked: true},
		"file, then env": {file: "cluster: other\n", env: "default", asked: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWrongWorld(t)
			w.Env["MYSDK_CLUSTER"] = tc.env
			w.put(".mysdk.yaml", tc.file)
			args := []string{"__complete", "cleanup", "shop"}
			if tc.flag != "" {
				args = append(args, "--cluster", tc.flag)
			}
			root.Main(t.Context(), w.Host, append(args, "--namespace", ""))
			if n := w.embedded.n.Load(); n > 0 != tc.asked {
				t.Errorf("%d connections to the embedded cluster\n%s%s", n, w.Out, w.Err)
			}
		})
	}
}

// missing are the items of all that some lacks.
func missing(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}

// hostile is the context of a cluster of somebody else that looks like ours.
const hostile = "mysdk-prod"

// wrongWorld is a project with everything that a command may ask for, an embedded
// cluster that only counts, and a cluster of somebody else.
type wrongWorld struct {
	*hosttest.World
	t                 *testing.T
	embedded, foreign *contacts
	file              string // kubeconfig of the foreign cluster
}

func newWrongWorld(t *testing.T) *wrongWorld {
	t.Helper()
	w := newWrongProject(t)
	w.runEmbedded()
	return w
}

// newWrongProject is a wrongWorld whose embedded cluster does not run.
func newWrongProject(t *testing.T) *wrongWorld {
	t.Helper()
	w := &wrongWorld{World: hosttest.New(t), t: t, embedded: newContacts(t), foreign: newContacts(t)}
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		t.Fatal(err)
	}
	w.Env["HOME"] = home
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	if err := telemetryOff(home); err != nil {
		t.Fatal(err)
	}
	for to, from := range map[string]string{"bundle": "", "packagemanifests/0.1.0": "manifests"} {
		if err := os.CopyFS(w.Path(to), os.DirFS(filepath.Join("../internal/bundle/testdata/bundle", from))); err != nil {
			t.Fatal(err)
		}
	}
	w.put("packagemanifests/shop.package.yaml", "packageName: shop\nchannels: [{name: alpha, currentCSV: shop.v0.1.0}]\n")
	w.put("scorecard.yaml", "apiVersion: scorecard.operatorframework.io/v1alpha3\nkind: Configuration\nmetadata: {name: config}\nstages: [{tests: [{entrypoint: [scorecard-test, basic-check-spec], labels: {suite: basic}}]}]\n")
	w.put("PROJECT", "domain: example.com\nlayout: [go.kubebuilder.io/v4]\nprojectName: shop\nrepo: example.com/shop\nversion: \"3\"\n")
	w.put("go.mod", "module example.com/shop\n\ngo 1.26\n")
	w.put("cmd/main.go", "package main\n\nfunc main() {}\n")
	crd := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: shops.example.com}\n" +
		"spec: {group: example.com, scope: Namespaced, names: {kind: Shop, plural: shops}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n"
	w.put("config/crd/bases/example.com_shops.yaml", crd)
	w.put("config/crd/kustomization.yaml", "resources: [bases/example.com_shops.yaml]\n")
	w.put("config/manager/kustomization.yaml", "resources: [manager.yaml]\n")
	w.put("config/manager/manager.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop, namespace: default}\n"+
		"spec: {selector: {matchLabels: {app: shop}}, template: {metadata: {labels: {app: shop}}, spec: {containers: [{name: manager, image: controller}]}}}\n")
	w.put("config/default/kustomization.yaml", "resources: [../crd, ../manager]\n")
	return w
}

// letToolsWrite puts the foreign cluster into the embedded one's kubeconfig, as kind does
// where KUBECONFIG is that file.
func (w *wrongWorld) letToolsWrite() {
	own := state.ContextName("default")
	w.put(state.New(w.Env["MYSDK_STATE_DIR"], "default").Kubeconfig(), strings.NewReplacer(
		"clusters: [", "clusters: [{name: "+own+", cluster: {server: "+w.embedded.URL+"}}, ",
		"contexts: [", "contexts: [{name: "+own+", context: {cluster: "+own+", user: kind-far}}, ",
	).Replace(w.foreign.kubeconfig("kind-far")))
}

// enterCluster makes the environment that of a pod of the foreign cluster.
func (w *wrongWorld) enterCluster() {
	u, err := url.Parse(w.foreign.URL)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Env["KUBERNETES_SERVICE_HOST"], w.Env["KUBERNETES_SERVICE_PORT"], w.Env["KUBERNETES_MASTER"] = u.Hostname(), u.Port(), w.foreign.URL
}

// takeBinary has the mysdk-cluster of the other tests used, not one of its own.
func (w *wrongWorld) takeBinary() {
	h := kubetest.World(w.t)
	for _, name := range []string{"MYSDK_CLUSTER_BIN", "MYSDK_CACHE_DIR", "XDG_CACHE_HOME"} {
		w.Env[name] = h.Getenv(name)
	}
	if cache, err := os.UserCacheDir(); err == nil {
		w.Env["XDG_CACHE_HOME"] = cmp.Or(w.Env["XDG_CACHE_HOME"], cache)
	}
}

func (w *wrongWorld) put(name, text string) string {
	w.t.Helper()
	full := w.Path(name)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return full
}

// runEmbedded leaves the traces of an embedded cluster that runs in this process:
// the state file, the lock, the control socket and the kubeconfig.
func (w *wrongWorld) runEmbedded() {
	w.t.Helper()
	l := state.New(w.Env["MYSDK_STATE_DIR"], "default")
	w.put(l.Kubeconfig(), w.embedded.kubeconfig(state.ContextName("default")))
	start, err := state.ProcessStart(os.Getpid())
	if err != nil {
		w.t.Fatal(err)
	}
	lock, err := l.Lock(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = lock.Release() })
	dir, err := os.MkdirTemp("", "c") // a socket's path must be short
	if err != nil {
		w.t.Fatal(err)
	}
	s := state.State{Name: "default", PID: os.Getpid(), ProcessStart: start, Server: w.embedded.URL, UID: "embedded", Socket: filepath.Join(dir, "s")}
	if err := l.Write(s); err != nil {
		w.t.Fatal(err)
	}
	control, err := net.Listen("unix", s.Socket)
	if err != nil {
		w.t.Fatal(err)
	}
	srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		var status bytes.Buffer
		if err := json.NewEncoder(&status).Encode(state.Status{State: s, Ready: true}); err != nil {
			w.t.Error(err)
		}
		_, _ = out.Write(status.Bytes()) // the client notices
	})}
	go srv.Serve(control)
	w.t.Cleanup(func() { _ = srv.Close(); _ = os.RemoveAll(dir) })
}
