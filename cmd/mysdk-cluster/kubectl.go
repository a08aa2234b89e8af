package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "unsafe" // for go:linkname

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/cli"
	baseversion "k8s.io/component-base/version"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/plugin"
	"k8s.io/kubectl/pkg/cmd/util"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/controlplane"
	_ "github.com/example/mysdk/internal/translations" // before kubectl's packages ask for theirs
)

// gitVersion is what `kubectl version` and user agents report. Only the linker
// can set it, which builds by the go command alone do not ask to, and
// SetDynamicVersion takes no other version than it.
//
//go:linkname gitVersion k8s.io/component-base/version.gitVersion
var gitVersion string

// kubectl runs kubectl with args. On an error it prints it as kubectl does and
// ends the process with kubectl's exit code.
func kubectl(args []string) error {
	gitVersion = controlplane.Version()
	if err := baseversion.SetDynamicVersion(gitVersion); err != nil {
		return fmt.Errorf("set kubectl's version: %w", err)
	}
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	flags := genericclioptions.NewConfigFlags(true).WithDiscoveryBurst(300).WithDiscoveryQPS(-1).WithWarningPrinter(streams)
	t, err := takeTarget(flags)
	if err != nil {
		return err
	}
	if t != nil {
		if err := t.keepPlugins(); err != nil {
			return err
		}
	}
	// Where kubectl and cobra look: an alias in a kuberc file adds to them.
	os.Args = append([]string{"kubectl"}, args...)
	command := cmd.NewDefaultKubectlCommandWithArgs(cmd.KubectlOptions{
		PluginHandler: cmd.NewDefaultPluginHandler(plugin.ValidPluginFilenamePrefixes),
		Arguments:     os.Args,
		ConfigFlags:   flags,
		IOStreams:     streams,
	})
	if t != nil {
		if err := t.bind(command); err != nil {
			return err
		}
	}
	err = cli.RunNoErrOutput(command)
	if clierr.HintOf(err) != "" {
		return err
	}
	util.CheckErr(err)
	return nil
}

// target points kubectl at an embedded cluster. kubectl's own parser tells when
// the arguments name another one, so that no word behind -- is taken for a flag.
// Until then the kubeconfig in its environment is the embedded cluster's.
type target struct {
	flags      *genericclioptions.ConfigFlags
	cacheDir   *pflag.Flag
	clusters   string // directory of the embedded clusters
	name       string // of the one to use
	kubeconfig string // KUBECONFIG as the user has it
	cache      string // kubectl's own directory
	// As typed:
	context, cluster string
}

// takeTarget reads what mysdk says in the environment, and takes it out, so that
// plugins do not see it; nil where mysdk says nothing.
func takeTarget(flags *genericclioptions.ConfigFlags) (*target, error) {
	dir := os.Getenv(state.KubectlDirEnv)
	if dir == "" {
		return nil, nil
	}
	t := &target{
		flags: flags, clusters: filepath.Dir(dir), name: filepath.Base(dir),
		kubeconfig: os.Getenv(state.KubectlConfigEnv), cache: *flags.CacheDir,
	}
	for _, name := range []string{state.KubectlDirEnv, state.KubectlConfigEnv} {
		if err := os.Unsetenv(name); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// keepPlugins keeps plugins, which use the current context, on the embedded cluster
// where another tool has made its own the current one since the last start: they get
// a copy. They run before bind.
func (t *target) keepPlugins() error {
	name, l := t.embedded()
	config, err := clientcmd.LoadFromFile(l.Kubeconfig())
	if err != nil || config.CurrentContext == state.ContextName(name) {
		return nil //nolint:nilerr // what reads the file next says what is wrong
	}
	config.CurrentContext = state.ContextName(name)
	file := filepath.Join(l.Dir, "plugins.conf") // the server clears kubectl's cache at any time
	data, err := clientcmd.Write(*config)
	if err == nil {
		err = state.WriteFile(file, data)
	}
	if err != nil {
		return fmt.Errorf("write the kubeconfig for plugins: %w", err)
	}
	return os.Setenv("KUBECONFIG", file)
}

// bind has the flags that name a cluster tell t, and every command look first
// whether the cluster runs.
func (t *target) bind(command *cobra.Command) error {
	flags := command.PersistentFlags()
	t.cacheDir = flags.Lookup("cache-dir")
	for name, typed := range map[string]*string{"kubeconfig": nil, "server": nil, "context": &t.context, "cluster": &t.cluster} {
		f := flags.Lookup(name)
		// A kuberc file may have set it. Like KUBECONFIG, that names no cluster.
		if err := f.Value.Set(""); err != nil {
			return err
		}
		f.Changed = false
		f.Value = noting{f.Value, func() error {
			if typed != nil {
				*typed = f.Value.String()
			}
			return t.choose()
		}}
	}
	flags.Lookup("cluster").Usage = "The name of the embedded cluster to use; with --kubeconfig, --context or --server the name of the kubeconfig cluster to use"
	if err := t.bindSetContext(command); err != nil {
		return err
	}
	before := command.PersistentPreRunE
	command.PersistentPreRunE = func(c *cobra.Command, args []string) error {
		if err := t.check(c); err != nil {
			return err
		}
		return before(c, args)
	}
	return t.choose()
}

// bindSetContext has the --cluster that config set-context has for itself name an
// embedded cluster, too. When a kubeconfig is named, the flag keeps kubectl's meaning:
// the name of a cluster in that file.
func (t *target) bindSetContext(command *cobra.Command) error {
	c, _, err := command.Find([]string{"config", "set-context"})
	if err != nil {
		return err
	}
	f := c.Flag("cluster")
	entry, own := f.Value, pflag.NewFlagSet("", pflag.ContinueOnError)
	own.StringVar(&t.cluster, f.Name, "", "")
	f.Value = noting{own.Lookup(f.Name).Value, t.choose}
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		typed := t.cluster
		switch {
		case !f.Changed:
			return t.checkCurrent(c)
		case t.named() || c.Flag("kubeconfig").Changed:
			return entry.Set(typed)
		}
		for _, t.cluster = range []string{typed, strings.TrimPrefix(typed, state.ContextName(""))} { // or as in the file
			name, l := t.embedded()
			if _, err := os.Stat(l.Kubeconfig()); state.CheckName(name) == nil && err == nil {
				return errors.Join(t.choose(), entry.Set(state.ContextName(name)), t.checkCurrent(c))
			}
		}
		return clierr.Usagef("list them with 'mysdk cluster list', or name your kubeconfig with --kubeconfig", "there is no cluster %q", typed)
	}
	return nil
}

// checkCurrent refuses to change the current context of an embedded cluster's
// kubeconfig while it is another tool's.
func (t *target) checkCurrent(c *cobra.Command) error {
	if t.named() || c.Flag("kubeconfig").Changed || !c.Flag("current").Changed {
		return nil
	}
	name, l := t.embedded()
	own := state.ContextName(name)
	config, err := clientcmd.LoadFromFile(l.Kubeconfig())
	if err != nil || config.CurrentContext == own || config.CurrentContext == "" {
		return nil //nolint:nilerr // what reads the file next says what is wrong
	}
	return clierr.Usagef("use 'config set-context "+own+"' in place of --current", "the current context of %s is %s, which is not the embedded cluster's", l.Kubeconfig(), config.CurrentContext)
}

// noting is a flag's value that tells when it was set.
type noting struct {
	pflag.Value
	then func() error
}

// Set implements pflag.Value.
func (n noting) Set(s string) error {
	if err := n.Value.Set(s); err != nil {
		return err
	}
	return n.then()
}

// named reports whether the arguments name a cluster of the user's.
func (t *target) named() bool {
	return t.context != "" || *t.flags.KubeConfig != "" || *t.flags.APIServer != ""
}

// embedded is the embedded cluster to use where none of the user's is named.
func (t *target) embedded() (name string, l state.Layout) {
	name = cmp.Or(t.cluster, t.name)
	return name, state.Layout{Dir: filepath.Join(t.clusters, name)}
}

// choose sets kubectl's environment to what the flags so far say. With its
// context named, a kubeconfig that is not there, or that was changed, is an
// error, and neither localhost:8080 nor the cluster around this process.
func (t *target) choose() error {
	name, l := t.embedded()
	kubeconfig, cache := l.Kubeconfig(), l.KubectlCache()
	*t.flags.Context, *t.flags.ClusterName = state.ContextName(name), ""
	if t.named() {
		kubeconfig, cache = t.kubeconfig, t.cache
		*t.flags.Context, *t.flags.ClusterName = t.context, t.cluster
	}
	if !t.cacheDir.Changed {
		*t.flags.CacheDir = cache
	}
	return os.Setenv("KUBECONFIG", kubeconfig)
}

// check refuses a command that needs a server while the cluster is not running, or
// while its kubeconfig has the address of another one.
func (t *target) check(c *cobra.Command) error {
	if t.named() || offline(c) {
		return nil
	}
	name, l := t.embedded()
	if err := state.CheckName(name); err != nil {
		return clierr.Usagef("'mysdk cluster list' lists the clusters of this machine", "--cluster: %w", err)
	}
	s, err := l.Read()
	if err != nil || s.Server != "" && onlyHere(c) {
		return err
	}
	if !s.Alive() {
		return clierr.Unavailablef("start it with '"+state.Command("start", name)+"', or name another cluster with --kubeconfig or --context", "cluster %s is not running", name)
	}
	config, err := t.flags.ToRESTConfig()
	if err != nil || s.Server == "" || config.Host == s.Server {
		return nil //nolint:nilerr // kubectl says what is wrong with the file
	}
	return clierr.Unavailablef(fmt.Sprintf("run '%s', then '%s', which repairs the file", state.Command("stop", name), state.Command("start", name)),
		"connect to cluster %s: kubeconfig %s: context %s, server %s is another cluster", name, l.Kubeconfig(), state.ContextName(name), config.Host)
}

// onlyHere reports whether a command works on this machine, with the kubeconfig of a
// cluster.
func onlyHere(c *cobra.Command) bool {
	local, dryRun := c.Flags().Lookup("local"), c.Flags().Lookup("dry-run")
	return local != nil && local.Value.String() == "true" || // set, label, patch and their kin
		dryRun != nil && dryRun.Value.String() == "client" && c.HasParent() && c.Parent().Name() == "create"
}

func offline(c *cobra.Command) bool {
	if f := c.Flags().Lookup("client"); f != nil && f.Value.String() == "true" {
		return true // of version
	}
	for c.HasParent() && c.Parent().HasParent() {
		c = c.Parent()
	}
	return !c.HasParent() || slices.Contains([]string{
		"help", "completion", "config", "kuberc", "kustomize", "options", "plugin", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd,
	}, c.Name())
}
