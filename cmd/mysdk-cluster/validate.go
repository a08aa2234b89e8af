package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/example/mysdk/internal/bundle/validate"
	"github.com/example/mysdk/internal/bundle/validate/engine"
)

// validateBundle answers one validate.Request, read as JSON, with a list of
// validate.Result. It does not wait for a request any longer than for ctx.
func validateBundle(ctx context.Context, in io.Reader, out io.Writer) error {
	var req validate.Request
	read := make(chan error, 1)
	go func() { read <- json.NewDecoder(in).Decode(&req) }()
	var err error
	select {
	case err = <-read:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("read what to validate: %w", err)
	}
	results, err := engine.Run(ctx, req)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(results)
}
