package localrun

import (
	"crypto/sha256"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/host"
)

// tree is what counts of a project for a reload: which files there are, and
// what was in them when it was last looked at.
type tree struct {
	files  host.Files
	root   string   // absolute
	also   []string // paths relative to it that count besides
	seen   map[string]stamp
	dirs   []string // absolute, of the last scan
	embeds []string // patterns of embedded files, of the last scan
}

// stamp is a file's state. The content is read only when size or time changed:
// many editors write a file that did not change.
type stamp struct {
	size   int64
	time   time.Time
	sum    [sha256.Size]byte
	embeds []string // patterns of the files that a Go file embeds, relative to the root
}

// scan looks at the project and returns the paths, slash-separated and sorted,
// whose content is not what it was at the scan before. touched are paths that
// are read whatever their size and time.
func (t *tree) scan(touched map[string]bool) ([]string, error) {
	s := scan{tree: t, touched: touched, now: map[string]stamp{}, others: map[string]fs.DirEntry{}}
	err := s.dir("")
	for name, e := range s.others {
		if (err == nil || gone(err)) && matches(s.embeds, name) {
			err = s.file(name, e)
		}
	}
	if err != nil && !gone(err) {
		return nil, err
	}
	var changed []string
	for name, st := range s.now {
		if old, ok := t.seen[name]; !ok || old.sum != st.sum {
			changed = append(changed, name)
		}
	}
	for name := range t.seen {
		if _, ok := s.now[name]; !ok {
			changed = append(changed, name)
		}
	}
	t.seen, t.dirs, t.embeds = s.now, s.dirs, s.embeds
	slices.Sort(changed)
	return changed, nil
}

// scan is one look at the tree.
type scan struct {
	*tree
	touched map[string]bool
	now     map[string]stamp
	dirs    []string
	others  map[string]fs.DirEntry // files that count only if they are embedded
	embeds  []string               // patterns of these
}

// dir looks at a directory, relative to the root, and those below it.
func (s *scan) dir(dir string) error {
	full := filepath.Join(s.root, filepath.FromSlash(dir))
	entries, err := s.files.ReadDir(full)
	if err != nil {
		return err
	}
	s.dirs = append(s.dirs, full)
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir() && skipped(name):
		case e.IsDir():
			err = s.dir(name)
		case temporary.MatchString(e.Name()), s.leadsToDir(name, e):
		case counts(name), within(name, s.also):
			err = s.file(name, e)
		default:
			s.others[name] = e
		}
		if err != nil && !gone(err) { // what disappears meanwhile is as good as not there
			return err
		}
	}
	return nil
}

// leadsToDir reports whether an entry is a symlink to a directory. What is behind
// it is not looked at: it may be anywhere, or the directory that the link is in.
func (s *scan) leadsToDir(name string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return false
	}
	_, err := s.files.ReadDir(filepath.Join(s.root, filepath.FromSlash(name)))
	return err == nil
}

// file takes a file's stamp.
func (s *scan) file(name string, e fs.DirEntry) error {
	info, err := e.Info()
	if err != nil {
		return err
	}
	st := stamp{size: info.Size(), time: info.ModTime()}
	old, ok := s.seen[name]
	// What an event named is read in any case: file systems keep time in ticks,
	// and two saves within one tick look alike from outside.
	if ok && !s.touched[name] && old.size == st.size && old.time.Equal(st.time) {
		st = old
	} else {
		data, err := s.files.ReadFile(filepath.Join(s.root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		st.sum = sha256.Sum256(data)
		if path.Ext(name) == ".go" {
			st.embeds = embedPatterns(path.Dir(name), data)
		}
	}
	s.now[name] = st
	s.embeds = append(s.embeds, st.embeds...)
	return nil
}

// embedDirective is the first part of a line that names files to embed, and
// embedPattern is one of the names.
var (
	embedDirective = lazy.Delayed(`(?m)^[ \t]*//go:embed[ \t]+(.*)$`)
	embedPattern   = lazy.Delayed("\"[^\"]*\"|`[^`]*`|\\S+")
)

// embedPatterns are the patterns of a Go file in dir.
func embedPatterns(dir string, code []byte) []string {
	var list []string
	for _, line := range embedDirective.FindAllSubmatch(code, -1) {
		for _, p := range embedPattern.FindAllString(string(line[1]), -1) {
			list = append(list, path.Join(dir, strings.TrimPrefix(strings.Trim(p, "\"`"), "all:")))
		}
	}
	return list
}

// matches reports whether one of the patterns stands for a file, or for a
// directory that it is in.
func matches(patterns []string, name string) bool {
	for ; name != path.Dir(name); name = path.Dir(name) {
		if slices.ContainsFunc(patterns, func(p string) bool { ok, err := path.Match(p, name); return ok && err == nil }) {
			return true
		}
	}
	return false
}

// skipped reports whether nothing in a directory can change the operator or
// its manifests: what the go command passes over, and what tools write.
func skipped(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") ||
		slices.Contains([]string{"vendor", "testdata", "node_modules"}, base) || name == "bin" || name == "dist"
}

// temporary matches the files that an editor makes beside the file that it writes:
// Vim, which tries with 4913 whether the directory can be written to, Emacs,
// JetBrains, and the custom of a suffix.
var temporary = lazy.Delayed(`^[.#~]|(?:[~#]|\.(?:sw[pxo]|te?mp|bak|orig|rej|part)|___jb_(?:tmp|old)___)$|^4913$`)

// counts reports whether a file is read for the operator or its manifests. Its
// tests are not part of it.
func counts(name string) bool {
	switch base := path.Base(name); {
	case name == "PROJECT": // is not read for either, but what create and edit do ends with it
	case name == "go.work", name == "go.work.sum", base == "go.mod", base == "go.sum":
	case strings.HasPrefix(name, "config/"):
	default:
		return path.Ext(base) == ".go" && !strings.HasSuffix(base, "_test.go") && !strings.HasPrefix(base, "_")
	}
	return true
}

// within reports whether a path is one of those, or below it.
func within(name string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") })
}

// isCode reports whether a file that counts is part of the program, rather than
// of what is applied to the cluster.
func (r *run) isCode(name string) bool {
	if path.Ext(name) == ".go" {
		return !strings.HasSuffix(name, "_test.go")
	}
	return r.watcher.embeds(name) || name != "PROJECT" && !strings.HasPrefix(name, "config/") && !within(name, r.samples())
}
