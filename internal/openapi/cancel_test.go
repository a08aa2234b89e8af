package openapi_test

import (
	"context"
	"errors"
	"testing"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/openapi"
)

// interrupting ends the context when the environment is asked for, which is
// when the packages are loaded.
func interrupting(h host.Host, cancel context.CancelFunc) host.Host {
	environ := h.Environ
	h.Environ = func() []string {
		cancel()
		return environ()
	}
	return h
}

// Who interrupts the command is not told that his code is wrong, and gets
// nothing generated.
func TestRender_Interrupted(t *testing.T) {
	for name, types := range map[string]string{"good": cacheTypes, "bad": cacheTypes + "\ntype X struct {\n"} {
		t.Run(name, func(t *testing.T) {
			o := newProject(t, map[string]string{"api/v1/cache_types.go": types})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o.Host = interrupting(o.Host, cancel)
			res, err := openapi.Render(ctx, o)
			if !errors.Is(err, context.Canceled) || clierr.HintOf(err) != "" || res.Set.Len() > 0 {
				t.Errorf("got %v with the hint %q, and %v", err, clierr.HintOf(err), res.Set.Paths())
			}
		})
	}
}
