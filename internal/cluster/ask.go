package cluster

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/example/mysdk/internal/host"
)

// askGrace is how long the program may take to end after Ctrl-C.
const askGrace = time.Second

// Ask runs mysdk-cluster with args for one answer: question is its standard
// input, and what it prints is returned. It is for what links so much of
// Kubernetes that mysdk itself would start slower with it. No cluster is needed
// or started. The error has what the program said.
func Ask(ctx context.Context, h host.Host, progress func(string), question []byte, args ...string) ([]byte, error) {
	binary, err := Binary(ctx, h, progress)
	if err != nil {
		return nil, err
	}
	var out, said bytes.Buffer
	err = host.Run(ctx, h.Exec, host.Cmd{
		Name: binary, Args: args, Dir: h.Dir, Env: h.Environ(),
		Stdin: bytes.NewReader(question), Stdout: &out, Stderr: &said, Grace: askGrace, DieWithParent: true,
	})
	if err != nil {
		return nil, fmt.Errorf("mysdk-cluster %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return out.Bytes(), nil
}
