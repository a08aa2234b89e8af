package host

import (
	"context"
	"os"
	ossignal "os/signal"
	"sync"
	"syscall"
)

// NextInterrupt is closed by the first interrupt after the end of ctx: by the second
// Ctrl-C, if the first one ended ctx. The one after that has its usual effect again,
// and so has each after release.
func NextInterrupt(ctx context.Context) (next <-chan struct{}, release func()) {
	closed, done := make(chan struct{}), make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
		case <-done:
			return
		}
		signals := make(chan os.Signal, 1)
		ossignal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		defer ossignal.Stop(signals)
		select {
		case <-signals:
			close(closed)
		case <-done:
		}
	}()
	return closed, sync.OnceFunc(func() { close(done) })
}
