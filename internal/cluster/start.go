package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/filelock"
	"github.com/example/mysdk/internal/host"
)

// startDeadline bounds a start. It takes about a second and a half; the rest
// is for machines that are busy with builds.
const startDeadline = 2 * time.Minute

// tailLines is how much of the log a failed start shows.
const tailLines = 15

// Options say which cluster Start is to start, and how.
type Options struct {
	Name          string            // empty means DefaultName
	Fresh         bool              // with nothing in it: stops a running one and drops its data
	Nodes         int               // simulated nodes; 0 means as many as at the last start, at first 1
	FSync         *bool             // write to the disk at once: survives a power cut, slower; nil: as at the last start
	Verbosity     int               // of the server's log; 0 logs errors only
	History       time.Duration     // for how long old states are kept; 0: as long as the server likes
	RemovedAPIs   bool              // answer versions of built-in APIs that were removed, for old operators
	Kubernetes    string            // minor version to behave as, such as 1.34; empty: its own
	DieWithParent bool              // stop when this process ends, however it ends
	Progress      func(step string) // called with a line for what takes long; may be nil
	Detail        func(step string) // called with a line for every step of the start; may be nil
}

func (o *Options) complete() {
	o.Name = cmp.Or(o.Name, state.DefaultName)
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.Detail == nil {
		o.Detail = func(string) {}
	}
}

// CheckNodes refuses a number of nodes that no cluster can have.
func CheckNodes(n int) error {
	if n < 1 || n > state.MaxNodes {
		return clierr.Usagef(fmt.Sprintf("use a number from 1 to %d", state.MaxNodes), "a cluster cannot have %d nodes", n)
	}
	return nil
}

// Start brings the cluster up and returns when it is ready. One that runs
// already is left as it is, unless a fresh one is asked for, and AlreadyRunning says
// so. A cluster that does not become ready is an error with exit code 4 that
// shows the end of its log.
func Start(ctx context.Context, h host.Host, o Options) (*Info, error) {
	o.complete()
	if o.Nodes != 0 {
		if err := CheckNodes(o.Nodes); err != nil {
			return nil, err
		}
	}
	l, err := layoutOf(h, o.Name)
	if err != nil {
		return nil, err
	}
	if o.Fresh {
		if _, err := stop(ctx, l, o.Name); err != nil {
			return nil, err
		}
		if err := empty(ctx, h, l, o.Name); err != nil {
			return nil, fmt.Errorf("empty cluster %s: %w", o.Name, err)
		}
	}
	if info, err := attachRunning(ctx, l, o); info != nil || err != nil {
		return info, err
	}
	binary, err := Binary(ctx, h, o.Progress)
	if err != nil {
		return nil, err
	}
	return startOne(ctx, h, l, binary, o)
}

// attachRunning is attach for a server that runs already; nil where none does.
func attachRunning(ctx context.Context, l state.Layout, o Options) (*Info, error) {
	for {
		if locked, err := l.Locked(); err != nil || !locked {
			return nil, err
		}
		// One that is being killed, or stopped, owns the directory to its end.
		if info, err := attach(ctx, l, o, nil); !errors.Is(err, errEnded) {
			return info, err
		}
	}
}

// startOne starts a server, unless another process has: only one at a time does,
// or each would put the log of the other one's server aside.
func startOne(ctx context.Context, h host.Host, l state.Layout, binary string, o Options) (info *Info, err error) {
	starting, err := lockStart(ctx, l, o)
	if err != nil {
		return nil, fmt.Errorf("start cluster %s: %w", o.Name, err)
	}
	defer func() { err = errors.Join(err, starting.Release()) }()
	if info, err := attachRunning(ctx, l, o); info != nil || err != nil {
		return info, err
	}
	was, err := l.Read()
	if err != nil {
		return nil, err
	}
	o.Nodes = cmp.Or(o.Nodes, was.Nodes, 1)
	if o.FSync == nil {
		o.FSync = &was.FSync
	}
	o.Detail("starting the control plane")
	before, _ := ownKubeconfig(h, l) // none: nothing of it is merged anywhere
	users, _ := h.Files.ReadFile(l.Kubeconfig())
	s, err := spawn(ctx, h, l, binary, o)
	if err != nil {
		return nil, fmt.Errorf("start cluster %s: %w", o.Name, err)
	}
	if info, err = attach(ctx, l, o, s); err == nil {
		tellBroken(h, l, o, users)
		refreshMerged(h, l, o, before)
	}
	return info, err
}

// lockStart waits until nobody else starts the cluster. A reset may remove its
// directory meanwhile.
func lockStart(ctx context.Context, l state.Layout, o Options) (*filelock.Lock, error) {
	for {
		if err := os.MkdirAll(l.Dir, 0o700); err != nil {
			return nil, err
		}
		starting, err := filelock.Await(ctx, l.StartLock(), func() {
			o.Progress(fmt.Sprintf("another mysdk is starting cluster %s: waiting for it", o.Name))
		})
		if !errors.Is(err, fs.ErrNotExist) {
			return starting, err
		}
		if !host.Pause(ctx, pollInterval) {
			return nil, ctx.Err()
		}
	}
}

// server is a server that this process has started.
type server struct {
	process host.Process
	ended   chan error // gets the result of Wait
}

func spawn(ctx context.Context, h host.Host, l state.Layout, binary string, o Options) (*server, error) {
	log, err := openLog(l)
	if err != nil {
		return nil, err
	}
	args := []string{"serve", "--dir", l.Dir, "--nodes", strconv.Itoa(o.Nodes), "-v", strconv.Itoa(o.Verbosity)}
	// The other flags only where they are set: an older server may not know them.
	if o.FSync != nil && *o.FSync {
		args = append(args, "--fsync")
	}
	if o.History != 0 {
		args = append(args, "--history", o.History.String())
	}
	if o.RemovedAPIs {
		args = append(args, "--removed-apis")
	}
	if o.Kubernetes != "" {
		args = append(args, "--kubernetes", o.Kubernetes)
	}
	cmd := host.Cmd{Name: binary, Args: args, Dir: l.Dir, Env: h.Environ(), Stdout: log, Stderr: log, Detach: true}
	var lifeline *os.File
	if o.DieWithParent {
		var end *os.File
		if end, lifeline, err = os.Pipe(); err != nil {
			return nil, errors.Join(err, log.Close())
		}
		cmd.Args, cmd.Stdin = append(args, "--die-with-parent"), end
		defer end.Close() //nolint:errcheck // only the child's copy counts
	}
	process, err := h.Exec.Start(ctx, cmd)
	if err = errors.Join(err, log.Close()); err != nil {
		return nil, err
	}
	s := &server{process: process, ended: make(chan error, 1)}
	go func() {
		s.ended <- process.Wait()
		close(s.ended)
		if lifeline != nil {
			// Held until here: the server lives as long as it is open. What
			// closing it says no longer matters.
			_ = lifeline.Close()
		}
	}()
	return s, nil
}

// openLog puts the last start's log aside and begins a new one, with a line of its own:
// a server that cannot write there could not say why it ends. The log that somebody reads
// cannot be put aside on Windows.
func openLog(l state.Layout) (*os.File, error) {
	_ = os.Rename(l.Log(), l.OldLog())
	log, err := os.OpenFile(l.Log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(log, "mysdk %s starts the control plane\n", state.OwnVersion()); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return log, nil
}

// attach waits until the server is ready. mine is nil for a server that
// another process has started.
func attach(ctx context.Context, l state.Layout, o Options, mine *server) (*Info, error) {
	limited, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	var ended <-chan error
	if mine != nil {
		ended = mine.ended
	}
	now, err := await(limited, l, ended, o.Detail)
	if err == nil {
		info := infoOf(l, o.Name, now)
		// Where the process is not mine, somebody else was faster.
		info.State, info.AlreadyRunning = Running, mine == nil || now.PID != mine.process.Pid()
		if own := state.OwnVersion(); info.AlreadyRunning && info.Build != own {
			o.Progress(fmt.Sprintf("the running cluster is of mysdk %s, not %s: '%s' lets the next start renew it",
				info.Build, own, state.Command("stop", o.Name)))
		}
		return &info, nil
	}
	if mine != nil {
		// It may have ended by itself.
		_ = mine.process.Kill()
		<-mine.ended //nolint:errcheck // of the kill
		// Else it would pass for one that was killed while it ran.
		err = errors.Join(err, clearStale(context.WithoutCancel(ctx), l))
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("start cluster %s: %w", o.Name, ctx.Err())
	}
	if limited.Err() != nil {
		err = fmt.Errorf("it was not ready after %s", startDeadline)
	}
	hint, end := fmt.Sprintf("run '%s' for the whole log", state.Command("logs", o.Name)), tail(l)
	if errors.Is(err, errEnded) && damaged(end) {
		hint += fmt.Sprintf("; '%s' begins with an empty cluster", state.Command("start --fresh", o.Name))
	}
	return nil, clierr.Unavailablef(hint, "start cluster %s: %w%s", o.Name, err, end)
}

// damaged reports whether a server ended for what etcd found in its data.
func damaged(log string) bool {
	return (strings.Contains(log, "start etcd:") || strings.Contains(log, "go.etcd.io/")) && !strings.Contains(log, "no space left on device")
}

// errEnded says that the server ended before it was ready.
var errEnded = errors.New("the control plane ended before it was ready")

// await follows the start of a server. ended tells of the server's end; nil for one that
// another process has started.
func await(ctx context.Context, l state.Layout, ended <-chan error, progress func(string)) (state.Status, error) {
	for {
		if now, found, err := follow(ctx, l, progress); found || err != nil {
			return now, err
		}
		if ended == nil {
			if locked, err := l.Locked(); err != nil || !locked {
				return state.Status{}, errors.Join(err, errEnded)
			}
		}
		select {
		case <-ended: //nolint:errcheck // why is in the log
			ended = nil // where somebody else owns the directory, theirs is the server
		case <-ctx.Done():
			return state.Status{}, ctx.Err()
		case <-time.After(pollInterval):
		}
	}
}

// follow listens to the server that the state file names until it is ready or
// has failed. found is false while none answers.
func follow(ctx context.Context, l state.Layout, progress func(string)) (now state.Status, found bool, err error) {
	was, err := l.Read()
	if err != nil || !was.Alive() {
		return now, false, err
	}
	told, first := 0, true
	// One that went away, or does not answer yet, is looked at again.
	now, _ = state.Control{Socket: was.Socket}.Follow(ctx, func(s state.Status) {
		if first && s.Ready {
			told = len(s.Stages) // old news
		}
		for first = false; told < len(s.Stages); told++ {
			stage := s.Stages[told]
			progress(fmt.Sprintf("%s up after %.1f s", stage.Name, stage.After.Seconds()))
		}
	})
	switch {
	case now.Ready:
		return now, true, nil
	case now.Failed != "":
		return now, true, errors.New(now.Failed)
	}
	return now, false, nil
}
