package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/example/mysdk/internal/bundle/validate"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/generate"
)

// Judge is the validate.Engine of the commands. The rules of
// operator-framework/api link a good part of the API server, which mysdk-cluster
// has in any case: in mysdk they would cost each command half as much time again
// to start.
func (f *Factory) Judge(ctx context.Context, req validate.Request) ([]validate.Result, error) {
	question, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("validate the bundle: %w", err)
	}
	answer, err := cluster.Ask(ctx, f.Host, f.Progress, question, "validate")
	if err != nil {
		return nil, err
	}
	var results []validate.Result
	if err := json.Unmarshal(answer, &results); err != nil {
		return nil, fmt.Errorf("read the results of the validators: %w", err)
	}
	return results, nil
}

// judgeCRDs is the generate.Judge of the commands. What generates does not wait
// for mysdk-cluster to be built, and goes on without an answer.
func (f *Factory) judgeCRDs(ctx context.Context, crds map[string][]byte) (refused []generate.Refusal, done bool, err error) {
	if !cluster.Installed(f.Host) {
		f.once(f.Detail, "CRDs are not checked with the API server's rules: mysdk-cluster is not built yet, 'mysdk cluster start' does")
		return nil, false, nil
	}
	if len(crds) == 0 {
		return nil, true, nil
	}
	results, err := f.Judge(ctx, validate.Request{CRDs: crds})
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	if err != nil {
		f.once(f.Warn, fmt.Sprintf("CRDs are not checked with the API server's rules: %v", err))
		return nil, false, nil
	}
	for _, r := range results {
		if crds[r.Object] == nil {
			return nil, false, nil // another release of mysdk-cluster judged something else
		}
		refused = append(refused, generate.Refusal{File: r.Object, Field: r.Field, Text: r.Detail})
	}
	return refused, true, nil
}
