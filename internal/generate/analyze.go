package generate

import (
	"cmp"
	"context"
	"fmt"
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/example/mysdk/internal/clierr"
)

// Finding is a problem that an analyzer reports in the types.
type Finding struct {
	Position
	Rule string // the analyzer's name
	Text string
	// Fix are the edits that correct it; none where nobody but the user can.
	Fix []Edit
}

// Edit replaces the bytes from Start to End of a file.
type Edit struct {
	File       string // relative to the project
	Start, End int
	New        string
}

// Analyze runs analyzers on the packages with API types, which are loaded as for
// the generators: without function bodies and generated code. Analyzers that
// exchange facts between packages are an error. Findings come in the order of
// files and lines.
func Analyze(ctx context.Context, opts Options, analyzers []*analysis.Analyzer) ([]Finding, error) {
	from, err := parse(ctx, opts)
	if err != nil {
		return nil, err
	}
	if len(from.sources.problems) > 0 {
		return nil, sourceError(from.sources.problems, from.env, "correct the Go code and run the command again")
	}
	l, _, err := loadTyped(ctx, from.options, from.tree, from.sources, from.env)
	if err != nil {
		return nil, err
	}
	if found := packageProblems(from.tree, from.sources, l); len(found) > 0 {
		return nil, sourceError(found, from.env, "correct the Go code and run the command again")
	}
	if len(l.typed) == 0 {
		return nil, clierr.Failedf("add an API with 'mysdk create api --group cache --kind Memcached'", "the project has no API types")
	}
	a := analyzing{tree: from.tree}
	for _, p := range l.typed {
		for _, one := range analyzers {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := a.run(one, p, from.env); err != nil {
				return nil, err
			}
		}
		a.results = nil // they belong to the package
	}
	slices.SortStableFunc(a.found, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column), cmp.Compare(x.Rule, y.Rule), cmp.Compare(x.Text, y.Text))
	})
	return a.found, nil
}

// analyzing is a run of analyzers. It does in few lines what the checker of
// golang.org/x/tools does, whose facts would link encoding/gob.
type analyzing struct {
	tree    *tree
	results map[*analysis.Analyzer]any // of a package, by the analyzers that ran
	found   []Finding
}

// run runs an analyzer on a package, after those that it requires.
func (a *analyzing) run(one *analysis.Analyzer, p *loader.Package, env goEnv) error {
	if _, done := a.results[one]; done {
		return nil
	}
	if len(one.FactTypes) > 0 {
		return fmt.Errorf("generate: the analyzer %s exchanges facts", one.Name)
	}
	for _, required := range one.Requires {
		if err := a.run(required, p, env); err != nil {
			return err
		}
	}
	pass := &analysis.Pass{
		Analyzer: one, Fset: p.Fset, Files: p.Syntax, Pkg: p.Types, TypesInfo: p.TypesInfo, TypesSizes: p.TypesSizes,
		ResultOf: a.results, Report: func(d analysis.Diagnostic) { a.report(one.Name, p.Fset, d) },
	}
	result, err := call(one, pass, env)
	if err != nil {
		return fmt.Errorf("generate: %s: %w", one.Name, err)
	}
	if a.results == nil {
		a.results = map[*analysis.Analyzer]any{}
	}
	a.results[one] = result
	return nil
}

// call makes an error of a panic.
func call(one *analysis.Analyzer, pass *analysis.Pass, env goEnv) (result any, err error) {
	defer recoverAs(&err, "the findings of "+one.Name, env)
	return one.Run(pass)
}

// report takes a diagnostic in. Of several fixes the first counts, as in the
// checker of golang.org/x/tools.
func (a *analyzing) report(rule string, fset *token.FileSet, d analysis.Diagnostic) {
	at := newProblem(a.tree, fset.Position(d.Pos), "")
	f := Finding{Position: Position{at.file, at.line, at.col}, Rule: rule, Text: d.Message}
	src, err := a.tree.read(at.file)
	if err == nil && len(d.SuggestedFixes) > 0 {
		for _, e := range d.SuggestedFixes[0].TextEdits {
			from, to := fset.Position(e.Pos).Offset, fset.Position(max(e.Pos, e.End)).Offset
			if edit := (Edit{at.file, from, to, string(e.NewText)}); to <= len(src) && string(src[from:to]) != edit.New {
				f.Fix = append(f.Fix, edit)
			}
		}
	}
	a.found = append(a.found, f)
}
