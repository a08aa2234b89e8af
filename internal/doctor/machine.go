package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
)

// Free space below which something is said, in bytes. The first build of the
// control plane fills the go command's caches with about 3 GiB.
const (
	littleSpace = 4 << 30
	noSpace     = 256 << 20
)

// Limits of inotify below which 'run local --watch' may fail. The instances
// are shared with editors and everything else of the user's.
const (
	fewWatches   = 8192
	fewInstances = 128
)

// place is a directory that mysdk or the go command writes into, and the variable that
// decides where it is.
type place struct{ what, dir, variable string }

// places are the directories that have to be writable, and why some of them
// are not known.
func (e *exam) places() (list []place, missing []error) {
	for _, own := range []struct {
		what, variable string
		find           func() (string, error)
	}{{"state", "MYSDK_STATE_DIR", e.Host.StateDir}, {"cache", "MYSDK_CACHE_DIR", e.Host.CacheDir}} {
		dir, err := own.find()
		if err != nil {
			missing = append(missing, clierr.WithHint(fmt.Errorf("there is no place for mysdk's %s: %w", own.what, err),
				"set "+own.variable+" to a directory of yours"))
			continue
		}
		list = append(list, place{own.what, dir, own.variable})
	}
	for _, of := range []place{{"go's build cache", e.env.GOCACHE, "GOCACHE"}, {"go's module cache", e.env.GOMODCACHE, "GOMODCACHE"}} {
		if of.dir != "" && of.dir != "off" {
			list = append(list, of)
		}
	}
	return list, missing
}

// directories looks whether files can be created where they have to be.
func (e *exam) directories() {
	const name = "directories"
	bad := e.report.Problems
	list, missing := e.places()
	for _, err := range missing {
		e.failed(Problem, name, err, "")
	}
	known := true
	for _, p := range list {
		dir, err := e.existing(p.dir)
		if err == nil {
			err = e.System.Writable(dir)
		}
		if errors.Is(err, errors.ErrUnsupported) {
			known, err = false, nil
		}
		if err == nil {
			continue
		}
		e.problem(name, "make it writable for you, or choose another with "+p.variable, "%s: nothing can be written to %s: %v", p.what, dir, plain(err))
	}
	if e.report.Problems > bad {
		return
	}
	found := "state in %s"
	if known {
		found += "; it and the caches can be written to"
	}
	e.ok(name, found, list[0].dir)
}

// existing is the nearest directory at or above dir that is there.
func (e *exam) existing(dir string) (string, error) {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		_, err := e.Host.Files.Lstat(at)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return at, err
		}
	}
}

// disk looks for the file system with the least room of those written to.
func (e *exam) disk() {
	const name = "disk"
	var least place
	var room uint64
	list, _ := e.places() // directories has told of the others
	for _, p := range list {
		dir, err := e.existing(p.dir)
		if err != nil {
			continue // directories has said so
		}
		n, err := e.System.Free(dir)
		if err != nil {
			continue // not known on this system
		}
		if least.dir == "" || n < room {
			least, room = place{what: p.what, dir: dir}, n
		}
	}
	const hint = "make room: 'go clean -cache' frees the most, 'mysdk cluster reset' what is in the cluster"
	switch {
	case least.dir == "":
	case room < noSpace:
		e.problem(name, hint, "%s free for %s in %s", size(room), least.what, least.dir)
	case room < littleSpace:
		e.warning(name, hint, "%s free for %s in %s: the first build of the control plane needs about 3 GiB", size(room), least.what, least.dir)
	default:
		e.ok(name, "at least %s free (least: %s in %s)", size(room), least.what, least.dir)
	}
}

func size(n uint64) string {
	if n < 1<<30 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// watches looks at the limits of 'run local --watch'.
func (e *exam) watches() {
	const name = "file watches"
	if e.System.OS != "linux" {
		return
	}
	watches, ok1 := e.limit("max_user_watches")
	instances, ok2 := e.limit("max_user_instances")
	switch {
	case !ok1 || !ok2: // a container that hides them
	case watches < fewWatches || instances < fewInstances:
		e.warning(name, "sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512",
			"%d watches and %d instances of inotify: 'run local --watch' may run out of them", watches, instances)
	default:
		e.ok(name, "%d watches, %d instances", watches, instances)
	}
}

func (e *exam) limit(name string) (int, bool) {
	data, err := e.Host.Files.ReadFile("/proc/sys/fs/inotify/" + name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(data)))
	return n, err == nil
}

// programs looks at the other programs that play a part.
func (e *exam) programs() {
	e.self()
	for _, v := range []string{cluster.BinaryEnv, cluster.SourceEnv} {
		path := e.Host.Getenv(v)
		if path == "" {
			continue
		}
		if _, err := e.Host.Files.Lstat(e.Host.Path(path)); err != nil {
			e.problem("control plane", "correct or unset "+v, "%s: %v", v, plain(err))
			continue
		}
		e.ok("control plane", "%s=%s", v, path)
	}
	if path, err := e.Host.LookPath("dlv"); err == nil {
		e.ok("delve", "%s, for 'run local --debug'", path)
	} else {
		e.ok("delve", "dlv is not in PATH; only 'run local --debug' needs it")
	}
}

// self looks whether typing mysdk, as a project's Makefile does, gets this one.
func (e *exam) self() {
	const name = "mysdk"
	own := e.Host.Executable
	path, err := e.Host.LookPath("mysdk")
	if err != nil {
		hint := "export PATH=\"$PATH:" + filepath.Dir(own) + "\""
		if e.System.OS == "windows" { // in PowerShell, as host.Export
			hint = "$env:PATH += ';" + strings.ReplaceAll(filepath.Dir(own), "'", "''") + "'"
		}
		e.warning(name, hint, "mysdk is not in PATH: the targets of a project's Makefile do not find it")
		return
	}
	if !e.sameDir(path, own) {
		e.warning(name, "remove the one that you do not want, or put the other first in PATH", "PATH has %s, and this is %s", path, own)
		return
	}
	e.ok(name, "%s at %s", cmp.Or(e.Build, "unknown version"), path)
}

// plain is the cause of an error of the file system, whose path is said already.
func plain(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
