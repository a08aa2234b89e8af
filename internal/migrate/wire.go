package migrate

import (
	"fmt"
	"go/ast"
	"go/format"
	"path"
	"slices"
	"strconv"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/relayout"
	"github.com/example/mysdk/internal/rewrite/goedit"
)

const (
	newMain   = "cmd/main.go"
	oldMain   = "cmd/manager/main.go"
	leaderLib = operatorLib + "/leader"
)

// wireMain writes cmd/main.go: the scaffold's, with the user's types and
// controllers.
func (m *migration) wireMain() error {
	if err := m.freeCommand(); err != nil {
		return err
	}
	usual := "main.go"
	if m.layout == LayoutSDK0 {
		usual = oldMain
	}
	name, err := m.mainFile(usual)
	if err != nil {
		return err
	}
	p, err := m.readMain(name)
	if err != nil {
		return err
	}
	return m.writeMain(p)
}

// writeMain puts what the old main program gives into the new one, at its
// markers.
func (m *migration) writeMain(p *oldProgram) error {
	f := p.target
	schemes := ""
	for _, s := range p.schemes {
		schemes += "\tutilruntime.Must(" + s + ")\n"
	}
	if err := p.elect(); err != nil {
		return err
	}
	for _, part := range []struct{ marker, lines string }{{"scheme", schemes}, {"builder", p.setup}} {
		if marker := "// +kubebuilder:scaffold:" + part.marker; f.InsertAbove(marker, part.lines) != nil {
			return noAnchor(marker)
		}
	}
	text, err := f.Apply()
	if err != nil {
		return err
	}
	rewrite := relayout.Rewrite{Packages: m.packages(), Aliases: map[string]string{path.Join(m.module, "internal/controller"): "controller"}}
	if text, err = rewrite.Go(newMain, text); err != nil {
		return err
	}
	if text, err = transform(newMain, text, slices.Concat(commonPasses(nil), []pass{m.compat})...); err != nil {
		return err
	}
	formatted, err := format.Source(text)
	if err != nil {
		return fmt.Errorf("%s: the migrated text is not Go: %w", newMain, err)
	}
	m.put(newMain, formatted)
	m.mainFiles(p)
	return nil
}

// elect makes the lease of the old main program the default of the new one's
// flag: two leaders must not work at once while one follows the other.
func (p *oldProgram) elect() error {
	if p.election == "" {
		return nil
	}
	const name = "leader-election-id"
	for call := range goedit.Each[*ast.CallExpr](p.target.Tree) {
		for i, arg := range call.Args[:max(0, len(call.Args)-1)] {
			if p.target.Text(arg) == strconv.Quote(name) {
				p.target.Replace(call.Args[i+1], p.election)
				return nil
			}
		}
	}
	return noAnchor("the flag " + name)
}

// noAnchor is the error of a scaffold that lacks a place which migrate fills.
func noAnchor(what string) error {
	return clierr.Failedf("report this as a bug: the scaffold and 'mysdk migrate' do not match", "the scaffold has no %s", what)
}
