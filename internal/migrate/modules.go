package migrate

import (
	"bytes"
	"fmt"
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

// modules writes go.mod anew: the scaffold's versions, and the user's own
// requirements.
func (m *migration) modules() error {
	scaffold := m.rendered["go.mod"]
	f, err := modfile.Parse("go.mod of the scaffold", scaffold, nil)
	if err != nil {
		return err
	}
	var mine []*modfile.Require
	if hasFile(m.files, "go.mod") {
		old, err := modfile.Parse("go.mod", m.files["go.mod"].data, nil)
		if err != nil {
			return clierr.WithHint(err, "repair go.mod and run the command again")
		}
		if mine, err = m.requirements(f, old); err != nil {
			return err
		}
	}
	for _, r := range m.successors() {
		newer := slices.ContainsFunc(mine, func(o *modfile.Require) bool {
			return o.Mod.Path == r.Mod.Path && semver.Compare(o.Mod.Version, r.Mod.Version) > 0
		})
		if !newer {
			mine = append(mine, r)
		}
	}
	f.SetRequireSeparateIndirect(slices.Concat(f.Require, mine))
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

// requirements takes over the user's own direct requirements, and the
// replacements of them.
func (m *migration) requirements(f, old *modfile.File) (mine []*modfile.Require, err error) {
	have := map[string]*modfile.Require{}
	for _, r := range f.Require {
		have[r.Mod.Path] = r
	}
	kept := map[string]bool{}
	for _, r := range old.Require {
		if r.Indirect && !hasTool(old, r.Mod.Path) || isPlatform(r.Mod.Path) {
			continue
		}
		if theirs := have[r.Mod.Path]; theirs != nil {
			theirs.Indirect = false
			if semver.Compare(r.Mod.Version, theirs.Mod.Version) > 0 {
				theirs.Mod.Version = r.Mod.Version
			}
			continue
		}
		if movedModule(r.Mod.Path) {
			continue // its successor comes by 'go mod tidy'
		}
		kept[r.Mod.Path] = true
		mine = append(mine, &modfile.Require{Mod: r.Mod})
	}
	for _, r := range old.Replace {
		local := strings.HasPrefix(r.New.Path, ".") || strings.HasPrefix(r.New.Path, "/")
		switch {
		case kept[r.Old.Path] || local:
			if err := f.AddReplace(r.Old.Path, r.Old.Version, r.New.Path, r.New.Version); err != nil {
				return nil, err
			}
		case r.New.Path != r.Old.Path:
			m.general = append(m.general, Note{Text: fmt.Sprintf("go.mod had %s in the place of %s, whose version is the scaffold's now: see whether you need what it changes.", strings.TrimSpace(r.New.Path+" "+r.New.Version), r.Old.Path)})
		}
	}
	return mine, ownLines(f, old)
}

// ownLines takes over what else the user has in go.mod: the tools that he runs,
// versions of his own modules that nobody is to use, and versions of others
// that he does not want. Of modules whose versions are the scaffold's it would
// be in the way.
func ownLines(f, old *modfile.File) error {
	for _, t := range old.Tool {
		if err := f.AddTool(t.Path); err != nil {
			return err
		}
	}
	for _, r := range old.Retract {
		if err := f.AddRetract(r.VersionInterval, r.Rationale); err != nil {
			return err
		}
	}
	for _, x := range old.Exclude {
		if isPlatform(x.Mod.Path) || movedModule(x.Mod.Path) {
			continue
		}
		if err := f.AddExclude(x.Mod.Path, x.Mod.Version); err != nil {
			return err
		}
	}
	return nil
}

// hasTool says whether a tool of go.mod is of the module.
func hasTool(f *modfile.File, modulePath string) bool {
	return slices.ContainsFunc(f.Tool, func(t *modfile.Tool) bool {
		return t.Path == modulePath || strings.HasPrefix(t.Path, modulePath+"/")
	})
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
