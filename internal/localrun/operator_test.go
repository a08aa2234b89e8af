package localrun

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/clierr"
)

// TestMissingKind: a kind whose CRD is missing is named once, when the operator first
// says so, and in the hint when it gives up.
func TestMissingKind(t *testing.T) {
	const (
		console = `2026-01-02T03:04:05Z	ERROR	controller-runtime.source.Kind	if kind is a CRD, it should be installed before calling Start	{"kind": "Backup.example.com", "error": "no matches for kind \"Backup\" in version \"example.com/v1\""}` + "\n"
		asJSON  = `{"level":"error","msg":"if kind is a CRD, it should be installed before calling Start","error":"no matches for kind \"Cart\" in version \"example.com/v1\""}` + "\n"
	)
	w := newWorld(t)
	w.operator = func(_ context.Context, p *process) {
		_, _ = io.WriteString(p.cmd.Stderr, console+asJSON+console+strings.Repeat("INFO\tstopping\n", tailLines))
		p.ended <- exited(1)
	}
	err := Run(t.Context(), Options{Dir: w.Dir}, w.deps())
	for _, want := range []string{"Backup in example.com/v1", "Cart in example.com/v1"} {
		want = "warning: the cluster does not have kind " + want + ", which the operator uses; apply its CRD: mysdk kubectl apply --server-side -f FILE\n"
		if strings.Count(w.err.String(), want) != 1 {
			t.Errorf("not once: %s%s", want, w.err)
		}
	}
	if hint := clierr.HintOf(err); !strings.HasPrefix(hint, "apply the CRD of kind Backup in example.com/v1") {
		t.Errorf("hint of %v: %s", err, hint)
	}
}
