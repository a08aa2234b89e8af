package controlplane

import (
	"cmp"
	"runtime/debug"
	"strconv"
	"strings"

	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/component-base/compatibility"
	baseversion "k8s.io/component-base/version"
)

// linkedVersion is the version of k8s.io/kubernetes in go.mod, for binaries
// built without module information. A test holds it to go.mod.
const linkedVersion = "v1.37.2"

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

// behavedAs is the version that a server reports which is to behave as another
// minor one, such as 1.34; empty is its own. Of that the first patch is told: what
// later ones correct is not undone.
func behavedAs(minor string) string {
	if own := Version(); minor != "" && !strings.HasPrefix(own, "v"+minor+".") {
		return "v" + minor + ".0"
	}
	return Version()
}

// emulationFlags have kube-apiserver, and all that shares its feature gates,
// behave as another minor version.
func emulationFlags(minor string) []string {
	if behavedAs(minor) == Version() {
		return nil
	}
	return []string{"--emulated-version=" + minor}
}

func moduleVersion(deps []*debug.Module, path, fallback string) string {
	for _, m := range deps {
		if m.Path == path {
			return cmp.Or(cmp.Or(m.Replace, m).Version, m.Version, fallback)
		}
	}
	return fallback
}

// reported is an effective version that tells its true git version, or that which
// it behaves as: builds by the go command alone have a placeholder there, by which
// clients that require a minimum version would refuse the server.
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
	if v, err := utilversion.ParseSemantic(r.git); err == nil {
		info.Major, info.Minor = strconv.FormatUint(uint64(v.Major()), 10), strconv.FormatUint(uint64(v.Minor()), 10)
	}
	return info
}
