package migrate

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// Unresolved lists the packages that 'go mod tidy -e' went on without.
func Unresolved(output string) []string {
	var out []string
	importer := ""
	for line := range strings.Lines(output) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "go: ")
		if name, ok := strings.CutSuffix(line, " imports"); ok {
			importer = name
			continue
		}
		pkg, _, ok := strings.Cut(line, ": ")
		if !ok || !strings.Contains(pkg, ".") || !strings.Contains(pkg, "/") || strings.ContainsAny(pkg, " \t") {
			continue
		}
		if text := fmt.Sprintf("%s (imported by %s)", pkg, importer); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
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
