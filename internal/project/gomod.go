package project

import (
	"bytes"
	"fmt"
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
// directory it does nothing. kept says that modules remain which the scaffold
// knows nothing of, so that 'go mod tidy' may find more to do.
func MergeModule(t fileset.Tree, set *fileset.Set) (kept bool, err error) {
	mine, err := t.FS.ReadFile(filepath.Join(t.Root, "go.mod"))
	if err != nil {
		return false, nil //nolint:nilerr // nothing there, or nothing readable: the commit will tell
	}
	scaffold, _ := set.Get("go.mod")
	scaffoldSums, _ := set.Get("go.sum")
	merged, kept, err := mergeGoMod(mine, scaffold.Data, scaffoldSums.Data)
	if err != nil {
		return false, clierr.WithHint(err, "repair go.mod, or remove it and run the command again")
	}
	if err := set.Put("go.mod", fileset.File{Data: merged}); err != nil {
		return false, err
	}
	sums, err := t.FS.ReadFile(filepath.Join(t.Root, "go.sum"))
	if err != nil {
		return kept, nil //nolint:nilerr // as above
	}
	return kept, set.Put("go.sum", fileset.File{Data: union(sums, scaffoldSums.Data)})
}

// KeepTexts leaves a README.md that is in the directory already, as a new
// repository has it, and adds to its .gitignore what the scaffold's ignores
// besides. It returns what it did, in words.
func KeepTexts(t fileset.Tree, set *fileset.Set) ([]string, error) {
	var done []string
	for _, name := range []string{"README.md", ".gitignore"} {
		scaffold, ok := set.Get(name)
		if info, err := t.FS.Lstat(filepath.Join(t.Root, name)); !ok || err != nil || !info.Mode().IsRegular() {
			continue // what is in the way there is for the commit to say
		}
		if name == "README.md" {
			done = append(done, "kept your "+name)
			set.Drop(name)
			continue
		}
		mine, err := t.Read(fileset.Set{}, name)
		if err != nil {
			return nil, err
		}
		merged := withLines(mine, scaffold.Data)
		if !bytes.Equal(merged, mine) {
			done = append(done, "added to your "+name)
		}
		if err := set.Put(name, fileset.File{Data: merged}); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// withLines is a with those lines of b that it neither has nor takes back with a !,
// but for comments.
func withLines(a, b []byte) []byte {
	have := map[string]bool{"": true}
	for line := range bytes.Lines(a) {
		have[strings.TrimSpace(string(line))] = true
	}
	var more []string
	for line := range bytes.Lines(b) {
		if l := strings.TrimSpace(string(line)); !have[l] && !have["!"+l] && !strings.HasPrefix(l, "#") {
			more = append(more, l)
		}
	}
	if len(more) == 0 {
		return a
	}
	return []byte(strings.TrimRight(string(a), "\r\n") + "\n\n# Operator\n" + strings.Join(more, "\n") + "\n")
}

// mergeGoMod joins the scaffold's requirements with the user's, of each module in
// the higher version. Versions in the scaffold's go.sum count too: a lower one in
// go.mod would have the go command ask for sums that are not there.
func mergeGoMod(mine, scaffold, sums []byte) (merged []byte, kept bool, err error) {
	m, err := modfile.Parse("go.mod", mine, nil)
	if err != nil {
		return nil, false, err
	}
	s, err := modfile.Parse("go.mod of the scaffold", scaffold, nil)
	if err != nil {
		return nil, false, err
	}
	if err := mergeModuleLine(m, s); err != nil {
		return nil, false, err
	}
	wanted := map[string]*modfile.Require{}
	for _, r := range s.Require {
		wanted[r.Mod.Path] = r
	}
	loaded := versionsIn(sums)
	for _, r := range m.Require {
		want := loaded[r.Mod.Path]
		if w := wanted[r.Mod.Path]; w != nil {
			want = w.Mod.Version
			delete(wanted, r.Mod.Path)
		} else {
			kept = true
		}
		if semver.Compare(r.Mod.Version, want) < 0 {
			if err := m.AddRequire(r.Mod.Path, want); err != nil {
				return nil, false, err
			}
		}
	}
	for _, r := range s.Require {
		if wanted[r.Mod.Path] != nil {
			m.AddNewRequire(r.Mod.Path, r.Mod.Version, r.Indirect)
		}
	}
	m.SetRequireSeparateIndirect(m.Require)
	m.Cleanup()
	merged, err = m.Format()
	return merged, kept, err
}

// mergeModuleLine sees to the module path and the Go version.
func mergeModuleLine(m, s *modfile.File) error {
	path := s.Module.Mod.Path
	if m.Module == nil {
		if err := m.AddModuleStmt(path); err != nil {
			return err
		}
	}
	if m.Module.Mod.Path != path {
		return clierr.Usagef("leave --repo out, or change the line in go.mod", "--repo is %s, but go.mod says module %s", path, m.Module.Mod.Path)
	}
	if s.Go != nil && (m.Go == nil || semver.Compare("v"+m.Go.Version, "v"+s.Go.Version) < 0) {
		return m.AddGoStmt(s.Go.Version)
	}
	return nil
}

// versionsIn lists the highest version of each module in a go.sum: a go.mod
// that asks for less than the build loads is out of date.
func versionsIn(sums []byte) map[string]string {
	versions := map[string]string{}
	for line := range bytes.Lines(sums) {
		fields := strings.Fields(string(line))
		if len(fields) != 3 {
			continue
		}
		path, version := fields[0], strings.TrimSuffix(fields[1], "/go.mod")
		if semver.Compare(versions[path], version) < 0 {
			versions[path] = version
		}
	}
	return versions
}

// checkSelf refuses a module path that the scaffold requires as another's.
func checkSelf(set fileset.Set, repo string) error {
	f, _ := set.Get("go.mod")
	m, err := modfile.ParseLax("go.mod", f.Data, nil)
	if err != nil {
		return fmt.Errorf("read the go.mod of the scaffold: %w", err)
	}
	for _, r := range m.Require {
		if r.Mod.Path == repo {
			return clierr.Usagef("use a path such as --repo github.com/you/my-operator", "module path %q is that of a module that the project needs", repo)
		}
	}
	return nil
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
