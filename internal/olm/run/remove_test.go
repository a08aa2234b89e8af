package run

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// onStage is a play that goes on whenever somebody looks.
type onStage struct {
	play
	t *testing.T
}

func (p *onStage) Read(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	p.turn(p.t)
	return p.play.Read(ctx, u)
}

// TestAwaitPlans lets OLM finish what it would go on with, and waits for
// nothing else.
func TestAwaitPlans(t *testing.T) {
	plan := func(phase string) string {
		return "\n---\napiVersion: operators.coreos.com/v1alpha1\nkind: InstallPlan\nmetadata: {name: install-1, namespace: ns}\n" +
			"spec: {clusterServiceVersionNames: [shop.v0.0.2]}\nstatus: {phase: " + phase + "}\n"
	}
	for name, tc := range map[string]struct {
		scenes []scene
		took   time.Duration
	}{
		"nothing there":         {[]scene{{0, groupYAML}}, 0},
		"done":                  {[]scene{{0, liveCSV("2", "Succeeded") + plan("Complete")}}, 0},
		"soon done":             {[]scene{{0, liveCSV("2", "Succeeded") + plan("Installing")}, {3 * time.Second, liveCSV("2", "Succeeded") + plan("Complete")}}, 3 * time.Second},
		"never done":            {[]scene{{0, liveCSV("2", "Succeeded") + plan("Installing")}}, planTimeout},
		"of what does not work": {[]scene{{0, liveCSV("2", "Pending") + plan("Installing")}}, 0},
		"not approved":          {[]scene{{0, liveCSV("2", "Succeeded") + plan("RequiresApproval")}}, 0},
		"of another one":        {[]scene{{0, liveCSV("1", "Succeeded") + plan("Installing")}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &onStage{play{world: worldOf(t, ""), begin: time.Now(), scenes: tc.scenes}, t}
				if err := awaitPlans(t.Context(), p, "ns", []string{"shop.v0.0.1", "shop.v0.0.2"}); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(p.begin); got < tc.took || got > tc.took+time.Second {
					t.Errorf("took %s, want %s", got, tc.took)
				}
			})
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := awaitPlans(ctx, worldOf(t, liveCSV("2", "Succeeded")+plan("Installing")), "ns", []string{"shop.v0.0.2"}); err == nil {
		t.Error("Ctrl-C did not end it")
	}
}
