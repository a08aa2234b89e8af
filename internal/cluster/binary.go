package cluster

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
)

const (
	modulePath  = "github.com/example/mysdk"
	packagePath = modulePath + "/cmd/mysdk-cluster"
	// BinaryEnv names a mysdk-cluster to use, whatever its version.
	BinaryEnv = "MYSDK_CLUSTER_BIN"
	// SourceEnv names a checkout of mysdk to build mysdk-cluster from.
	SourceEnv = "MYSDK_SOURCE"
)

// finder looks for the binary that fits this mysdk.
type finder struct {
	host     host.Host
	progress func(string)
	version  string        // of this mysdk, which the binary must have too
	source   string        // directory this mysdk was compiled from, as the compiler recorded it
	unfit    []string      // binaries that were passed over, and why
	silence  time.Duration // with a build before it is told of
}

// Binary returns the path of the mysdk-cluster that belongs to this mysdk: the
// one that BinaryEnv names, one beside mysdk or in PATH, or one in the user's
// cache, which is built with the go command if it is not there. That takes
// minutes the first time; progress is called with lines that say so.
func Binary(ctx context.Context, h host.Host, progress func(string)) (string, error) {
	_, file, _, _ := runtime.Caller(0)
	f := &finder{host: h, progress: progress, version: state.OwnVersion(), source: sourceOf(file), silence: buildSilence}
	return f.find(ctx)
}

// sourceOf is the root of the module that file, of this package, lies in.
func sourceOf(file string) string {
	return filepath.Dir(filepath.Dir(filepath.Dir(filepath.FromSlash(file))))
}

// installed is the path of a mysdk-cluster that is there already, "" if none is.
func installed(h host.Host) string {
	if path := h.Getenv(BinaryEnv); path != "" {
		return h.Path(path)
	}
	f := &finder{host: h, version: state.OwnVersion()}
	list := f.candidates()
	if cache, err := h.CacheDir(); err == nil {
		list = append(list, filepath.Join(cache, "bin", cacheKey(f.version), exeName()))
	}
	if i := slices.IndexFunc(list, f.fits); i >= 0 {
		return list[i]
	}
	return ""
}

// Installed reports whether there is a mysdk-cluster that Binary need not build.
func Installed(h host.Host) bool {
	_, err := os.Stat(installed(h))
	return err == nil
}

func (f *finder) find(ctx context.Context) (string, error) {
	if path := f.host.Getenv(BinaryEnv); path != "" {
		path = f.host.Path(path)
		if _, err := os.Stat(path); err != nil {
			return "", clierr.Failedf("correct or unset "+BinaryEnv, "find mysdk-cluster: %s: %w", BinaryEnv, err)
		}
		return path, nil
	}
	for _, path := range f.candidates() {
		if f.fits(path) {
			return path, nil
		}
	}
	return f.build(ctx)
}

func (f *finder) candidates() []string {
	name := exeName()
	list := []string{filepath.Join(filepath.Dir(f.host.Executable), name)}
	if real, err := filepath.EvalSymlinks(f.host.Executable); err == nil && real != f.host.Executable {
		list = append(list, filepath.Join(filepath.Dir(real), name))
	}
	if path, err := f.host.LookPath(name); err == nil {
		list = append(list, path)
	}
	return list
}

func exeName() string { return host.Program("mysdk-cluster") }

// fits reports whether path is our binary of our version. It reads what the go
// command wrote into the file, which costs no start of it.
func (f *finder) fits(path string) bool {
	info, err := buildinfo.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false
	case err != nil:
		f.unfit = append(f.unfit, fmt.Sprintf("%s is not a Go program", path))
		return false
	case info.Path != packagePath:
		f.unfit = append(f.unfit, fmt.Sprintf("%s is another program, %s", path, info.Path))
		return false
	case info.Main.Version != f.version:
		f.unfit = append(f.unfit, fmt.Sprintf("%s is of version %s, and this is mysdk %s", path, info.Main.Version, f.version))
		return false
	}
	return true
}

// isRelease reports whether v names a version that the go command can fetch
// and that is meant to be fetched: neither a commit nor a changed checkout.
func isRelease(v string) bool {
	semver := regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)
	pseudo := regexp.MustCompile(`[-.]\d{14}-[0-9a-f]{12}$`)
	return semver.MatchString(v) && !pseudo.MatchString(v)
}

// checkout is the directory to build from: what SourceEnv names, else the one
// that this mysdk was compiled from if it is still there; "" for none.
func (f *finder) checkout() (string, error) {
	if dir := f.host.Getenv(SourceEnv); dir != "" {
		dir = f.host.Path(dir)
		if !isCheckout(dir) {
			return "", clierr.Failedf("set "+SourceEnv+" to a checkout of "+modulePath,
				"build mysdk-cluster: %s is not a checkout of mysdk", dir)
		}
		return dir, nil
	}
	if isCheckout(f.source) {
		return f.source, nil
	}
	return "", nil
}

func isCheckout(dir string) bool {
	if !filepath.IsAbs(dir) {
		return false // built with -trimpath
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	first, _, _ := strings.Cut(string(mod), "\n")
	return strings.TrimSpace(first) == "module "+modulePath
}
