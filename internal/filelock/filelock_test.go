package filelock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

func TestTryKeepsOthersOut(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	held := func(want bool) {
		t.Helper()
		if got, err := Held(name); got != want || err != nil {
			t.Errorf("Held() = %v, %v, want %v", got, err, want)
		}
	}
	held(false)
	if _, err := os.Lstat(name); err == nil {
		t.Error("Held() made the file")
	}
	l, err := Try(name)
	if err != nil {
		t.Fatal(err)
	}
	held(true)
	if _, err := Try(name); !errors.Is(err, ErrHeld) {
		t.Errorf("second Try() = %v, want ErrHeld", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	held(false)
	look := flock.New(name)
	if ok, err := look.TryRLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	held(false) // a look at the same time is nobody who holds it
	if err := look.Unlock(); err != nil {
		t.Error(err)
	}
}

func TestAwaitWaitsForTheRelease(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	l, err := Try(name)
	if err != nil {
		t.Fatal(err)
	}
	waiting, got := make(chan struct{}), make(chan error, 1)
	go func() {
		second, err := Await(t.Context(), name, func() { close(waiting) })
		if err == nil {
			err = second.Release()
		}
		got <- err
	}()
	<-waiting
	select {
	case err := <-got:
		t.Fatalf("Await() = %v while the lock was held", err)
	case <-time.After(5 * interval):
	}
	if err := AwaitFree(shortly(t), name); !errors.Is(err, ErrHeld) {
		t.Errorf("AwaitFree() = %v, want ErrHeld", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if err := AwaitFree(t.Context(), name); err != nil {
		t.Errorf("AwaitFree() = %v after the release", err)
	}
	if err := <-got; err != nil {
		t.Errorf("Await() = %v after the release", err)
	}
}

func shortly(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 5*interval)
	t.Cleanup(cancel)
	return ctx
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	if _, err := Try(name); err != nil {
		t.Fatal(err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := Await(ctx, name, nil); !errors.Is(err, ErrHeld) || !errors.Is(err, why) {
		t.Errorf("Await() = %v, want ErrHeld and the cause", err)
	}
}

func TestTryWithoutTheDirectory(t *testing.T) {
	if _, err := Try(filepath.Join(t.TempDir(), "gone", "lock")); err == nil || errors.Is(err, ErrHeld) {
		t.Errorf("Try() = %v, want an error other than ErrHeld", err)
	}
}

// TestRemoveKeepsExclusion: whoever waits for a lock whose file is removed does
// not end up with a lock on a file that has no name any more.
func TestRemoveKeepsExclusion(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	var inside atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				l, err := Await(t.Context(), name, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d hold the lock", n)
				}
				time.Sleep(10 * time.Microsecond)
				inside.Add(-1)
				if err := l.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if _, err := os.Lstat(name); err == nil {
		t.Error("the file is still there")
	}
}
