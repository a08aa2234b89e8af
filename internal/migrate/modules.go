package migrate

import (
	"bytes"
	"errors"
	"fmt"
	"go/version"
	"maps"
	"path"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/example/mysdk/internal/clierr"
)

// libVersion is the version of operator-lib that leader-for-life was tested
// with, on the scaffold's versions.
const libVersion = "v0.19.0"

// modules makes the user's go.mod one with the scaffold's versions.
func (m *migration) modules() error {
	scaffold, err := modfile.Parse("go.mod of the scaffold", m.rendered["go.mod"], nil)
	if err != nil {
		return err
	}
	f, list := scaffold, scaffold.Require
	if mine, there := m.files["go.mod"]; there {
		if f, err = modfile.Parse("go.mod", mine.data, nil); err != nil {
			return clierr.WithHint(err, "repair go.mod and run the command again")
		}
		if list, err = m.ownModules(f, scaffold); err != nil {
			return err
		}
	}
	for _, r := range m.successors() {
		if !slices.ContainsFunc(list, func(o *modfile.Require) bool {
			return o.Mod.Path == r.Mod.Path && semver.Compare(o.Mod.Version, r.Mod.Version) > 0
		}) {
			list = append(list, r)
		}
	}
	f.SetRequireSeparateIndirect(list)
	f.Cleanup()
	text, err := f.Format()
	if err != nil {
		return err
	}
	m.put("go.mod", text)
	m.put("go.sum", slices.Concat(m.rendered["go.sum"], m.files["go.sum"].data)) // 'go mod tidy' removes what is not needed
	return nil
}

// successors are the modules of packages that have other paths today, in
// versions that the scaffold's Kubernetes goes with: their newest may ask for
// a newer one.
func (m *migration) successors() []*modfile.Require {
	versions := map[string]string{
		"github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring": "v0.86.2",
		"github.com/cert-manager/cert-manager":                                   "v1.18.2",
		"github.com/operator-framework/api":                                      "v0.45.0",
		"github.com/openshift/client-go":                                         "v0.0.0-20260108185524-48f4ccfc4e13",
		operatorLib:                                                              libVersion,
	}
	var out []*modfile.Require
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		for _, o := range m.out {
			if bytes.Contains(o.data, []byte("\""+name)) && path.Ext(o.from) == ".go" {
				out = append(out, &modfile.Require{Mod: module.Version{Path: name, Version: versions[name]}})
				break
			}
		}
	}
	return out
}

// ownModules takes out of the user's go.mod what would be in the way of the
// scaffold's versions, and returns its requirements with the scaffold's.
func (m *migration) ownModules(f, scaffold *modfile.File) ([]*modfile.Require, error) {
	list, have, own := scaffold.Require, map[string]*modfile.Require{}, map[string]bool{}
	for _, r := range list {
		have[r.Mod.Path] = r
	}
	for _, r := range f.Require {
		isTool := slices.ContainsFunc(f.Tool, func(t *modfile.Tool) bool { return strings.HasPrefix(t.Path+"/", r.Mod.Path+"/") })
		switch theirs := have[r.Mod.Path]; {
		case r.Indirect && !isTool, isPlatform(r.Mod.Path):
		case theirs != nil:
			theirs.Indirect = false
			if semver.Compare(r.Mod.Version, theirs.Mod.Version) > 0 {
				theirs.Mod.Version = r.Mod.Version
			}
		case !movedModule(r.Mod.Path): // the successor of one comes by 'go mod tidy'
			own[r.Mod.Path] = true
			list = append(list, &modfile.Require{Mod: r.Mod})
		}
	}
	for _, r := range f.Replace {
		old, now := r.Old, r.New
		if own[old.Path] || modfile.IsDirectoryPath(now.Path) {
			continue
		}
		if err := f.DropReplace(old.Path, old.Version); err != nil {
			return nil, err
		}
		if now.Path != old.Path || !isPlatform(old.Path) && !movedModule(old.Path) {
			why := "which is not among your direct requirements"
			switch {
			case have[old.Path] != nil:
				why = "whose version follows from the scaffold's now"
			case isPlatform(old.Path), movedModule(old.Path):
				why = "whose old versions do not work with those of the scaffold"
			}
			m.know("go.mod had %s in the place of %s, %s: see whether you need it.", strings.TrimSpace(now.Path+" "+now.Version), old.Path, why)
		}
	}
	for _, x := range f.Exclude {
		if isPlatform(x.Mod.Path) || movedModule(x.Mod.Path) {
			if err := f.DropExclude(x.Mod.Path, x.Mod.Version); err != nil {
				return nil, err
			}
		}
	}
	if f.Toolchain != nil && version.Compare(f.Toolchain.Name, "go"+scaffold.Go.Version) < 0 {
		f.DropToolchainStmt()
	}
	return list, f.AddGoStmt(scaffold.Go.Version)
}

// isPlatform says whether a module is one whose version the scaffold decides,
// or that nothing needs any more.
func isPlatform(name string) bool {
	return hasAnyPrefix(name, "k8s.io/", "sigs.k8s.io/controller-", "sigs.k8s.io/yaml", "sigs.k8s.io/structured-merge-diff",
		"github.com/operator-framework/operator-sdk", "github.com/go-logr/", "github.com/go-openapi/", "github.com/Azure/go-autorest",
		"github.com/evanphx/json-patch", "github.com/prometheus/client_golang", "go.uber.org/zap", operatorLib)
}

// movedModule says whether a module has another path today.
func movedModule(name string) bool {
	return hasAnyPrefix(name, "github.com/coreos/prometheus-operator", "github.com/jetstack/cert-manager",
		"github.com/operator-framework/operator-lifecycle-manager") || name == "github.com/onsi/ginkgo"
}

// unread is how the go command says that it could not read what a module
// requires: first the requirement of the project that leads there, then the
// module, its version, and why.
var unread = lazy.Delayed(`(\S+) requires\n(?:\s+\S+ requires\n)*\s+([^\s@]+)@(\S+): (.+)`)

// unreadable is how it says so of what the project requires itself, alone or as
// the reason why a package is not found.
var unreadable = lazy.Delayed(`(?m)^(?:go: |\t\S+: )([^\s@]+)@([^\s:]+): `)

// notFound is how it says that no module has a package: the importer, the package
// and why.
var notFound = lazy.Delayed(`(?m)^(?:go: |\t)(\S+) imports\n\t(\S+\.\S*/\S+): (.+)$`)

// unreachable is why not, where the module may well be there.
var unreachable = lazy.Delayed(`dial tcp|[Tt]imeout|GOPROXY=off|resolve host|could not read|ermission denied`)

// Tidied is a go.mod as 'go mod tidy -e' left it, with the requirements that were
// removed only because they could not be read, and what it went on without. Where it
// could not read what a module requires, all else follows from that, and only that
// is listed.
func Tidied(gomod, tidied []byte, output string) ([]byte, []Problem, error) {
	before, errBefore := modfile.ParseLax("go.mod", gomod, nil)
	f, err := modfile.Parse("go.mod", tidied, nil)
	if err := errors.Join(errBefore, err); err != nil {
		return nil, nil, fmt.Errorf("read go.mod: %w", err)
	}
	list, lost, missing := slices.Clone(f.Require), unreadModules(output), []string(nil)
	for _, m := range notFound.FindAllStringSubmatch(output, -1) {
		i := slices.IndexFunc(before.Require, func(r *modfile.Require) bool {
			stays := slices.ContainsFunc(f.Require, func(o *modfile.Require) bool { return o.Mod.Path == r.Mod.Path })
			return !stays && strings.HasPrefix(m[2]+"/", r.Mod.Path+"/")
		})
		switch {
		case i < 0, strings.Contains(m[3], "does not contain package"):
			missing = append(missing, fmt.Sprintf("%s (imported by %s)", m[2], m[1]))
		case !slices.Contains(list, before.Require[i]):
			list, lost = append(list, before.Require[i]), append(lost, before.Require[i].Mod.String()+" (required by go.mod)")
		}
	}
	if len(list) > len(f.Require) {
		f.SetRequireSeparateIndirect(list)
		f.Cleanup()
		if tidied, err = f.Format(); err != nil {
			return nil, nil, err
		}
	}
	return tidied, unresolved(lost, missing), nil
}

func unresolved(lost, missing []string) []Problem {
	names, help := lost, "cannot read %s: set GOPRIVATE if the module is private, or require another version of it"
	if len(lost) == 0 {
		names, help = missing, "no module has %s: its importer needs a newer version, or another module in its place"
	}
	var out []Problem
	for _, name := range names {
		if p := (Problem{File: "go.mod", Text: fmt.Sprintf(help, name)}); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

func unreadModules(output string) []string {
	var out []string
	for _, m := range unread.FindAllStringSubmatch(output, -1) {
		out = append(out, fmt.Sprintf("%s@%s (required by %s)", m[2], m[3], m[1]))
	}
	for _, m := range unreadable.FindAllStringSubmatch(output, -1) {
		out = append(out, fmt.Sprintf("%s@%s (required by go.mod)", m[1], m[2]))
	}
	slices.Sort(out)
	return out
}

// beforeModules are versions of modules of Kubernetes from before they had
// modules, which count as newer than those of today.
var beforeModules = lazy.Delayed(`\b(k8s\.io/[a-z-]+)[@ ]v[0-9.]+\+incompatible`)

// Pinned is a go.mod that leaves out what dependencies ask for and no build of
// today can have, by what 'go mod tidy' made of it and said: versions of modules of
// Kubernetes from before they had modules are replaced by those that it requires
// itself, and versions that cannot be read are excluded. The notes say so;
// without one there is nothing to change.
func Pinned(gomod, tidied []byte, output string) ([]byte, []Note, error) {
	f, err := modfile.Parse("go.mod", gomod, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("read go.mod: %w", err)
	}
	var notes []Note
	for _, old := range beforeModules.FindAllStringSubmatch(output+string(tidied), -1) {
		for _, r := range f.Require {
			replaced := slices.ContainsFunc(f.Replace, func(o *modfile.Replace) bool { return o.Old.Path == old[1] })
			if r.Mod.Path != old[1] || replaced {
				continue
			}
			if err := f.AddReplace(old[1], "", old[1], r.Mod.Version); err != nil {
				return nil, nil, fmt.Errorf("replace %s in go.mod: %w", old[1], err)
			}
			notes = append(notes, Note{Text: fmt.Sprintf("go.mod has a replacement of %s by its version %s: a dependency requires %s, which counts as newer.", old[1], r.Mod.Version, old[0])})
		}
	}
	if notes = append(notes, exclude(f, output)...); len(notes) == 0 {
		return gomod, nil, nil
	}
	data, err := f.Format()
	return data, notes, err
}

// exclude adds the versions that cannot be read.
func exclude(f *modfile.File, output string) []Note {
	var notes []Note
	for _, m := range unread.FindAllStringSubmatch(output, -1) {
		requirer, gone, why := m[1], module.Version{Path: m[2], Version: m[3]}, m[4]
		excluded := slices.ContainsFunc(f.Exclude, func(x *modfile.Exclude) bool { return x.Mod == gone })
		replaced := slices.ContainsFunc(f.Replace, func(r *modfile.Replace) bool { return r.Old.Path == gone.Path })
		away := unreachable.MatchString(why) && !strings.Contains(why, "unrecognized import path")
		if excluded || replaced || away || f.AddExclude(gone.Path, gone.Version) != nil {
			continue
		}
		notes = append(notes, Note{Text: fmt.Sprintf("go.mod excludes %s, which %s requires and which cannot be read: %s", gone, requirer, why)})
	}
	return notes
}

// Replaced is a go.mod whose replacements by directories have the names that
// turn gives them.
func Replaced(gomod []byte, turn func(dir string) string) ([]byte, error) {
	f, err := modfile.Parse("go.mod", gomod, nil)
	if err != nil {
		return nil, fmt.Errorf("read the replacements in go.mod: %w", err)
	}
	changed := false
	for _, r := range slices.Clone(f.Replace) {
		to := turn(r.New.Path)
		if r.New.Version != "" || to == r.New.Path {
			continue
		}
		if err := f.AddReplace(r.Old.Path, r.Old.Version, to, ""); err != nil {
			return nil, fmt.Errorf("replace %s by %s in go.mod: %w", r.Old.Path, to, err)
		}
		changed = true
	}
	if !changed {
		return gomod, nil
	}
	return f.Format()
}
