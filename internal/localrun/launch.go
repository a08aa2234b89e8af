package localrun

import (
	"context"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/localrun/trace"
)

// launch is how the operator is started.
type launch struct {
	program string
	args    []string
	env     []string // all of the environment
	address string   // where its webhook server will listen; "" without webhooks

	shown []string // the operator's own arguments
	set   []string // of the environment, what differs from the user's
	notes []string // lines to print besides
}

// launch finds out how to start the operator as its main package is now. Flags
// are passed only if it defines them: a program that does not know a flag ends
// at once.
func (r *run) launch(ctx context.Context) (launch, error) {
	found, err := r.scan()
	if err != nil {
		return launch{}, err
	}
	var l launch
	o := r.Options
	words, rest := leadingWords(o.OperatorArgs)
	if o.OperatorArgs = rest; len(words) == 0 {
		words, _ = leadingWords(withoutFlags(o.Deployed.Args))
	}
	if l.shown, err = operatorArgs(found, o); err != nil {
		return launch{}, err
	}
	// Without webhooks the operator is told so, where it asks: its webhook
	// server would find no certificate, and end the operator.
	var extra []string
	if h := r.hooks.Load(); h != nil {
		var args []string
		if args, extra, l.address, err = h.webhookArgs(ctx, found, o); err != nil {
			return launch{}, err
		}
		l.shown = append(args, l.shown...)
	} else if found.webhookSwitch {
		extra = append(extra, "ENABLE_WEBHOOKS=false")
	}
	if err := r.checkLimit(); err != nil {
		return launch{}, err
	}
	l.shown = append(words, l.shown...)
	l.set, l.env = r.environment(extra)
	l.program, l.args = r.plan.binary, l.shown
	if r.Debug > 0 {
		r.underDebugger(&l)
	}
	return l, nil
}

// subcommand is a word of a command line that names what to run.
var subcommand = lazy.Delayed(`^[a-z][a-z0-9-]*$`)

// leadingWords takes the subcommand off arguments, the words before all flags.
func leadingWords(args []string) (words, rest []string) {
	i := 0
	for i < len(args) && subcommand.MatchString(args[i]) {
		i++
	}
	return slices.Clone(args[:i]), args[i:]
}

// withoutFlags takes the flags off the front of arguments, as long as they have
// their values in them: the subcommand may come behind those.
func withoutFlags(args []string) []string {
	i := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") || !strings.Contains(a, "=") })
	return args[max(i, 0):]
}

// environment is the operator's: what it has when deployed, the user's own, what
// it needs to know about this run, and what was given with --env, each over the
// one before.
func (r *run) environment(extra []string) (set, all []string) {
	set = slices.Concat([]string{
		"WATCH_NAMESPACE=" + strings.Join(r.WatchNamespaces, ","),
		"OPERATOR_NAME=" + r.Name,
		"POD_NAMESPACE=" + r.podNamespace(),
		"KUBECONFIG=" + r.operatorConfig,
	}, extra)
	own := state.OutOfPod(r.Host.Environ())
	known := slices.Clone(set) // with what the Deployment's variables are in the user's environment
	for _, e := range r.Deployed.Env {
		switch key, _, _ := strings.Cut(e, "="); {
		case sets(set, key):
		case sets(own, key):
			known = append(known, key+"="+r.Host.Getenv(key))
		default:
			e = Expand(e, known)
			set, known = append(set, e), append(known, e)
		}
	}
	for _, e := range r.Env {
		set = override(set, []string{Expand(e, set)})
	}
	all = override(own, set)
	if r.Trace && r.control != nil {
		all = append(all, trace.ProjectEnv+"="+r.Dir, trace.ReportEnv+"="+r.socket)
	}
	return set, all
}

// sets reports whether env has the variable.
func sets(env []string, key string) bool {
	return slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, key+"=") })
}

// reference matches what Expand replaces.
var reference = lazy.Delayed(`\$\$|\$\([^)]*\)`)

// Expand puts the variables of env where a text has $(NAME), as Kubernetes does in
// a container's: $$ is a $, and names that env does not have stay.
func Expand(text string, env []string) string {
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		if ref == "$$" {
			return "$"
		}
		for _, e := range slices.Backward(env) {
			if value, ok := strings.CutPrefix(e, ref[len("$("):len(ref)-len(")")]+"="); ok {
				return value
			}
		}
		return ref
	})
}

// podNamespace is the namespace that the operator takes for its own.
func (r *run) podNamespace() string {
	if len(r.WatchNamespaces) > 0 {
		return r.WatchNamespaces[0]
	}
	return "default"
}

// override returns base with the variables of over, one value for each.
func override(base, over []string) []string {
	at := map[string]int{}
	var list []string
	for _, e := range slices.Concat(base, over) {
		key, _, _ := strings.Cut(e, "=")
		if i, ok := at[key]; ok {
			list[i] = e
			continue
		}
		at[key] = len(list)
		list = append(list, e)
	}
	return list
}
