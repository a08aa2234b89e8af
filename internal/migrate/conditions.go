package migrate

import (
	_ "embed"
	"fmt"
	"go/ast"
	"slices"
	"strings"

	lazy "go.podman.io/storage/pkg/regexp"

	"github.com/example/mysdk/internal/project"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

// conditions makes metav1.Condition of the conditions of operator-sdk's status
// package, which have the same fields but for types of their own.
func conditions(f *goFile) {
	f.statusTypes(sdkStatus)
	f.statusTypes(libStatus)
}

// statusTypes replaces the types of the package.
func (f *goFile) statusTypes(importPath string) {
	ast.Inspect(f.Tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if f.calls(n, importPath, "NewConditions") != nil {
				f.Replace(n, fmt.Sprintf("[]%s.Condition{%s}", f.Need(metaV1, "metav1"), strings.Join(f.texts(n.Args), ", ")))
				return false
			}
		case *ast.CompositeLit:
			if f.Is(n.Type, importPath, "Condition") {
				f.conditionStatus(n)
			}
		case *ast.Field:
			if f.Is(n.Type, importPath, "Conditions") && len(n.Names) > 0 {
				f.conditionsField(n)
			}
		case *ast.SelectorExpr:
			switch {
			case f.Is(n, importPath, "Conditions"):
				f.Replace(n, "[]"+f.Need(metaV1, "metav1")+".Condition")
			case f.Is(n, importPath, "Condition"):
				f.Replace(n, f.Need(metaV1, "metav1")+".Condition")
			case f.Is(n, importPath, "ConditionType"), f.Is(n, importPath, "ConditionReason"):
				f.Replace(n, "string")
			}
		}
		return true
	})
}

// conditionsField adds the markers by which clients merge the list.
func (f *goFile) conditionsField(field *ast.Field) {
	if field.Doc != nil && strings.Contains(field.Doc.Text()+f.Text(field.Doc), "listType") {
		return
	}
	f.Insert(field.Pos(), "// +listType=map\n// +listMapKey=type\n")
}

// conditionStatus replaces the values of the field Status, which was the core
// API's type.
func (f *goFile) conditionStatus(lit *ast.CompositeLit) {
	value, ok := goedit.Field(lit, "Status").(*ast.SelectorExpr)
	if ok && strings.HasPrefix(value.Sel.Name, "Condition") && f.Is(value, coreV1, value.Sel.Name) {
		f.Replace(value, f.Need(metaV1, "metav1")+"."+value.Sel.Name)
	}
}

var (
	hasConditions = lazy.Delayed(`"(` + sdkStatus + `|` + libStatus + `)"`)
	hasRecorder   = lazy.Delayed(`(?m)^func \([^)]+\) GetRecorder\(`)
)

// methodCalls rewrites calls of methods by their names, which types of the
// project's own may have, too: the syntax does not tell whose they are, and the
// rest of the code does.
func (m *migration) methodCalls(f *goFile) {
	for call := range goedit.Each[*ast.CallExpr](f.Tree) {
		sel, ok := call.Fun.(*ast.SelectorExpr)
		switch {
		case !ok || len(call.Args) != 1:
		case sel.Sel.Name == "GetRecorder" && !m.inCode(&hasRecorder):
			f.Replace(sel.Sel, "GetEventRecorderFor")
		case strings.HasSuffix(f.Text(sel.X), "onditions") && f.ImportPath(f.Text(sel.X)) == "" && m.inCode(&hasConditions):
			f.conditionCall(call, sel)
		}
	}
}

// inCode says whether some Go file of the project has a pattern.
func (m *migration) inCode(pattern *lazy.Regexp) bool {
	return slices.ContainsFunc(m.ownCode(), func(name string) bool { return pattern.Match(m.files[name].data) })
}

// conditionCall replaces methods of the list by functions of package meta.
func (f *goFile) conditionCall(call *ast.CallExpr, sel *ast.SelectorExpr) {
	today := map[string]string{
		"SetCondition":    "SetStatusCondition(&%s, %s)",
		"RemoveCondition": "RemoveStatusCondition(&%s, %s)",
		"GetCondition":    "FindStatusCondition(%s, %s)",
		"IsTrueFor":       "IsStatusConditionTrue(%s, %s)",
		"IsFalseFor":      "IsStatusConditionFalse(%s, %s)",
		"IsUnknownFor":    "IsStatusConditionPresentAndEqual(%s, %s, ",
	}[sel.Sel.Name]
	switch {
	case today == "":
		return
	case !strings.HasSuffix(today, ")"):
		today += f.Need(metaV1, "metav1") + ".ConditionUnknown)"
	}
	f.Replace(call, f.Need(apiMeta, "")+"."+fmt.Sprintf(today, f.Text(sel.X), f.Text(call.Args[0])))
}

// k8sutilCode is the package that stands in for operator-sdk's of the name.
//
//go:embed files/k8sutil.go.txt
var k8sutilCode string

// header is the license header of new Go files, with an empty line behind it.
func (m *migration) header() string {
	return strings.TrimLeft(strings.TrimSpace(string(m.files[project.HeaderFile].data))+"\n\n", "\n")
}

// compat makes the passes that need to know the rest of the project. It points
// uses of operator-sdk's k8sutil at a small package in the project, which has the
// functions that are about the pod's environment.
func (m *migration) compat(f *goFile) {
	m.methodCalls(f)
	const own = "internal/k8sutil/k8sutil.go"
	if f.ImportName(sdkK8sutil) == "" || hasFile(m.files, own) && !strings.HasSuffix(string(m.files[own].data), k8sutilCode) {
		return
	}
	known := " ForceRunModeEnv LocalRunMode ClusterRunMode OperatorNameEnvVar WatchNamespaceEnvVar PodNameEnvVar ErrNoNamespace ErrRunLocal" +
		" GetWatchNamespace GetOperatorName GetOperatorNamespace ResourceExists GetPod "
	if slices.ContainsFunc(f.members(sdkK8sutil), func(member string) bool { return !strings.Contains(known, " "+member+" ") }) {
		return // the rest is marked
	}
	for _, spec := range f.Tree.Imports {
		if strings.Trim(spec.Path.Value, `"`) == sdkK8sutil {
			f.repath(spec, m.module+"/internal/k8sutil")
			m.put(own, []byte(m.header()+k8sutilCode))
		}
	}
}
