package migrate

import (
	_ "embed"
	"strings"
)

// leaderCode is cmd/leader.go of a project that leads for life.
//
//go:embed files/leader.go.txt
var leaderCode string

// k8sutilCode is the package that stands in for operator-sdk's of the name.
//
//go:embed files/k8sutil.go.txt
var k8sutilCode string

// leaderForLife has the manager wait for the leadership that never ends before
// it sets up the controllers, and returns the main program for that.
func (m *migration) leaderForLife(text, lock, setup string) string {
	const elected = "ctrl.NewManager(ctrl.GetConfigOrDie(), opts.manager(namespaces))"
	if !strings.Contains(text, elected) {
		return insertBefore(text, "\t// +kubebuilder:scaffold:builder", setup)
	}
	text = strings.Replace(text, "\tmgr, err := "+elected, "\tmanagerOptions := opts.manager(namespaces)\n\tmanagerOptions.LeaderElection = false // by leadForLife instead\n\tmgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), managerOptions)", 1)
	call := "\tif err := leadForLife(mgr, " + lock + ", setupControllers); err != nil {\n\t\tsetupLog.Error(err, \"Failed to add the controllers\")\n\t\tos.Exit(1)\n\t}\n"
	text = strings.Replace(text, "\t// +kubebuilder:scaffold:builder\n", call, 1)
	text += "\n// setupControllers adds the controllers to a manager that is the leader.\nfunc setupControllers(mgr ctrl.Manager) error {\n" +
		setup + "\t// +kubebuilder:scaffold:builder\n\n\treturn nil\n}\n"
	m.put("cmd/leader.go", []byte(m.header()+leaderCode))
	return text
}

// header is the license header of new Go files, with an empty line behind it.
func (m *migration) header() string {
	h := strings.TrimSpace(string(m.files["hack/boilerplate.go.txt"].data))
	if h == "" {
		return ""
	}
	return h + "\n\n"
}

// compat points uses of operator-sdk's k8sutil at a small package in the
// project, which has the functions that are about the pod's environment.
func (m *migration) compat(f *goFile) {
	if f.importName(sdkK8sutil) == "" {
		return
	}
	known := " ForceRunModeEnv LocalRunMode ClusterRunMode OperatorNameEnvVar WatchNamespaceEnvVar PodNameEnvVar ErrNoNamespace ErrRunLocal" +
		" GetWatchNamespace GetOperatorName GetOperatorNamespace ResourceExists GetPod "
	for _, member := range f.members(sdkK8sutil) {
		if !strings.Contains(known, " "+member+" ") {
			return // the rest is marked
		}
	}
	for _, spec := range f.tree.Imports {
		if strings.Trim(spec.Path.Value, `"`) == sdkK8sutil {
			f.repath(spec, sdkK8sutil, m.module+"/internal/k8sutil")
			m.put("internal/k8sutil/k8sutil.go", []byte(m.header()+k8sutilCode))
		}
	}
}
