package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/olm/run"
)

// Target is the cluster that a command writes to: the embedded one unless a
// kubeconfig or a context is named.
type Target struct {
	Kubeconfig, Context, Name string
}

// Bind binds the flags that name a cluster.
func (t *Target) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&t.Kubeconfig, "kubeconfig", "", "kubeconfig file to use instead of the embedded cluster")
	flags.StringVar(&t.Context, "context", "", "kubeconfig context to use instead of the embedded cluster")
	ClusterFlag(flags, &t.Name)
}

// Embedded reports whether no cluster was named.
func (t *Target) Embedded() bool { return t.Kubeconfig == "" && t.Context == "" }

// clusterCommands are those that take the flags of a Target, with such flags.
var clusterCommands = lazy.Delayed(`\bmysdk (?:kubectl|cleanup|deploy|undeploy|install|uninstall|scorecard|ui|why|rights|olm [a-z]+|run [a-z-]+)\b(?: --(?:kubeconfig|context|cluster) (?:'[^']*'|[^ ']+))*`)

// Aim has the commands in a text mean the cluster that the running command was
// told to use: as engines write them, they would go to the embedded one.
func (f *Factory) Aim(text string) string {
	unnamed := func(name string) bool { return !f.Given[name] || f.Running.Flag(name).Value.String() == "" }
	names := slices.DeleteFunc([]string{"kubeconfig", "context"}, unnamed)
	if len(names) == 0 && unnamed("cluster") {
		return text
	}
	if len(names) == 0 {
		names = []string{"cluster"} // which counts only without them
	}
	return clusterCommands.ReplaceAllStringFunc(text, func(command string) string {
		if strings.Contains(command, " --cluster ") {
			return command // an embedded one, however it was named
		}
		for _, name := range names {
			value := f.Running.Flag(name).Value.String()
			if name == "kubeconfig" {
				value = f.Host.Path(value) // the user may be in another directory than the project's
			}
			if !strings.Contains(command, " --"+name+" ") {
				command += " --" + name + " " + host.ShellQuote(value)
			}
		}
		return command
	})
}

// DryRunFlag is the --dry-run of commands that write to a cluster.
func DryRunFlag(flags *pflag.FlagSet, value *bool) {
	flags.BoolVar(value, "dry-run", false, "print what would change in the cluster without changing it")
}

// ForceFlag is the --force of commands that delete CRDs.
func ForceFlag(flags *pflag.FlagSet, value *bool) {
	flags.BoolVar(value, "force", false, "remove finalizers of custom resources without running their cleanup")
}

func (f *Factory) tell(r kube.Result) { f.Say("%s %s", r.Ref, r.Action) }

// Teller is what reports each object: talk, or the result of a dry run.
func (f *Factory) Teller(dryRun bool) func(kube.Result) {
	if !dryRun {
		return f.tell
	}
	return func(r kube.Result) {
		fmt.Fprintf(f.Host.IO.Out, "%s %s (server dry run)\n", r.Ref, r.Action)
	}
}

// Ask asks for a yes on a terminal. Elsewhere nobody can answer, and refusal is
// the error.
func (f *Factory) Ask(ctx context.Context, question string, refusal error) (bool, error) {
	if !host.IsTerminal(f.Host.IO.In) {
		return false, refusal
	}
	fmt.Fprint(f.Host.IO.Err, question)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(f.Host.IO.In).ReadString('\n') // an end of the input is a no
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case s := <-answer:
		return s == "y" || s == "yes", nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// Connect prints the cluster that will be written to and returns a client
// for it. The embedded one is started with start, and must run without.
func (f *Factory) Connect(ctx context.Context, t *Target, start bool) (*kube.Client, error) {
	opts := kube.Options{Kubeconfig: t.Kubeconfig, Context: t.Context, Host: f.Host, Allow: f.Allowed, Warn: f.WarnLine}
	if t.Embedded() {
		file, err := f.embeddedKubeconfig(ctx, t.Name, start)
		if err != nil {
			return nil, err
		}
		opts.Kubeconfig, opts.Embedded = file, t.Name
	}
	client, err := kube.Connect(ctx, opts)
	if err != nil {
		return nil, err
	}
	f.Say("Cluster: %s", client.Name())
	return client, nil
}

// KnownCluster refuses a cluster that does not exist: only the default one is
// created by the way.
func (f *Factory) KnownCluster(ctx context.Context, name string) error {
	if name == state.DefaultName {
		return nil
	}
	if err := state.CheckName(name); err != nil {
		return err
	}
	list, err := cluster.List(ctx, f.Host)
	if err != nil {
		return err
	}
	var names []string
	for _, i := range list {
		if i.Name == name {
			return nil
		}
		names = append(names, i.Name)
	}
	hint := "list them with 'mysdk cluster list', or create it with '" + state.Command("start", name) + "'"
	if near := clierr.Closest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q? Otherwise %s", near, hint)
	}
	return clierr.Usagef(hint, "there is no cluster %q", name)
}

func (f *Factory) embeddedKubeconfig(ctx context.Context, name string, start bool) (string, error) {
	if err := f.KnownCluster(ctx, name); err != nil {
		return "", err
	}
	if start {
		info, err := cluster.Start(ctx, f.Host, cluster.Options{Name: name, Progress: f.Progress, Detail: f.Stage})
		if err != nil {
			return "", err
		}
		return info.Kubeconfig, nil
	}
	info, err := cluster.Status(ctx, f.Host, name)
	if err != nil {
		return "", err
	}
	if info.State != cluster.Running {
		hint := "start it with '" + state.Command("start", name) + "'"
		if f.Running.Flag("context") != nil {
			hint += ", or name another with --context"
		}
		return "", clierr.Unavailablef(hint, "cluster %s is not running", name)
	}
	return info.Kubeconfig, nil
}

// TellChange reports objects that a run has changed; what it found as it
// should be is for the curious.
func (f *Factory) TellChange(r kube.Result) {
	if r.Action == kube.Unchanged || r.Action == kube.Absent {
		f.Detail("%s %s", r.Ref, r.Action)
		return
	}
	f.tell(r)
}

// Explain prints where a failure of a run comes from: what the object that is
// at fault says about itself.
func (f *Factory) Explain(err error) {
	var failure *run.Failure
	if !errors.As(err, &failure) {
		return
	}
	for _, line := range failure.Finding.Details() {
		fmt.Fprintf(f.Host.IO.Err, "  %s\n", line)
	}
}
