package olm

import (
	"strings"
	"testing"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/olm"
)

// TestJudgeOLM: the command of a hint finds the OLM that it is about, and does
// nothing to one that is part of the cluster.
func TestJudgeOLM(t *testing.T) {
	for hint, there := range map[string]olm.Found{
		"'mysdk olm install' repairs":                                                   {Namespace: "olm"},
		"'mysdk olm install --olm-namespace far' repairs":                               {Namespace: "far"},
		"see the events: mysdk kubectl get events -A":                                   {Namespace: "far", Platform: true},
		"'mysdk olm install --version 0.46.0'":                                          {Namespace: "olm", Version: "0.1.0"},
		"--version 0.46.0 --olm-namespace far'":                                         {Namespace: "far", Version: "0.1.0"},
		"keep it, or uninstall it first with 'mysdk olm uninstall --olm-namespace far'": {Namespace: "far", Version: "0.99.0"},
		"it is part of this cluster, and comes with its v":                              {Namespace: "far", Version: "0.1.0", Platform: true},
	} {
		o := &olmOptions{}
		if there.Version != "" {
			o.source.Version = "0.46.0"
		}
		s := olm.Status{Installed: true, Found: there, Objects: []olm.Object{{Kind: "Deployment", Name: "olm-operator"}}}
		if err := judgeOLM(s, o); !strings.Contains(clierr.HintOf(err), hint) || s.Platform && strings.Contains(clierr.HintOf(err), "olm install") {
			t.Errorf("hint %q, want %q", clierr.HintOf(err), hint)
		}
	}
}
