package trace

import (
	"go/ast"
	"slices"
	"strconv"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// podNamespace is the file in which a pod finds the name of its namespace.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// leaderPackages have Become, by which an operator is the leader as long as its pod
// is there. Without the pod it fails.
var leaderPackages = []string{"github.com/operator-framework/operator-lib/leader", "github.com/operator-framework/operator-sdk/pkg/leader"}

// Pod is what the operator's code finds of its pod, which it has not.
type Pod struct {
	Namespace     string
	NamespaceFile string // has the Namespace, in place of the pod's own file
}

// place has code find the namespace: where it reads the pod's file, and where
// it leaves it to controller-runtime to do so for a leader's lease. The only
// operator there is need not become the leader by its pod.
func (p Pod) place(f *goedit.File) {
	for lit := range goedit.Each[*ast.BasicLit](f.Tree) {
		if text, _ := goedit.StringLiteral(lit); text == podNamespace {
			f.Replace(lit, strconv.Quote(p.NamespaceFile))
		}
	}
	for lit := range goedit.Each[*ast.CompositeLit](f.Tree) {
		if !f.Is(lit.Type, runtimeModule, "Options") && !f.Is(lit.Type, runtimeModule+"/pkg/manager", "Options") {
			continue
		}
		keys := map[string]bool{}
		for _, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				keys[goedit.TypeName(kv.Key)] = true
			}
		}
		if keys["LeaderElection"] && keys["Scheme"] && !keys["LeaderElectionNamespace"] {
			f.Insert(lit.Lbrace+1, "LeaderElectionNamespace: "+strconv.Quote(p.Namespace)+", ")
		}
	}
	for call := range goedit.Each[*ast.CallExpr](f.Tree) {
		become := slices.ContainsFunc(leaderPackages, func(path string) bool { return f.Is(call.Fun, path, "Become") })
		if become && !call.Ellipsis.IsValid() {
			f.Insert(f.Tree.End(), "; var _ = "+f.Text(call.Fun)) // the import is used as before
			f.Replace(call.Fun, "func(...interface{}) error { return nil }")
		}
	}
}
