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
// validate.Result.
func validateBundle(ctx context.Context, in io.Reader, out io.Writer) error {
	var req validate.Request
	if err := json.NewDecoder(in).Decode(&req); err != nil {
		return fmt.Errorf("read what to validate: %w", err)
	}
	results, err := engine.Run(ctx, req)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(results)
}
