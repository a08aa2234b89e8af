package cluster

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestAssetsEndWithTheirParent: a test that panics or runs out of time does not
// stop the etcd and the API server that it has started.
func TestAssetsEndWithTheirParent(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not tell a process that its parent has ended")
	}
	dir, err := Assets(t.Context(), realHost(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + freeAddress(t)
	parent := exec.Command("sh", "-c", `"$0" --listen-client-urls="$1" --listen-peer-urls=http://127.0.0.1:0 --data-dir="$2" & echo $!; wait`,
		filepath.Join(dir, "etcd"), url, t.TempDir())
	// The end of the pipe comes when no process has it any more.
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	parent.Stdout, parent.Stderr = in, in
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := out.SetReadDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(testTimeout); !isHealthy(url); time.Sleep(pollInterval) {
		if time.Now().After(deadline) {
			t.Fatal("etcd is not healthy")
		}
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	if text, err := io.ReadAll(lines); err != nil {
		t.Errorf("etcd goes on without its parent: %v\n%s", err, text)
		killHard(t, pid)
	}
}

// freeAddress is one of loopback that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

func isHealthy(url string) bool {
	resp, err := http.Get(url + "/health") //nolint:noctx // of a test
	if err != nil {
		return false
	}
	_ = resp.Body.Close() // only its status counts
	return resp.StatusCode == http.StatusOK
}
