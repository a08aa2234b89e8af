package doctor

import (
	"testing"

	"github.com/example/mysdk/internal/kube"
)

// TestAimed: doctor looks at several clusters, and a hint is for one of them.
func TestAimed(t *testing.T) {
	const hint = "run 'mysdk deploy' again, or see mysdk kubectl logs x"
	for want, target := range map[string]kube.Target{
		hint: {Embedded: "default"},
		"run 'mysdk deploy --cluster test' again, or see mysdk kubectl --cluster test logs x": {Embedded: "test"},
		"run 'mysdk deploy --context dev' again, or see mysdk kubectl --context dev logs x":   {Context: "dev"},
	} {
		if got := (&exam{}).aimed(hint, target); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	const want = "run 'mysdk deploy --cluster default' again, or see mysdk kubectl --cluster default logs x"
	if got := (&exam{Options: Options{Context: "prod"}}).aimed(hint, kube.Target{Embedded: "default"}); got != want {
		t.Errorf("beside another cluster: %q, want %q", got, want)
	}
}
