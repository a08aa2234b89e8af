//go:build unix

package host

import (
	"context"
	"os"
	ossignal "os/signal"
	"syscall"
	"testing"
	"time"
)

// TestNextInterrupt sends the interrupt until it is told of: when it begins to listen
// is not known. What comes before that must not end the test.
func TestNextInterrupt(t *testing.T) {
	guard := make(chan os.Signal, 1)
	ossignal.Notify(guard, syscall.SIGTERM)
	defer ossignal.Stop(guard)
	ctx, cancel := context.WithCancel(t.Context())
	next, release := NextInterrupt(ctx)
	defer release()
	other, releaseOther := NextInterrupt(ctx)
	releaseOther()
	send := func() {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	send()
	<-guard
	select {
	case <-next:
		t.Fatal("it is told of an interrupt before the end of its context")
	default:
	}
	cancel()
	for told := false; !told; {
		send()
		select {
		case <-next:
			told = true
		case <-time.After(10 * time.Millisecond):
		}
	}
	select {
	case <-other:
		t.Error("one that was released is told")
	default:
	}
}

// TestUntilInterrupted: closing a terminal may send the signal twice.
func TestUntilInterrupted(t *testing.T) {
	if ossignal.Ignored(syscall.SIGHUP) {
		t.Skip("runs under nohup")
	}
	ctx, stop := UntilInterrupted(t.Context())
	defer stop()
	for range 20 {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		time.Sleep(time.Millisecond)
	}
}
