package migrate

import (
	"fmt"
	"go/ast"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

// optionGroup is a field of the manager's options that has others in it since
// controller-runtime 0.16.
type optionGroup struct {
	field, pkg, alias string
	format            string            // its value, by the package's name and the fields in it
	fields            map[string]string // the fields in it, with their values, by their old names
}

func optionGroups() []optionGroup {
	return []optionGroup{
		{"Metrics", "sigs.k8s.io/controller-runtime/pkg/metrics/server", "metricsserver", "%s.Options{%s}", map[string]string{"MetricsBindAddress": "BindAddress: %[2]s"}},
		{"WebhookServer", "sigs.k8s.io/controller-runtime/pkg/webhook", "", "%[1]s.NewServer(%[1]s.Options{%[2]s})",
			map[string]string{"Host": "Host: %[2]s", "Port": "Port: %[2]s", "CertDir": "CertDir: %[2]s"}},
		{"Cache", "sigs.k8s.io/controller-runtime/pkg/cache", "", "%s.Options{%s}",
			map[string]string{"Namespace": "DefaultNamespaces: map[string]%[1]s.Config{%[2]s: {}}", "SyncPeriod": "SyncPeriod: %[2]s"}},
	}
}

// managerOptions puts options of the manager into the groups that they are in
// today.
func managerOptions(f *goFile) {
	for lit := range goedit.Each[*ast.CompositeLit](f.Tree) {
		if !f.isAny(lit.Type, "Options", crManager, crRoot) {
			continue
		}
		for _, g := range optionGroups() {
			f.group(lit, g)
		}
	}
}

// group puts a group in the place of the first of its fields and takes the others
// out.
func (f *goFile) group(lit *ast.CompositeLit, g optionGroup) {
	if valueOf(lit, g.field) != nil {
		return
	}
	var first *ast.KeyValueExpr
	var within []string
	for i, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return
		}
		format := g.fields[f.Text(kv.Key)]
		if format == "" {
			continue
		}
		within = append(within, fmt.Sprintf(format, f.Need(g.pkg, g.alias), f.Text(kv.Value)))
		if first == nil {
			first = kv
		} else {
			f.cutElement(lit, i)
		}
	}
	if first != nil {
		f.Replace(first, g.field+": "+fmt.Sprintf(g.format, f.Need(g.pkg, g.alias), strings.Join(within, ", ")))
	}
}
