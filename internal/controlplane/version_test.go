package controlplane

import (
	"io"
	"log"
	"os"
	"regexp"
	"runtime/debug"
	"testing"

	"k8s.io/component-base/compatibility"

	"github.com/example/mysdk/internal/cluster/state"
)

func TestLinkedVersionIsThatOfGoMod(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^\s*(?:require )?k8s\.io/kubernetes (v\S+)`).FindSubmatch(mod)
	if m == nil {
		t.Fatal("go.mod does not require k8s.io/kubernetes")
	}
	if got := string(m[1]); got != linkedVersion {
		t.Errorf("linkedVersion = %s, go.mod has %s", linkedVersion, got)
	}
	if Version() != linkedVersion {
		t.Errorf("Version() = %s, want %s", Version(), linkedVersion)
	}
}

func TestModuleVersion(t *testing.T) {
	tests := map[string]struct {
		deps []*debug.Module
		want string
	}{
		"none":        {nil, "v0"},
		"others":      {[]*debug.Module{{Path: "a", Version: "v9"}}, "v0"},
		"found":       {[]*debug.Module{{Path: "a", Version: "v9"}, {Path: "k", Version: "v1.2.3"}}, "v1.2.3"},
		"replaced":    {[]*debug.Module{{Path: "k", Version: "v1", Replace: &debug.Module{Path: "f", Version: "v2"}}}, "v2"},
		"a directory": {[]*debug.Module{{Path: "k", Version: "v1", Replace: &debug.Module{Path: "../k"}}}, "v1"},
		"no version":  {[]*debug.Module{{Path: "k"}}, "v0"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := moduleVersion(tc.deps, "k", "v0"); got != tc.want {
				t.Errorf("moduleVersion() = %s, want %s", got, tc.want)
			}
		})
	}
}

func TestReportedVersion(t *testing.T) {
	inner := compatibility.NewEffectiveVersionFromString("1.36.0", "", "")
	r := reported{inner, "v1.36.3"}
	info := r.Info()
	if info.GitVersion != "v1.36.3" || info.Major != "1" || info.Minor != "36" || info.GitCommit != "" {
		t.Errorf("Info() = %+v", info)
	}
	if !r.EqualTo(inner) {
		t.Error("what is emulated has changed")
	}
	own := reported{inner, inner.Info().GitVersion}
	if own.Info().GitCommit != inner.Info().GitCommit {
		t.Error("a version that is right lost its commit")
	}
}

// TestStartThatIsNotCompleteKeepsTheOldVersion: the next one is to bring the data up to
// date, too.
func TestStartThatIsNotCompleteKeepsTheOldVersion(t *testing.T) {
	s := &server{Options: Options{Dir: t.TempDir(), Kubernetes: "1.34"}, log: log.New(io.Discard, "", 0)}
	s.layout = state.Layout{Dir: s.Dir}
	if err := s.open(state.State{Kubernetes: "v1.30.0"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.layout.Clear(s.now); err != nil || s.listener.Close() != nil {
		t.Fatal(err)
	}
	if was, err := s.layout.Read(); err != nil || was.Kubernetes != "v1.30.0" {
		t.Errorf("state = %+v, %v", was, err)
	}
}
