// Package host is the outside world as one value: streams, working directory,
// environment, clock, files and processes. Everything in mysdk that touches
// the world goes through a Host, so that a test can stand in for all of it.
// It knows nothing of Kubernetes, of projects or of command lines.
package host

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/term"
)

// Streams are the three standard streams. Data goes to Out, talk to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Host is the world as a command sees it. It is passed by value; the zero
// Host is not usable, see System and hosttest.New.
type Host struct {
	IO         Streams
	Dir        string              // working directory, absolute
	Started    string              // directory of relative paths in the environment; empty: Dir
	Executable string              // path of the running mysdk binary
	Getenv     func(string) string // one environment variable, "" if unset
	Environ    func() []string     // the whole environment, for child processes
	Now        func() time.Time
	Files      Files
	Exec       Exec
}

// Files are the file operations that mysdk writes with. Paths are those of
// the operating system.
type Files interface {
	ReadFile(name string) ([]byte, error)
	WriteFile(name string, data []byte, mode fs.FileMode) error
	Mkdir(name string, mode fs.FileMode) error
	Rename(from, to string) error
	Remove(name string) error
	Chmod(name string, mode fs.FileMode) error
	// Sync returns when what was written to these files, or renamed and removed
	// in these directories, would survive a power cut.
	Sync(names ...string) error
	Lstat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
}

// TieEnv marks whatever belongs to one process, see Tied. It is inherited at any
// depth, by what libraries start, too, where a process group or a parent's death
// reaches only the processes that mysdk itself starts.
const TieEnv = "MYSDK_TIED_TO"

// Cmd describes a process to run.
type Cmd struct {
	Name           string   // a path, or a name that is looked up in PATH
	Args           []string // without the name
	Dir            string   // working directory; empty is the current one
	Env            []string // the whole environment; nil inherits
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Detach         bool          // outlives mysdk and does not see its Ctrl-C
	Group          bool          // its own process group: the terminal's Ctrl-C does not reach it, and it ends with all that it started (Unix)
	DieWithParent  bool          // killed when mysdk ends, even by kill -9 (Linux; elsewhere without effect); Wait must be called
	Extra          []*os.File    // inherited as file descriptors 3 and up
	Grace          time.Duration // from the interrupt sent when ctx ends to the kill; 0 kills at once
}

// Process is a started Cmd.
type Process interface {
	Pid() int
	Wait() error      // blocks until the process has ended and returns how
	Interrupt() error // asks the process to stop, as Ctrl-C does
	Kill() error      // ends the process at once
}

// Exec runs other programs.
type Exec interface {
	LookPath(name string) (string, error) // finds a program in PATH
	// Start starts c and does not wait. When ctx ends, the process is
	// interrupted and, after c.Grace, killed; a detached one is left alone.
	Start(ctx context.Context, c Cmd) (Process, error)
}

// Run starts c on x and waits for its end. After the end of ctx, the error is
// its cause and how the process ended.
func Run(ctx context.Context, x Exec, c Cmd) error {
	p, err := x.Start(ctx, c)
	if err != nil {
		return err
	}
	if err := p.Wait(); err != nil {
		err = fmt.Errorf("%s: %w", filepath.Base(c.Name), err)
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		return err
	}
	return nil
}

// System is the real world. An unknown working directory or executable is an
// error: nothing works without them.
func System() (Host, error) {
	dir, err := os.Getwd()
	if err != nil {
		return Host{}, fmt.Errorf("find the working directory: %w", err)
	}
	exe, err := os.Executable()
	if err != nil {
		return Host{}, fmt.Errorf("find this program's path: %w", err)
	}
	return Host{
		IO:  Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr},
		Dir: dir, Executable: exe,
		Getenv: os.Getenv, Environ: os.Environ, Now: time.Now,
		Files: OSFiles{}, Exec: OSExec{},
	}, nil
}

// Path joins name onto the working directory unless it is absolute.
func (h Host) Path(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(h.Dir, name)
}

// fromEnv is Path for names that the environment has.
func (h Host) fromEnv(name string) string {
	h.Dir = cmp.Or(h.Started, h.Dir)
	return h.Path(name)
}

// LookPath finds a program as the user's shell would.
func (h Host) LookPath(name string) (string, error) { return h.Exec.LookPath(name) }

// CacheDir is where rebuildable files of mysdk live: binaries, fingerprints.
// MYSDK_CACHE_DIR overrides the system's place for caches.
func (h Host) CacheDir() (string, error) {
	return h.userDir("MYSDK_CACHE_DIR", "XDG_CACHE_HOME", ".cache", "Library/Caches")
}

// StateDir is where clusters keep their data between runs. MYSDK_STATE_DIR
// overrides the system's place for state.
func (h Host) StateDir() (string, error) {
	return h.userDir("MYSDK_STATE_DIR", "XDG_STATE_HOME", ".local/state", "Library/Application Support")
}

// ConfigDir is the user's directory for the configuration of all programs, where
// os.UserConfigDir finds it.
func (h Host) ConfigDir() (string, error) {
	return h.baseDir("", "XDG_CONFIG_HOME", "AppData", ".config", "Library/Application Support")
}

func (h Host) userDir(own, xdg, unix, mac string) (string, error) {
	if d := h.Getenv(own); d != "" {
		return h.fromEnv(d), nil
	}
	d, err := h.baseDir(own+", ", xdg, "LocalAppData", unix, mac)
	if err != nil {
		return "", err
	}
	return filepath.Join(d, "mysdk"), nil
}

// baseDir is the directory that the variable xdg names, or else what the system has for
// the files of all programs. What was asked before is named by an error, too.
func (h Host) baseDir(before, xdg, windows, unix, mac string) (string, error) {
	if d := h.Getenv(xdg); filepath.IsAbs(d) {
		return d, nil
	}
	name, below := "HOME", unix
	switch runtime.GOOS {
	case "windows":
		name, below = windows, ""
	case "darwin":
		below = mac
	}
	d := h.Getenv(name)
	if d == "" {
		return "", fmt.Errorf("neither %s%s nor %s is set", before, xdg, name)
	}
	return filepath.Join(d, below), nil
}

// FilesOf are the files that a variable lists, as PATH lists directories, else the
// one at that path in the home directory; none where nobody is at home. They need
// not exist.
func (h Host) FilesOf(variable, inHome string) []string {
	var files []string
	for _, name := range filepath.SplitList(h.Getenv(variable)) {
		if name != "" {
			files = append(files, h.fromEnv(name))
		}
	}
	// Windows has its own name for it.
	if home := cmp.Or(h.Getenv("HOME"), h.Getenv("USERPROFILE")); len(files) == 0 && home != "" {
		files = append(files, filepath.Join(home, inHome))
	}
	return files
}

// IsTerminal reports whether v, one of the streams, is a terminal.
func IsTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// OSExec is Exec on the operating system.
type OSExec struct{}

// LookPath implements Exec.
func (OSExec) LookPath(name string) (string, error) { return exec.LookPath(name) }

// outputDelay is how long the output of a process that has ended is waited for
// at least: a process with hardly any grace has last words, too, and somebody
// whom it left behind may hold its output open for good.
const outputDelay = time.Second

// Start implements Exec.
func (OSExec) Start(ctx context.Context, c Cmd) (Process, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if c.Detach {
		ctx = context.WithoutCancel(ctx)
	}
	x := exec.CommandContext(ctx, c.Name, c.Args...)
	x.Dir, x.Env, x.Stdin, x.Stdout, x.Stderr, x.ExtraFiles = c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr, c.Extra
	if c.Env != nil && filepath.IsAbs(c.Dir) {
		// os/exec does so where it inherits the environment. The go command takes
		// its directory from PWD: by another path, one behind a symlink, no file
		// would be the one that an overlay names.
		x.Env = append(slices.Clip(c.Env), "PWD="+c.Dir)
	}
	x.Cancel = func() error { return kill(x) }
	if c.Grace > 0 {
		x.Cancel = func() error {
			time.AfterFunc(c.Grace, func() { _ = kill(x) }) // mostly it has ended
			return interrupt(x)
		}
		x.WaitDelay = max(c.Grace, outputDelay)
	}
	setGroup(x, c)
	ended, err := start(x, c)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(c.Name), err)
	}
	return osProcess{x, ended}, nil
}

type osProcess struct {
	cmd   *exec.Cmd
	ended func() // called when the process has been waited for
}

func (p osProcess) Pid() int { return p.cmd.Process.Pid }
func (p osProcess) Wait() error {
	defer p.ended()
	defer sweep(p.cmd)
	return p.cmd.Wait()
}
func (p osProcess) Interrupt() error { return interrupt(p.cmd) }
func (p osProcess) Kill() error      { return kill(p.cmd) }

// Pause waits and reports whether ctx is still good.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// Still says every ten seconds that something goes on, until the function that it
// returns is called.
func (h Host) Still(ctx context.Context, what string, say func(format string, args ...any)) func() {
	from := h.Now()
	ctx, done := context.WithCancel(ctx)
	var telling sync.WaitGroup
	telling.Go(func() {
		for Pause(ctx, 10*time.Second) {
			say("still %s (%.1fs)", what, h.Now().Sub(from).Seconds())
		}
	})
	return func() { done(); telling.Wait() }
}
