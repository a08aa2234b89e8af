package host_test

import (
	"os"
	"testing"

	"github.com/example/mysdk/internal/host"
)

// TestIsTerminal: the null device is a device, and nobody sits at it.
func TestIsTerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	stdin := os.NewFile(null.Fd(), "/dev/stdin")
	defer stdin.Close()
	if host.IsTerminal(stdin) {
		t.Error("the null device counts as a terminal")
	}
}
