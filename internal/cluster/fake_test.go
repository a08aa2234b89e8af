package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/example/mysdk/internal/host"
)

// fakeExec stands in for other programs.
type fakeExec struct {
	paths map[string]string    // what LookPath finds
	run   func(host.Cmd) error // what a process does before it ends
	ran   []host.Cmd
}

func (f *fakeExec) LookPath(name string) (string, error) {
	if p, ok := f.paths[name]; ok {
		return p, nil
	}
	return "", errors.New("not in PATH")
}

func (f *fakeExec) Start(_ context.Context, c host.Cmd) (host.Process, error) {
	f.ran = append(f.ran, c)
	return &fakeProcess{result: f.run(c)}, nil
}

type fakeProcess struct{ result error }

func (p *fakeProcess) Pid() int         { return 1 << 30 } // above any real one
func (p *fakeProcess) Wait() error      { return p.result }
func (p *fakeProcess) Interrupt() error { return nil }
func (p *fakeProcess) Kill() error      { return nil }

// exitCode is a process's end as os/exec reports it.
type exitCode int

func (e exitCode) Error() string { return "exit status" }
func (e exitCode) ExitCode() int { return int(e) }

// testHost is a host in a temporary directory with fake programs.
func testHost(t *testing.T, x host.Exec, env map[string]string) host.Host {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{
		"HOME": dir, "MYSDK_STATE_DIR": filepath.Join(dir, "state"), "MYSDK_CACHE_DIR": filepath.Join(dir, "cache"),
	}
	for k, v := range env {
		all[k] = v
	}
	return host.Host{
		IO:         host.Streams{In: bytes.NewReader(nil), Out: io.Discard, Err: io.Discard},
		Dir:        dir,
		Executable: filepath.Join(dir, "bin", "mysdk"),
		Getenv:     func(name string) string { return all[name] },
		Environ: func() []string {
			list := os.Environ()
			for k, v := range all {
				list = append(list, k+"="+v)
			}
			return list
		},
		Now: time.Now, Files: host.OSFiles{}, Exec: x,
	}
}

func writeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
