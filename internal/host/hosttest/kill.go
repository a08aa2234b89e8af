package hosttest

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// KillRounds is how often a kill test kills its command: MYSDK_KILL_ROUNDS,
// which `make nightly` sets, else few. Names of kill tests begin with TestKill.
func KillRounds(t testing.TB, few int) int {
	t.Helper()
	text, ok := os.LookupEnv("MYSDK_KILL_ROUNDS")
	if !ok {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("MYSDK_KILL_ROUNDS=%q is not a number of rounds", text)
	}
	return n
}

// Nightly reports whether tests do everything, whatever it takes: MYSDK_NIGHTLY
// is set, as `make nightly` does.
func Nightly() bool { return os.Getenv("MYSDK_NIGHTLY") != "" }

// LeaveToNightly skips a test in the other lanes, for the reason given: what has
// the test's place there.
func LeaveToNightly(t testing.TB, why string) {
	t.Helper()
	if !Nightly() {
		t.Skip(why + "; runs where MYSDK_NIGHTLY is set")
	}
}

// Rounds is how often a test of random inputs repeats itself: all times if
// Nightly, else a quarter of them, and an eighth under -short.
func Rounds(all int) int {
	switch {
	case Nightly():
		return all
	case testing.Short():
		return max(1, all/8)
	}
	return max(1, all/4)
}

// KillMoment spreads the kills of all rounds, counted from 0, evenly over whole.
func KillMoment(round, rounds int, whole time.Duration) time.Duration {
	return whole * time.Duration(2*round+1) / time.Duration(2*rounds)
}

// KillProcess ends a process of that number as an out-of-memory killer does.
func KillProcess(t testing.TB, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
}
