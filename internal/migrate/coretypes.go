package migrate

import (
	"go/ast"
	"slices"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// coreTypes carries over literals of types of k8s.io/api that got others in
// their fields.
func coreTypes(f *goFile) {
	if f.ImportName(coreV1) == "" {
		return
	}
	f.looseHandlers()
	for lit := range goedit.Each[*ast.CompositeLit](f.Tree) {
		switch {
		case f.Is(lit.Type, coreV1, "Probe"):
			f.handlerField(lit, "Handler", "ProbeHandler", "ProbeHandler")
		case f.Is(lit.Type, coreV1, "Lifecycle"):
			f.handlerField(lit, "PostStart", "PostStart", "LifecycleHandler")
			f.handlerField(lit, "PreStop", "PreStop", "LifecycleHandler")
		}
	}
}

// clusterName takes ObjectMeta.ClusterName out of literals: no API server ever
// looked at it.
func clusterName(f *goFile) {
	for lit := range goedit.Each[*ast.CompositeLit](f.Tree) {
		if !f.Is(lit.Type, metaV1, "ObjectMeta") {
			continue
		}
		for i, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok && f.Text(kv.Key) == "ClusterName" {
				f.CutElement(lit, i)
			}
		}
	}
}

// looseHandlers renames the type Handler where it stands by itself. Which of
// its two successors is meant shows by what else the file has.
func (f *goFile) looseHandlers() {
	members := f.members(coreV1)
	probes, hooks := slices.Contains(members, "Probe"), slices.Contains(members, "Lifecycle")
	ast.Inspect(f.Tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			return !f.Is(n.Type, coreV1, "Probe") && !f.Is(n.Type, coreV1, "Lifecycle") // those know
		case *ast.SelectorExpr:
			switch {
			case !f.Is(n, coreV1, "Handler"):
			case probes && !hooks:
				f.Replace(n.Sel, "ProbeHandler")
			case hooks && !probes:
				f.Replace(n.Sel, "LifecycleHandler")
			default:
				f.todo(n, "Handler is ProbeHandler in probes today, and LifecycleHandler in hooks")
			}
		}
		return true
	})
}

// handlerField renames a field of a literal, and the type Handler of the literal in it.
func (f *goFile) handlerField(lit *ast.CompositeLit, key, newKey, typ string) {
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok || !isNamed(kv.Key, key) {
			continue
		}
		f.Replace(kv.Key, newKey)
		if inner := goedit.Literal(kv.Value); inner != nil && f.Is(inner.Type, coreV1, "Handler") {
			f.rename(inner.Type, typ)
		}
	}
}
