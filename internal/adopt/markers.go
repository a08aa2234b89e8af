package adopt

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"github.com/example/mysdk/internal/rewrite/goedit"
)

const (
	marker   = "+kubebuilder:scaffold:"
	mainFile = "cmd/main.go"
)

// markers puts back, in memory, the scaffold markers that create needs and
// that are not there any more, where their place is certain.
func (in *inspection) markers() error {
	if err := in.edit(mainFile, mainMarkers); err != nil {
		return err
	}
	err := in.edit("config/crd/kustomization.yaml", func(text string) (string, []string) { return resourcesMarker(text, "crdkustomizeresource") })
	if err != nil {
		return err
	}
	return in.edit("config/samples/kustomization.yaml", func(text string) (string, []string) { return resourcesMarker(text, "manifestskustomizesamples") })
}

// edit changes a file that is there and reports which markers it gets.
func (in *inspection) edit(name string, change func(string) (string, []string)) error {
	data, there, err := in.tree.Read(name)
	if err != nil || !there {
		return err
	}
	text, added := change(string(data))
	for _, m := range added {
		in.report.Changes = append(in.report.Changes, Change{name, "put the marker " + marker + m + " back"})
	}
	if len(added) == 0 {
		return nil
	}
	return in.tree.Write(name, []byte(text))
}

// mainMarkers adds those of the main program: to the end of the imports, of
// the init function that fills the scheme, and above what comes after the
// controllers.
func mainMarkers(text string) (string, []string) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, mainFile, text, parser.SkipObjectResolution)
	if err != nil {
		return text, nil
	}
	lines := strings.Split(text, "\n")
	at := map[string]int{} // marker -> line to stand above, counted from 1
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			if d.Tok == token.IMPORT && d.Rparen.IsValid() {
				at["imports"] = files.Position(d.Rparen).Line
			}
		case *ast.FuncDecl:
			switch {
			case d.Name.Name == "init" && d.Body != nil && callsTo(d.Body, "AddToScheme"):
				at["scheme"] = files.Position(d.Body.Rbrace).Line
			case d.Name.Name == "main" && d.Body != nil:
				if line := afterControllers(files, d.Body); line > 0 {
					at["builder"] = line
				}
			}
		}
	}
	var added []string
	for _, name := range []string{"imports", "scheme", "builder"} {
		if at[name] > 0 && !hasMarker(lines, name) {
			added = append(added, name)
		}
	}
	// From the bottom up, so that the lines above keep their numbers.
	slices.SortFunc(added, func(a, b string) int { return at[b] - at[a] })
	for _, name := range added {
		indent := "\t"
		lines = slices.Insert(lines, at[name]-1, indent+"// "+marker+name)
	}
	slices.Reverse(added)
	return strings.Join(lines, "\n"), added
}

// afterControllers is the line of the first statement of main that adds a
// health check or starts the manager: controllers stand above it.
func afterControllers(files *token.FileSet, body *ast.BlockStmt) int {
	for _, name := range []string{"AddHealthzCheck", "AddReadyzCheck", "Start"} {
		for _, stmt := range body.List {
			if callsTo(stmt, name) {
				return files.Position(stmt.Pos()).Line
			}
		}
	}
	return 0
}

// callsTo says whether a method or function of the name is called in n.
func callsTo(n ast.Node, name string) bool {
	return goedit.Has(n, func(c *ast.CallExpr) bool {
		sel, ok := c.Fun.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == name
	})
}

func hasMarker(lines []string, name string) bool {
	return slices.ContainsFunc(lines, func(l string) bool {
		l = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(l), "/#"))
		return l == marker+name
	})
}

// resourcesMarker adds a marker below the resources of a kustomization that
// lists them one on a line.
func resourcesMarker(text, name string) (string, []string) {
	lines := strings.Split(text, "\n")
	if hasMarker(lines, name) {
		return text, nil
	}
	begin := slices.IndexFunc(lines, func(l string) bool { return strings.TrimRight(l, " ") == "resources:" })
	if begin < 0 {
		return text, nil
	}
	end := begin + 1
	for end < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[end]), "- ") {
		end++
	}
	return strings.Join(slices.Insert(lines, end, fmt.Sprintf("# %s%s", marker, name)), "\n"), []string{name}
}
