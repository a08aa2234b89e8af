package localrun

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/mainpkg"
)

const (
	// DebugPort is Delve's own customary port, and operator-sdk's.
	DebugPort = 2345
	// delvePackage and delveVersion are what is installed where PATH has no
	// dlv. A Delve knows the Go versions up to its own time only.
	delvePackage = "github.com/go-delve/delve/cmd/dlv"
	delveVersion = "v1.26.1"
	// debugFlags turn off what makes a debugger jump: optimizations, inlining.
	debugFlags = "-gcflags=all=-N -l"
)

// findDebugger takes dlv from PATH, or installs the pinned version into mysdk's
// cache. The go command builds it outside of any module, so the operator's
// go.mod does not count and does not change.
func (r *run) findDebugger(ctx context.Context) error {
	if r.Debug == 0 || r.plan.dlv != "" {
		return nil
	}
	if path, err := r.Host.LookPath("dlv"); err == nil {
		r.plan.dlv = path
		return nil
	}
	cache, err := r.Host.CacheDir()
	if err != nil {
		return fmt.Errorf("install the debugger: %w", err)
	}
	dir := filepath.Join(cache, "dlv-"+delveVersion)
	name := filepath.Join(dir, host.Program("dlv"))
	if _, err := r.Host.Files.Lstat(name); err != nil {
		if err := r.installDebugger(ctx, dir); err != nil {
			return err
		}
	}
	r.plan.dlv = name
	return nil
}

// installDebugger builds Delve into dir. What the go command says is shown as it
// comes: the first time there is much to download.
func (r *run) installDebugger(ctx context.Context, dir string) error {
	from := r.Host.Now()
	module := delvePackage + "@" + delveVersion
	r.screen.say("there is no dlv in PATH: go install %s", module)
	if err := host.MkdirAll(r.Host.Files, dir, 0o700); err != nil {
		return fmt.Errorf("install the debugger: %w", err)
	}
	err := host.Run(ctx, r.Host.Exec, host.Cmd{
		Name: r.plan.goTool, Args: []string{"install", module}, Dir: dir,
		Env:    override(mainpkg.BuildEnv(r.Host), []string{"GOBIN=" + dir, "GOFLAGS=", "GOWORK=off"}),
		Stdout: r.screen.err, Stderr: r.screen.err, Group: true, Grace: time.Second, DieWithParent: true,
	})
	if err != nil {
		return clierr.WithHint(fmt.Errorf("install the debugger: %w", err), "install Delve by hand and put dlv into PATH: go install "+module)
	}
	r.screen.say("debugger installed (%s)", r.since(from))
	return nil
}

// underDebugger has l run the operator under the debugger: the program, its
// arguments, and what to tell the user. The operator waits for the first client, as
// main and the start of the manager could not be stopped in otherwise; under Watch it
// does not, or every save would stop the reconciling.
func (r *run) underDebugger(l *launch) {
	address := "127.0.0.1:" + strconv.Itoa(r.Debug)
	args := []string{"exec", r.plan.binary, "--headless", "--listen=" + address, "--api-version=2", "--accept-multiclient"}
	state := "the operator waits until one is connected and continues"
	if r.Watch {
		args = append(args, "--continue")
		state = "the operator runs meanwhile"
	}
	l.notes = []string{
		fmt.Sprintf("waiting for a debugger at %s; %s", address, state),
		fmt.Sprintf(`  VS Code, in .vscode/launch.json: {"name": "mysdk run local", "type": "go", "request": "attach", "mode": "remote", "host": "127.0.0.1", "port": %d}`, r.Debug),
		fmt.Sprintf("  GoLand: Run > Edit Configurations > + > Go Remote, host 127.0.0.1, port %d", r.Debug),
		"  terminal: dlv connect " + address,
	}
	l.program, l.args = r.plan.dlv, slices.Concat(args, []string{"--"}, l.shown)
}

// checkDebug refuses a port that there cannot be.
func checkDebug(port int) error {
	if port < 0 || port > 65535 {
		return clierr.Usagef("leave the port out for "+strconv.Itoa(DebugPort), "--debug: %d is not a port", port)
	}
	return nil
}
