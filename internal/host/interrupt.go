package host

import (
	"context"
	"os"
	ossignal "os/signal"
	"sync"
	"syscall"
)

// interrupts ask for a clean stop, once; the next one ends a process at once.
var interrupts = []os.Signal{os.Interrupt, syscall.SIGTERM}

// UntilInterrupted returns a context that ends with the first interrupt, or when the
// terminal is closed, unless nohup has that ignored. SIGHUP never ends the process at
// once: the shell and the kernel may both send it.
func UntilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := ossignal.NotifyContext(ctx, interrupts...)
	if !ossignal.Ignored(syscall.SIGHUP) {
		ctx, _ = ossignal.NotifyContext(ctx, syscall.SIGHUP)
	}
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// SurviveBrokenPipes has writes to stdout and stderr fail when nobody reads them any
// more, where they would end this process otherwise. Programs that it starts still end.
func SurviveBrokenPipes() { ossignal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

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
		ossignal.Notify(signals, interrupts...)
		defer ossignal.Stop(signals)
		select {
		case <-signals:
			close(closed)
		case <-done:
		}
	}()
	return closed, sync.OnceFunc(func() { close(done) })
}
