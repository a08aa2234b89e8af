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
	readsNamespaces = lazy.Delayed(`"WATCH_NAMESPACE"`)
	makesManager    = lazy.Delayed(`\bNewManager\(`)
	startsPlane     = lazy.Delayed(`\benvtest\.Environment\{`)
	wantsCluster    = lazy.Delayed(`\bUseExistingCluster\b`)
)

// scan reads all Go files.
func scan(tree *relayout.Tree) (*facts, error) {
	f := &facts{}
	return f, tree.EachGo(func(name string, data []byte) error {
		if strings.HasSuffix(name, "_test.go") {
			f.tests++
			if at := place(name, data, &startsPlane); at != "" {
				f.envtest = append(f.envtest, at)
			}
			first(&f.existing, place(name, data, &wantsCluster))
			return nil
		}
		first(&f.namespaces, place(name, data, &readsNamespaces))
		first(&f.manager, place(name, data, &makesManager))
		return nil
	})
}

// first sets a place that is not known yet.
func first(to *string, at string) {
	if *to == "" {
		*to = at
	}
}

// place is where a text first has a pattern, outside of comments; empty for
// nowhere.
func place(name string, data []byte, pattern *lazy.Regexp) string {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if code, _, _ := bytes.Cut(line, []byte("//")); pattern.Match(code) {
			return fmt.Sprintf("%s:%d", name, n)
		}
	}
	return ""
}
