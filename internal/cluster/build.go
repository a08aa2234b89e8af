package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/filelock"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/mainpkg"
)

const (
	// buildSilence is how long a build may take without a word.
	buildSilence = 2 * time.Second
	// reportInterval is how often a build says how far it is.
	reportInterval = 15 * time.Second
	// buildLines is how much of a failed build's output is shown.
	buildLines = 20
	// buildGrace is how long the go command may take to end after Ctrl-C.
	buildGrace = 10 * time.Second
	// fewCores is up to how many cores a compiler for each of them is faster than
	// compilers of several threads. With more, those of the largest packages, which
	// others wait for, are to have several.
	fewCores = 4
)

// build returns the binary in the cache for this version, made by the go
// command if it is not there: a release by its version, anything else from the
// checkout that mysdk was compiled from. The latter is looked at every time,
// as its source may have changed; the go command does that in a second.
func (f *finder) build(ctx context.Context) (string, error) {
	cache, err := f.host.CacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache for mysdk-cluster: %w", err)
	}
	source, err := f.checkout()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "bin", cacheKey(f.version))
	path := filepath.Join(dir, exeName())
	fromVersion := isRelease(f.version) && f.host.Getenv(SourceEnv) == ""
	if fromVersion && f.fits(path) {
		f.used(dir)
		return path, nil
	}
	if !fromVersion && source == "" {
		return "", f.missing()
	}
	if _, err := f.host.LookPath("go"); err != nil {
		return "", clierr.Failedf("install Go from https://go.dev/dl, or put a mysdk-cluster of this version beside mysdk",
			"build mysdk-cluster: there is no go command in PATH")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("build mysdk-cluster: %w", err)
	}
	lock, err := filelock.Await(ctx, filepath.Join(dir, "lock"), func() {
		f.progress("waiting for another mysdk that builds mysdk-cluster")
	})
	if err != nil {
		return "", fmt.Errorf("build mysdk-cluster: %w", err)
	}
	switch {
	case !fromVersion:
		err = f.run(ctx, host.Cmd{
			Dir: source, Env: mainpkg.BuildEnv(f.host),
			Args: []string{"build", "-v", "-ldflags=-s -w", "-o", path, "./cmd/mysdk-cluster"},
		})
	case !f.fits(path): // unless another process built it in the meantime
		err = f.goInstall(ctx, path)
	}
	if err == nil {
		f.used(dir)
		f.sweep(filepath.Dir(dir))
	}
	return path, errors.Join(err, lock.Release())
}

// unused is how long a mysdk-cluster of another version is kept after its last use.
const unused = 30 * 24 * time.Hour

// used notes that what is in a directory is in use, for sweep; unless the cache is
// another user's.
func (f *finder) used(dir string) {
	now := f.host.Now()
	_ = os.Chtimes(dir, now, now)
}

// sweep removes what nobody uses any more, but for what the links of Assets lead to.
// What cannot be removed, as what runs on Windows, is there the next time.
func (f *finder) sweep(bin string) {
	dirs, _ := os.ReadDir(bin)
	linked, _ := os.Readlink(filepath.Join(filepath.Dir(bin), "assets", "etcd")) // none on Windows
	for _, d := range dirs {
		if filepath.Join(bin, d.Name()) == filepath.Dir(linked) {
			continue
		}
		if info, err := d.Info(); err == nil && f.host.Now().Sub(info.ModTime()) > unused {
			_ = os.RemoveAll(filepath.Join(bin, d.Name()))
		}
	}
}

func (f *finder) missing() error {
	text := "find mysdk-cluster: it is not beside mysdk, and this mysdk, " + f.version +
		", is not a release that the go command can build it from"
	if len(f.unfit) > 0 {
		text = "find mysdk-cluster: " + strings.Join(f.unfit, "; ")
	}
	return clierr.Failedf("build both in a checkout with 'go install ./cmd/...', or set "+SourceEnv+" to one", "%s", text)
}

func cacheKey(version string) string {
	version = strings.Trim(regexp.MustCompile(`[^0-9A-Za-z.+-]+`).ReplaceAllString(version, "_"), "_.")
	return version + "-" + runtime.GOOS + "-" + runtime.GOARCH
}

// goInstall builds a release. The go command insists on the binary's name, so
// it goes to a directory of its own first.
func (f *finder) goInstall(ctx context.Context, path string) error {
	tmp, err := os.MkdirTemp(filepath.Dir(path), "build-")
	if err != nil {
		return fmt.Errorf("build mysdk-cluster: %w", err)
	}
	err = f.run(ctx, host.Cmd{
		Dir: tmp, Env: append(mainpkg.BuildEnv(f.host), "GOBIN="+tmp),
		Args: []string{"install", "-v", "-ldflags=-s -w", packagePath + "@" + f.version},
	})
	if err == nil {
		err = os.Rename(filepath.Join(tmp, exeName()), path)
	}
	return errors.Join(err, os.RemoveAll(tmp))
}

func (f *finder) run(ctx context.Context, cmd host.Cmd) error {
	out := &buildOutput{}
	cmd.Name, cmd.Stdout, cmd.Stderr, cmd.Grace = "go", out, out, buildGrace
	// A tenth of the time would go into collecting the compiler's garbage, and
	// with few cores as much into threads that get into each other's way.
	cmd.Env = append(cmd.Env, "GOGC=off", "GOMEMLIMIT=2GiB")
	if cores := runtime.GOMAXPROCS(0); cores <= fewCores {
		cmd.Env = append(cmd.Env, "GOMAXPROCS=1")
		cmd.Args = slices.Insert(cmd.Args, 1, "-p", strconv.Itoa(cores))
	}
	began := f.host.Now()
	elapsed := func() time.Duration { return f.host.Now().Sub(began).Round(time.Second) }
	done := make(chan struct{})
	announced := false
	var reports sync.WaitGroup
	reports.Go(func() { announced = f.report(done, out, elapsed) })
	err := host.Run(ctx, f.host.Exec, cmd)
	close(done)
	reports.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("build mysdk-cluster: %w", ctx.Err())
	}
	if err != nil {
		return clierr.Failedf("run 'go env' and 'go version' to see whether Go is fit: 1.26 or newer, with access to its module proxy",
			"build mysdk-cluster: %w%s", err, out.errors())
	}
	if announced {
		f.progress(fmt.Sprintf("built mysdk-cluster in %s", elapsed()))
	}
	return nil
}

// report reports a build until done is closed, and whether it did: a build
// that has nothing to do is not worth a word.
func (f *finder) report(done <-chan struct{}, out *buildOutput, elapsed func() time.Duration) bool {
	select {
	case <-done:
		return false
	case <-time.After(f.silence):
	}
	for _, why := range f.unfit {
		f.progress("passing over " + why)
	}
	f.progress("building mysdk-cluster: about 5 minutes on 2 cores the first time, and nothing after that")
	tick := time.NewTicker(reportInterval)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return true
		case <-tick.C:
			packages, _ := out.read()
			f.progress(fmt.Sprintf("building mysdk-cluster: %d packages compiled after %s", packages, elapsed()))
		}
	}
}

// buildOutput reads what `go build -v` prints: the path of each package that it
// compiles, and errors.
type buildOutput struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write implements io.Writer.
func (o *buildOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.Write(p)
}

// read takes packages and errors apart: a package is a line of one word.
func (o *buildOutput) read() (packages int, lines []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for line := range strings.Lines(o.all.String()) {
		text, whole := strings.CutSuffix(line, "\n")
		if whole && text != "" && !strings.ContainsAny(text, " \t") {
			packages++
		} else {
			lines = append(lines, text)
		}
	}
	return packages, lines
}

// errors is the last of what is not progress, indented below a first line.
func (o *buildOutput) errors() string {
	_, lines := o.read()
	if len(lines) == 0 {
		return ""
	}
	return "\n  " + strings.Join(lines[max(0, len(lines)-buildLines):], "\n  ")
}
