package state

import (
	"errors"
	"testing"
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
