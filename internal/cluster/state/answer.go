package state

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// Answer reads a question as JSON, and prints the answer of run as JSON: how
// mysdk asks mysdk-cluster for what it does not link itself. It does not wait for
// the question any longer than for ctx.
func Answer[Q, A any](ctx context.Context, in io.Reader, out io.Writer, run func(context.Context, Q) (A, error)) error {
	var question Q
	read := make(chan error, 1)
	go func() { read <- json.NewDecoder(in).Decode(&question) }()
	var err error
	select {
	case err = <-read:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("read the question: %w", err)
	}
	found, err := run(ctx, question)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(found)
}
