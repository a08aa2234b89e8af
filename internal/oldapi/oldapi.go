package oldapi

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"
)

// Guide is the page that says what became of what in old code.
const Guide = "https://github.com/example/mysdk/blob/main/docs/guides/migrate.md"

// place is how errors of the compiler and of the generators name a file.
var place = lazy.Delayed(`^\s*(?:generate: )?(\S+\.go):\d+(?::\d+)?: (.*)$`)

// Hint is what to do about code of a project that the errors show to be for
// operator-sdk v0.x or an old controller-runtime; empty for other errors.
func Hint(errors string) string {
	var files []string
	for _, e := range joined(errors) {
		m := place.FindStringSubmatch(e)
		if m != nil && match(m[2]).sure && !filepath.IsAbs(m[1]) && !slices.Contains(files, m[1]) {
			files = append(files, m[1])
		}
	}
	const most = 3
	switch n := len(files); {
	case n == 0:
		return ""
	case n > most:
		return fmt.Sprintf("rewrite %s and %d more files, which were written for an old controller-runtime, with 'mysdk migrate --file FILE', see %s", files[0], n-1, Guide)
	}
	return fmt.Sprintf("rewrite what was written for an old controller-runtime with 'mysdk migrate --file %s', see %s", strings.Join(files, " --file "), Guide)
}

// joined are the errors in the output of the go command, a line each.
func joined(output string) []string {
	var out []string
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, "\t") && len(out) > 0 {
			out[len(out)-1] += " " + strings.TrimSpace(line)
			continue
		}
		out = append(out, strings.TrimRight(line, "\r\n"))
	}
	return out
}
