package generate

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

// Finding is a problem that an analyzer reports in the types.
type Finding struct {
	Position
	Rule string // the analyzer's name
	Text string
	// Aside is true in a type that no kind is made of.
	Aside bool
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
	w, err := parse(ctx, opts)
	if err != nil {
		return nil, err
	}
	if len(w.src.problems) > 0 {
		return nil, w.sourceError(w.src.problems, correctCode)
	}
	l, err := w.loadTyped(ctx)
	if err != nil {
		return nil, err
	}
	if found := w.packageProblems(l); len(found) > 0 {
		return nil, w.sourceError(found, correctCode)
	}
	if len(l.typed) == 0 {
		return nil, clierr.Failedf("add an API with 'mysdk create api --group cache --kind Memcached'", "the project has no API types")
	}
	a := analyzing{workspace: w, api: apiTypes(l.typed)}
	for _, p := range l.typed {
		a.results = map[*analysis.Analyzer]any{}
		for _, one := range analyzers {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := a.run(one, p); err != nil {
				return nil, err
			}
		}
	}
	slices.SortStableFunc(a.found, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column), cmp.Compare(x.Rule, y.Rule), cmp.Compare(x.Text, y.Text))
	})
	return a.found, nil
}

// analyzing is a run of analyzers. It does in few lines what the checker of
// golang.org/x/tools does, whose facts would link encoding/gob.
type analyzing struct {
	workspace
	api     map[string]bool
	results map[*analysis.Analyzer]any // of a package, by the analyzers that ran
	found   []Finding
}

// run runs an analyzer on a package, after those that it requires.
func (a *analyzing) run(one *analysis.Analyzer, p *loader.Package) error {
	if _, done := a.results[one]; done {
		return nil
	}
	if len(one.FactTypes) > 0 {
		return fmt.Errorf("generate: the analyzer %s exchanges facts", one.Name)
	}
	for _, required := range one.Requires {
		if err := a.run(required, p); err != nil {
			return err
		}
	}
	pass := &analysis.Pass{
		Analyzer: one, Fset: p.Fset, Files: p.Syntax, Pkg: p.Types, TypesInfo: p.TypesInfo, TypesSizes: p.TypesSizes,
		ResultOf: a.results, Report: func(d analysis.Diagnostic) { a.report(one.Name, p, d) },
	}
	result, err := call(one, pass, a.env)
	if err != nil {
		return fmt.Errorf("generate: %s: %w", one.Name, err)
	}
	a.results[one] = result
	return nil
}

func call(one *analysis.Analyzer, pass *analysis.Pass, env goEnv) (result any, err error) {
	defer recoverAs(&err, "the findings of "+one.Name, env)
	return one.Run(pass)
}

// report takes a diagnostic in. Of several fixes the first counts, as in the
// checker of golang.org/x/tools.
func (a *analyzing) report(rule string, p *loader.Package, d analysis.Diagnostic) {
	fset := p.Fset
	at := newProblem(a.tree, fset.Position(d.Pos), "")
	f := Finding{Position: Position{at.file, at.line, at.col}, Rule: rule, Text: d.Message, Aside: a.aside(p, d.Pos)}
	src, err := a.read(at.file)
	if err == nil && len(d.SuggestedFixes) > 0 && !slices.ContainsFunc(d.SuggestedFixes[0].TextEdits, func(e analysis.TextEdit) bool { return renames(p, e) }) {
		for _, e := range d.SuggestedFixes[0].TextEdits {
			from, to := fset.Position(e.Pos).Offset, fset.Position(max(e.Pos, e.End)).Offset
			if edit := (Edit{at.file, from, to, string(e.NewText)}); to <= len(src) && string(src[from:to]) != edit.New {
				f.Fix = append(f.Fix, edit)
			}
		}
	}
	a.found = append(a.found, f)
}

// renames reports whether an edit changes the name of a field, without which code
// that uses the field does not compile.
func renames(p *loader.Package, e analysis.TextEdit) bool {
	for id, obj := range p.TypesInfo.Defs {
		if v, ok := obj.(*types.Var); ok && v.IsField() && e.Pos < id.End() && id.Pos() < e.End {
			return true
		}
	}
	return false
}

// aside reports whether a place is in a type that no kind is made of, or in its comment.
func (a *analyzing) aside(p *loader.Package, at token.Pos) bool {
	for _, file := range p.Syntax {
		for d, t := range goedit.Types(file) {
			from := t.Pos()
			for _, doc := range []*ast.CommentGroup{d.Doc, t.Doc} {
				if doc != nil && (doc == t.Doc || !d.Lparen.IsValid()) {
					from = doc.Pos()
				}
			}
			if from <= at && at <= t.End() {
				return len(a.api) > 0 && !a.api[p.PkgPath+"."+t.Name.Name]
			}
		}
	}
	return false
}

// apiTypes are the kinds in packages, which have a TypeMeta, what has JSON tags
// beside them, and what the fields of both are made of, as far as those packages
// have it.
func apiTypes(all []*loader.Package) map[string]bool {
	seen, own := map[string]bool{}, map[string]bool{}
	for _, p := range all {
		own[p.PkgPath] = true
	}
	var walk func(types.Type)
	name := func(o *types.TypeName, next types.Type) {
		if key := o.Name(); o.Pkg() != nil && own[o.Pkg().Path()] && !seen[o.Pkg().Path()+"."+key] {
			seen[o.Pkg().Path()+"."+key] = true
			walk(next)
		}
	}
	walk = func(t types.Type) {
		switch t := t.(type) {
		case *types.Alias:
			name(t.Obj(), t.Rhs())
		case *types.Named:
			name(t.Obj(), t.Underlying())
			for arg := range t.TypeArgs().Types() {
				walk(arg)
			}
		case *types.Map:
			walk(t.Key())
			walk(t.Elem())
		case interface{ Elem() types.Type }: // pointers, lists
			walk(t.Elem())
		case *types.Struct:
			for f := range t.Fields() {
				if f.Exported() {
					walk(f.Type())
				}
			}
		}
	}
	for _, p := range all {
		var tagged []types.Type
		kinds := false
		for _, n := range p.Types.Scope().Names() {
			o, _ := p.Types.Scope().Lookup(n).(*types.TypeName)
			if o == nil {
				continue
			}
			object, _ := o.Type().Underlying().(*types.Struct)
			for i := 0; object != nil && i < object.NumFields(); i++ {
				f := object.Field(i)
				kinds = kinds || f.Embedded() && f.Name() == "TypeMeta"
				if strings.Contains(object.Tag(i), `json:"`) {
					tagged = append(tagged, o.Type())
				}
			}
		}
		for i := 0; kinds && i < len(tagged); i++ {
			walk(tagged[i])
		}
	}
	return seen
}
