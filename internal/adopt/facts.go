package adopt

import (
	"bytes"
	"fmt"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/relayout"
)

// facts are what the text of a project's Go code tells. Places are written
// file:line.
type facts struct {
	namespaces string   // where WATCH_NAMESPACE is read
	manager    string   // where the manager is made
	envtest    []string // where test suites start a control plane
	existing   string   // where such a suite wants a cluster that is there
	tests      int      // test files
}

var (
	readsNamespaces = lazy.Delayed(`"WATCH_NAMESPACE"([^\]]|\]\s*([^\s=]|==|$)|$)`) // not ["WATCH_NAMESPACE"] = value
	makesManager    = lazy.Delayed(`\bNewManager\(`)
	startsPlane     = lazy.Delayed(`\benvtest\.Environment\{`)
	wantsCluster    = lazy.Delayed(`\bUseExistingCluster\b`)
	wantsNone       = lazy.Delayed(`\bUseExistingCluster[ :=]+[\w.]+\(false\)`)
)

// scan reads all Go files.
func scan(tree *relayout.Tree) (*facts, error) {
	f := &facts{}
	return f, tree.EachGo(func(name string, data []byte) error {
		if strings.HasSuffix(name, "_test.go") {
			f.tests++
			starts := places(name, data, &startsPlane)
			f.envtest = append(f.envtest, starts[:min(1, len(starts))]...)
			if wants := places(name, wantsNone.ReplaceAll(data, nil), &wantsCluster); len(wants) >= len(starts) { // else it has a choice
				first(&f.existing, wants)
			}
			return nil
		}
		first(&f.namespaces, places(name, data, &readsNamespaces))
		first(&f.manager, places(name, data, &makesManager))
		return nil
	})
}

// first sets a place that is not known yet to the first of several.
func first(to *string, at []string) {
	if *to == "" && len(at) > 0 {
		*to = at[0]
	}
}

// places are where a text has a pattern, outside of comments.
func places(name string, data []byte, pattern *lazy.Regexp) []string {
	var out []string
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if code, _, _ := bytes.Cut(line, []byte("//")); pattern.Match(code) {
			out = append(out, fmt.Sprintf("%s:%d", name, n))
		}
	}
	return out
}
