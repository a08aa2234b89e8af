package trace

import (
	"go/ast"
	"strconv"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// podNamespace is the file in which a pod finds the name of its namespace.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// Pod is what the operator's code finds of its pod, which it has not.
type Pod struct {
	Namespace     string
	NamespaceFile string // has the Namespace, in place of the pod's own file
}

// place has code find the namespace: where it reads the pod's file, and where
// it leaves it to controller-runtime to do so for a leader's lease.
func (p Pod) place(f *goedit.File) {
	for lit := range goedit.Each[*ast.BasicLit](f.Tree) {
		if text, err := strconv.Unquote(lit.Value); err == nil && text == podNamespace {
			f.Replace(lit, strconv.Quote(p.NamespaceFile))
		}
	}
	for lit := range goedit.Each[*ast.CompositeLit](f.Tree) {
		if goedit.TypeName(lit.Type) != "Options" {
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
}
