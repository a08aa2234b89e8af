package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// TestRunEtcd starts etcd with the flags that envtest passes, asks for its
// health as envtest does, and stops it.
// lastingRoot names the variable with the directory above those of lasting.
const lastingRoot = "MYSDK_TEST_LASTING"

func TestMain(m *testing.M) {
	root, err := os.MkdirTemp("", "mysdk-controlplane-")
	if err == nil {
		err = os.Setenv(lastingRoot, root)
	}
	if err != nil {
		log.Fatal(err)
	}
	code := m.Run()
	if err := os.RemoveAll(root); err != nil {
		log.Print(err)
	}
	os.Exit(code)
}

func TestRunEtcd(t *testing.T) {
	if testing.Short() {
		t.Skip("starts etcd")
	}
	url := fmt.Sprintf("http://127.0.0.1:%d", freePort(t))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	dir := lasting(t)
	go func() {
		ended <- RunEtcd(ctx, []string{
			"--advertise-client-urls=" + url, "--listen-client-urls=" + url,
			"--listen-peer-urls=http://127.0.0.1:0", "--data-dir=" + dir, "--unsafe-no-fsync=true",
		}, io.Discard)
	}()
	for {
		resp, err := http.Get(url + "/health")
		if err == nil && resp.StatusCode == http.StatusOK {
			if err := resp.Body.Close(); err != nil {
				t.Error(err)
			}
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("etcd ended: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("after the stop: %v", err)
	}
}

// lasting is a directory that is there until all tests have run: etcd looks into
// its own every 30 seconds, stopped or not, and ends the process where it has
// gone.
func lasting(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(os.Getenv(lastingRoot), "")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// TestEnvtestHelp: envtest reads the help of kube-apiserver to learn which
// flags there are.
func TestEnvtestHelp(t *testing.T) {
	for name, c := range map[string]struct {
		run        func(context.Context, []string, io.Writer) error
		has, hasnt string
	}{
		"etcd":           {RunEtcd, "--listen-client-urls", "--secure-port"},
		"kube-apiserver": {func(ctx context.Context, args []string, out io.Writer) error { return RunAPIServer(ctx, args, "", out) }, "--service-account-issuer", "--insecure-port"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := c.run(t.Context(), []string{"--help"}, &out); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), c.has) || strings.Contains(out.String(), c.hasnt) {
				t.Errorf("help:\n%s", out.String())
			}
			err := c.run(t.Context(), []string{"--no-such-flag"}, io.Discard)
			if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "no-such-flag") {
				t.Errorf("an unknown flag: %v", err)
			}
		})
	}
}
