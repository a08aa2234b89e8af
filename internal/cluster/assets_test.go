package cluster

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
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
	data := t.TempDir()
	socket := filepath.Join(data, "client.sock")
	parent := exec.CommandContext(t.Context(), "sh", "-c", `"$0" --listen-client-urls="unix://$1" --listen-peer-urls=http://127.0.0.1:0 --data-dir="$2" & echo $!; wait`,
		filepath.Join(dir, "etcd"), socket, filepath.Join(data, "etcd"))
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
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(pollInterval) {
		if _, err := os.Stat(socket); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("etcd does not serve")
		}
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	if text, err := io.ReadAll(lines); err != nil {
		t.Errorf("etcd goes on without its parent: %v\n%s", err, text)
		hosttest.KillProcess(t, pid)
	}
}

// TestLink: without the right to make symbolic links there is a hard link, or a
// copy, and what is there already is left alone.
func TestLink(t *testing.T) {
	refuse := func(string, string) error { return errors.ErrUnsupported }
	for _, way := range []func(from, to string) error{os.Symlink, os.Link, duplicate} {
		dir := t.TempDir()
		target, name := filepath.Join(dir, "target"), filepath.Join(dir, "etcd")
		for _, content := range []string{"old", "renewed"} {
			if err := host.ReplaceData(host.OSFiles{}, target, []byte(content), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(link(target, name, refuse, way), link(target, name, refuse)); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(name); err != nil || string(got) != content {
				t.Errorf("%q, %v; want %q", got, err, content)
			}
		}
	}
}
