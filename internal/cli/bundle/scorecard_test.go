package bundle

import (
	"errors"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/scorecard"
)

// TestConclude: the results are printed where cleaning up failed, too.
func TestConclude(t *testing.T) {
	w := hosttest.New(t)
	item := v1alpha3.NewTest()
	item.Status.Results = []v1alpha3.TestResult{{Name: "mine", State: v1alpha3.PassState}}
	failed := errors.New("delete pods: forbidden")
	err := conclude(&cli.Factory{Host: w.Host}, "shop.v0.0.1", scorecard.List{Items: []v1alpha3.Test{item}}, failed, "text")
	if !errors.Is(err, failed) || !strings.Contains(w.Out.String(), "mine") {
		t.Errorf("%v; printed %q", err, w.Out.String())
	}
}

// TestServiceAccount: the configuration's goes before the default, and after one
// that was typed.
func TestServiceAccount(t *testing.T) {
	w := hosttest.New(t)
	for _, c := range []struct {
		configured string
		typed      bool
		want       string
	}{{"", false, "flag"}, {"mine", false, "mine"}, {"mine", true, "flag"}} {
		f := &cli.Factory{Host: w.Host, Running: &cobra.Command{}}
		f.Running.Flags().String("service-account", "", "")
		if c.typed {
			if err := f.Running.Flags().Set("service-account", "flag"); err != nil {
				t.Fatal(err)
			}
		}
		if got := testPods(f, &kube.Client{}, &scorecardOptions{serviceAccount: "flag"}, c.configured).ServiceAccount; got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
