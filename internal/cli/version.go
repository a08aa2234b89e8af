package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// build is what mysdk can say of itself.
type build struct {
	Version    string `json:"version"`
	Commit     string `json:"commit,omitempty"`
	Kubernetes string `json:"kubernetes"` // of the embedded control plane
	Go         string `json:"go"`
	Platform   string `json:"platform"`
}

// String is the line that version prints.
func (b build) String() string {
	return fmt.Sprintf("mysdk %s (Kubernetes %s, %s, %s)\n", b.Version, b.Kubernetes, b.Go, b.Platform)
}

// ThisBuild reads the versions that the linker recorded.
func ThisBuild() build {
	b := build{
		Version: state.OwnVersion(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		// k8s.io/* v0.N.P belongs to Kubernetes v1.N.P.
		Kubernetes: "v1" + strings.TrimPrefix(v4.CurrentVersions().Kubernetes, "v0"),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Commit = s.Value
			}
		}
	}
	return b
}

// emulated is how many minor versions back Kubernetes can behave as:
// https://kubernetes.io/docs/concepts/cluster-administration/compatibility-version/
const emulated = 3

// MinorVersions are those that the control plane can behave as, such as 1.34: its
// own first, then the three before.
func MinorVersions() []string {
	own := strings.TrimPrefix(semver.MajorMinor(ThisBuild().Kubernetes), "v")
	major, minor, _ := strings.Cut(own, ".")
	newest, _ := strconv.Atoi(minor) // a number, in a version of Kubernetes
	var all []string
	for n := newest; n >= max(newest-emulated, 0); n-- {
		all = append(all, major+"."+strconv.Itoa(n))
	}
	return all
}

// MinorVersion checks what --kubernetes was given: one of MinorVersions, with a v
// before it or without.
func MinorVersion(given string) (string, error) {
	v, all := strings.TrimPrefix(given, "v"), MinorVersions()
	if !slices.Contains(all, v) {
		return "", clierr.Usagef("use one of: "+strings.Join(all, ", "), "--kubernetes: the control plane cannot behave as %q", given)
	}
	return v, nil
}

// installable is a version that go install accepts, for files that explain how to
// get mysdk: one of uncommitted sources is none.
func installable(version string) string {
	if strings.Contains(version, "+") {
		return state.Devel
	}
	return version
}
