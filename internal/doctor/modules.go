package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// readModule reads go.mod for several checks; modules reports what is wrong.
func (e *exam) readModule() {
	data, err := e.Host.Files.ReadFile(e.abs("go.mod"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		e.module, err = modfile.Parse("go.mod", data, nil)
	}
	e.moduleError = err
}

// modules looks at what go.mod requires, and reports whether it can be read.
func (e *exam) modules() bool {
	const name = "go.mod"
	switch {
	case e.moduleError != nil:
		e.problem(name, "correct the file", "%s", firstLines(plain(e.moduleError).Error()))
		return false
	case e.module == nil:
		e.problem(name, "go mod init MODULE, then go mod tidy", "missing: a Go project needs one")
		return false
	case len(e.module.Require) > 0 && !e.exists("go.sum"):
		e.problem(name, "go mod tidy", "there is no go.sum beside it")
		return false
	}
	var old []string
	for _, pin := range pins() {
		for _, r := range e.module.Require {
			if r.Mod.Path == pin.Path && !e.replaced(r.Mod) && semver.Compare(r.Mod.Version, pin.Version) < 0 {
				old = append(old, fmt.Sprintf("%s %s (%s)", r.Mod.Path, r.Mod.Version, pin.Version))
			}
		}
	}
	if len(old) > 0 {
		e.warning(name, "mysdk upgrade --plan", "older than what mysdk is tested with: %s", list(old))
	} else {
		e.ok(name, "%s, none older than the scaffold's", count(len(e.module.Require), "module"))
	}
	return true
}

// pins are the modules whose versions the scaffold sets together.
func pins() []module.Version {
	v := v4.CurrentVersions()
	return []module.Version{
		{Path: "sigs.k8s.io/controller-runtime", Version: v.ControllerRuntime},
		{Path: "k8s.io/api", Version: v.Kubernetes},
		{Path: "k8s.io/apimachinery", Version: v.Kubernetes},
		{Path: "k8s.io/client-go", Version: v.Kubernetes},
		{Path: "sigs.k8s.io/controller-tools", Version: v.ControllerTools},
	}
}

// replaced reports whether go.mod puts something else in a module's place.
func (e *exam) replaced(m module.Version) bool {
	return slices.ContainsFunc(e.module.Replace, func(r *modfile.Replace) bool {
		return r.Old.Path == m.Path && (r.Old.Version == "" || r.Old.Version == m.Version)
	})
}

// cached looks which modules the next build would fetch, and reports whether
// there is what the project imports itself.
func (e *exam) cached() bool {
	const name = "module cache"
	if e.env.GOMODCACHE == "" {
		return false // no go command
	}
	if e.exists("vendor/modules.txt") {
		e.ok(name, "not needed: there is a vendor directory")
		return true
	}
	var direct, indirect []string
	for _, r := range e.module.Require {
		switch {
		case e.replaced(r.Mod) || e.inCache(r.Mod):
		case r.Indirect:
			// Many of these are for others' tests and never loaded.
			indirect = append(indirect, r.Mod.String())
		default:
			direct = append(direct, r.Mod.String())
		}
	}
	switch {
	case len(direct) == 0 && len(indirect) == 0:
		e.ok(name, "nothing has to be fetched")
	case len(direct) == 0:
		e.ok(name, "%s not downloaded; builds fetch what they need", are(len(indirect), "indirect module"))
	case e.env.GOPROXY == "off":
		e.problem(name, "allow a proxy: 'go env -u GOPROXY'; then 'go mod download'", "GOPROXY=off, and %s not downloaded: %s", are(len(direct), "module"), list(direct))
	default:
		e.warning(name, "go mod download", "%s would be fetched from GOPROXY=%s: %s", count(len(direct)+len(indirect), "module"), e.env.GOPROXY, list(direct))
	}
	return len(direct) == 0
}

// inCache reports whether the go command has unpacked the module, or could.
func (e *exam) inCache(m module.Version) bool {
	path, _ := module.EscapePath(m.Path) // empty for what can be no module: nothing is there
	version, _ := module.EscapeVersion(m.Version)
	for _, name := range []string{path + "@" + version, "cache/download/" + path + "/@v/" + version + ".zip"} {
		if _, err := e.Host.Files.Lstat(filepath.Join(e.env.GOMODCACHE, filepath.FromSlash(name))); err == nil {
			return true
		}
	}
	return false
}

func are(n int, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return count(n, what) + " are"
}
