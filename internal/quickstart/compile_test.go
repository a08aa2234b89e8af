package quickstart

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/example/mysdk/internal/host"
)

// progressInterval is how often a build says how far it is: the first one takes
// minutes.
const progressInterval = 10 * time.Second

// compile runs a command that builds the two programs in this checkout with the
// go command, and says how many of the packages it has compiled.
func compile(ctx context.Context, h host.Host, command []string) error {
	stale := &bytes.Buffer{}
	err := host.Run(ctx, h.Exec, host.Cmd{
		Name: "go", Args: []string{"list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}", "./cmd/mysdk", "./cmd/mysdk-cluster"},
		Stdout: stale, Stderr: h.IO.Err,
	})
	if err != nil {
		return fmt.Errorf("list the packages to compile: %w", err)
	}
	start, out, total := h.Now(), &packages{to: h.IO.Err}, len(strings.Fields(stale.String()))
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(progressInterval):
				fmt.Fprintf(h.IO.Out, "compiled %d of %d packages after %.0f s\n", out.done.Load(), total, h.Now().Sub(start).Seconds())
			}
		}
	}()
	env := append(h.Environ(), "GOFLAGS="+strings.TrimSpace(h.Getenv("GOFLAGS")+" -v"))
	err = host.Run(ctx, h.Exec, host.Cmd{Name: command[0], Args: command[1:], Env: env, Stdout: h.IO.Out, Stderr: out})
	if err != nil {
		return fmt.Errorf("build mysdk: %w", err)
	}
	return nil
}

// packages counts the lines of `go build -v` that name a package, and passes on
// the others: errors, and which modules are downloaded.
type packages struct {
	to   io.Writer
	done atomic.Int64
	line []byte
}

// Write implements io.Writer.
func (p *packages) Write(data []byte) (int, error) {
	p.line = append(p.line, data...)
	for {
		line, rest, found := bytes.Cut(p.line, []byte("\n"))
		if !found {
			return len(data), nil
		}
		p.line = rest
		if !bytes.ContainsAny(line, " \t") {
			p.done.Add(1)
		} else if _, err := fmt.Fprintf(p.to, "%s\n", line); err != nil {
			return 0, err
		}
	}
}

// TestPackages: paths of packages are counted, however they arrive, and what
// else the go command says is passed on.
func TestPackages(t *testing.T) {
	var rest strings.Builder
	p := &packages{to: &rest}
	for _, part := range []string{"go: downloading k8s.io/api v0.36.3\nk8s.io/ap", "i/core/v1\nerrors\n", "# example.com/a\na.go:1:1: no such thing\n"} {
		if n, err := p.Write([]byte(part)); err != nil || n != len(part) {
			t.Fatal(n, err)
		}
	}
	if got := p.done.Load(); got != 2 {
		t.Errorf("%d packages, want 2", got)
	}
	if want := "go: downloading k8s.io/api v0.36.3\n# example.com/a\na.go:1:1: no such thing\n"; rest.String() != want {
		t.Errorf("passed on %q, want %q", rest.String(), want)
	}
}
