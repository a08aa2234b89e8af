package cmd

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/example/mysdk/internal/bundle/validate"
	"github.com/example/mysdk/internal/cluster"
)

// judge is the validate.Engine of the commands. The rules of
// operator-framework/api link a good part of the API server, which mysdk-cluster
// has in any case: in mysdk they would cost each command half as much time again
// to start.
func (a *app) judge(ctx context.Context, req validate.Request) ([]validate.Result, error) {
	question, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("validate the bundle: %w", err)
	}
	answer, err := cluster.Ask(ctx, a.host, a.progress, question, "validate")
	if err != nil {
		return nil, err
	}
	var results []validate.Result
	if err := json.Unmarshal(answer, &results); err != nil {
		return nil, fmt.Errorf("read the results of the validators: %w", err)
	}
	return results, nil
}
