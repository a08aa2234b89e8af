package localrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/localrun/trace"
	"github.com/example/mysdk/internal/mainpkg"
	"github.com/example/mysdk/internal/oldapi"
)

// staleBuild is the age at which what a killed go command left is removed.
const staleBuild = 24 * time.Hour

// build is one go build of the operator. It runs beside other steps; its output
// is held back until it is released.
type build struct {
	r       *run
	out     gate
	started bool
	took    string
	cancel  context.CancelFunc
	done    chan struct{}
	err     error // valid when done is closed
}

// newBuild is a build that was not started; dropping it does nothing.
func newBuild(r *run) *build {
	return &build{r: r, out: gate{screen: r.screen}, done: make(chan struct{})}
}

// start begins the build.
func (b *build) start(ctx context.Context) {
	b.started = true
	ctx, b.cancel = context.WithCancel(ctx)
	from := b.r.Host.Now()
	go func() {
		defer close(b.done)
		defer b.cancel()
		b.err = b.compile(ctx)
		b.took = b.r.since(from)
	}()
}

// drop stops a build that nobody waits for any more, so that no process is left.
func (b *build) drop() {
	if b.started {
		b.cancel()
		<-b.done
	}
}

// wait blocks until the build has ended.
func (b *build) wait(ctx context.Context) error {
	done := b.r.Host.Still(ctx, "building the operator", b.r.screen.say)
	defer done()
	<-b.done // the go command is stopped by ctx
	if b.err == nil {
		b.r.screen.say("operator built (%s)", b.took)
	}
	return b.err
}

// compile runs the go command in the project as the user would: its modules,
// workspace, vendor directory and GOFLAGS count as they do in a terminal.
//
// All runs of a project build to one path: the go command does not link again
// what is there already. One builds at a time, and keeps what it has built.
func (b *build) compile(ctx context.Context) (err error) {
	p, h := b.r.plan, b.r.Host
	env, err := b.tmp()
	if err != nil {
		return fmt.Errorf("build the operator: %w", err)
	}
	lock, err := b.r.exclusively(ctx, "build")
	if err != nil {
		return fmt.Errorf("build the operator: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	args := []string{"build", "-o", p.built}
	if b.r.Debug > 0 {
		args = append(args, debugFlags)
	}
	if flags := b.r.linkerFlags(); flags != "" {
		args = append(args, "-ldflags="+flags)
	}
	overlay, err := b.overlay()
	if err != nil {
		return fmt.Errorf("build the operator: %w", err)
	}
	err = host.Run(ctx, h.Exec, host.Cmd{
		Name: p.goTool, Args: slices.Concat(args, overlay, []string{p.mainPkg}), Dir: b.r.Dir, Env: env,
		Stdout: &b.out, Stderr: &b.out, Group: true, Grace: time.Second, DieWithParent: true,
	})
	if err != nil && ctx.Err() == nil {
		return buildError(p.mainPkg, b.out.all.String(), b.r.again()) // no lock: the go command has ended
	}
	if err == nil {
		err = b.keep()
	}
	return err
}

// keep puts what was built to the run's own path. Windows has a program renamed
// that runs, but not removed.
func (b *build) keep() error {
	p, files := b.r.plan, b.r.Host.Files
	old := p.binary + "~"
	// A rename does nothing where both are links to one file: the go command has built
	// nothing new. If the old one cannot be removed, the rename fails.
	_ = files.Remove(old)
	if err := files.Rename(p.binary, old); err != nil && !gone(err) {
		return fmt.Errorf("keep the operator: %w", err)
	}
	if os.Link(p.built, p.binary) == nil {
		return nil
	}
	data, err := files.ReadFile(p.built) // some file systems have no links
	if err == nil {
		err = files.WriteFile(p.binary, data, 0o700)
	}
	if err != nil {
		return fmt.Errorf("keep the operator: %w", err)
	}
	return nil
}

// again ends a hint to correct the project.
func (r *run) again() string {
	if r.Watch {
		return "; saving is enough"
	}
	return " and run 'mysdk run local' again"
}

// linkerFlags leave out the symbols and tables that only debuggers read: a
// quarter of the time of a build after an edit goes into them. Stack traces need
// none.
func (r *run) linkerFlags() string {
	if r.Debug > 0 || strings.Contains(r.Host.Getenv("GOFLAGS"), "-ldflags") { // which an argument would replace
		return r.GoLDFlags
	}
	return strings.TrimSpace("-s -w " + r.GoLDFlags)
}

// tmp has the go command work on the file system of the result. It then puts
// the new program in place by a rename, which works while the old one runs.
func (b *build) tmp() ([]string, error) {
	h := b.r.Host
	if h.Getenv("GOTMPDIR") != "" {
		return mainpkg.BuildEnv(h), host.MkdirAll(h.Files, b.r.plan.cache, 0o700)
	}
	dir := filepath.Join(b.r.plan.cache, "tmp")
	if err := host.MkdirAll(h.Files, dir, 0o700); err != nil {
		return nil, err
	}
	entries, err := h.Files.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && h.Now().Sub(info.ModTime()) > staleBuild {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return nil, err
			}
		}
	}
	return override(mainpkg.BuildEnv(h), []string{"GOTMPDIR=" + dir}), nil
}

// noSuchField matches the compiler's error for a main.go that was wired for
// another reconciler than the one that was pasted over it.
var noSuchField = lazy.Delayed(`(?m)^(\S*main\.go:\d+):\d+: unknown field (\w+) in struct literal of type \S*Reconciler\b`)

// buildError sums the go command's output up; the output itself was printed.
// again ends the hint.
func buildError(pkg, output, again string) error {
	if hint := oldapi.Hint(output); hint != "" {
		return clierr.Failedf(hint+again, "build the operator: go build %s: code for an old API", pkg)
	}
	if hint := mainpkg.Hint(output); hint != "" {
		return clierr.Failedf(hint+again, "build the operator: go build %s cannot load the modules", pkg)
	}
	if m := noSuchField.FindStringSubmatch(output); m != nil {
		return clierr.Failedf(fmt.Sprintf("remove the line with %s there%s. 'mysdk create api --pattern blank' is the scaffold for a reconciler of your own", m[2], again),
			"build the operator: %s sets a field of the reconciler that it does not have", m[1])
	}
	n := len(regexp.MustCompile(`(?m)^\S+\.go:\d+:\d+: `).FindAllString(output, -1))
	switch n {
	case 0:
		return clierr.Failedf("correct what the go command says above"+again, "build the operator: go build %s failed", pkg)
	case 1:
		return clierr.Failedf("correct the line above"+again, "build the operator: go build %s: 1 error", pkg)
	}
	return clierr.Failedf("correct the lines above"+again, "build the operator: go build %s: %d errors", pkg, n)
}

// overlay writes the files that make the operator report, and returns the flag
// of the go command for them; none where nothing is recorded.
func (b *build) overlay() ([]string, error) {
	r := b.r
	if !r.Trace {
		return nil, nil
	}
	dir := filepath.Join(r.plan.cache, "overlay")
	// The operator reads this one as long as it runs, beside those of other runs.
	pod := trace.Pod{Namespace: r.podNamespace(), NamespaceFile: filepath.Join(dir, "namespace-"+r.podNamespace())}
	files, err := trace.Overlay(r.Host.Files, r.Dir, r.plan.mainPkg, pod, r.Groups)
	if err != nil {
		return nil, err
	}
	if err := host.MkdirAll(r.Host.Files, dir, 0o700); err != nil {
		return nil, err
	}
	if err := host.ReplaceData(r.Host.Files, pod.NamespaceFile, []byte(pod.Namespace), 0o600); err != nil {
		return nil, err
	}
	replace, names := map[string]string{}, []string{}
	for name, data := range files {
		file := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := r.Host.Files.WriteFile(file, data, 0o600); err != nil {
			return nil, err
		}
		replace[name] = file
		// The compiler names the file that it reads, by whichever path is shorter.
		own := relativeTo(r.Dir, name) + ":"
		names = append(names, file+":", own, relativeTo(r.Dir, file)+":", own)
	}
	b.out.names = strings.NewReplacer(names...) // no lock: nobody writes before the go command is started
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	name := filepath.Join(dir, "overlay.json")
	return []string{"-overlay=" + name}, r.Host.Files.WriteFile(name, list, 0o600)
}

// relativeTo is a path as seen from dir, where there is a way.
func relativeTo(dir, name string) string {
	if rel, err := filepath.Rel(dir, name); err == nil {
		return rel
	}
	return name
}
