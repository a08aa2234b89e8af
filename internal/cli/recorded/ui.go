package recorded

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/recording"
	"github.com/example/mysdk/internal/ui"
)

type uiOptions struct {
	cli.Target
	port   int
	noOpen bool
}

// NewUI is 'mysdk ui'.
func NewUI(f *cli.Factory) *cobra.Command {
	o := &uiOptions{}
	c := &cobra.Command{
		Use: "ui", Short: "Open the live view of the operator in a browser", GroupID: "run",
		Long: `Open the live view of the operator in a browser.

The pages show what 'mysdk run local' records: why objects were reconciled and
what each reconcile did, loops, requests, and rights that are missing or unused.
They are live while the operator runs; afterwards they show the last run. 'mysdk
run local --ui' opens the same pages.

The printed address is for you only: it contains a token, and is served on
loopback until Ctrl-C.`,
		Example: `  # while 'mysdk run local' runs in another terminal, or after it
  mysdk ui

  # only print the address
  mysdk ui --no-open`,
		RunE: func(c *cobra.Command, _ []string) error { return runUI(c.Context(), f, o) },
	}
	o.Bind(c.Flags())
	describeCluster(c)
	for _, name := range []string{"kubeconfig", "context"} {
		_ = c.Flags().MarkHidden(name) // there to say what is wrong with them
	}
	c.Flags().IntVar(&o.port, "port", 0, "port of loopback to listen on; 0 for a free one")
	NoOpenFlag(c, &o.noOpen)
	return c
}

// NoOpenFlag binds --no-open.
func NoOpenFlag(c *cobra.Command, value *bool) {
	c.Flags().BoolVar(value, "no-open", false, "print the live view's address without opening a browser")
}

func runUI(ctx context.Context, f *cli.Factory, o *uiOptions) error {
	if !o.Embedded() {
		return clierr.Usagef("leave out --kubeconfig and --context; on other clusters use kubectl", "the live view is of an embedded cluster, but another one is named")
	}
	if _, err := load(ctx, f, &o.Name); err != nil {
		return err
	}
	source, err := View(f, o.Name)
	if err != nil {
		return err
	}
	last := &lastRun{}
	source.Recording = func(ctx context.Context, at recording.Position, wait time.Duration) (recording.Recording, error) {
		rec, _, err := read(ctx, f, last, o.Name, at, wait)
		return rec, err
	}
	s, err := ui.Listen(ctx, source, o.port)
	if err != nil {
		return clierr.WithHint(err, "leave out --port for a free one")
	}
	if err := f.Print([]byte(s.URL() + "\n")); err != nil {
		return err
	}
	f.Say("Press Ctrl-C to stop.")
	if !o.noOpen {
		openBrowser(ctx, f, s)
	}
	return s.Serve(ctx)
}

// View is what the live view knows of the project, and of the run that records
// on the cluster of that name.
func View(f *cli.Factory, name string) (ui.Source, error) {
	p, _, err := f.LoadProject()
	if err != nil {
		return ui.Source{}, err
	}
	c := &clients{f: f, name: name}
	return ui.Source{
		Project: p.Name, Cluster: name, RoleNamespace: p.RoleNamespace(), Now: f.Host.Now,
		Recording: func(ctx context.Context, at recording.Position, wait time.Duration) (recording.Recording, error) {
			rec, _ := active(ctx, f, name, at, wait) // else there is none yet, or no more
			return rec, nil
		},
		Connect: c.connect,
		Samples: ui.SamplesIn(f.Host),
		Inject: func(ctx context.Context, fault state.Fault, hit func()) error {
			control, err := cluster.Control(ctx, f.Host, name)
			if err != nil {
				return err
			}
			return control.Inject(ctx, fault, hit)
		},
		Rules: func(ctx context.Context) ([]recording.Rule, error) {
			return projectRules(ctx, f, func(string, ...any) {}) // the terminal is another's
		},
	}, nil
}

// clients keeps the client of a cluster for as long as its server runs.
type clients struct {
	f      *cli.Factory
	name   string
	mu     sync.Mutex
	pid    int
	client *kube.Client
}

func (c *clients) connect(ctx context.Context) (*kube.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	info, err := cluster.Status(ctx, c.f.Host, c.name)
	if err != nil {
		return nil, err
	}
	if info.State != cluster.Running {
		return nil, clierr.Unavailablef("start the operator with 'mysdk run local'", "cluster %s is not running", c.name)
	}
	if c.client != nil && c.pid == info.PID {
		return c.client, nil
	}
	client, err := kube.Connect(ctx, kube.Options{Kubeconfig: info.Kubeconfig, Embedded: c.name, Host: c.f.Host, Allow: c.f.Allowed})
	if err != nil {
		return nil, err
	}
	c.pid, c.client = info.PID, client
	return client, nil
}

// ServeView serves the live view beside a run, until the function that it
// returns is called, and opens a browser.
func ServeView(ctx context.Context, f *cli.Factory, source ui.Source, open bool) (stop func(), err error) {
	s, err := ui.Listen(ctx, source, 0)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(f.Host.IO.Err, "live view: %s\n", s.URL()) // with --quiet, too: without it there is no way in
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := s.Serve(ctx); err != nil {
			f.Warn("%v", err)
		}
	}()
	if open {
		openBrowser(ctx, f, s)
	}
	return func() { cancel(); <-ended }, nil
}

// openers are the programs that open an address in the user's browser.
var openers = map[string]host.Cmd{
	"darwin":  {Name: "open"},
	"windows": {Name: "rundll32", Args: []string{"url.dll,FileProtocolHandler"}},
}

// openBrowser opens the live view where there is a browser, and says nothing
// where there is none: the address is on the screen.
func openBrowser(ctx context.Context, f *cli.Factory, s *ui.Server) {
	c, ok := openers[runtime.GOOS]
	if !ok {
		if f.Host.Getenv("DISPLAY") == "" && f.Host.Getenv("WAYLAND_DISPLAY") == "" {
			return // a browser in the terminal would take it over
		}
		c = host.Cmd{Name: "xdg-open"}
	}
	program, err := f.Host.LookPath(c.Name)
	if err != nil {
		return
	}
	c.Name, c.Args = program, append(c.Args[:len(c.Args):len(c.Args)], s.URLOnce())
	c.Dir, c.Env, c.Detach = f.Host.Dir, f.Host.Environ(), true
	p, err := f.Host.Exec.Start(ctx, c)
	if err != nil {
		f.Warn("cannot open a browser: %v", err)
		return
	}
	go func() { _ = p.Wait() }() // how it ends says nothing: the browser runs on, or has taken the address over
}
