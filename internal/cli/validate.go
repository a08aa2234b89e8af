package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/example/mysdk/internal/bundle/validate"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/compat"
	"github.com/example/mysdk/internal/generate"
)

// Judge is the validate.Engine of the commands. The rules of
// operator-framework/api link a good part of the API server, which mysdk-cluster
// has in any case: in mysdk they would cost each command half as much time again
// to start.
func (f *Factory) Judge(ctx context.Context, req validate.Request) ([]validate.Result, error) {
	var results []validate.Result
	err := f.AskCluster(ctx, "validate", req, &results)
	return results, err
}

// CompareCRDs is the compat.Engine of the commands, in mysdk-cluster too.
func (f *Factory) CompareCRDs(ctx context.Context, req compat.Request) ([]compat.Change, error) {
	var changes []compat.Change
	err := f.AskCluster(ctx, "compare-crds", req, &changes)
	return changes, err
}

// AskCluster has the mysdk-cluster command answer a question: both are JSON.
func (f *Factory) AskCluster(ctx context.Context, command string, question, answer any) error {
	asked, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("ask mysdk-cluster %s: %w", command, err)
	}
	said, err := cluster.Ask(ctx, f.Host, f.Progress, asked, command)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(said, answer); err != nil {
		return fmt.Errorf("read the answer of mysdk-cluster %s: %w", command, err)
	}
	return nil
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
