package migrate

import (
	_ "embed"
	"strings"

	"github.com/example/mysdk/internal/project"
)

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
	for _, member := range f.members(sdkK8sutil) {
		if !strings.Contains(known, " "+member+" ") {
			return // the rest is marked
		}
	}
	for _, spec := range f.Tree.Imports {
		if strings.Trim(spec.Path.Value, `"`) == sdkK8sutil {
			f.repath(spec, m.module+"/internal/k8sutil")
			m.put(own, []byte(m.header()+k8sutilCode))
		}
	}
}
