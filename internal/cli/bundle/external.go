package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/example/mysdk/internal/bundle/validate"
	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
)

// externalValidators are the programs of a list like PATH, each found before anything is checked.
func externalValidators(f *cli.Factory, list string) ([]validate.External, error) {
	var all []validate.External
	for _, program := range filepath.SplitList(list) {
		found, err := f.Host.LookPath(programPath(f, program))
		if err != nil {
			return nil, clierr.Usagef("name programs that can be run, with ':' between them", "--alpha-select-external: %w", err)
		}
		all = append(all, func(ctx context.Context, dir string) ([]validate.Result, error) {
			return runExternal(ctx, f, found, dir)
		})
	}
	return all, nil
}

// programPath leaves a plain name to PATH.
func programPath(f *cli.Factory, program string) string {
	if filepath.Base(program) == program {
		return program
	}
	return f.Host.Path(program)
}

// manifestResult is what a program prints: a ManifestResult of operator-framework/api in JSON.
type manifestResult struct {
	Name             string
	Errors, Warnings []struct {
		Type, Level, Field, Detail string
		BadValue                   any
	}
}

func runExternal(ctx context.Context, f *cli.Factory, program, dir string) ([]validate.Result, error) {
	var out bytes.Buffer
	err := host.Run(ctx, f.Host.Exec, host.Cmd{
		Name: program, Args: []string{dir}, Dir: f.Host.Dir, Env: f.Host.Environ(), Stdout: &out, Stderr: f.Host.IO.Err,
	})
	if err != nil {
		return nil, fmt.Errorf("run the validator %s: %w", program, err)
	}
	var r manifestResult
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return nil, clierr.Failedf("it has to print a ManifestResult of operator-framework/api in JSON", "read what the validator %s printed: %w", program, err)
	}
	var results []validate.Result
	for i, e := range append(r.Errors, r.Warnings...) {
		one := validate.Result{Validator: "external", Object: r.Name, Error: i < len(r.Errors), Type: e.Type, Field: e.Field, Detail: e.Detail}
		if e.BadValue != nil {
			one.Value = fmt.Sprint(e.BadValue)
		}
		results = append(results, one)
	}
	return results, nil
}
