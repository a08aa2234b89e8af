package controlplane

import (
	"runtime/debug"
	"strings"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/component-base/compatibility"
	baseversion "k8s.io/component-base/version"
)

// linkedVersion is the version of k8s.io/kubernetes in go.mod, for binaries
// built without module information. A test holds it to go.mod.
const linkedVersion = "v1.36.3"

// Version is the version of Kubernetes that the server reports: the one set by
// the linker, else that of the module k8s.io/kubernetes that was linked.
func Version() string {
	// Builds without linker flags have a placeholder that begins like this.
	if v := baseversion.Get().GitVersion; !strings.HasPrefix(v, "v0.0.0-master") {
		return v
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return linkedVersion
	}
	return moduleVersion(info.Deps, "k8s.io/kubernetes", linkedVersion)
}

// moduleVersion finds the version of a module among deps, or fallback.
func moduleVersion(deps []*debug.Module, path, fallback string) string {
	for _, m := range deps {
		if m.Path != path {
			continue
		}
		if m.Replace != nil && m.Replace.Version != "" {
			return m.Replace.Version
		}
		if m.Version != "" {
			return m.Version
		}
	}
	return fallback
}

// reported is an effective version that tells its true git version: builds by
// the go command alone have a placeholder there, by which clients that require
// a minimum version would refuse the server.
type reported struct {
	compatibility.EffectiveVersion
	git string
}

// Info implements compatibility.EffectiveVersion.
func (r reported) Info() *version.Info {
	info := r.EffectiveVersion.Info()
	if info == nil || info.GitVersion == r.git {
		return info
	}
	info.GitVersion = r.git
	info.GitCommit, info.GitTreeState = "", ""
	return info
}
