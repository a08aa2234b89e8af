package bundle

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/host/hosttest"
)

// TestPiped: a pipe that stays silent is told of once.
func TestPiped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := hosttest.New(t)
		in, out := io.Pipe()
		w.IO.In = in
		go func() {
			time.Sleep(5 * pipeTimeout)
			_, err := io.WriteString(out, "kind: A")
			if err = errors.Join(err, out.Close()); err != nil {
				t.Error(err)
			}
		}()
		data, err := piped(t.Context(), &cli.Factory{Host: w.Host})
		if n := strings.Count(w.Err.String(), "Waiting for manifests"); err != nil || string(data) != "kind: A" || n != 1 {
			t.Errorf("%q, %v, and said %d times that it waits", data, err, n)
		}
	})
}
