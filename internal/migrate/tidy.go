package migrate

import (
	"fmt"
	"slices"
	"strings"
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
