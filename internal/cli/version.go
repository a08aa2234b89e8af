package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/example/mysdk/internal/cluster/state"
	v4 "github.com/example/mysdk/plugins/golang/v4"
)

// version is set by the release build; a go install finds its own.
var version string //nolint:gochecknoglobals // set by -ldflags -X

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
		Version: cmp.Or(version, state.OwnVersion()), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
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

// installable is a version that go install accepts, for files that explain how to
// get mysdk: one of uncommitted sources is none.
func installable(version string) string {
	if strings.Contains(version, "+") {
		return state.Devel
	}
	return version
}
