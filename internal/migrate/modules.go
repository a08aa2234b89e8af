package migrate

import (
	"bytes"
	"go/version"
	"maps"
	"path"
	"slices"
	"strings"

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
		newer := slices.ContainsFunc(list, func(o *modfile.Require) bool {
			return o.Mod.Path == r.Mod.Path && semver.Compare(o.Mod.Version, r.Mod.Version) > 0
		})
		if !newer {
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
	m.put("go.sum", m.rendered["go.sum"])
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
			m.know("go.mod had %s in the place of %s, whose version follows from the scaffold's now: see whether you need it.", strings.TrimSpace(now.Path+" "+now.Version), old.Path)
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
