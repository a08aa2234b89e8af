package host

import (
	"context"
	"time"
)

// Pause waits and reports whether ctx is still good.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
