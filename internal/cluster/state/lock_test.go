package state

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

func TestLockKeepsOthersOut(t *testing.T) {
	l := Layout{t.TempDir()}
	if locked, err := l.Locked(); locked || err != nil {
		t.Fatalf("Locked() = %v, %v before the first lock", locked, err)
	}
	k, err := l.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if locked, err := l.Locked(); !locked || err != nil {
		t.Errorf("Locked() = %v, %v while locked", locked, err)
	}
	if _, err := l.Lock(t.Context()); !errors.Is(err, ErrLocked) {
		t.Errorf("second Lock() = %v, want ErrLocked", err)
	}
	if err := k.Release(); err != nil {
		t.Fatal(err)
	}
	if locked, err := l.Locked(); locked || err != nil {
		t.Errorf("Locked() = %v, %v after the release", locked, err)
	}
}

func TestAwaitLockWaitsForTheRelease(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	k, err := TakeLock(name)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		second, err := AwaitLock(t.Context(), name)
		if err == nil {
			err = second.Release()
		}
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("AwaitLock() = %v while locked", err)
	case <-time.After(5 * lockInterval):
	}
	if err := k.Release(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Errorf("AwaitLock() = %v after the release", err)
	}
}

func TestAwaitLockEndsWithItsContext(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	k, err := TakeLock(name)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := AwaitLock(ctx, name); !errors.Is(err, ErrLocked) {
		t.Errorf("AwaitLock() = %v, want ErrLocked", err)
	}
	if err := k.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestTakeLockWithoutItsDirectory(t *testing.T) {
	name := filepath.Join(t.TempDir(), "gone", "lock")
	if _, err := TakeLock(name); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("TakeLock() = %v, want an error other than ErrLocked", err)
	}
}
