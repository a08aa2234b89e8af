package relayout

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
)

// moves is where files and packages go, made of the places of the scaffold's
// own files.
type moves struct {
	module   string
	files    map[string]string  // of the scaffold
	dirs     map[string]string  // directories of Go packages that move as a whole
	unclear  map[string]parts   // directories whose files go to several places
	packages map[string]Package // by old import path
	withGo   map[string]bool    // directories that are packages of the project
}

// parts are the directories that a directory is split up into.
type parts map[string]Package

// newMoves follows each Go file of the scaffold to its new place. A directory whose
// files all go to one other directory moves as a whole, with what the user has in
// it; where they part, what is the user's cannot be told to belong to either.
func newMoves(c Change) (moves, error) {
	m := moves{module: c.Module, files: c.Moves, dirs: map[string]string{}, unclear: map[string]parts{}, packages: map[string]Package{}}
	goes := map[string]parts{} // directory to directory
	for _, name := range slices.Sorted(maps.Keys(c.Before)) {
		to := m.target(name)
		after, stays := c.After[to]
		if path.Ext(name) != ".go" || !stays {
			continue
		}
		p, err := newPackage(c, name, to, after)
		if err != nil {
			return m, err
		}
		dir := path.Dir(name)
		if goes[dir] == nil {
			goes[dir] = parts{}
		}
		goes[dir][path.Dir(to)] = p
	}
	for dir, list := range goes {
		for to, p := range list {
			switch {
			case len(list) > 1:
				m.unclear[dir] = list
			case to != dir:
				m.dirs[dir], m.packages[path.Join(m.module, dir)] = to, p
			}
		}
	}
	return m, nil
}

// applyConfigurations moves those along that are generated below types. Their paths end
// with the group and the version, as those of the types do.
func (m moves) applyConfigurations() {
	version := func(dir string) string { return path.Join(path.Base(path.Dir(dir)), path.Base(dir)) }
	for dir := range m.withGo {
		types, below, _ := strings.Cut(dir+"/", "/applyconfiguration/")
		if to, ok := m.dirs[types]; ok {
			to = path.Join(to, "applyconfiguration", strings.Replace(below, version(types), version(to), 1))
			m.dirs[dir] = to
			m.packages[path.Join(m.module, dir)] = Package{path.Join(m.module, to), path.Base(dir), path.Base(to)}
		}
	}
}

func newPackage(c Change, name, to string, after []byte) (p Package, err error) {
	p.Path = path.Join(c.Module, path.Dir(to))
	if p.OldName, err = packageName(name, c.Before[name]); err != nil {
		return p, err
	}
	p.Name, err = packageName(to, after)
	return p, err
}

// target is where a file of the scaffold goes.
func (m moves) target(name string) string { return cmp.Or(m.files[name], name) }

// along is where a file goes that is not the scaffold's: with the package that
// it lies in or, where no package of its own lies in between, below. unclear
// says that this package goes to several places.
func (m moves) along(name string) (to string, unclear bool) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if m.unclear[dir] != nil {
			return name, true
		}
		if target, ok := m.dirs[dir]; ok {
			return target + strings.TrimPrefix(name, dir), false
		}
		if m.withGo[dir] {
			break
		}
	}
	return name, false
}

// rewrite is what to change in a Go file that goes from name to to. after is
// its text in the new scaffold, nil where it has none.
func (m moves) rewrite(name, to string, after []byte) (Rewrite, error) {
	r := Rewrite{Packages: m.packages}
	if path.Dir(name) != path.Dir(to) {
		r.Climb = strings.Count(to, "/") - strings.Count(name, "/")
		r.Beside = func(rel string) bool {
			target, _ := m.along(path.Join(path.Dir(name), rel) + "/.")
			return path.Clean(target) == path.Join(path.Dir(to), rel)
		}
		if p := cmp.Or(m.packages[path.Join(m.module, path.Dir(name))], m.unclear[path.Dir(name)][path.Dir(to)]); p != (Package{}) {
			r.Own = &p
		}
	}
	if after == nil {
		return r, nil
	}
	var err error
	_, r.Aliases, err = imports(to, after)
	return r, err
}
