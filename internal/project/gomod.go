package project

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
)

// MergeModule brings a go.mod and go.sum that are in the directory already
// together with those of the scaffold in set: of each module the higher
// version, everything else as the user wrote it. Without a go.mod in the
// directory it does nothing.
func MergeModule(t fileset.Tree, set *fileset.Set) error {
	mine, err := t.FS.ReadFile(filepath.Join(t.Root, "go.mod"))
	if err != nil {
		return nil //nolint:nilerr // nothing there, or nothing readable: the commit will tell
	}
	scaffold, _ := set.Get("go.mod")
	merged, err := mergeGoMod(mine, scaffold.Data)
	if err != nil {
		return clierr.Failedf("repair go.mod, or remove it and run the command again", "%w", err)
	}
	if err := set.Put("go.mod", fileset.File{Data: merged}); err != nil {
		return err
	}
	sums, err := t.FS.ReadFile(filepath.Join(t.Root, "go.sum"))
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	scaffoldSums, _ := set.Get("go.sum")
	return set.Put("go.sum", fileset.File{Data: union(sums, scaffoldSums.Data)})
}

func mergeGoMod(mine, scaffold []byte) ([]byte, error) {
	m, err := modfile.Parse("go.mod", mine, nil)
	if err != nil {
		return nil, err
	}
	s, err := modfile.Parse("go.mod of the scaffold", scaffold, nil)
	if err != nil {
		return nil, err
	}
	if s.Go != nil && (m.Go == nil || semver.Compare("v"+m.Go.Version, "v"+s.Go.Version) < 0) {
		if err := m.AddGoStmt(s.Go.Version); err != nil {
			return nil, err
		}
	}
	have := map[string]*modfile.Require{}
	for _, r := range m.Require {
		have[r.Mod.Path] = r
	}
	for _, r := range s.Require {
		old := have[r.Mod.Path]
		switch {
		case old == nil:
			m.AddNewRequire(r.Mod.Path, r.Mod.Version, r.Indirect)
		case semver.Compare(old.Mod.Version, r.Mod.Version) < 0:
			if err := m.AddRequire(r.Mod.Path, r.Mod.Version); err != nil {
				return nil, err
			}
		}
	}
	m.SetRequireSeparateIndirect(m.Require)
	m.Cleanup()
	return m.Format()
}

// union merges the lines of two go.sum files.
func union(a, b []byte) []byte {
	lines := map[string]bool{}
	for _, data := range [][]byte{a, b} {
		for line := range bytes.Lines(data) {
			if l := strings.TrimSpace(string(line)); l != "" {
				lines[l] = true
			}
		}
	}
	return []byte(strings.Join(slices.Sorted(maps.Keys(lines)), "\n") + "\n")
}
