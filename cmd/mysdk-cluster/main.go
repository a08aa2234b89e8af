// Command mysdk-cluster is the embedded control plane: `serve` runs it, and
// `kubectl` is kubectl. It is started by mysdk, and may be started by hand.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/example/mysdk/internal/bundle/validate/engine"
	"github.com/example/mysdk/internal/catalog/opm"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/controlplane"
	_ "github.com/example/mysdk/internal/gcpercent" // before the libraries fill the heap
)

const usage = `mysdk-cluster runs a Kubernetes control plane in one process, on loopback only.

Usage:
  mysdk-cluster serve --dir DIR [flags]   run the control plane until SIGTERM or Ctrl-C
  mysdk-cluster kubectl ARGS              kubectl, compiled in
  mysdk-cluster validate                  judge a bundle, for 'mysdk bundle validate'
  mysdk-cluster compare-crds              compare CRDs, for 'mysdk generate --check-compat'
  mysdk-cluster catalog-cache             make a catalog's cache, for 'mysdk bundle catalog'
  mysdk-cluster version                   print the versions

'mysdk cluster start' starts it in the background. Flags of serve:
`

// orphanGrace is what a server whose parent has ended may take to stop: pods
// that do not end, or a busy disk, must not keep it for longer.
const orphanGrace = 3 * time.Second

// parentInterval is how often a server looks whether its parent still runs.
const parentInterval = time.Second

func main() {
	err := run(os.Args, time.Now())
	if errors.Is(err, flag.ErrHelp) {
		err = nil
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		if hint := clierr.HintOf(err); hint != "" {
			fmt.Fprintln(os.Stderr, "Hint: ", hint)
		}
	}
	os.Exit(clierr.CodeOf(err))
}

// run does what the name says by which the program was called: etcd,
// kube-apiserver and kubectl are links to it, for controller-runtime's envtest.
// By any other name the first argument says what to do.
func run(argv []string, started time.Time) error {
	args := argv[1:]
	switch strings.TrimSuffix(filepath.Base(argv[0]), ".exe") {
	case "etcd":
		return untilOrphaned(func(ctx context.Context) error { return controlplane.RunEtcd(ctx, args, os.Stdout) })
	case "kube-apiserver":
		return untilOrphaned(func(ctx context.Context) error {
			return controlplane.RunAPIServer(ctx, args, os.Getenv(state.KubernetesEnv), os.Stdout)
		})
	case "kubectl":
		return kubectl(args)
	}
	if len(args) == 0 {
		args = []string{"help"}
	}
	switch args[0] {
	case "serve":
		return untilSignal(func(ctx context.Context) error { return serve(ctx, args[1:], started) })
	case "kubectl":
		return kubectl(args[1:])
	case "validate":
		return untilSignal(func(ctx context.Context) error { return state.Answer(ctx, os.Stdin, os.Stdout, engine.Run) })
	case "compare-crds":
		return untilSignal(func(ctx context.Context) error { return state.Answer(ctx, os.Stdin, os.Stdout, engine.Compare) })
	case "catalog-cache":
		return untilSignal(func(ctx context.Context) error { return state.Answer(ctx, os.Stdin, os.Stdout, opm.CacheFiles) })
	case "version":
		_, err := fmt.Printf("mysdk-cluster %s\nKubernetes %s\n", state.OwnVersion(), controlplane.Version())
		return err
	case "help", "-h", "--help":
		flags, _ := serveFlags(os.Stdout)
		flags.Usage()
		return nil
	}
	return clierr.Usagef("run 'mysdk-cluster help'", "unknown command %q", args[0])
}

// untilSignal runs a server with a context that Ctrl-C and SIGTERM end. kubectl
// is not run by it: signals are to end that at once.
func untilSignal(server func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := server(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return &clierr.Error{Err: err, Code: clierr.CodeInterrupted}
	}
	return err
}

// untilOrphaned is untilSignal for what a test starts: one that panics, is
// killed or runs out of time stops nothing, so the server ends when its parent
// has ended. It does not on Windows, where a parent keeps its ID.
func untilOrphaned(server func(context.Context) error) error {
	parent := os.Getppid()
	return untilSignal(func(ctx context.Context) error {
		ctx, end := context.WithCancel(ctx)
		defer end()
		go func() {
			for ctx.Err() == nil && os.Getppid() == parent {
				time.Sleep(parentInterval)
			}
			end()
		}()
		return server(ctx)
	})
}

func serveFlags(out io.Writer) (*flag.FlagSet, *controlplane.Options) {
	o := &controlplane.Options{}
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&o.Dir, "dir", "", "private `directory` for data, keys and kubeconfig; its last part is the cluster's name (required)")
	flags.IntVar(&o.Nodes, "nodes", 1, "`number` of simulated nodes")
	flags.BoolVar(&o.FSync, "fsync", false, "wait for the disk at every write: survives a power cut, slower")
	flags.DurationVar(&o.History, "history", 0, "how long old states are kept at least, for lists as of a revision (0: some seconds; they cost memory)")
	flags.BoolVar(&o.RemovedAPIs, "removed-apis", false, "answer versions of built-in APIs that Kubernetes has removed, such as policy/v1beta1, by those that replaced them")
	flags.StringVar(&o.Kubernetes, "kubernetes", "", "minor `version` of Kubernetes to behave as, such as 1.34")
	flags.IntVar(&o.Verbosity, "v", 0, "log `level` of the components (0: errors only)")
	flags.BoolVar(&o.Tied, "die-with-parent", false, "stop when standard input ends")
	flags.Usage = func() {
		// An unwritable standard stream leaves nobody to tell.
		_, _ = fmt.Fprint(out, usage)
		flags.PrintDefaults()
	}
	return flags, o
}

func serve(ctx context.Context, args []string, started time.Time) error {
	flags, o := serveFlags(os.Stderr)
	if err := flags.Parse(args); err != nil {
		return clierr.Usagef("run 'mysdk-cluster help'", "serve: %w", err)
	}
	if err := checkServe(o, flags.Args()); err != nil {
		return err
	}
	o.Log, o.Build, o.Started = os.Stderr, state.OwnVersion(), started
	if o.Tied {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		go func() {
			// The parent's end, however it ends, closes its side of the pipe.
			_, _ = io.Copy(io.Discard, os.Stdin)
			time.AfterFunc(orphanGrace, func() { abandon(state.Layout{Dir: o.Dir}) })
			cancel()
		}()
	}
	err := controlplane.Run(ctx, *o)
	if errors.Is(err, state.ErrLocked) {
		return clierr.WithHint(fmt.Errorf("%s: %w", o.Dir, err), "stop the server that runs there first")
	}
	return err
}

// abandon ends the process at once. What was acknowledged is in etcd's log, so
// that the cluster is as good as stopped, and its state file says so.
func abandon(l state.Layout) {
	s, err := l.Read()
	if err == nil && s.PID == os.Getpid() {
		_, err = l.Clear(s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
	}
	os.Exit(clierr.CodeInterrupted)
}

// checkServe refuses what cannot work before anything is written.
func checkServe(o *controlplane.Options, rest []string) error {
	const hint = "run 'mysdk-cluster help'"
	if len(rest) > 0 {
		return clierr.Usagef(hint, "serve: unexpected argument %q", rest[0])
	}
	if o.Dir == "" {
		return clierr.Usagef(hint, "serve: --dir is required")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return fmt.Errorf("find the cluster's directory: %w", err)
	}
	o.Dir = dir
	if err := state.CheckName(filepath.Base(dir)); err != nil {
		return clierr.Usagef("name the directory like the cluster", "serve: %w", err)
	}
	if o.Nodes < 0 || o.Nodes > state.MaxNodes {
		return clierr.Usagef(hint, "serve: --nodes %d is not between 0 and %d", o.Nodes, state.MaxNodes)
	}
	return nil
}
