// Package relayout carries a change of a scaffold over to a project that its
// user has worked in: it merges lines, moves files, and rewrites imports,
// package clauses and markers by the syntax tree. It knows Go source, RBAC
// markers and the unit that a change of the scaffold comes in (the files as
// they would have been written before and after); it knows neither what is in
// a scaffold nor PROJECT nor commands, and it writes nothing.
package relayout

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/merge3"
)

// Change is a change of a scaffold, by all files that it has: as they would
// have been written before, and as they would be written now.
type Change struct {
	Module        string // path of the project's Go module
	Before, After map[string][]byte

	// Moves leads from paths of Before to those of After where a file gets
	// another place.
	Moves map[string]string
	// Drop are generated files that nothing stands behind any more.
	Drop []string
	// Adjust changes every Go file of the project, nil for none. It must do
	// to one of the scaffold what the scaffold does itself.
	Adjust func(name string, src []byte) []byte
	// Force removes files that the user has changed, too. Lines of his in files
	// that stay are never given up.
	Force bool
}

// Problem is something of the user's that a change would have to touch.
type Problem struct {
	Path        string
	First, Last int // lines, counted from 1; 0 for the whole file
	What        string
	Needs       bool // it needs something that goes
}

// String is the problem with its place, as compilers write it.
func (p Problem) String() string {
	switch {
	case p.First == 0:
		return p.Path + ": " + p.What
	case p.Last <= p.First:
		return fmt.Sprintf("%s:%d: %s", p.Path, p.First, p.What)
	default:
		return fmt.Sprintf("%s:%d-%d: %s", p.Path, p.First, p.Last, p.What)
	}
}

// carrier is a change on its way into a tree.
type carrier struct {
	Change
	tree     *Tree
	moves    moves
	problems []Problem
	mine     map[string][]byte // Go files of the scaffold, as they were
}

func (c *carrier) problem(name, format string, args ...any) {
	c.problems = append(c.problems, Problem{Path: name, What: fmt.Sprintf(format, args...)})
}

// Carry makes the change in the tree, in memory. Files that are as the
// scaffold wrote them become what it writes now; in the others the change is
// merged with the user's. Files of his in directories that move go with them,
// and every import of what moves is rewritten. The problems are the places
// that were left alone because the user's hand shows there.
func (c Change) Carry(t *Tree) ([]Problem, error) {
	m, err := newMoves(c)
	if err == nil {
		m.withGo, err = t.packages()
		m.applyConfigurations()
	}
	if err != nil {
		return nil, err
	}
	w := &carrier{Change: c, tree: t, moves: m, mine: map[string][]byte{}}
	for _, step := range []func() error{w.scaffolded, w.others, w.added, w.dropped, w.emptied, w.needed} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(w.problems, func(a, b Problem) int {
		return strings.Compare(fmt.Sprintf("%s:%8d", a.Path, a.First), fmt.Sprintf("%s:%8d", b.Path, b.First))
	})
	return w.problems, nil
}

// scaffolded carries over what becomes of the files that the scaffold has.
func (c *carrier) scaffolded() error {
	for _, name := range slices.Sorted(maps.Keys(c.Before)) {
		mine, there, err := c.tree.Read(name)
		switch {
		case err != nil:
			return err
		case !there || isModuleFile(name): // what the user removed stays away
		case IsGenerated(name):
			err = c.placeholder(name, mine)
		default:
			c.shared(name, mine)
			err = c.file(name, mine)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shared tells of a file of the user's hand that each part of a package which
// is split up would need.
func (c *carrier) shared(name string, mine []byte) {
	if bytes.Equal(mine, c.Before[name]) {
		return
	}
	for dir := range c.moves.unclear[path.Dir(name)] {
		other := path.Join(dir, path.Base(name))
		if _, there := c.After[other]; there && other != c.moves.target(name) {
			c.problem(name, "%s is split up, and your changes here may belong in %s, too: undo them, and make them again in each part", path.Dir(name), other)
			return
		}
	}
}

// isModuleFile names files that the go command keeps: what it has added there
// is no change of the user's.
func isModuleFile(name string) bool { return name == "go.mod" || name == "go.sum" }

// IsGenerated names files of the scaffold that only hold the place of what the
// generators write.
func IsGenerated(name string) bool {
	return name == "config/rbac/role.yaml" || name == "config/webhook/manifests.yaml" ||
		path.Dir(name) == "config/crd/bases" || strings.HasPrefix(path.Base(name), "zz_generated.")
}

func (c *carrier) placeholder(name string, mine []byte) error {
	after, stays := c.After[name]
	switch {
	case !bytes.Equal(mine, c.Before[name]):
		return nil // generated meanwhile, and soon again
	case !stays:
		return c.tree.Remove(name)
	case bytes.Equal(mine, after):
		return nil
	}
	return c.tree.Write(name, after)
}

// file carries over one file of the scaffold.
func (c *carrier) file(name string, mine []byte) error {
	to, before := c.moves.target(name), c.Before[name]
	after, stays := c.After[to]
	if _, merged := c.Before[to]; !stays || merged && to != name {
		return c.remove(name, mine) // two packages may become one: one of their suites is enough
	}
	if path.Ext(name) == ".go" {
		c.mine[name] = mine
		r, err := c.moves.rewrite(name, to, after)
		if err != nil {
			return err
		}
		if before, err = c.source(r, name, before); err != nil {
			return err
		}
		if mine, err = c.source(r, name, mine); err != nil {
			return err
		}
	}
	merged, conflicts := merge3.Lines(before, mine, after)
	if path.Ext(name) == ".md" {
		conflicts = nil // what the user tells his readers is his
	}
	for _, p := range conflicts {
		what := "your changes here conflict with the scaffold's"
		if p.Last < p.First {
			what = "lines that you removed have changed"
		}
		c.problems = append(c.problems, Problem{Path: name, First: p.First, Last: p.Last, What: what})
	}
	if len(conflicts) > 0 && len(WebhookNames(after)) < len(WebhookNames(before)) {
		merged = disableWebhooks(mine, before, after) // all of its code stays, or it would not compile
		if c.Force {
			c.problem(name, "the code of the webhook stays, and its +kubebuilder:webhook marker is disabled: nothing calls it")
		}
	}
	return c.put(name, to, merged)
}

// source is a Go file after everything but the scaffold's own change.
func (c *carrier) source(r Rewrite, name string, src []byte) ([]byte, error) {
	if c.Adjust != nil {
		src = c.Adjust(name, src)
	}
	return r.Go(name, src)
}

// put writes a file of the project, at another place where it moves.
func (c *carrier) put(name, to string, data []byte) error {
	old, _, err := c.tree.Read(name)
	if err != nil || name == to && bytes.Equal(old, data) {
		return err
	}
	if err := clierr.Unmerged(name, old); err != nil {
		return err // each side of it may hold what the change is about
	}
	if name == to {
		return c.tree.Write(name, data)
	}
	_, taken, err := c.tree.Read(to)
	switch {
	case err != nil:
		return err
	case taken:
		c.problem(name, "%s already exists", to)
		return nil
	}
	return c.tree.Move(name, to, data)
}

func (c *carrier) remove(name string, mine []byte) error {
	before := c.Before[name]
	lines := func(text []byte) []string { return slices.Sorted(strings.Lines(string(text))) }
	// The order of the lists of a kustomization tells only what came first.
	moved := path.Base(name) == "kustomization.yaml" && slices.Equal(lines(mine), lines(before))
	if !bytes.Equal(mine, before) && !moved {
		c.problem(name, "would be deleted, but you have changed it")
		if !c.Force {
			return nil
		}
		c.problems[len(c.problems)-1].What = "will be deleted with your changes"
	}
	return c.tree.Remove(name)
}

// others moves and rewrites the files that are not the scaffold's.
func (c *carrier) others() error {
	names, err := c.tree.Names()
	if err != nil {
		return err
	}
	targets := map[string]bool{}
	for _, to := range c.Moves {
		targets[to] = true
	}
	for _, name := range append(names, slices.Sorted(maps.Keys(c.tree.aside))...) {
		if _, scaffolded := c.Before[name]; scaffolded || targets[name] {
			continue
		}
		if err := c.other(name); err != nil {
			return err
		}
	}
	return nil
}

func (c *carrier) other(name string) error {
	to, unclear := c.moves.along(name)
	movable, aside := c.tree.aside[name]
	if unclear && aside {
		return nil
	}
	if unclear {
		c.problem(name, "%s is split up, and where this file belongs cannot be told: move it by hand first", path.Dir(name))
		return nil
	}
	if to == name && (aside || path.Ext(name) != ".go") {
		return nil
	}
	if aside && !movable {
		c.problem(name, "mysdk cannot move it to %s: move it yourself first", to)
		return nil
	}
	if to != name && path.Base(name) == "go.mod" {
		c.problem(name, "this module moves, and its path and whatever requires it would have to change: move it by hand first")
		return nil
	}
	data, _, err := c.tree.Read(name)
	if err != nil {
		return err
	}
	if path.Ext(name) == ".go" && !aside {
		r, err := c.moves.rewrite(name, to, nil)
		if err != nil {
			return err
		}
		if err := c.unclearImports(name, data); err != nil {
			return err
		}
		if data, err = c.source(r, name, data); err != nil {
			return err
		}
	}
	return c.put(name, to, data)
}

// unclearImports tells of imports of a package that is split up.
func (c *carrier) unclearImports(name string, src []byte) error {
	if len(c.moves.unclear) == 0 {
		return nil
	}
	found, _, err := imports(name, src)
	for _, p := range slices.Sorted(maps.Keys(found)) {
		if dir, ok := strings.CutPrefix(p, c.Module+"/"); ok && c.moves.unclear[dir] != nil {
			c.problems = append(c.problems, Problem{Path: name, First: found[p], What: "imports " + p + ", which is split up"})
		}
	}
	return err
}

// added writes the files that the scaffold did not have before.
func (c *carrier) added() error {
	old := map[string]bool{}
	for name := range c.Before {
		old[c.moves.target(name)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(c.After)) {
		if old[name] || isModuleFile(name) {
			continue
		}
		data := c.After[name]
		have, there, err := c.tree.Read(name)
		switch {
		case err != nil:
			return err
		case there && !bytes.Equal(have, data):
			c.problem(name, "cannot create: file already exists")
		case !there:
			if err := c.tree.Create(name, data); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropped removes generated files that are listed to go.
func (c *carrier) dropped() error {
	for _, name := range c.Drop {
		_, there, err := c.tree.Read(name)
		if err != nil {
			return err
		}
		if there {
			if err := c.tree.Remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// emptied looks at the packages that lost all files of the scaffold: what was
// generated goes with them, and nothing may need them any more.
func (c *carrier) emptied() error {
	gone := map[string]bool{}
	for name := range c.Before {
		if path.Ext(name) == ".go" && c.moves.target(name) == name {
			gone[path.Dir(name)] = true
		}
	}
	for name := range c.After {
		delete(gone, path.Dir(name))
	}
	for _, dir := range slices.Sorted(maps.Keys(gone)) {
		if err := c.leftovers(dir); err != nil {
			return err
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return c.tree.EachGo(func(name string, src []byte) error {
		found, _, err := imports(name, src)
		for p, line := range found {
			if dir, ok := strings.CutPrefix(p, c.Module+"/"); ok && gone[dir] {
				c.problems = append(c.problems, Problem{name, c.ownLine(name, src, line), 0, "imports " + p + ", which will be removed", true})
			}
		}
		return err
	})
}

func (c *carrier) leftovers(dir string) error {
	names, err := c.tree.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if path.Dir(name) != dir || path.Ext(name) != ".go" {
			continue
		}
		if strings.HasPrefix(path.Base(name), "zz_generated.") {
			if err := c.tree.Remove(name); err != nil {
				return err
			}
			continue
		}
		if _, scaffolded := c.Before[name]; !scaffolded { // of those that are, it is told already
			c.problem(name, "would be the only file left in its package")
		}
	}
	return nil
}
