package generate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/generate"
	"github.com/example/mysdk/internal/lint"
	"github.com/example/mysdk/internal/sarif"
)

type lintReport struct {
	Fixed    []string      `json:"fixed,omitempty"` // files
	Findings []lintFinding `json:"findings"`
}

type lintFinding struct {
	generate.Position
	Rule    string `json:"rule"`
	Text    string `json:"message"`
	Fixable bool   `json:"fixable"`
}

// fixRounds is how often fixes are applied: those of one place exclude each
// other, and each may bring the next to light.
const fixRounds = 5

// runLint checks the API types, and with --fix corrects what can be.
func runLint(ctx context.Context, f *cli.Factory, o *generateCommand) error {
	var err error
	if o.fix && !o.dryRun { // it writes files
		_, err = f.Recover()
	} else {
		err = f.RefusePending()
	}
	if err != nil {
		return err
	}
	config, err := settings(f, lint.ReadConfig)
	if err != nil {
		return err
	}
	o.what = []string{"crds"} // whose types are loaded
	opts, err := o.options(f)
	if err != nil {
		return err
	}
	found, err := lint.Run(ctx, opts, config)
	if err != nil {
		return clierr.WithHint(err, "correct the Go code and run the command again")
	}
	var fixed fileset.Set
	for round := 0; o.fix && round < fixRounds; round++ {
		read := func(name string) ([]byte, error) { return f.Tree().Read(fixed, name) }
		changed, err := lint.Fix(read, found)
		if err != nil {
			return err
		}
		if changed.Len() == 0 {
			break
		}
		if err := fixed.Merge(changed); err != nil {
			return err
		}
		opts.Overlay = fixed
		if found, err = lint.Run(ctx, opts, config); err != nil {
			return clierr.Failedf("correct the findings by hand", "the fixes do not work: %w", err)
		}
	}
	if fixed.Len() > 0 {
		if err := f.Write(ctx, fixed, o.dryRun); err != nil {
			return err
		}
	}
	return reportLint(f, o, fixed, found)
}

// settings are those of the project, else of the user, as read finds them in a configuration file.
func settings[T any](f *cli.Factory, read func(file string, data []byte) (T, bool, error)) (none T, err error) {
	for _, file := range slices.Backward(f.ConfigFiles()) {
		data, err := f.Host.Files.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return none, err // told before
		}
		if c, ok, err := read(file, data); ok || err != nil {
			return c, err
		}
	}
	return none, nil
}

// reportLint prints what was found, and returns an error if that is anything.
func reportLint(f *cli.Factory, o *generateCommand, fixed fileset.Set, found []generate.Finding) error {
	r := lintReport{Fixed: fixed.Paths(), Findings: []lintFinding{}}
	var results []sarif.Result
	fixable := 0
	for _, one := range found {
		if len(one.Fix) > 0 {
			fixable++
		}
		r.Findings = append(r.Findings, lintFinding{one.Position, one.Rule, one.Text, len(one.Fix) > 0})
		results = append(results, sarif.Result{Rule: one.Rule, Level: "error", Text: one.Text, File: f.InRepository(one.File), Line: one.Line, Column: one.Column})
	}
	var err error
	switch {
	case o.dryRun && len(found) > 0: // the diff is the output
		r.text(f.Host.IO.Err)
	case o.dryRun:
	case o.output == "sarif":
		err = f.Report("json", sarif.New("mysdk generate --lint", cli.ThisBuild().Version, nil, results), nil)
	default:
		err = f.Report(o.output, r, r.text)
	}
	if err != nil {
		return err
	}
	if fixed.Len() > 0 && !o.dryRun {
		for _, name := range fixed.Paths() {
			f.Say("fixed %s", name)
		}
		f.Say("Next: mysdk generate")
	}
	if len(found) == 0 {
		return nil
	}
	hint := "correct them, or turn rules off below " + lint.Key + " in .mysdk.yaml"
	if fixable > 0 && !o.fix {
		hint = fmt.Sprintf("'mysdk generate --lint --fix' corrects %d of them; rules are turned off below %s in .mysdk.yaml", fixable, lint.Key)
	}
	return clierr.OutOfDatef(hint, "%s in the API types", cli.Count(len(found), "finding"))
}

func (r lintReport) text(w io.Writer) {
	for _, one := range r.Findings {
		fmt.Fprintf(w, "%s:%d:%d: %s (%s)\n", one.File, one.Line, one.Column, one.Text, one.Rule)
	}
	if len(r.Findings) == 0 {
		fmt.Fprintln(w, "no findings")
	}
}
