package migrate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// Unresolved lists the packages that 'go mod tidy -e' went on without. Where it
// could not read what a module requires, all others follow from that, and only
// that is listed.
func Unresolved(output string) []string {
	var out, broken []string
	importer, requirer := "", ""
	for line := range strings.Lines(output) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "go: ")
		if name, ok := strings.CutSuffix(line, " requires"); ok {
			requirer = cmp.Or(requirer, name[strings.LastIndexByte(name, ' ')+1:]) // a package may stand before it
			continue
		}
		if name, ok := strings.CutSuffix(line, " imports"); ok {
			importer = name
			continue
		}
		pkg, _, ok := strings.Cut(line, ": ")
		if !ok || !strings.Contains(pkg, ".") || !strings.Contains(pkg, "/") || strings.ContainsAny(pkg, " \t") {
			continue
		}
		if requirer != "" {
			broken = append(broken, fmt.Sprintf("%s (required by %s)", pkg, requirer))
			requirer = ""
			continue
		}
		if text := fmt.Sprintf("%s (imported by %s)", pkg, importer); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if len(broken) > 0 {
		slices.Sort(broken)
		return slices.Compact(broken)
	}
	return out
}

// beforeModules are versions of modules of Kubernetes from before they had
// modules, which count as newer than those of today.
var beforeModules = regexp.MustCompile(`\b(k8s\.io/[a-z-]+)@v[0-9.]+\+incompatible`)

// Pinned is a go.mod where such versions, which dependencies ask for, are
// replaced by those that it requires itself; false if the output of 'go mod
// tidy' has none.
func Pinned(gomod []byte, output string) ([]byte, bool, error) {
	f, err := modfile.Parse("go.mod", gomod, nil)
	if err != nil {
		return nil, false, fmt.Errorf("read go.mod: %w", err)
	}
	changed := false
	for _, old := range beforeModules.FindAllStringSubmatch(output, -1) {
		for _, r := range f.Require {
			replaced := slices.ContainsFunc(f.Replace, func(o *modfile.Replace) bool { return o.Old.Path == old[1] })
			if r.Mod.Path != old[1] || replaced {
				continue
			}
			if err := f.AddReplace(old[1], "", old[1], r.Mod.Version); err != nil {
				return nil, false, fmt.Errorf("replace %s in go.mod: %w", old[1], err)
			}
			changed = true
		}
	}
	if !changed {
		return gomod, false, nil
	}
	data, err := f.Format()
	return data, true, err
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
