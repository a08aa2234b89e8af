package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
)

// Target is what a client is connected to, for messages and for the kubeconfig
// of other programs.
type Target struct {
	Context   string   // context of the kubeconfig
	Server    string   // URL of the API server
	Namespace string   // the context's namespace, "default" if it has none
	Version   string   // of the server, e.g. v1.36.3
	Files     []string // kubeconfig files that were looked at
	Named     bool     // the user named the context, not just a file
	Embedded  string   // name of the embedded cluster that this is; "" for any other

	file   string      // the kubeconfig file, where one was named
	config *api.Config // all of what the files say
	own    state.State // of the embedded cluster with that server, if there is one
}

// Name is the context and the server, to be printed before anything is written.
func (t Target) Name() string { return fmt.Sprintf("context %s, server %s", t.Context, t.Server) }

// ContextName is the context of the kubeconfig.
func (t Target) ContextName() string { return t.Context }

// EmbeddedName is the name of the embedded cluster that this is, however it was
// named; "" for any other cluster.
func (t Target) EmbeddedName() string { return t.Embedded }

// Kubectl is how to call kubectl for this cluster: the bare command is for the
// embedded one.
func (t Target) Kubectl() string {
	switch {
	case t.Embedded == "" && t.file != "":
		return "mysdk kubectl --kubeconfig " + host.ShellQuote(t.file) + " --context " + host.ShellQuote(t.Context)
	case t.Embedded == "":
		return "mysdk kubectl --context " + host.ShellQuote(t.Context)
	case t.Embedded == state.DefaultName:
		return "mysdk kubectl"
	}
	return "mysdk kubectl --cluster " + t.Embedded
}

// Kubeconfig is a kubeconfig with this context alone, made the current one, and
// with certificates and keys inlined. Write it with mode 0600.
func (t Target) Kubeconfig() ([]byte, error) {
	c := t.config.DeepCopy()
	c.CurrentContext = t.Context
	if err := api.MinifyConfig(c); err != nil {
		return nil, fmt.Errorf("make a kubeconfig for context %s: %w", t.Context, err)
	}
	if err := api.FlattenConfig(c); err != nil {
		return nil, fmt.Errorf("make a kubeconfig for context %s: %w", t.Context, err)
	}
	return clientcmd.Write(*c)
}

// Guard refuses a cluster that may be a shared one, unless its context was
// named or is in allow. Connect calls it before anything is sent there.
func (t Target) Guard(allow []string) error {
	if t.Named || t.Embedded != "" || slices.Contains(allow, t.Context) || local(t.Context, t.Server) {
		return nil
	}
	if t.own.Name != "" && !t.own.Alive() {
		return clierr.Unavailablef(t.reachHint(), "connect to %s: cluster %s is not running", t.Name(), t.own.Name)
	}
	return clierr.Usagef("if this is the cluster you mean, add --context "+host.ShellQuote(t.Context),
		"refusing to use %s: it is not a local cluster, and its context was not named", t.Name())
}

// local reports whether a context has the name and the address of a throw-away
// cluster on this machine. The name alone proves nothing: anybody can give it to
// the cluster of a company.
func local(context, server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	here := state.OnLoopback(server) || ip.IsUnspecified() || strings.HasSuffix(u.Hostname(), ".docker.internal")
	switch {
	case context == "minikube": // a virtual machine, or a container
		return here || ip.IsPrivate()
	case context == "docker-desktop":
		return here
	}
	return here && slices.ContainsFunc([]string{"kind-", "k3d-"}, func(prefix string) bool {
		return strings.HasPrefix(context, prefix) && len(context) > len(prefix)
	})
}

// identify sets Embedded if this is an embedded cluster: its server runs at this
// address of loopback, as its state directory says, and the UID of what answers
// is the one recorded there.
func (c *Client) identify(ctx context.Context) error {
	if !c.own.Alive() {
		return nil
	}
	// A server that an older mysdk started has recorded none.
	if c.own.UID != "" {
		switch id, err := c.ID(ctx); {
		case apierrors.IsForbidden(err):
			return nil // not known to these credentials, so it has to be named
		case err != nil:
			return err
		case id != c.own.UID:
			return nil
		}
	}
	c.Embedded = c.own.Name
	return nil
}

// Check refuses a cluster that Connect would refuse without asking it anything.
func Check(o Options) error {
	_, _, err := find(o)
	return err
}

// find is the cluster that o names, if Guard lets it pass.
func find(o Options) (Target, *rest.Config, error) {
	target, cfg, err := resolve(o)
	// Without a state directory there are no embedded clusters. Whether the server still
	// is one of them is known once its UID was asked for, see identify.
	if dir, none := o.Host.StateDir(); err == nil && none == nil {
		target.own, err = state.ByServer(dir, target.Server)
	}
	if err == nil && o.Embedded != "" && target.own.Name != o.Embedded {
		err = strayed(o.Embedded, target.Files, target.Name()+" is another cluster")
	}
	// The address of a running embedded cluster of ours may be asked who it is.
	if err == nil && !o.ReadOnly && !target.own.Alive() {
		err = target.Guard(o.Allow)
	}
	return target, cfg, err
}

func resolve(o Options) (Target, *rest.Config, error) {
	rules, err := loadingRules(o)
	if err != nil {
		return Target{}, nil, err
	}
	files := rules.GetLoadingPrecedence()
	cfg, err := rules.Load()
	if err != nil {
		return Target{}, nil, clierr.Usagef("repair the file, or name another with --kubeconfig", "read kubeconfig %s: %w", strings.Join(files, ", "), err)
	}
	want := o.Context
	if o.Embedded != "" {
		want = state.ContextName(o.Embedded)
		if cfg.Contexts[want] == nil {
			return Target{}, nil, strayed(o.Embedded, files, "it has no context "+want)
		}
	}
	name, err := pickContext(cfg, want, files)
	if err != nil {
		return Target{}, nil, err
	}
	loader := clientcmd.NewNonInteractiveClientConfig(*cfg, name, &clientcmd.ConfigOverrides{}, rules)
	rc, err := loader.ClientConfig()
	if err != nil {
		return Target{}, nil, clierr.Usagef("repair the file, or name another context with --context", "kubeconfig %s, context %q: %w", strings.Join(files, ", "), name, err)
	}
	ns := cmp.Or(cfg.Contexts[name].Namespace, "default")
	return Target{Context: name, Server: rc.Host, Namespace: ns, Files: files, Named: o.Context != "", file: rules.ExplicitPath, config: cfg}, rc, nil
}

// strayed is the error for a kubeconfig of an embedded cluster that leads elsewhere:
// users and their tools write to it, too.
func strayed(name string, files []string, what string) error {
	return clierr.Unavailablef(fmt.Sprintf("run '%s', then '%s', which repairs the file", state.Command("stop", name), state.Command("start", name)),
		"connect to cluster %s: kubeconfig %s: %s", name, strings.Join(files, ", "), what)
}

// Contexts are the names of the contexts that o may choose from.
func Contexts(o Options) ([]string, error) {
	rules, err := loadingRules(o)
	if err != nil {
		return nil, err
	}
	cfg, err := rules.Load()
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(cfg.Contexts)), nil
}

// loadingRules is the search order of kubectl, on the host's environment.
func loadingRules(o Options) (*clientcmd.ClientConfigLoadingRules, error) {
	if o.Kubeconfig != "" {
		name := o.Host.Path(o.Kubeconfig)
		if _, err := o.Host.Files.Lstat(name); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("no file %s", name)
			}
			return nil, clierr.Usagef("check the path given with --kubeconfig", "read kubeconfig: %w", err)
		}
		return &clientcmd.ClientConfigLoadingRules{ExplicitPath: name}, nil
	}
	files := o.Host.FilesOf("KUBECONFIG", ".kube/config")
	const hint = "name a file with --kubeconfig"
	if len(files) == 0 {
		return nil, clierr.Usagef(hint, "find a kubeconfig: neither KUBECONFIG nor HOME is set")
	}
	there := func(name string) bool { _, err := o.Host.Files.Lstat(name); return !errors.Is(err, fs.ErrNotExist) }
	if !slices.ContainsFunc(files, there) {
		return nil, clierr.Usagef(hint, "read kubeconfig: no file %s", strings.Join(files, ", "))
	}
	return &clientcmd.ClientConfigLoadingRules{Precedence: files}, nil
}

// pickContext checks the wanted context, or the current one, against the file.
func pickContext(cfg *api.Config, want string, files []string) (string, error) {
	all := slices.Sorted(maps.Keys(cfg.Contexts))
	where := strings.Join(files, ", ")
	if len(all) == 0 {
		return "", clierr.Usagef("name another file with --kubeconfig", "kubeconfig %s: it has no contexts", where)
	}
	name, what := want, "no context"
	if name == "" {
		name, what = cfg.CurrentContext, "the current context does not exist:"
	}
	if name == "" {
		return "", clierr.Usagef("choose one with --context: "+strings.Join(all, ", "), "kubeconfig %s: no current context is set", where)
	}
	if c, ok := cfg.Contexts[name]; ok {
		if cfg.Clusters[c.Cluster] == nil {
			return "", clierr.Usagef("repair the file, or name another context with --context",
				"kubeconfig %s: context %q names cluster %q, which it does not have", where, name, c.Cluster)
		}
		return name, nil
	}
	hint := "it has: " + strings.Join(all, ", ")
	if near := clierr.Closest(name, all); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	return "", clierr.Usagef(hint, "kubeconfig %s: %s %q", where, what, name)
}

// parseVersion reads the answer to GET /version. Proxies and login pages answer
// there too, with something else.
func parseVersion(data []byte) (string, error) {
	var v struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return "", fmt.Errorf("the answer is not a version: %w", err)
	}
	if v.GitVersion == "" {
		return "", errors.New("the answer has no gitVersion")
	}
	return v.GitVersion, nil
}
